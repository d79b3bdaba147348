# SPDX-License-Identifier: BSD-3-Clause
"""Graphs on hierarchies: the reader, bound and optimum by brute force, known tilings, never worse than before."""

import importlib.util
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rankwise._core.placement import Graph, Mapping

from rankwise.errors import RankwiseError
from rankwise.placement.graph import Hierarchy, load_cores, load_graph, parse_grid, place_graph

_SPEC = importlib.util.spec_from_file_location(
    "place_graphs", Path(__file__).resolve().parents[2] / "bench" / "place_graphs.py"
)
graphs = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(graphs)


def graph_of(edges: list[tuple[int, int, int]], ranks: int) -> Graph:
    columns = np.array(edges, dtype=np.int64).reshape(-1, 3).T
    return Graph(*graphs.compressed(ranks, tuple(columns)))


def pattern(name: str, ranks: int) -> Graph:
    return Graph(*graphs.compressed(ranks, graphs.PATTERNS[name](ranks)))


def machine(ranks: int, *node: int) -> Hierarchy:
    parts = ":".join([*map(str, node), "N"])
    return Hierarchy.parse(parts, ":".join(["1", "3", "10", "50"][-len(node) - 1 :]), ranks)


def random_edges(ranks: int, seed: int) -> list[tuple[int, int, int]]:
    rng = np.random.default_rng(seed)
    return [(a, b, int(rng.integers(1, 20))) for a in range(ranks) for b in range(a) if rng.random() < 0.5]


def cost_of(edges, core, parts, distances) -> tuple[float, float]:
    """Sum of weight x distance and the busiest node, from the definition."""
    total, crossing = 0.0, {}
    for a, b, weight in edges:
        x, y, size = int(core[a]), int(core[b]), 1
        for part, distance in zip(parts, distances, strict=True):
            if x // size != y // size:
                apart = distance
            size *= part
        total += weight * apart
        node = math.prod(parts[:-1])
        if x // node != y // node:
            for each in (x // node, y // node):
                crossing[each] = crossing.get(each, 0) + weight
    return total, max(crossing.values(), default=0)


@pytest.mark.parametrize("seed", range(6))
def test_eight_ranks_are_placed_at_the_optimum_and_the_bound_is_below(seed):
    # GIVEN random traffic of 8 ranks on 2 nodes of 2 packages of 2 cores
    edges = random_edges(8, seed)
    mapping = Mapping(graph_of(edges, 8), [2, 2, 2], [1, 3, 10])
    # WHEN all placements are tried
    best = min(mapping.score(list(order))[0] for order in itertools.permutations(range(8)))
    # THEN no placement is below the bound, and the search finds the best
    assert mapping.lower_bound() <= best
    found, _ = mapping.search(budget_s=0.3)
    assert found[-1][2] == best


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_holds_with_cores_to_spare(seed):
    # GIVEN 5 ranks on 2 nodes of 2 packages of 2 cores
    mapping = Mapping(graph_of(random_edges(5, seed), 5), [2, 2, 2], [1, 3, 10])
    # THEN no choice of 5 of the 8 cores is below the bound
    best = min(mapping.score(list(cores))[0] for cores in itertools.permutations(range(8), 5))
    assert mapping.lower_bound() <= best
    assert mapping.search(budget_s=0.3)[0][-1][2] == best


@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (2, 2, 2)])
@pytest.mark.parametrize("periodic", [False, True])
def test_no_placement_of_a_small_grid_is_below_the_bound(shape, periodic):
    # GIVEN a grid whose first and last dimension talk differently much, with diagonals, wrapping round or not
    first, last = (1, *[0] * (len(shape) - 1)), (*[0] * (len(shape) - 1), 1)
    edges = {}
    for rank, at in enumerate(itertools.product(*map(range, shape))):
        for step, weight in ((first, 7), (last, 3), ((1,) * len(shape), 2)):
            to = [a + b for a, b in zip(at, step, strict=True)]
            if periodic or all(a < size for a, size in zip(to, shape, strict=True)):
                other = int(np.ravel_multi_index(to, shape, mode="wrap"))
                edges[min(rank, other), max(rank, other)] = weight
    mapping = Mapping(
        graph_of([(a, b, weight) for (a, b), weight in edges.items()], 8), [2, 2, 2], [1, 3, 10]
    )
    # WHEN all placements are tried THEN none is below the bound
    best = min(mapping.score(list(order))[0] for order in itertools.permutations(range(8)))
    assert mapping.lower_bound() <= best


