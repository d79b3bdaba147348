# SPDX-License-Identifier: BSD-3-Clause
"""Who else sets masks, and threads that come later, on nodes that do not exist."""

import pytest
from simulated_nodes import QUAD, lines, simulate

ALL = "0,1,2,3,4,5,6,7"


UNBOUND = "node packages 1 cores 8\npolicy act 1\njob a on 0-7 compute 0.01,0.01 {}\nat 0 irq 0 0.4\nat 1 start a\n{}"


def test_a_rank_whose_threads_come_later_gets_its_units_back(simulator):
    # GIVEN ranks that are not bound, with two busy threads each, of which some share a unit
    # WHEN they have four each later, two, and four again
    threads = "at 20 threads a 4\nat 40 threads a 2\nat 60 threads a 4\nuntil 90\n"
    outcome = simulate(simulator, UNBOUND.format("threads 2", threads))
    # THEN they are bound to two units each at first, as that gains
    bound = [event for event in outcome.of("kept") if event["at_s"] < 20]
    assert bound
    assert {len(to.split(",")) for event in bound for _, to in event["moves"]} == {2}
    # THEN both have all units again within two looks of a tuner that has nothing to do
    (back,) = [event for event in outcome.of("restored") if "had before they were moved" in event["why"]]
    assert back["at_s"] < 20 + 8
    assert {to for _, to in back["moves"]} == {ALL}
    assert back["ranks"] == [0, 1]
    # THEN no rank is bound to fewer than four any more
    later = [to for event in outcome.of("applied") if event["at_s"] > 20 for _, to in event["moves"]]
    assert all(len(to.split(",")) >= 4 for to in later)
    assert all(len(mask.split(",")) >= 4 for mask in outcome.jobs["a"]["masks"])
    assert outcome.violations == []


def test_a_rank_that_its_launcher_bound_stays_bound_when_threads_come(simulator):
    # GIVEN ranks that their launcher bound to a unit each, of which two have changed places
    scenario = (
        QUAD + "job a pus 0,1,2,3 compute 0.01,0.01,0.01,0.004\nat 0 irq 0 0.4\n"
        "at 1 start a\nat 20 threads a 4\nuntil 60\n"
    )
    # WHEN they have four threads each, THEN they stay where they are
    outcome = simulate(simulator, scenario)
    assert outcome.jobs["a"]["masks"] == ["3", "1", "2", "0"]
    assert outcome.of("undone") == []


def test_threads_that_a_runtime_has_bound_stay_where_they_are(simulator):
    # GIVEN ranks that are not bound, each with a thread that its runtime has bound
    outcome = simulate(simulator, UNBOUND.format("threads 2 pinned others", "until 60\n"))
    # WHEN they are tuned, THEN nothing is done, and it is said why
    assert outcome.of("applied") == []
    assert "bound apart" in outcome.of("refused")[0]["why"]
    # WHEN none is bound, THEN they get units of their own
    assert simulate(simulator, UNBOUND.format("threads 2", "until 60\n")).of("kept")


SWAPPED = QUAD + "job a pus 0,1,2,3 compute 0.01,0.01,0.01,0.004\nat 0 irq 0 0.4\nat 1 start a\n"


def said(outcome, part: str) -> list[dict]:
    return [event for event in outcome.events if part in event["why"]]


def test_whoever_sets_masks_again_and_again_wins(simulator):
    # GIVEN a rank that waits, which is put on the core of the interrupts
    # WHEN somebody sets both masks as they were every 20 s
    moments = range(20, 400, 20)
    script = "".join(f"at {moment} mask a 0 0\nat {moment} mask a 3 3\n" for moment in moments)
    outcome = simulate(simulator, SWAPPED + script + "until 400\n")
    # THEN they are exchanged three times, each time after a longer pause
    assert len(outcome.of("kept")) == 3
    seen = [event["at_s"] for event in said(outcome, "what was learned is forgotten")]
    again = [
        min(event["at_s"] for event in outcome.of("applied") if event["at_s"] > moment) for moment in seen[:2]
    ]
    first, second = (after - moment for moment, after in zip(seen, again, strict=False))
    assert first >= 4
    assert second >= 8
    # THEN it is left alone, which is said once
    (alone,) = said(outcome, "left alone from now on")
    assert alone["what"] == "refused"
    assert 60 <= alone["at_s"] < 68
    assert [event for event in outcome.of("applied") if event["at_s"] > 68] == []
    assert outcome.jobs["a"]["masks"] == ["0", "1", "2", "3"]
    assert outcome.violations == []


