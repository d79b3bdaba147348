# SPDX-License-Identifier: BSD-3-Clause
"""Interrupts on nodes that do not exist: where they are moved to, and where the mapping follows them."""

import pytest
from simulated_nodes import QUAD, lines, simulate

IRQ = (
    "node packages 2 cores 4\npolicy act 1 irq 1\n"
    "job a pus 0,1,4,5 compute 0.01,0.01,0.01,0.01\nat 0 line 40 0 0.3 0\nat 1 start a\n"
)


def test_an_interrupt_goes_to_a_unit_that_nobody_has_near_its_device(simulator):
    # GIVEN an interrupt on a rank's core, where all compute alike
    # WHEN it may be moved
    outcome = simulate(simulator, IRQ + "until 30\n")
    # THEN it goes to the first unit without a rank of its device's NUMA node, and back at the end
    (kept,) = outcome.of("kept")
    assert kept["interrupts"] == [[40, "2"]]
    assert kept["measured_gain"] == pytest.approx(0.3, abs=0.02)
    assert outcome.violations == []
    # WHEN the device is at the other NUMA node, THEN so is the unit
    (kept,) = simulate(simulator, IRQ.replace("0.3 0", "0.3 1") + "until 30\n").of("kept")
    assert kept["interrupts"] == [[40, "6"]]


def test_an_interrupt_that_is_given_back_is_counted_as_a_move(simulator):
    # GIVEN an interrupt that was moved for a job
    outcome = simulate(simulator, IRQ + "at 20 end a\nuntil 40\n")
    # WHEN the job has ended THEN what says that it is given back names it, with no other place
    (restored,) = [event for event in outcome.of("restored") if event["group"] == "a"]
    assert restored["interrupts"] == [[40, ""]]
    assert 20 < restored["at_s"] < 26


def test_an_interrupt_is_not_put_beside_a_busy_rank_on_its_core(simulator):
    # GIVEN units without a rank: the other threads of three busy cores, and those of a core with nobody
    scenario = (
        "node packages 1 cores 4 smt 2\npolicy act 1 irq 1\n"
        "job a pus 0,1,2 compute 0.01,0.01,0.01\nat 0 line 40 0 0.3\nat 1 start a\nuntil 30\n"
    )
    # WHEN it is moved, THEN it is to the core with nobody
    (kept,) = simulate(simulator, scenario).of("kept")
    assert kept["interrupts"] in ([[40, "3"]], [[40, "7"]])


def test_only_a_lines_own_share_moves_with_it(simulator):
    # GIVEN a core of which two devices' interrupts take 20 % and 10 %
    outcome = simulate(simulator, IRQ.replace("0 0.3 0", "0 0.2 0\nat 0 line 41 0 0.1 0") + "until 60\n")
    # WHEN they are tuned, THEN the larger one is estimated to save its own part, and the other one follows
    first, second = outcome.of("kept")
    assert first["estimated_gain"] == pytest.approx(1 - 0.7 / 0.9, abs=0.02)
    assert {first["interrupts"][0][0], second["interrupts"][0][0]} == {40, 41}


def test_an_interrupt_that_cannot_be_moved_hides_no_move_of_ranks(simulator):
    # GIVEN an interrupt that the kernel keeps where it is, and a rank that waits
    scenario = (IRQ + "until 60\n").replace("0.01,0.01\n", "0.01,0.004\n").replace("0.3 0", "0.3 0 fixed")
    # WHEN it is tuned
    outcome = simulate(simulator, scenario)
    # THEN the interrupt is tried once, and then the waiting rank is put there
    assert len([each for each in outcome.of("failed") if each["interrupts"]]) == 1
    assert outcome.jobs["a"]["masks"] == ["5", "1", "4", "0"]


def test_while_irqbalance_runs_only_ranks_are_moved(simulator):
    # GIVEN an interrupt on a busy rank's core, a rank that waits, and irqbalance
    scenario = (IRQ + "at 0 mover irqbalance\nuntil 60\n").replace("0.01,0.01\n", "0.01,0.004\n")
    outcome = simulate(simulator, scenario)
    # THEN the interrupt stays, the tuner says why, and the rank that waits is put beside it
    assert [each for each in outcome.of("applied") if each["interrupts"]] == []
    assert "irqbalance moves what would be moved" in {each["why"] for each in outcome.of("refused")}
    assert outcome.of("kept")
    assert outcome.jobs["a"]["masks"][3] == "0"
    # AND it does not stand back
    assert outcome.of("stood_back") == []


def test_an_interrupt_that_is_moved_twice_is_undone_to_where_it_was(simulator):
    # GIVEN an interrupt that is moved once, after which another's comes to that unit
    scenario = IRQ + "at 20 line 41 2 0.1 0\nat 20 irq 2 0.9\nuntil 90\n"
    # WHEN it is tuned, THEN each move says where it was before, and all is given back at the end
    assert simulate(simulator, scenario).violations == []


