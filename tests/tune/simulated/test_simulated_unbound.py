# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that are not bound, and change places all the time on simulated nodes."""

import pytest
from simulated_nodes import simulate, static

BUSY_AND_WAITING = "compute 0.01,0.003"
BUSY_AND_ONE_WAITING = "compute 0.01,0.01,0.01,0.003"


@pytest.mark.parametrize(
    ("cores", "job", "wanders"),
    [(2, BUSY_AND_WAITING, 5), (2, BUSY_AND_WAITING, 20), (4, BUSY_AND_ONE_WAITING, 5)],
)
def test_the_first_change_puts_the_rank_that_waits_where_others_are(simulator, cores, job, wanders):
    proposals, kept, faster = 0, 0, 0
    for seed in range(10):
        # GIVEN ranks that may be anywhere, and another process that takes 40 % of one unit
        scenario = (
            f"seed {seed}\nnode packages 1 cores {cores}\npolicy act 1\n"
            f"job a on 0-{cores - 1} {job} wanders {wanders}\nat 0 others 0 0.4\nat 1 start a\nuntil 30\n"
        )
        # WHEN they are tuned
        outcome = simulate(simulator, scenario)
        # THEN the rank that waits is to have that unit, wherever the kernel had it when it was looked at
        if tried := outcome.of("applied"):
            proposals += 1
            assert tried[0]["moves"][tried[0]["ranks"].index(cores - 1)][1] == "0", seed
        if outcome.of("kept"):
            kept += 1
            faster += outcome.iterations > static(simulator, scenario).iterations
            assert outcome.jobs["a"]["masks"][-1] == "0"
        assert outcome.violations == []
    # THEN most are tried, and what is kept is mostly faster than where the kernel puts ranks
    assert proposals >= 7
    assert kept >= 4 and faster >= 0.8 * kept, (proposals, kept, faster)


def looked_at(simulator, **changed):
    """How often it was looked where ranks run, in 60 s in which a change is wanted."""
    text = (
        "node packages 1 cores 2\npolicy act 1\n"
        f"job a on 0-1 {BUSY_AND_WAITING} wanders 5\nat 0 others 0 0.4\nat 1 start a\nuntil 60\n"
    )
    for before, after in changed.values():
        assert before in text
        text = text.replace(before, after)
    outcome = simulate(simulator, text)
    assert outcome.of("proposed")
    return outcome.unit_looks


def test_it_is_looked_where_ranks_run_only_before_they_may_be_moved(simulator):
    # GIVEN ranks that are not bound, which had better be moved THEN it is looked where they are
    assert looked_at(simulator) > 10
    # THEN not where nothing is tried whatever comes out: it only says what it would do, or cannot measure progress
    assert looked_at(simulator, act=("policy act 1", "policy act 0")) == 0
    assert looked_at(simulator, page=(" wanders", " page 0 sampled 1 wanders")) == 0


def test_windows_are_as_many_as_a_rate_that_varies_asks_for(simulator):
    # GIVEN ranks that are not bound, whose rate is one thing or another for half a second each, and ranks that are
    wandering = "\n".join(
        [
            "node packages 1 cores 2\npolicy act 1",
            f"job a on 0-1 {BUSY_AND_WAITING} wanders 2\nat 0 others 0 0.4\nat 1 start a\nuntil 60\n",
        ]
    )
    bound = wandering.replace("on 0-1", "pus 0,1")

    def windows_s(text):
        """From a proposal to when it is tried."""
        outcome = simulate(simulator, text)
        return outcome.of("applied")[0]["at_s"] - outcome.of("proposed")[0]["at_s"]

    # THEN the ones are measured for longer than the others before they are moved, up to four times
    longest_s = max(windows_s(f"seed {seed}\n{wandering}") for seed in range(5))
    assert 1.5 * windows_s(bound) < longest_s < 5 * windows_s(bound)