@pytest.mark.parametrize(
    ("job", "masks", "are"),
    [
        # each where the change would put it; one within what it had, which exchanges would not notice; one of two that
        # were not bound
        ("a pus 0,1,2,3 compute 0.01,0.01,0.01,0.004", {0: "3", 3: "0"}, ["3", "1", "2", "0"]),
        ("a masks 0-1/2-3 compute 0.01,0.004\nat 0 irq 1 0.4", {0: "1"}, ["1", "2,3"]),
        ("a on 0-3 compute 0.01,0.01\nat 0 irq 1 0.4", {0: "1"}, ["1", "0,1,2,3"]),
    ],
)
def test_a_mask_that_is_set_before_the_first_move_stays(simulator, job, masks, are):
    # GIVEN a change that is about to be measured
    scenario = QUAD + f"job {job}\nat 0 irq 0 0.4\nat 1 start a\n"
    tried = simulate(simulator, scenario + "until 20\n").of("applied")[0]["at_s"]
    # WHEN somebody sets masks in the windows before it
    script = "".join(f"at {tried - 0.3} mask a {rank} {pu}\n" for rank, pu in masks.items())
    outcome = simulate(simulator, scenario + script + f"until {tried + 4}\n")
    # THEN it is not made, which is said, and nothing is done for a while
    (refused,) = said(outcome, "changed from outside meanwhile")
    assert refused["what"] == "refused"
    assert tried - 0.3 <= refused["at_s"]
    assert said(outcome, "what was learned is forgotten")
    assert outcome.of("applied") == []
    assert outcome.jobs["a"]["masks"] == are
    assert outcome.violations == []


def test_the_unit_of_a_rank_that_ended_is_used(simulator):
    # GIVEN a job that goes on when a rank has ended, and interrupts that come to another one later
    job = "job a pus 0,1,2,3 compute 0.01,0.01,0.01,0.01\nat 1 start a\nat 10 leaves a 3\nat 20 irq 0 0.4\n"
    outcome = simulate(simulator, QUAD + job + "until 60\n")
    # THEN that one goes where the first was
    (kept,) = outcome.of("kept")
    assert (kept["ranks"], kept["moves"]) == ([0], [["0", "3"]])
    assert outcome.of("failed") == []
    assert outcome.violations == []


def test_where_the_best_change_cannot_be_made_the_next_best_is(simulator):
    # GIVEN two ranks that wait, of which the one that waits more cannot be moved
    job = "job a pus 0,1,2,3 compute 0.01,0.01,0.005,0.004\nat 0 irq 0 0.4\nat 1 start a\nat 1 refuses a 3\n"
    outcome = simulate(simulator, QUAD + job + "until 60\n")
    # THEN that is seen once, and the other one gives way
    (failed,) = outcome.of("failed")
    assert failed["moves"] == [["0", "3"], ["3", "0"]]
    (kept,) = outcome.of("kept")
    assert (kept["ranks"], kept["moves"]) == ([0, 2], [["0", "2"], ["2", "0"]])
    assert outcome.violations == []


def test_a_rank_is_not_left_where_its_partner_is_put_back(simulator):
    # GIVEN two ranks that have changed places
    # WHEN somebody puts one of them back
    outcome = simulate(simulator, SWAPPED + "at 20 mask a 0 0\nuntil 40\n")
    # THEN the other one goes back, too, before it is tried again
    back = said(outcome, "had before they were moved")[0]
    assert (back["ranks"], back["moves"]) == ([3], [["0", "3"]])
    assert 20 < back["at_s"] < 28
    assert outcome.violations == []


