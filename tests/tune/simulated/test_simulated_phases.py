# SPDX-License-Identifier: BSD-3-Clause
"""Programs whose phases want different mappings, on nodes that do not exist."""

import pytest
from simulated_nodes import QUAD, simulate, static


def test_each_phase_of_a_program_gets_its_mapping(simulator):
    # GIVEN a program in which two ranks wait in turn, six seconds each, and interrupts: no mapping suits both
    phases = [
        f"at {5 + 6 * i} compute a {' '.join('0.004' if rank == i % 2 else '0.01' for rank in range(4))}"
        for i in range(60)
    ]
    scenario = "\n".join(
        [
            QUAD,
            "job a pus 0,1,2,3 compute 0.01,0.01,0.01,0.01",
            "at 0 irq 0 0.4",
            "at 1 start a",
            *phases,
            "until 365\n",
        ]
    )
    # WHEN it is tuned
    outcome = simulate(simulator, scenario)
    # THEN it gets on faster than on any mapping that stays: in half the phases such a one has a core too slow, ...
    started_on = {
        rank: static(simulator, scenario.replace("pus 0,1,2,3", f"pus {','.join(order)}")).iterations
        for rank, order in {0: "0123", 1: "1023", 2: "1203"}.items()
    }
    assert outcome.iterations > 1.1 * max(started_on.values())
    # THEN ... and a phase that returns has its mapping within half a second
    returns = [
        event["at_s"] - 5
        for event in outcome.of("applied")
        if event["why"].startswith("known") and event["at_s"] > 60
    ]
    assert len(returns) > 40
    assert max(moment % 6 for moment in returns) < 0.5


def test_a_mapping_that_was_kept_is_not_taken_again_where_it_is_slower_now(simulator):
    # GIVEN two ranks that wait in turn, and a mapping that is known for each of the two phases
    def phase(which, scale=1):
        times = [0.004 if rank == which else 0.01 for rank in range(4)]
        return "compute a " + " ".join(str(scale * time) for time in times)

    phases = [f"at {5 + 6 * i} {phase(i % 2)}" for i in range(16)]
    # WHEN all computation becomes half, and the interrupts go to the core that the next known mapping gives a busy rank
    later = [f"at 101 {what}" for what in ("irq 0 0", "irq 1 0.4", phase(0, 0.5))]
    job = "job a pus 0,1,2,3 compute 0.01,0.01,0.01,0.01\nat 0 irq 0 0.4\nat 1 start a"
    outcome = simulate(simulator, "\n".join([QUAD + job, *phases, *later, "until 112\n"]))
    # THEN it is tried and undone, though faster than when it was kept
    after = [event["what"] for event in outcome.of("kept", "undone") if event["at_s"] > 101]
    assert after[0] == "undone"
    assert "kept" not in after


def test_a_stall_behind_a_known_phase_is_put_down_to_nothing(simulator):
    # GIVEN two ranks that wait in turn, and a mapping that is known for each of the two phases
    phases = [
        f"at {5 + 6 * i} compute a {' '.join('0.004' if rank == i % 2 else '0.01' for rank in range(4))}"
        for i in range(16)
    ]
    job = QUAD + "job a pus 0,1,2,3 compute 0.01,0.01,0.01,0.01\nat 0 irq 0 0.4\nat 1 start a\n"
    scenario = job + "\n".join(phases) + "\n"
    known = [
        event["at_s"]
        for event in simulate(simulator, scenario + "until 95\n").of("applied")
        if event["why"].startswith("known")
    ]
    # WHEN nothing gets on for some seconds just as one has returned
    goes_on = phases[-1].split(" ", 2)[2]
    stall = f"at {known[-1] + 0.02} compute a 9 9 9 9\nat {known[-1] + 4} {goes_on}\n"
    outcome = simulate(simulator, scenario + stall + "until 95\n")
    # THEN what was applied for it is taken back, and said to have told nothing
    undone = [event["why"] for event in outcome.of("undone") if event["at_s"] > known[-1]]
    assert undone[0] == "nothing gets on without it either"
    assert outcome.violations == []


def test_a_known_phase_that_returns_makes_no_pause_shorter(simulator):
    # GIVEN a program of two phases, whose mappings get known, and a core that looks better than it is
    phases = [
        f"at {5 + 12 * i} compute a {' '.join('0.008' if rank == i % 2 else '0.01' for rank in range(5))}"
        for i in range(84)
    ]
    job = "job a pus 0,1,2,3,4 compute 0.01,0.01,0.01,0.01,0.01\nat 0 irq 0 0.55\nat 0 others 4 0.9\nat 1 start a"
    node = "node packages 1 cores 5\npolicy act 1"
    outcome = simulate(simulator, "\n".join([node, job, "at 3 leaves a 4", *phases, "until 1000\n"]))
    # WHEN the mappings are used again and again, and the core is tried
    measured = [event["at_s"] for event in outcome.of("kept") if event["why"].startswith("its gain")]
    assert len([event for event in outcome.of("kept") if event["at_s"] > measured[-1]]) > 50
    undone = [event["at_s"] for event in outcome.of("undone") if event["at_s"] > measured[-1]]
    # THEN each time after a longer pause than before
    pauses = [later - earlier for earlier, later in zip(undone, undone[1:], strict=False)]
    assert len(pauses) > 5
    assert all(later > earlier - 1 for earlier, later in zip(pauses, pauses[1:], strict=False))
    assert pauses[-1] > 200


@pytest.mark.parametrize("ranks", [32, 64])
def test_a_phase_in_which_two_ranks_of_many_differ_has_its_own_mapping(simulator, ranks):
    # GIVEN two ranks of many that wait in turn, and interrupts on the core of one of them
    others = " ".join(["0.01"] * (ranks - 2))
    phases = [
        f"at {10 + 10 * i} compute a {'0.004 0.01' if i % 2 == 0 else '0.01 0.004'} {others}"
        for i in range(30)
    ]
    pus, text = ",".join(map(str, range(ranks))), ",".join(["0.01", "0.004", *others.split()])
    scenario = "\n".join(
        [
            f"node packages 1 cores {ranks}\npolicy act 1 begin_above 0.005 end_below 0.004",
            f"job a pus {pus} compute {text} noise 0.002",
            "at 0 irq 0 0.4",
            "at 1 start a",
            *phases,
            "until 310\n",
        ]
    )
    # WHEN it is tuned
    outcome = simulate(simulator, scenario)
    # THEN each phase that returns has its mapping within a second
    returns = [
        event["at_s"]
        for event in outcome.of("applied")
        if event["why"].startswith("known") and event["at_s"] > 100
    ]
    assert len(returns) > 15
    assert max(moment % 10 for moment in returns) < 1
