# SPDX-License-Identifier: BSD-3-Clause
"""What a trial measures on nodes that do not exist, who counts in it, and what a gain is."""

import random

import pytest
from simulated_nodes import QUAD, lines, simulate

SWAPPED = (
    QUAD + "job a pus 0,1,2,3 compute 0.01,0.01,0.01,0.004 {}\nat 0 irq 0 0.4\nat 1 start a\n{}\nuntil {}\n"
)


@pytest.mark.parametrize("iteration", [0.3, 0.5, 2])
def test_long_iterations_are_judged_by_iterations(simulator, iteration):
    # GIVEN a rank on the core of interrupts and one that waits, and iterations longer than a window
    text = ",".join(str(part * iteration) for part in (1, 1, 1, 0.4))
    scenario = QUAD + f"job a pus 0,1,2,3 compute {text}\nat 0 irq 0 0.4\nat 1 start a\nuntil 400\n"
    # WHEN it is tuned
    (measured,) = simulate(simulator, scenario).of("measured")
    # THEN windows are of whole iterations, with nothing of what was before a change
    assert measured["rate_of"] == "iterations"
    assert measured["measured_gain"] == pytest.approx(0.4, abs=0.02)
    assert measured["gain_low"] > 0.35


def long_iterations(seconds: float) -> str:
    """The interrupts come when it is known how long an iteration takes: after them, so many seconds."""
    text = ",".join(str(0.6 * part * seconds) for part in (1, 1, 1, 0.4))
    return QUAD + f"job a pus 0,1,2,3 compute {text}\nat 1 start a\nat 100 irq 0 0.4\nuntil 1500\n"


@pytest.mark.parametrize("iteration", [4, 6, 12, 20])
def test_long_iterations_are_tuned(simulator, iteration):
    outcome = simulate(simulator, long_iterations(iteration))
    (kept,) = outcome.of("kept")
    assert kept["moves"] == [["0", "3"], ["3", "0"]]
    assert kept["measured_gain"] == pytest.approx(0.4, abs=0.02)


@pytest.mark.parametrize("iteration", [30, 120])
def test_it_is_said_once_that_iterations_are_too_long(simulator, iteration):
    # GIVEN iterations of which 27 do not end in the ten minutes of a trial
    outcome = simulate(simulator, long_iterations(iteration))
    # THEN that is why nothing is tried
    (refused,) = outcome.of("refused")
    assert "take longer than 22 s" in refused["why"]
    assert outcome.of("proposed", "applied") == []


def test_a_small_gain_is_tried_only_behind_a_larger_one(simulator):
    # GIVEN ranks that wait, and a core with so few interrupts that 2 % are to be gained: below the first threshold
    job = "node packages 1 cores 5\npolicy act 1\njob a pus 0,1,2,3,4 compute 0.01,0.01,0.01,0.004,0.004\n"
    begin = "at 0 irq 1 0.02\nat 1 start a\nuntil 60\n"
    # THEN alone it is not tried
    assert simulate(simulator, job + begin).of("proposed") == []
    # WHEN there is more to be gained as well, THEN that is done first, and then this, which is above the second one
    first, second = simulate(simulator, job + "at 0 irq 0 0.4\n" + begin).of("kept")
    assert first["measured_gain"] == pytest.approx(0.4, abs=0.02)
    assert second["measured_gain"] == pytest.approx(0.02, abs=0.01)


def test_one_reading_of_clocks_asks_for_no_change(simulator):
    # GIVEN clocks that are read each 5 s, and one that is low when they are, for less than a second
    low = "at 20.9 clock 0 0.5\nat 21.4 clock 0 1\n"
    job = "job a pus 0,1,2,3 compute 0.01,0.01,0.01,0.004\nat 0 clocks 5\nat 1 start a\n"
    assert simulate(simulator, QUAD + job + low + "until 60\n").of("proposed") == []
    # THEN such as stays low does
    assert simulate(simulator, QUAD + job + low.splitlines()[0] + "\nuntil 60\n").of("kept")


def test_ranks_without_a_page_are_refused_once(simulator):
    # GIVEN a job whose progress nothing tells, as time outside MPI is none
    outcome = simulate(simulator, SWAPPED.format("page 0 sampled 1", "", 300))
    # WHEN it is tuned, THEN a change is proposed and refused, once, and none is made
    assert len(outcome.of("proposed")) == 1
    (refused,) = outcome.of("refused")
    assert refused["why"].startswith("its progress cannot be measured")
    assert outcome.of("applied") == []


@pytest.mark.parametrize("iterations", [0, 1])
@pytest.mark.parametrize("begin", [2.31, 3.12, 4.05])
def test_a_suspension_is_no_part_of_what_is_measured(simulator, begin, iterations):
    # GIVEN a job that is suspended for two seconds while a change is tried
    scenario = SWAPPED.format(
        f"iterations {iterations} pattern ring bytes 10", f"at {begin} suspend a\nat {begin + 2} resume a", 60
    )
    # WHEN it is tuned
    measured = simulate(simulator, scenario).of("measured")
    # THEN its gain is what it is without
    assert measured[0]["measured_gain"] == pytest.approx(0.4, abs=0.03)
    assert measured[0]["gain_low"] > 0.3


