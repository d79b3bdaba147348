# SPDX-License-Identifier: BSD-3-Clause
"""Patterns of communication: made ones are recognised, the workloads have those that the papers say."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from raw_writer import Rank, write_recording

from rankwise.findings.pattern import pattern_of, pattern_of_recording
from rankwise.recording import Recording
from rankwise.report.build import build
from rankwise.report.text import render
from rankwise.workloads import generate

KB = 1000


def of(pairs, ranks, per_node=None, size=KB):
    """The pattern of pairs that send each other as many bytes."""
    pairs = np.array(sorted(set(pairs)), dtype=np.int64).reshape(-1, 2)
    ones = np.ones(len(pairs), np.int64)
    return pattern_of(pairs[:, 0], pairs[:, 1], ones * size, ones, ranks, per_node)


def grid_pairs(extents, periodic, corners):
    """Pairs of neighbours in a grid, with or without those at corners."""
    ranks = int(np.prod(extents))
    for rank in range(ranks):
        place = np.array(np.unravel_index(rank, extents))
        for step in product((-1, 0, 1), repeat=len(extents)):
            if not any(step) or (not corners and sum(map(abs, step)) > 1):
                continue
            to = place + np.array(step)
            if periodic:
                to = to % np.array(extents)
            elif (to < 0).any() or (to >= np.array(extents)).any():
                continue
            other = int(np.ravel_multi_index(tuple(to), extents))
            if other != rank:
                yield min(rank, other), max(rank, other)


@given(
    extents=st.lists(st.integers(4, 7), min_size=1, max_size=3),
    periodic=st.booleans(),
    corners=st.booleans(),
)
def test_grids_are_recognised_with_their_extents(extents, periodic, corners):
    corners = corners and len(extents) > 1
    found = of(grid_pairs(extents, periodic, corners), int(np.prod(extents)))
    assert (found.kind, found.grid, found.confidence) == ("nearest-neighbour", extents, "high")
    points = {(2, False): "5 points", (2, True): "9 points", (3, False): "7 points", (3, True): "27 points"}
    assert points.get((len(extents), corners), "") in found.words
    assert ("periodic" in found.words or "ring" in found.words) == periodic


@given(extents=st.tuples(st.integers(4, 6), st.integers(4, 6)), seed=st.integers(0, 100))
def test_weak_messages_beside_a_pattern_do_not_hide_it(extents, seed):
    # GIVEN a stencil, and a thousandth of its bytes in few messages anywhere
    pairs = np.array(sorted(set(grid_pairs(extents, True, False))))
    ranks = int(np.prod(extents))
    noise = np.random.default_rng(seed).integers(0, ranks, (10, 2))
    both = np.concatenate([pairs, noise])
    size = np.concatenate([np.full(len(pairs), 1_000_000), np.full(10, 100)])
    count = np.concatenate([np.full(len(pairs), 1000), np.ones(10, np.int64)])
    assert pattern_of(both[:, 0], both[:, 1], size, count, ranks).kind == "nearest-neighbour"


@given(st.integers(4, 30))
def test_all_to_all_and_star(ranks):
    assert of(combinations(range(ranks), 2), ranks).kind == "all-to-all"
    star = of([(0, other) for other in range(1, ranks)], ranks)
    assert star.kind == "star" and "rank 0" in star.words


@given(height=st.integers(3, 6), width=st.integers(3, 6), which=st.sampled_from(["rows", "columns", "both"]))
def test_all_to_all_in_rows_and_columns(height, width, which):
    rows = [(r * width + a, r * width + b) for r in range(height) for a, b in combinations(range(width), 2)]
    columns = [
        (a * width + c, b * width + c) for c in range(width) for a, b in combinations(range(height), 2)
    ]
    pairs = {"rows": rows, "columns": columns, "both": rows + columns}[which]
    found = of(pairs, height * width)
    assert (found.kind, found.grid) == ("groups-all-to-all", [height, width])
    assert ("rows" in found.words, "columns" in found.words) == (which != "columns", which != "rows")


@given(st.integers(3, 7))
def test_a_hypercube_is_partners_at_powers_of_two(bits):
    ranks = 1 << bits
    pairs = [(rank, rank | 1 << bit) for rank in range(ranks) for bit in range(bits) if not rank & 1 << bit]
    found = of(pairs, ranks)
    # THEN either name of it is right: a cube of 8 is a grid of 2 x 2 x 2
    assert found.kind == "power-of-two" or (
        bits == 3 and found.confidence == "medium" and any("power-of-two" in line for line in found.evidence)
    )


@given(st.integers(6, 60), st.integers(0, 1000))
def test_trees(ranks, seed):
    rng = np.random.default_rng(seed)
    parents = [int(rng.integers(max(0, rank // 2 - 1), rank // 2 + 1)) for rank in range(1, ranks)]
    pairs = list(zip(parents, range(1, ranks), strict=True))
    degrees = np.bincount(np.array(pairs).ravel())
    assume(2 < degrees.max() < ranks - 1)
    assert of(pairs, ranks).kind == "tree"


@given(st.integers(20, 60), st.integers(0, 1000))
def test_random_pairs_are_irregular(ranks, seed):
    rng = np.random.default_rng(seed)
    pairs = [pair for pair in combinations(range(ranks), 2) if rng.random() < 0.3]
    assert of(pairs, ranks).kind == "irregular"


def ring(width, times=1, stride=None):
    """Pairs of separate rings: of consecutive ranks, or of every `stride`-th."""
    for group in range(times):
        for place in range(width):
            here, there = place, (place + 1) % width
            yield tuple(
                sorted(group + each * stride if stride else group * width + each for each in (here, there))
            )


@given(width=st.integers(4, 9), groups=st.integers(2, 6), dealt=st.booleans())
def test_groups_that_do_not_talk_to_each_other_are_no_grid(width, groups, dealt):
    found = of(ring(width, groups, groups if dealt else None), width * groups)
    assert found.kind == "separate-groups"
    assert found.words.startswith(f"{groups} groups of {width} that") and found.words.endswith("ring")


@given(st.permutations(range(16)))
def test_ranks_with_one_partner_are_pairs_whatever_their_numbers(order):
    pairs = [tuple(sorted(order[at : at + 2])) for at in range(0, 16, 2)]
    assert of(pairs, 16).kind == "pairs"


def test_some_pairs_of_many_are_irregular():
    assert of([(0, 1), (2, 3), (1, 2), (4, 5)], 8).kind == "irregular"


@pytest.mark.parametrize("ranks", [16, 64])
def test_the_groups_of_cg_are_rows_of_its_process_grid(ranks):
    counted = generate("cg", "A", ranks)
    found = pattern_of(
        counted.source, counted.destination, counted.bytes * counted.messages, counted.messages, ranks
    )
    assert (found.kind, found.grid) == ("groups-with-boundary", [int(ranks**0.5)] * 2)


def test_nothing_sent_has_no_pattern():
    assert of([], 4).kind == "none"


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("cg", "groups-with-boundary", "groups of 4 with boundary exchanges"),
        ("mg", "nearest-neighbour", "power-of-two distances"),
        ("bt", "nearest-neighbour", "up to 6 neighbours in a grid of 4 x 4"),
        ("lu", "nearest-neighbour", "up to 4 neighbours in a grid of 4 x 4"),
    ],
)
def test_the_workloads_have_the_patterns_of_the_papers(name, kind, words):
    """Claim N-pattern, 16 ranks."""
    counted = generate(name, "A", 16)
    size = counted.bytes * counted.messages
    found = pattern_of(counted.source, counted.destination, size, counted.messages, 16, 4)
    assert found.kind == kind
    assert any(words in line for line in found.lines())


@pytest.mark.parametrize(
    ("width", "cores", "favours"), [(8, 4, "blocked"), (6, 3, "blocked"), (4, 4, "neither")]
)
def test_blocked_is_better_for_neighbours_where_a_row_is_longer_than_a_node(width, cores, favours):
    """Claim N-shape: N x N ranks on nodes of M cores; blocked beats cyclic if N > M and equals it if N = M."""
    assert of(grid_pairs((width, width), True, False), width * width, cores).favours == favours


def test_the_report_names_it(tmp_path):
    # GIVEN a ring of eight ranks on two nodes, which also reduce 8 bytes
    ranks = [Rank(me, 8, f"n{me // 4}") for me in range(8)]
    for me, rank in enumerate(ranks):
        rank.send((me + 1) % 8, 1000, times=10)
        rank.recv((me - 1) % 8, 1000, times=10)
    recording = Recording.open(write_recording(tmp_path / "a.rw", ranks))
    found = pattern_of_recording(recording)
    assert found.words == "nearest neighbours in 1 dimension: ring"
    # AND of eight links two are between nodes if blocked, all if cyclic
    assert (found.blocked, found.cyclic) == (pytest.approx(0.25), pytest.approx(1.0))
    text = " ".join(render(build(recording), verbose=True).split())
    assert "pattern: nearest neighbours in 1 dimension: ring" in text
    assert "blocked keeps more on a node" in text