def test_a_runtime_that_binds_a_rank_within_its_new_units_is_not_given_way_to(simulator):
    # GIVEN two ranks of two units each that have changed places
    exchanged = (
        QUAD + "job a masks 0-1/2-3 compute 0.01,0.004\nat 0 irq 0 0.4\nat 0 irq 1 0.4\n"
        "at 1 start a\nat 30 mask a 0 {}\nuntil 60\n"
    )
    # WHEN the runtime of one binds it to one of these THEN its partner stays where it is
    outcome = simulate(simulator, exchanged.format("3"))
    assert outcome.of("kept")
    assert said(outcome, "what was learned is forgotten")
    assert outcome.jobs["a"]["masks"] == ["3", "0,1"]
    assert said(outcome, "had before they were moved") == []
    # WHEN it is bound elsewhere THEN the partner goes back
    assert said(simulate(simulator, exchanged.format("0")), "had before they were moved")
    assert outcome.violations == []


def test_a_rank_that_its_runtime_bound_and_that_is_moved_on_is_not_crowded(simulator):
    # GIVEN two ranks of two units each that have changed places, one of them bound by its runtime since, with two
    # threads
    scenario = (
        "node packages 1 cores 6\npolicy act 1\njob a masks 0-1/2-3/4-4 compute 0.01,0.004,0.004\n"
        "at 0 irq 0 0.4\nat 0 irq 1 0.4\nat 1 start a\nat 30 mask a 0 3\nat 30 irq 3 0.5\n"
        "at 70 threads a 2\nuntil 120\n"
    )
    # WHEN that one is moved on THEN it is not given back what it had, as nobody bound it but its runtime
    outcome = simulate(simulator, scenario)
    assert [event["moves"] for event in outcome.of("kept") if event["at_s"] > 30] == [
        [["3", "4"], ["4", "3"]]
    ]
    assert said(outcome, "had before they were moved") == []
    assert outcome.violations == []


def test_what_cannot_be_given_back_at_first_is_later(simulator):
    # GIVEN masks that cannot be given back for a while, as soon as a change is tried
    tried = simulate(simulator, SWAPPED + "until 20\n").of("applied")[0]["at_s"]
    script = f"at {tried + 0.1} stuck\nat {tried + 9} loose\nuntil 60\n"
    outcome = simulate(simulator, SWAPPED + script)
    # THEN that is said, and nothing else is done until it is taken back
    (failed,) = said(outcome, "it is tried again")
    (back,) = said(outcome, "what was left of a change is taken back")
    assert (failed["what"], back["what"]) == ("failed", "undone")
    assert tried + 9 <= back["at_s"] < tried + 15
    between = [each for each in outcome.of("applied") if failed["at_s"] < each["at_s"] < back["at_s"]]
    assert between == []
    # THEN it is tried again, and kept: nobody else changed anything
    assert outcome.of("kept")
    assert said(outcome, "changed from outside") == []
    assert outcome.violations == []


def test_a_rank_that_cannot_be_given_back_is_not_taken_for_somebody_elses_will(simulator):
    # GIVEN two ranks that have changed places
    # WHEN somebody changes another's mask, and of the two that are to have theirs again one does not get it at first
    outcome = simulate(simulator, SWAPPED + "at 19 stuck a 3\nat 20 mask a 1 2\nat 40 loose a 3\nuntil 60\n")
    assert [event["at_s"] < 28 for event in said(outcome, "it is tried again")] == [True]
    # THEN the other one gets it later, and somebody is given way to once
    assert len(said(outcome, "what was learned is forgotten")) == 1
    (back,) = said(outcome, "had before they were moved")
    assert back["at_s"] > 40
    assert outcome.jobs["a"]["masks"] == ["0", "2", "2", "3"]
    assert outcome.violations == []


def test_what_is_left_of_a_change_is_taken_back_beside_another_mover(simulator):
    # GIVEN a change that could not be taken back, and a mover to which the tuner gives way
    tried = simulate(simulator, SWAPPED + "until 20\n").of("applied")[0]["at_s"]
    script = f"at {tried + 0.1} stuck\nat {tried + 9} mover numad\nat {tried + 12} loose\nuntil 60\n"
    # WHEN it can be taken back THEN it is
    outcome = simulate(simulator, SWAPPED + script)
    (back,) = said(outcome, "what was left of a change is taken back")
    assert tried + 12 <= back["at_s"] < tried + 18
    assert outcome.jobs["a"]["masks"] == ["0", "1", "2", "3"]
    assert outcome.violations == []