def test_a_pause_of_the_program_is_not_put_down_to_the_change_that_is_tried(simulator):
    # GIVEN a program that does something else for some seconds while a change is tried
    tried = simulate(simulator, SWAPPED.format("", "", 60)).of("applied")[0]["at_s"]
    pause = f"at {tried + 0.6} compute a 9 9 9 9\nat {tried + 6} compute a 0.01 0.01 0.01 0.004"
    outcome = simulate(simulator, SWAPPED.format("", pause, 120))
    # WHEN nothing gets on without it either
    undone, *_ = outcome.of("undone")
    assert undone["why"] == "nothing gets on without it either"
    # THEN it is tried again, and kept
    first, second, *_ = outcome.of("proposed")
    assert second["moves"] == first["moves"]
    assert len(outcome.of("kept")) == 1


def test_a_tuner_that_comes_late_leaves_nothing_that_is_not_measured(simulator):
    # GIVEN a change that is being tried when the tuner begins to get too little time
    late = "\n".join(f"at {4 + 2.05 * i:.2f} jump 2" for i in range(100))
    # WHEN all its windows are too long
    outcome = simulate(simulator, SWAPPED.format("", late, 60))
    # THEN the change is taken back
    assert outcome.of("undone")[0]["why"].startswith("progress cannot be measured")
    assert outcome.jobs["a"]["masks"] == ["0", "1", "2", "3"]


def test_a_rank_that_ends_in_a_trial_does_not_keep_its_partner_away(simulator):
    # GIVEN two ranks that have changed places, to be measured
    # WHEN one of them ends
    outcome = simulate(simulator, SWAPPED.format("", "at 3.2 kill a 0", 20))
    # THEN the other is where it was
    assert outcome.jobs["a"]["masks"][3] == "3"
    assert [event for event in outcome.of("seen") if "from outside" in event["why"]] == []


def test_what_cannot_be_told_from_noise_is_tried_ever_more_rarely(simulator):
    # GIVEN a job whose rate varies by more than a change is estimated to gain
    scenario = QUAD + (
        "job a pus 0,1,2,3 compute 0.01,0.01,0.01,0.008 noise 0.4\nat 0 irq 0 0.08\nat 1 start a\nuntil 1200\n"
    )
    # WHEN it runs for twenty minutes
    outcome = simulate(simulator, scenario)
    # THEN there are few attempts
    attempts = [each for each in outcome.of("refused") if "varies from window to window" in each["why"]]
    assert 2 <= len(attempts) <= 12


def test_a_window_with_two_phases_in_it_is_not_decided_on(simulator):
    # GIVEN ranks that begin to do something else within the first window
    outcome = simulate(simulator, SWAPPED.format("", "at 1.6 compute a 0.004 0.01 0.01 0.01", 20))
    # WHEN it is tuned, THEN nothing follows from that window: in the second phase there is nothing to gain
    assert outcome.of("proposed") == []


def test_a_trial_begins_with_the_proposal(simulator):
    outcome = simulate(simulator, SWAPPED.format("", "", 20))
    # GIVEN eight windows of 0.1 s without the change
    # THEN it is made right behind them
    assert outcome.of("applied")[0]["at_s"] < outcome.of("proposed")[0]["at_s"] + 1


@pytest.mark.parametrize(
    ("does", "busy", "swapped", "within_s"),
    [
        ("sleeps", False, ["3", "1", "2", "0"], 44),  # in I/O, outside MPI
        ("waits", False, ["3", "1", "2", "0"], 44),  # in one MPI call, for the end of the job
        ("works", True, ["2", "1", "0", "3"], 20),  # outside MPI: nobody could see what it loses
        ("pageless", True, ["2", "1", "0", "3"], 10),
    ],
)
def test_a_rank_that_tells_nothing_keeps_nobody_from_measuring(simulator, does, busy, swapped, within_s):
    # GIVEN a rank that takes no part in its job's iterations, or has no page
    times = "0.01,0.01,0.004,0.01" if busy else "0.01,0.01,0.01,0.01"
    scenario = QUAD + (
        f"job a pus 0,1,2,3 compute {times} pattern ring bytes 10\nat 0 irq 0 0.4\nat 1 start a\n"
        f"at 1 {does} a 3\nuntil 60\n"
    )
    # WHEN it is tuned
    outcome = simulate(simulator, scenario)
    # THEN the others' progress is measured, in their iterations; who is idle makes room, who is busy stays
    (kept,) = outcome.of("kept")
    assert kept["rate_of"] == "iterations"
    assert kept["measured_gain"] == pytest.approx(0.4, abs=0.02)
    assert kept["at_s"] < within_s
    assert any("it stays where it is" in event["why"] for event in outcome.of("seen")) == busy
    assert outcome.jobs["a"]["masks"] == swapped
    assert outcome.violations == []