@pytest.mark.parametrize(
    ("name", "ranks", "node", "gap"),
    [("halo3d", 4096, (8, 4, 2), 1.2), ("halo2d", 4096, (8, 4, 2), 1.25), ("halo3d", 4096, (6, 4, 2), 1.4)],
)
def test_halos_are_placed_near_the_bound(name, ranks, node, gap):
    result = place_graph(pattern(name, ranks), machine(ranks, *node))
    assert result.lower_bound <= result.placements[-1].cost <= gap * result.lower_bound


def test_the_bound_is_reached_by_groups_that_fit():
    # GIVEN four groups of four that talk among themselves only, numbered in turn
    edges = [(a, b, 3) for a in range(16) for b in range(a) if a % 4 == b % 4]
    hierarchy = machine(16, 2, 2)
    # WHEN placed THEN the result is at the bound, and nothing leaves a node
    result = place_graph(graph_of(edges, 16), hierarchy)
    assert result.placements[-1].cost == result.lower_bound
    assert result.placements[-1].busiest == 0


def test_the_bound_of_a_star_is_reached():
    # GIVEN a hub that talks to all others: whoever is not on its node costs the most, wherever it is
    result = place_graph(graph_of([(0, each, 2) for each in range(1, 100)], 100), machine(100, 8, 4))
    assert result.placements[-1].cost == result.lower_bound


def grid_edges(shape: tuple[int, ...], weights: tuple[int, ...], wraps: bool) -> dict[tuple[int, int], int]:
    """Steps along each dimension, each with its weight, and diagonals of weight 1."""
    dimensions = len(shape)
    steps = [(tuple(int(d == at) for d in range(dimensions)), weight) for at, weight in enumerate(weights)]
    edges = {}
    for rank, at in enumerate(itertools.product(*map(range, shape))):
        for step, weight in [*steps, ((1,) * dimensions, 1)]:
            to = [a + b for a, b in zip(at, step, strict=True)]
            if wraps or all(a < size for a, size in zip(to, shape, strict=True)):
                edges[rank, int(np.ravel_multi_index(to, shape, mode="wrap"))] = weight
    return edges


def shuffled(edges: dict[tuple[int, int], int], ranks: int, seed: int = 1) -> Graph:
    number = np.random.default_rng(seed).permutation(ranks).tolist()
    return graph_of([(number[a], number[b], weight) for (a, b), weight in edges.items()], ranks)


@pytest.mark.parametrize(
    ("shape", "weights", "wraps"),
    [
        ((24, 16), (9, 9), False),
        ((24, 16), (9, 4), True),
        ((8, 6, 10), (9, 9, 9), True),
        ((8, 6, 10), (7, 5, 3), False),
        ((2, 40, 6), (9, 9, 9), False),
    ],
)
def test_a_grid_that_is_numbered_at_random_is_placed_as_if_it_were_not(shape, weights, wraps):
    # GIVEN a grid, and the same with its ranks renumbered
    edges, ranks = grid_edges(shape, weights, wraps), math.prod(shape)
    natural = graph_of([(a, b, weight) for (a, b), weight in edges.items()], ranks)
    hierarchy = machine(ranks, 4, 3)
    # WHEN both are placed
    known = place_graph(natural, hierarchy, grid=shape)
    found = place_graph(shuffled(edges, ranks), hierarchy)
    # THEN the grid was recognised: by the name, by the cost, and by the bound
    assert found.placements[-1].name.startswith("grid, ")
    assert found.placements[-1].cost <= known.placements[-1].cost * 1.02
    assert found.lower_bound == pytest.approx(known.lower_bound)