def test_a_change_that_stays_halfway_is_taken_back_before_another_begins(simulator):
    # GIVEN two ranks that wait, and two cores with interrupts; of the first change, one rank is moved, another cannot
    # be, and the first not be moved back, for a while
    busy = SWAPPED.replace("0.01,0.01,0.01,0.004", "0.01,0.01,0.004,0.004") + "at 0 irq 1 0.3\n"
    first, *_, last = simulate(simulator, busy + "until 20\n").of("applied")[0]["ranks"]
    halfway = f"at 0 stuck a {first}\nat 0 refuses a {last}\n"
    # WHEN it is tuned
    script = halfway + f"at 30 loose a {first}\nat 30 allows a {last}\nuntil 90\n"
    outcome = simulate(simulator, busy + script)
    # THEN that is said, and nothing else is tried until the rank is back
    (failed,) = said(outcome, "1 threads cannot be moved back: it is tried again")
    (back,) = said(outcome, "what was left of a change is taken back")
    assert (failed["what"], back["what"]) == ("failed", "undone")
    assert 30 <= back["at_s"] < 36
    tried = [event["at_s"] for event in outcome.of("proposed", "applied")]
    assert [at_s for at_s in tried if failed["at_s"] < at_s < back["at_s"]] == []
    # THEN the tuner does not take what it did itself for somebody else's will
    assert said(outcome, "changed from outside") == []
    assert outcome.of("kept")
    assert outcome.violations == []
    # WHEN the tuner ends before it is back THEN nothing is kept of it, whatever was asked for
    ends = lines(simulator, busy + halfway + "until 25\n", "keeps")
    assert [event["kept"] for event in ends if "kept" in event] == [False]
    assert [event for event in ends if "violation" in event] == []


def test_what_is_stuck_at_the_end_is_said_and_given_back_once_that_is_possible(simulator):
    # GIVEN ranks that have changed places, of which one cannot be given back what it had
    outcome = simulate(simulator, SWAPPED + "at 19 stuck a 3\nuntil 30\n")
    # WHEN the tuner ends THEN it says so, and whoever comes next gives it back
    (failed,) = outcome.of("failed")
    assert failed["why"] == "given back: 1 thread; could not be given back: 1"
    (restored,) = outcome.of("restored")
    assert restored["why"] == "given back: 1 thread"
    assert outcome.violations == []


def test_ranks_of_which_some_are_given_back_are_not_kept(simulator):
    # GIVEN ranks that are to be given back what they had, as somebody has changed another's mask, and one that is not
    script = SWAPPED + "at 19 stuck a 3\nat 20 mask a 1 2\nuntil 30\n"
    # WHEN the tuner ends with `--keep` THEN it gives back all
    events = lines(simulator, script, "keeps")
    assert [event["kept"] for event in events if "kept" in event] == [False]
    assert [event for event in events if "violation" in event] == []


@pytest.mark.parametrize("stuck", [False, True])
def test_what_is_being_tried_is_not_kept(simulator, stuck):
    # GIVEN a change that is being tried, and can be taken back, or not at once
    tried = simulate(simulator, SWAPPED + "until 20\n").of("applied")[0]["at_s"]
    script = f"at {tried + 0.1} stuck\n" if stuck else ""
    # WHEN the tuner ends with `--keep`
    events = lines(simulator, SWAPPED + script + f"until {tried + 0.3}\n", "keeps")
    # THEN it keeps what was there before, or gives back all masks
    assert [event["kept"] for event in events if "kept" in event] == [not stuck]
    assert [event for event in events if "violation" in event] == []
    assert any(event.get("what") == ("restored" if stuck else "undone") for event in events)


def test_a_cpuset_that_changes_is_nobodys_will(simulator):
    # GIVEN two ranks that have changed places
    # WHEN their cpuset loses the unit of one of them
    outcome = simulate(simulator, SWAPPED + "at 20 cpuset a 0-2\nuntil 60\n")
    # THEN that is seen, and is no change of masks that the tuner gives way to
    assert said(outcome, "what was learned is forgotten")
    assert said(outcome, "had before they were moved") == []
    assert outcome.violations == []