def test_an_interrupt_is_not_moved_away_from_a_core_that_packets_are_handed_on_to(simulator):
    # GIVEN an interrupt on a rank's core, to which packets of other cores are handed on (RPS): that work would stay
    fed = IRQ + "at 0 steered 0\nuntil 60\n"
    # WHEN it is tuned, THEN the interrupt is left there
    outcome = simulate(simulator, fed)
    assert outcome.of("proposed") == []
    # WHEN another rank waits, THEN that one goes there instead
    outcome = simulate(simulator, fed.replace("0.01,0.01\n", "0.01,0.004\n"))
    assert [event["interrupts"] for event in outcome.of("kept")] == [[]]
    assert not any(event["interrupts"] for event in outcome.of("applied"))
    assert outcome.jobs["a"]["masks"] == ["5", "1", "4", "0"]


def test_an_interrupt_whose_packets_are_handed_on_is_moved_and_that_is_said(simulator):
    # GIVEN a core whose interrupt has its packets handed on to another one, which has an interrupt of its own
    steered = IRQ.replace("0.3 0", "0.3 0 steered") + "at 0 line 41 4 0.2 1\nat 0 steered 4\nuntil 60\n"
    # WHEN it is tuned
    outcome = simulate(simulator, steered)
    # THEN the first is moved, alone, and what that does not move is said
    assert [event["interrupts"] for event in outcome.of("kept")] == [[[40, "2"]]]
    assert {event["interrupts"][0][0] for event in outcome.of("applied") if event["interrupts"]} == {40}
    assert outcome.of("proposed")[0]["why"].endswith("handed on to (RPS) stays as it is")
    # THEN nothing is said of it where nothing is handed on
    assert "RPS" not in simulate(simulator, IRQ + "until 30\n").of("proposed")[0]["why"]


def test_when_interrupts_move_the_mapping_follows(simulator):
    # GIVEN interrupts that go to another core after the waiting rank was put on the first
    scenario = QUAD + (
        "job a pus 0,1,2,3 compute 0.01,0.01,0.01,0.004\nat 0 irq 0 0.4\nat 1 start a\n"
        "at 20 irq 0 0\nat 20 irq 3 0.4\nuntil 60\n"
    )
    # WHEN it is tuned, THEN that rank is where it was
    assert simulate(simulator, scenario).jobs["a"]["masks"] == ["0", "1", "2", "3"]


def test_an_interrupt_that_cannot_be_moved_back_is_later(simulator):
    # GIVEN an interrupt that is tried elsewhere, and cannot be moved any more for a while
    tried = simulate(simulator, IRQ + "until 20\n").of("applied")[0]["at_s"]
    script = f"at {tried + 0.1} fixed 40\nat {tried + 9} movable 40\nuntil 60\n"
    outcome = simulate(simulator, IRQ + script)
    # WHEN that is to be undone THEN it is said, and nothing else is done until it is
    (failed,) = [event for event in outcome.of("failed") if "it is tried again" in event["why"]]
    (back,) = [event for event in outcome.of("undone") if "what was left" in event["why"]]
    assert tried + 9 <= back["at_s"] < tried + 15
    between = [event for event in outcome.of("applied") if failed["at_s"] < event["at_s"] < back["at_s"]]
    assert between == []
    assert outcome.violations == []
    # WHEN it cannot be at the end either, THEN that is said as well
    outcome = simulate(simulator, IRQ + f"at {tried + 0.1} fixed 40\nuntil 20\n")
    assert outcome.of("failed")[-1]["why"] == "could not be given back: 1"
    assert outcome.violations == []


@pytest.mark.parametrize("stuck", [False, True])
def test_ranks_go_back_where_the_interrupts_of_their_change_cannot_be_moved(simulator, stuck):
    # GIVEN two interrupts, the second of which cannot be moved, and ranks that perhaps cannot be moved back
    scenario = IRQ + "at 0 line 41 1 0.1 0 fixed\n" + "at 2 stuck\n" * stuck + "until 2.1\n"
    # WHEN a change of all of these is tried
    found = lines(simulator, scenario, "mixes")
    # THEN the first interrupt is where it was, and so are the ranks, or it is said that they are not
    (mixed,) = [each for each in found if "mixed" in each]
    assert mixed["units"] == [0, 1]
    why = "interrupt 41 cannot be moved" + "; 2 threads cannot be moved back: it is tried again" * stuck
    assert (mixed["mixed"], mixed["stuck"]) == (why, stuck)
    (job,) = [each for each in found if "job" in each]
    assert job["masks"][:2] == (["1", "0"] if stuck else ["0", "1"])
    # THEN all is as it was at the end
    assert [each for each in found if "violation" in each] == []