def test_a_rank_that_falls_silent_in_a_trial_ends_it_and_is_left_out(simulator):
    # GIVEN a trial under way
    scenario = QUAD + (
        "job a pus 0,1,2,3 compute 0.01,0.01,0.004,0.01 pattern ring bytes 10\nat 0 irq 0 0.4\nat 1 start a\n"
        "at 4.2 sleeps a 3\nuntil 120\n"
    )
    # WHEN a rank goes to sleep for good
    outcome = simulate(simulator, scenario)
    # THEN the change is taken back, and tried again without it
    assert [event["at_s"] for event in outcome.of("undone") if "makes no MPI calls" in event["why"]][0] < 40
    assert outcome.of("kept")
    assert outcome.violations == []


def test_a_rank_that_comes_back_counts_again(simulator):
    # GIVEN a rank that sleeps while the job is tuned, then takes part on the core of the interrupts
    scenario = QUAD + (
        "job a pus 0,1,2,3 compute 0.01,0.01,0.004,0.01 pattern ring bytes 10\nat 0 irq 0 0.4\nat 1 start a\n"
        "at 1 sleeps a 3\nat 60 joins a 3\nuntil 120\n"
    )
    # WHEN it is tuned, THEN the rank that waits has that core at the end
    assert simulate(simulator, scenario).jobs["a"]["masks"][2] == "0"


def gains(simulator, *lines_of_rates: list[list[float]], outside: float = 0.025) -> list[dict]:
    text = "\n".join(
        ";".join([*(" ".join(map(str, part)) for part in rates), str(outside)]) for rates in lines_of_rates
    )
    return lines(simulator, text + "\n", "gain")


def test_a_gain_is_welchs_interval(simulator):
    # GIVEN rates of mean 10 and 11 and of variance 8/7, eight each, of which neighbours are not alike
    (found,) = gains(simulator, [[9, 11] * 4, [10, 12] * 4, []])
    # THEN the difference is 1 +- 2.1448 sqrt(2/7) (Student's t, 14 degrees of freedom), as time that is saved
    width = 2.1448 * (2 / 7) ** 0.5
    for key, difference in (("value", 1), ("low", 1 - width), ("high", 1 + width)):
        assert found[key] == pytest.approx(difference / (10 + difference), abs=2e-4)
    # THEN a drift in a straight line is no gain
    (drift,) = gains(simulator, [[9, 11] * 4, [10, 12] * 4, [11, 13] * 4])
    assert drift["value"] == pytest.approx(0, abs=1e-12)
    assert drift["low"] < found["value"] - 0.1


@pytest.mark.parametrize("likeness", [0, 0.5])
def test_what_gains_nothing_is_seldom_taken_for_a_gain(simulator, likeness):
    # GIVEN 4000 attempts without any gain, of windows that are like those before them
    dice = random.Random(1)
    attempts = []
    for _ in range(4000):
        state, rates = dice.gauss(0, 1), []
        for _ in range(24):
            rates.append(100 + state)
            state = likeness * state + (1 - likeness**2) ** 0.5 * dice.gauss(0, 1)
        attempts.append([rates[:8], rates[8:16], rates[16:]])
    # THEN about one in forty seems to gain
    lucky = sum(found["low"] > 0 for found in gains(simulator, *attempts))
    assert lucky / len(attempts) < 0.04


def alternating(freedom: int, by: float) -> list[float]:
    """Windows around 100 that are unlike their neighbours, so that each counts: one more than degrees of freedom."""
    first = [100.0] if freedom % 2 == 0 else []
    return [*first, *([100 + by, 100 - by] * ((freedom + 1) // 2))]


# Student's t: exact for one and two degrees, tables of the NIST/SEMATECH e-Handbook, 1.3.6.7.2, for others.
@pytest.mark.parametrize(
    ("freedom", "outside", "exceeded"),
    [
        (1, 0.025, 12.706),
        (1, 0.0001, 3183.1),
        (2, 0.025, 4.3027),
        (2, 0.00025, 44.70),
        (3, 0.001, 10.215),
        (4, 0.025, 2.7764),
        (4, 0.001, 7.1732),
        (10, 0.025, 2.2281),
        (10, 0.001, 4.1437),
        (40, 0.001, 3.3069),
    ],
)
def test_an_interval_of_few_windows_is_as_wide_as_students_t_says(simulator, freedom, outside, exceeded):
    # GIVEN a rate of 100 without any scatter, and one of 100 in so many windows
    with_it = alternating(freedom, 10 / exceeded)
    # WHEN the gain is to be wrong so seldom
    (found,) = gains(simulator, [[100.0] * 8, with_it, []], outside=outside)
    # THEN its lower end is so much below none, as time that is saved
    error = (sum((rate - 100) ** 2 for rate in with_it) / freedom / len(with_it)) ** 0.5
    slower = -exceeded * error / 100
    assert found["low"] == pytest.approx(slower / (1 + slower), rel=2e-3)