@pytest.mark.parametrize(
    ("goes", "comes"),
    [("cpuset a 1-2", "cpuset a 0-3"), ("cpuset a 0-2", "cpuset a 0-3"), ("offline 0", "online 0")],
)
def test_units_that_go_and_come_again_are_nobodys_will(simulator, goes, comes):
    # GIVEN two ranks that have changed places
    # WHEN units go and come again, so that the kernel gives them what they had
    outcome = simulate(simulator, SWAPPED + f"at 20 {goes}\nat 40 {comes}\nuntil 80\n")
    # THEN that is seen, and is no change of masks that the tuner gives way to
    assert len(said(outcome, "what was learned is forgotten")) == 2
    assert said(outcome, "had before they were moved") == []
    assert outcome.jobs["a"]["masks"] == ["3", "1", "2", "0"]
    assert outcome.violations == []


def test_masks_that_are_changed_before_any_is_moved_are_taken_as_they_are(simulator):
    # GIVEN masks that a launcher sets late, several times
    script = "".join(f"at {1 + moment} mask a 0 {moment % 2 * 3}\nat {1 + moment} mask a 3 {3 - moment % 2 * 3}\n"
                     for moment in range(1, 6))  # fmt: skip
    outcome = simulate(simulator, SWAPPED + script + "until 40\n")
    # THEN nobody is given way to
    assert said(outcome, "left alone") == []
    assert outcome.violations == []


def test_what_nobody_could_give_back_after_a_kill_is_given_back(simulator):
    # GIVEN two ranks that have changed places, and an interrupt that was moved
    scenario = SWAPPED.replace("act 1", "act 1 irq 1") + "at 0 line 40 1 0.3\n"
    # WHEN the journal is gone for some time
    outcome = simulate(simulator, scenario + "at 40 journal gone\nat 80 journal back\nuntil 120\n")
    # THEN that is said once
    (failed,) = outcome.of("failed")
    assert failed["why"] == "the journal is gone: what was changed is given back"
    # THEN ranks and interrupt go back, and stay there until it is back
    meanwhile = [event for event in outcome.events if 40 < event["at_s"] < 80]
    what = [event["what"] for event in meanwhile]
    assert what == ["failed", "restored", "stood_back", "restored"]
    assert meanwhile[0]["at_s"] < 40 + 4 + 1
    assert meanwhile[1]["why"] == "interrupt 40 is given back: the journal is gone"
    assert sorted(meanwhile[3]["moves"]) == [["0", "3"], ["3", "0"]]
    assert [event for event in outcome.of("kept") if event["at_s"] > 80]
    assert said(outcome, "changed from outside") == []
    assert outcome.violations == []


def test_a_tuner_without_a_journal_says_so_where_nothing_is_moved(simulator):
    # GIVEN ranks of which none is moved yet
    (proposed, *_) = simulate(simulator, SWAPPED + "until 20\n").of("proposed")
    # WHEN there is no journal for some time, from the start or from a trial on
    for gone in (0.5, proposed["at_s"] + 0.3):
        outcome = simulate(simulator, f"{SWAPPED}at {gone} journal gone\nat 30 journal back\nuntil 60\n")
        # THEN that is said once, and its end
        back, resumed = outcome.of("stood_back", "resumed")
        assert back["why"] == "the journal is gone: nothing is done meanwhile"
        assert gone <= back["at_s"] < gone + 5
        assert (resumed["what"], resumed["why"]) == ("resumed", "a journal can be written again")
        # THEN nothing is taken for a change that failed
        assert outcome.of("failed") == []
        assert [event for event in outcome.of("applied") if event["at_s"] < 30] == []
        assert outcome.of("kept")
        assert outcome.violations == []


def test_a_trial_whose_journal_goes_leaves_nothing_changed(simulator):
    # GIVEN a change that is being measured
    (applied, *_) = simulate(simulator, SWAPPED + "until 20\n").of("applied")
    # WHEN the journal is gone meanwhile
    gone = applied["at_s"] + 0.3
    outcome = simulate(simulator, f"{SWAPPED}at {gone} journal gone\nuntil 60\n")
    # THEN the ranks have their masks again, and nothing more is tried
    assert outcome.jobs["a"]["masks"] == ["0", "1", "2", "3"]
    assert [event for event in outcome.of("proposed", "applied") if event["at_s"] > gone + 10] == []
    assert outcome.violations == []