def test_what_is_nearly_a_grid_is_none():
    # GIVEN a renumbered grid of which two edges lead elsewhere
    edges = grid_edges((12, 10), (9, 9), False)
    edges = {pair: weight for pair, weight in edges.items() if weight == 9}
    del edges[0, 10], edges[55, 65]
    edges |= {(0, 65): 9, (10, 55): 9}
    result = place_graph(shuffled(edges, 120), machine(120, 4, 3))
    # THEN it is placed all the same, by the ways that need no grid
    assert not result.placements[-1].name.startswith("grid")
    assert len(set(result.placements[-1].core.tolist())) == 120


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 30), st.integers(0, 10_000), st.sampled_from([(2, 2), (3, 2), (4,), (3, 2, 2)]))
def test_every_rank_has_a_core_and_nothing_gets_worse(ranks, seed, node):
    edges = random_edges(ranks, seed)
    graph, hierarchy = graph_of(edges, ranks), machine(ranks, *node)
    current = np.random.default_rng(seed).permutation(hierarchy.cores)[:ranks]
    # WHEN placed, the current placement given
    result = place_graph(graph, hierarchy, seed=seed, given=[current], never_busier=True)
    best, known = result.placements[-1], result.placements[:-1]
    # THEN each rank has a core of its own
    assert len(set(best.core.tolist())) == ranks and set(best.core.tolist()) <= set(range(hierarchy.cores))
    # AND costs are what their definition says
    for each in result.placements:
        wanted = cost_of(edges, each.core, hierarchy.parts, hierarchy.distances)
        assert (each.cost, each.busiest) == pytest.approx(wanted)
    # AND none of blocked, cyclic and current is better, nor has the best of them a less busy node
    assert [each.name for each in known] == ["blocked", "cyclic", "given"]
    least = min(known, key=lambda each: each.cost)
    assert result.lower_bound <= best.cost <= least.cost
    assert best.busiest <= least.busiest


# Costs of the best box tiling, counted by hand: a node takes 8 x 8, a package 8 x 4, what is below 4 x 2.
def test_a_square_is_tiled_by_squares():
    # GIVEN a 4-point stencil on 16 x 16 without wrapping, on nodes of 4:4:4
    def stencil(a, b):
        return abs(a // 16 - b // 16) + abs(a % 16 - b % 16) == 1

    edges = [(a, b, 1) for a in range(256) for b in range(a) if stencil(a, b)]
    result = place_graph(graph_of(edges, 256), machine(256, 4, 4, 4))
    # THEN 32 of 480 edges join the four nodes, 4 x 16 more the packages of one, 16 x 16 the quads of one
    outside = [32, 4 * 16, 16 * 16 - 0]
    nodes, packages = outside[0], outside[1]
    quads = 16 * 2 * 8 // 2
    inside = 480 - nodes - packages - quads
    assert result.placements[-1].cost == 50 * nodes + 10 * packages + 3 * quads + inside


@pytest.mark.parametrize(
    ("name", "ranks", "node", "most"),
    [
        # What the best of the mapping tools reached relative to blocked (docs/internals/search.md), or a box tiling.
        ("halo3d", 4096, (8, 4, 2), 0.546),
        ("halo3d", 4096, (6, 4, 2), 0.616),
        ("ft", 4096, (8, 4, 2), 1.0),
        ("ft", 4096, (6, 4, 2), 0.978),
        ("cg", 4096, (6, 4, 2), 1.0),
        ("halo2d", 4096, (6, 4, 2), 0.35),
    ],
)
def test_regular_patterns_cost_what_the_best_tools_reach_or_less(name, ranks, node, most):
    placements = place_graph(pattern(name, ranks), machine(ranks, *node)).placements
    assert placements[-1].cost <= most * placements[0].cost


def test_a_busier_node_is_taken_for_a_gain_in_sum_only_if_allowed():
    # GIVEN all-to-all in rows and columns, where whole rows on nodes leave rests that talk to everybody
    graph, hierarchy = pattern("ft", 1024), machine(1024, 6, 4)
    blocked = place_graph(graph, hierarchy, never_busier=True).placements
    assert blocked[-1].busiest <= blocked[0].busiest
    assert place_graph(graph, hierarchy).placements[-1].cost <= blocked[-1].cost


def test_the_same_seed_gives_the_same_cores():
    graph, hierarchy = pattern("plaw", 256), machine(256, 6, 4, 2)
    first, second = (place_graph(graph, hierarchy, seed=3).placements[-1].core for _ in range(2))
    assert first.tolist() == second.tolist()


def test_a_given_grid_is_used():
    # GIVEN a 6 x 10 x 4 torus whose numbering is said to be that
    index = np.arange(240).reshape(6, 10, 4)
    edges = [
        (int(a), int(b), 1)
        for axis in range(3)
        for a, b in zip(index.flat, np.roll(index, 1, axis).flat, strict=True)
    ]
    placements = place_graph(
        graph_of(edges, 240), machine(240, 4, 5), grid=parse_grid("6x10x4", 240)
    ).placements
    assert placements[-1].cost < placements[0].cost


def test_a_graph_file_with_comments_and_vertex_weights_is_read(tmp_path):
    # GIVEN a triangle with a tail, two weights a vertex, and an isolated vertex
    path = tmp_path / "a.graph"
    path.write_text(
        "% made by hand\n5 4 011 2\n7 1 2 10 3 20\n% inside\n7 1 1 10 3 5\n7 1 1 20 2 5 4 1\n7 1 3 1\n7 1\n"
    )
    graph = load_graph(path)
    assert (graph.vertices, graph.edges) == (5, 4)
    # THEN edges have their weights: 0-1 and 3 ranks more on one core each of a flat machine
    assert Mapping(graph, [5], [1]).score([0, 1, 2, 3, 4])[0] == 36


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: the numbers of vertices and edges are missing"),
        ("3 x\n", "line 1: `x` is not a whole number"),
        ("3 9999999\n", "line 1: the file is too short for `3` vertices and `9999999` edges"),
        ("2 1 002\n2\n1\n", "line 1: `2` is not a format"),
        ("2 1\n2\n", "line 2: the file ends after `1` of `2` vertices"),
        ("2 1\n2\n1\n1\n", "line 4: there are more lines than `2` vertices"),
        ("2 1\n3\n1\n", "line 2: neighbour `3` is not one of the vertices 1 to `2`"),
        ("2 1\n1\n1\n", "line 2: vertex `1` is its own neighbour"),
        ("2 1\n2 1.5\n1\n", "line 2: `1.5` is not a whole number"),
        ("2 1 001\n2\n1 4\n", "line 2: neighbour `2` has no weight"),
        ("2 1 001\n2 -4\n1 -4\n", "line 2: neighbour `2` has the weight `-4`"),
        ("2 1 001\n2 4\n1 5\n", "line 2: the edge of vertices `1` and `2` has the weights `4` and `5`"),
        ("% c\n3 2\n2\n3\n2 1\n", "line 3: vertex `1` has the neighbour `2`, but not the other way round"),
        ("2 2\n2 2\n1 1\n", "line 2: vertex `1` has the neighbour `2` twice"),
        ("2 2\n2\n1\n", "line 1: the header says `2` edges, the lines have `2` neighbours"),
    ],
)
def test_a_broken_graph_file_is_refused_with_its_line(tmp_path, text, message):
    path = tmp_path / "broken.graph"
    path.write_text(text)
    with pytest.raises(RankwiseError) as caught:
        load_graph(path)
    assert f"`{path}` {message}" in str(caught.value)


