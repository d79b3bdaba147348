# SPDX-License-Identifier: BSD-3-Clause
"""The objective's deltas, the greedy start and the swaps, against brute force and by properties."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rankwise._core.placement import Search

from rankwise.errors import RankwiseError

COST = (10.0, 4.0, 1.0, 0.0)  # different nodes, packages, cores, the same core; seconds a unit of traffic
NIC = 5.0


def machine(nodes: int, packages: int, cores: int) -> tuple[np.ndarray, np.ndarray]:
    groups = [(n, p, c) for n in range(nodes) for p in range(packages) for c in range(cores)]
    table = np.array(groups, dtype=np.int32)
    return table, table[:, 0].copy()


def search_for(weights: np.ndarray, nodes: int, packages: int, cores: int) -> Search:
    """`weights[a, b]`: units of traffic from a to b."""
    offsets, neighbour, cost, out, into = [0], [], [], [], []
    for a in range(len(weights)):
        for b in np.flatnonzero(weights[a] + weights[:, a]):
            if b != a:
                neighbour.append(b)
                cost.append([(weights[a, b] + weights[b, a]) * c for c in COST])
                out.append(weights[a, b] * NIC)
                into.append(weights[b, a] * NIC)
        offsets.append(len(neighbour))
    return Search(
        *machine(nodes, packages, cores),
        np.array(offsets, dtype=np.int64),
        np.array(neighbour, dtype=np.int32),
        np.array(cost, dtype=np.float32).reshape(-1, len(COST)),
        np.array(out, dtype=np.float32),
        np.array(into, dtype=np.float32),
    )


def expected(weights: np.ndarray, slot: list[int], packages: int, cores: int) -> tuple[float, float]:
    """The objective and the busiest interface, computed from the definition."""
    place = [(s // (packages * cores), s // cores, s) for s in slot]
    total, out, into = 0.0, {}, {}
    for a, b in itertools.permutations(range(len(weights)), 2):
        level = sum(1 for x, y in zip(place[a], place[b], strict=True) if x == y)
        total += weights[a, b] * COST[level]
        if level == 0:
            out[place[a][0]] = out.get(place[a][0], 0) + weights[a, b] * NIC
            into[place[b][0]] = into.get(place[b][0], 0) + weights[a, b] * NIC
    loads = [*out.values(), *into.values(), 0.0]
    return total / len(weights) + sum(x**8 for x in loads) ** (1 / 8), max(loads)


def random_weights(ranks: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 9, (ranks, ranks)) * (rng.random((ranks, ranks)) < 0.4)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 12), st.integers(0, 10_000))
def test_score_is_the_definition(ranks, seed):
    # GIVEN random traffic and a random placement on 3 nodes of 2 packages of 2 cores
    weights = random_weights(ranks, seed)
    slot = np.random.default_rng(seed).permutation(12)[:ranks].tolist()
    # THEN the objective is what its definition says
    assert search_for(weights, 3, 2, 2).score(slot) == pytest.approx(expected(weights, slot, 2, 2), rel=1e-5)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 16), st.integers(0, 10_000))
@example(7, 834)  # two ranks that exchange unequal amounts change places
def test_swaps_keep_a_placement_and_never_lose(ranks, seed):
    weights = random_weights(ranks, seed)
    search = search_for(weights, 4, 2, 2)
    start = np.random.default_rng(seed).permutation(16)[:ranks].tolist()
    # WHEN it is refined
    refined = search.refine(start, seed=seed)
    # THEN ranks still have cores of their own, and the objective has not grown
    assert len(set(refined)) == ranks and set(refined) <= set(range(16))
    assert search.score(refined)[0] <= search.score(start)[0] * (1 + 1e-9)
    # AND its incremental value agrees with a fresh computation
    assert search.score(refined)[0] == pytest.approx(expected(weights, refined, 2, 2)[0], rel=1e-5)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 16), st.integers(0, 10_000))
def test_growing_gives_every_rank_a_core_of_its_own(ranks, seed):
    slot = search_for(random_weights(ranks, seed), 4, 2, 2).grow()
    assert len(set(slot)) == ranks and set(slot) <= set(range(16))


@pytest.mark.parametrize("seed", range(12))
def test_the_best_of_a_few_starts_is_the_optimum_of_eight_ranks(seed):
    # GIVEN random traffic of 8 ranks on 2 nodes of 2 packages of 2 cores
    weights = random_weights(8, seed)
    search = search_for(weights, 2, 2, 2)
    # WHEN all placements are tried that differ in more than the names of equal cores, packages and nodes
    best = min(
        search.score([0, *rest])[0] for rest in itertools.permutations(range(1, 8)) if canonical([0, *rest])
    )
    # THEN refining the grown placement and a few random ones finds the best
    starts = [search.grow(), *(np.random.default_rng(s).permutation(8).tolist() for s in range(20))]
    found = min(search.score(search.refine(start, seed=seed))[0] for start in starts)
    assert found == pytest.approx(best, rel=1e-6)


def canonical(slot: list[int]) -> bool:
    rank = {s: r for r, s in enumerate(slot)}
    cores = all(rank[s] < rank[s + 1] for s in range(0, 8, 2))
    return cores and rank[0] < rank[2] and rank[4] < rank[6]


def test_two_cliques_end_on_two_nodes():
    # GIVEN even ranks that talk to even ones only, odd to odd
    weights = np.array([[1 if (a + b) % 2 == 0 and a != b else 0 for b in range(8)] for a in range(8)])
    search = search_for(weights, 2, 2, 2)
    # WHEN a placement is grown THEN each clique has a node of its own and no interface carries anything
    slot = search.grow()
    assert len({slot[r] // 4 for r in range(0, 8, 2)}) == 1
    assert search.score(slot)[1] == 0


def test_the_same_seed_gives_the_same_placement():
    search = search_for(random_weights(16, 3), 4, 2, 2)
    assert search.refine(list(range(16)), seed=5) == search.refine(list(range(16)), seed=5)


@pytest.mark.parametrize(("slot", "message"), [([0, 0], "same core"), ([0, 16], "there are `16` cores")])
def test_impossible_placements_are_refused(slot, message):
    with pytest.raises(RankwiseError, match=message):
        search_for(np.ones((2, 2)), 4, 2, 2).score(slot)


def test_more_ranks_than_cores_are_refused():
    with pytest.raises(RankwiseError, match="`17` ranks do not fit on `16` cores"):
        search_for(np.ones((17, 17)), 4, 2, 2)
