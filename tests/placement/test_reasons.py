# SPDX-License-Identifier: BSD-3-Clause
"""Why one placement is better than another, in sentences."""

from types import SimpleNamespace

import numpy as np
import pytest

from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology, from_synthetic
from rankwise.placement.reasons import compared_with, network_share, reasons

# Each package is a memory.
TOPOLOGY = Topology.of(from_synthetic("package:2 [numa] core:2 pu:1"), 2)


def prediction(makespan_s, seats, network_bytes, busy_s, waiting_s=0.0):
    """What a prediction says, as far as reasons ask."""
    way = {"bytes": np.array([network_bytes, 0]), "busy_s": np.array([busy_s, 0.0])}
    zero = np.zeros(len(seats))
    return SimpleNamespace(
        makespan_s=makespan_s,
        placement=Placement.explicit(TOPOLOGY, [(node, [core]) for node, core in seats]),
        parts_s={"waiting": zero + waiting_s, "overhead": zero, "core_sharing": zero},
        interfaces={"tx": way, "rx": way},
        busiest_interface_s=lambda: busy_s,
        channels={"self": (1, 1000), "package": (1, 400 - network_bytes), "network": (1, network_bytes)},
    )


def test_the_sentences_name_what_changed_and_the_largest_change_comes_first():
    # GIVEN a placement that waits 2 s less, uses the network 1 s less, and gives each rank a memory of its own
    then = prediction(10.0, [(0, 0), (0, 1)], 200, 4.0, waiting_s=5.0)
    now = prediction(8.0, [(0, 0), (0, 2)], 100, 3.0, waiting_s=3.0)
    # WHEN it is explained
    found = reasons(now, then, "blocked", TOPOLOGY)
    # THEN everything that differs is said, times first
    assert found == [
        "the mean rank waits 3 s instead of 5 s",
        "the busiest network interface is at work 3 s instead of 4 s",
        "50 % fewer bytes cross the network",
        "a memory has up to 1 rank instead of 2 ranks",
        "0 of 2 ranks are on another node than with blocked",
    ]
    # AND messages to self are in no share
    assert network_share(now) == 0.25


def test_the_best_is_compared_with_where_the_program_ran_else_with_what_is_worse():
    seats = [(0, 0), (0, 1)]
    best, worse, worst = (prediction(time_s, seats, 0, 0.0) for time_s in (1.0, 2.0, 3.0))
    assert compared_with({"blocked": worse, "current": worst}, best) == "current"
    assert compared_with({"blocked": worst, "cyclic": worse}, best) == "blocked"
    # Where the first is the best itself, the next best shows what it is better at.
    assert compared_with({"blocked": best, "cyclic": worst, "plane=2": worse}, best) == "plane=2"
    assert compared_with({"blocked": best}, best) == "blocked"


def test_equals_are_said_to_be_equal():
    same = prediction(1.0, [(0, 0), (0, 1)], 0, 0.0)
    assert reasons(same, same, "blocked", TOPOLOGY) == ["nothing that was tried is better than blocked"]


def test_a_slower_placement_that_was_asked_for_is_said_to_be_slower():
    # GIVEN a placement that the objective of bytes prefers, 1 s slower
    then = prediction(4.0, [(0, 0), (0, 1)], 200, 1.0)
    now = prediction(5.0, [(0, 0), (0, 1)], 100, 1.0)
    assert reasons(now, then, "blocked", TOPOLOGY) == [
        "the predicted time is 5 s instead of 4 s",
        "50 % fewer bytes cross the network",
        "0 of 2 ranks are on another node than with blocked",
    ]


@pytest.mark.parametrize(
    ("now", "then", "said"),
    [
        (1, 100_000, "over 99 % fewer"),
        (0, 1000, "100 % fewer"),
        (100_001, 100_000, "hardly more"),
        (3, 1, "200 % more"),
    ],
)
def test_shares_that_round_to_none_or_all_are_said_in_words(now, then, said):
    seats = [(0, 0), (0, 1)]
    found = reasons(prediction(4.0, seats, now, 1.0), prediction(5.0, seats, then, 1.0), "blocked", TOPOLOGY)
    assert f"{said} bytes cross the network" in found