@pytest.mark.parametrize(
    ("parts", "distances", "message"),
    [
        ("8:x:N", "1:2:3", "`x` in the hierarchy"),
        ("8:0:N", "1:2:3", "`0` in the hierarchy"),
        ("8:2", "1:2:3", "has 2 levels, the distances `1:2:3` are 3"),
        ("8:2", "3:1", "never get smaller"),
        ("8:2", "1:nan", "never get smaller"),
        ("8:2", "1:far", "never get smaller"),
        ("8:2", "1:1e300", "are more than 1e\\+200"),
        ("8:8000000", "1:2", "has 64000000 cores, more than 33554432"),
        ("2:2:2", "1:2:3", "the graph has 10 vertices, the hierarchy `2:2:2` 8 cores"),
    ],
)
def test_a_hierarchy_that_means_nothing_is_refused(parts, distances, message):
    with pytest.raises(RankwiseError, match=message):
        Hierarchy.parse(parts, distances, 10)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0\n1\n1\n", "line 3: ranks 1 and 2 are both placed on core 1"),
        ("0\n1\n8\n", "line 3: rank 2 is placed on `8`, which is not a core from 0 to 7"),
        ("0\n1\n", "places 2 ranks, the graph has 3 vertices"),
    ],
)
def test_a_broken_current_placement_is_refused_with_rank_and_core(tmp_path, text, message):
    path = tmp_path / "now.cores"
    path.write_text(text)
    with pytest.raises(RankwiseError, match=message):
        load_cores(path, 3, 8)
