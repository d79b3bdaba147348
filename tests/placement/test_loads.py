# SPDX-License-Identifier: BSD-3-Clause
"""Memories and interrupt cores in the search: by definition, by brute force, and from a machine file."""

import itertools
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_search import expected, random_weights, search_for

from rankwise.machine.file import load
from rankwise.machine.machine import topology_of
from rankwise.placement.costs import CoreSlots
from rankwise.placement.loads import RankTimes, interrupt_cores, loads
from rankwise.placement.sharing import sharing

MACHINES = Path(__file__).resolve().parents[2] / "machines"


def norm(values) -> float:
    return float(sum(value**8 for value in values) ** (1 / 8))


def loaded(ranks: int, seed: int, nodes: int):
    """A search on nodes of two packages of two cores, each package a memory, core 1 of each node interrupted."""
    weights = random_weights(ranks, seed)
    rng = np.random.default_rng(seed + 1)
    demand, busy = rng.random(ranks) * 100, rng.random(ranks)
    search = search_for(weights, nodes, 2, 2)
    search.share(
        memory=[slot // 2 for slot in range(4 * nodes)],
        demand=demand.tolist(),
        interrupt_core=[4 * node + 1 for node in range(nodes)],
        busy=busy.tolist(),
        interrupts=0.7,
    )
    return weights, demand, busy, search


def defined(weights, demand, busy, slot, nodes) -> float:
    """The objective from its definition."""
    memory, wire, interrupted = np.zeros(2 * nodes), np.zeros(nodes), np.zeros(nodes)
    for rank, at in enumerate(slot):
        memory[at // 2] += demand[rank]
    for a, b in itertools.permutations(range(len(slot)), 2):
        if slot[a] // 4 != slot[b] // 4:
            wire[[slot[a] // 4, slot[b] // 4]] += 5.0 * weights[a, b]
    for rank, at in enumerate(slot):
        if at % 4 == 1:
            interrupted[at // 4] = 0.7 * wire[at // 4] * busy[rank]
    return expected(weights, slot, 2, 2)[0] + norm(memory) + norm(interrupted)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.integers(0, 10_000))
def test_loads_are_in_the_score_and_in_its_changes(ranks, seed):
    # GIVEN ranks that demand memory and wait differently, on 3 nodes
    weights, demand, busy, search = loaded(ranks, seed, 3)
    start = np.random.default_rng(seed).permutation(12)[:ranks].tolist()
    assert search.score(start)[0] == pytest.approx(defined(weights, demand, busy, start, 3), rel=1e-5)
    # WHEN they are swapped THEN the score of the result is what its definition says, and no worse
    refined = search.refine(start, seed=seed)
    assert len(set(refined)) == ranks
    assert search.score(refined)[0] == pytest.approx(defined(weights, demand, busy, refined, 3), rel=1e-5)
    assert search.score(refined)[0] <= search.score(start)[0] * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_of_all_placements_of_eight_ranks_is_found(seed):
    # GIVEN all 40320 placements of 8 ranks on 2 nodes
    search = loaded(8, seed, 2)[-1]
    best = min(search.score(list(slot))[0] for slot in itertools.permutations(range(8)))
    # THEN swaps from a few starts end at the best
    starts = [search.grow(), *(np.random.default_rng(s).permutation(8).tolist() for s in range(30))]
    found = min(search.score(search.refine(start, seed=seed))[0] for start in starts)
    assert found == pytest.approx(best, rel=1e-6)


def test_the_rank_that_waits_goes_to_the_interrupt_core():
    # GIVEN four ranks on each of two nodes that all send alike, of which ranks 2 and 7 wait
    weights = np.ones((8, 8), dtype=int) - np.eye(8, dtype=int)
    search = search_for(weights, 2, 2, 2)
    busy = [0.1 if rank in (2, 7) else 0.9 for rank in range(8)]
    search.share(memory=[], demand=[], interrupt_core=[0, 4], busy=busy, interrupts=1.0)
    # WHEN ranks are swapped
    slot = search.refine(list(range(8)), seed=1)
    # THEN these two have the interrupt cores
    assert {slot[2], slot[7]} == {0, 4}


def test_a_machine_file_says_what_is_shared():
    # GIVEN two hosts whose core 0 does the work of TCP/IP, and 8 ranks of which each sends 1 MB to the next
    path = MACHINES / "ten-gigabit-ethernet-a-2007.machine.toml"
    machine = load(path)
    topology = topology_of(machine, path.parent)
    rows = [(rank, (rank + 1) % 8, 10, 1_000_000) for rank in range(8)]
    messages = pl.DataFrame(rows, schema=["source", "destination", "messages", "bytes"], orient="row")
    parts = {"computation": np.full(8, 3.0), "waiting": np.arange(8.0)}
    times = RankTimes.of(parts, np.zeros(8))
    assert times.busy.tolist() == pytest.approx([3 / (3 + rank) for rank in range(8)])
    found = loads(messages, machine, topology, CoreSlots.of(topology), times)
    # THEN core 0 of each is the interrupt core, as busy as its wire, and no memory is described
    assert interrupt_cores(machine, topology) == [0, 0]
    assert (found["interrupt_core"], found["memory"], found["demand"]) == ([0, 4], [], [])
    assert found["interrupts"] == pytest.approx(1.0)
    # AND placements say who is there
    from rankwise.machine.placement import Placement

    placement = Placement.explicit(topology, [(1, [0]), (0, [1]), (0, [0])])
    assert sharing(placement, topology, machine).interrupted == (0, 2)
