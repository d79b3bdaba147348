# SPDX-License-Identifier: BSD-3-Clause
"""Counts of BT, EP, IS, LU and SP, worked out by hand or by brute force, and their published numbers of operations."""

from collections import Counter, defaultdict
from functools import cache

import numpy as np
import pytest

from rankwise.errors import RankwiseError
from rankwise.workloads import Communication, Kind, generate, program, workload


def by_size(communication: Communication, source: int, destination: int) -> dict[int, int]:
    """Bytes -> messages from one rank to another."""
    counts: dict[int, int] = defaultdict(int)
    rows = (communication.source == source) & (communication.destination == destination)
    for size, messages in zip(communication.bytes[rows], communication.messages[rows], strict=True):
        counts[int(size)] += int(messages)
    return dict(counts)


def collective_calls(communication: Communication) -> Counter:
    calls: Counter = Counter()
    for each in communication.collectives:
        calls[each.call, each.bytes if each.call != "MPI_Alltoallv" else None] += each.calls
    return calls


def timed_operations(name: str, problem_class: str, ranks: int) -> float:
    total = 0.0
    for _, events in program(name, problem_class, ranks).each_rank():
        timed = np.cumsum(np.where(events["kind"] == Kind.TIMER, 2 * events["count"] - 1, 0))
        total += events["operations"][timed > 0].sum()
    return total


def test_bt_sweeps_blocks_and_vectors_of_the_largest_cell_and_exchanges_all_faces_at_once():
    # GIVEN 12 points in each dimension on 2 x 2 ranks: 2 x 2 x 2 cells of 6 points, buffers for 7 x 7 lines
    counts = generate("bt", "S", 4)
    # THEN in each of 61 iterations a sweep sends a block and a vector of 5 for each line on, a vector back, and the
    # faces between the two cells of each dimension go both ways, once more for the residual
    neighbour = {49 * 30 * 8: 61, 49 * 5 * 8: 61, 2 * 5 * 36 * 8: 2 * 62}
    # AND the neighbours along a row, along a column and across are the three others
    assert [by_size(counts, 0, other) for other in (1, 2, 3)] == [neighbour] * 3
    assert collective_calls(counts) == {
        ("MPI_Bcast", 4): 4,
        ("MPI_Bcast", 8): 1,
        ("MPI_Bcast", 12): 1,
        ("MPI_Barrier", 0): 2,
        ("MPI_Allreduce", 40): 2,
        ("MPI_Reduce", 8): 1,
    }


def test_sp_sweeps_lines_inside_the_grid_only():
    # GIVEN cells of 6 points in each dimension, one side of each on the boundary: 5 x 5 lines
    counts = generate("sp", "S", 4)
    neighbour = {22 * 25 * 8: 101, 10 * 25 * 8: 101, 2 * 5 * 36 * 8: 2 * 102}
    assert [by_size(counts, 3, other) for other in (0, 1, 2)] == [neighbour] * 3


def test_cells_of_unequal_length_are_as_the_multi_partition_scheme_cuts_them():
    # GIVEN 64 points on 5 x 5 ranks: four layers of 13 points and one of 12
    counts = generate("sp", "A", 25, iterations=1)
    # WHEN rank 0 exchanges faces with its successor along x, its cells being at (c, -c, c) modulo 5
    sizes = [13, 13, 13, 13, 12]
    faces = sum(sizes[-c % 5] * sizes[c] for c in range(5) if c < 4)
    # THEN four of its five faces go there, three times: two iterations and the residual
    assert by_size(counts, 0, 1)[2 * 5 * faces * 8] == 3


def test_lu_sends_waves_of_small_messages_and_two_layers_of_faces():
    # GIVEN 12 points in each dimension on 2 x 2 ranks, ranks along x: 6 x 6 lines of points, 5 x 5 not on the boundary
    counts = generate("lu", "S", 4)
    # THEN 10 planes in each of 51 iterations wait for a message from before, and faces are exchanged for the forcing
    # term, at the begin of both runs and in each iteration
    waves, faces = {5 * 5 * 8: 510}, {2 * 5 * 6 * 12 * 8: 54}
    assert by_size(counts, 0, 1) == by_size(counts, 0, 2) == waves | faces
    assert by_size(counts, 0, 3) == by_size(counts, 1, 2) == {}
    # AND the surface integral takes one layer from the south (with corners) and the east, and lines of 12 at two faces
    assert by_size(counts, 1, 0) == waves | faces | {2 * 8 * 8: 1, 12 * 8: 1}
    assert by_size(counts, 2, 0) == waves | faces | {2 * 6 * 8: 2}
    assert collective_calls(counts) == {
        ("MPI_Bcast", 4): 7,
        ("MPI_Bcast", 8): 2,
        ("MPI_Bcast", 40): 1,
        ("MPI_Barrier", 0): 2,
        ("MPI_Allreduce", 40): 5,
        ("MPI_Allreduce", 8): 5,
    }


def test_ep_reduces_two_sums_ten_counts_and_the_time_on_any_number_of_ranks():
    assert collective_calls(generate("ep", "S", 3)) == {
        ("MPI_Bcast", 4): 1,
        ("MPI_Barrier", 0): 1,
        ("MPI_Allreduce", 8): 3,
        ("MPI_Allreduce", 80): 1,
    }


@cache
def keys_of_class_s() -> np.ndarray:
    """The keys, number by number: x <- 5^13 x mod 2^46, sums of four fractions scaled to 0 .. 2^11."""
    x, keys = 314159265, []
    for _ in range(1 << 16):
        total = 0.0
        for _ in range(4):
            x = x * 1220703125 % (1 << 46)
            total += x / (1 << 46)
        keys.append(int(total * (1 << 11) / 4))
    return np.array(keys)


def changed(keys: np.ndarray, iteration: int) -> np.ndarray:
    """As they are in an iteration: two keys of the first rank change in each."""
    keys = keys.copy()
    for i in range(1, iteration + 1):
        keys[i], keys[i + 10] = i, (1 << 11) - i
    return keys


def test_the_keys_have_the_ranks_that_the_benchmark_verifies():
    # GIVEN the places of five keys and their ranks, which change by one with each iteration
    places, ranks = [48427, 17148, 23627, 62548, 4431], [0, 18, 346, 64917, 65463]
    for iteration in (1, 10):
        keys = changed(keys_of_class_s(), iteration)
        found = [int((keys < keys[place]).sum()) for place in places]
        assert found == [rank + (iteration if i <= 2 else -iteration) for i, rank in enumerate(ranks)]


@pytest.mark.parametrize("ranks", [4, 16, 128])
def test_is_sends_each_key_to_the_rank_that_has_its_bucket(ranks):
    # GIVEN 512 buckets of 4 values, dealt out in turn until a rank and all before it have their number of keys
    wanted: Counter = Counter()
    for iteration in (1, *range(1, 11)):
        keys = changed(keys_of_class_s(), iteration)
        bucket = keys // 4
        owner, total, owners = 0, 0, np.zeros(512, dtype=int)
        for each, number in enumerate(np.bincount(bucket, minlength=512)):
            owners[each] = owner
            total += number
            owner += total >= (owner + 1) * len(keys) // ranks
        sent = np.zeros((ranks, ranks), dtype=np.int64)
        np.add.at(sent, (np.arange(len(keys)) * ranks // len(keys), owners[bucket]), 4)
        wanted[sent.tobytes()] += 1
    # THEN so many bytes go from each rank to each, in eleven calls
    counts = generate("is", "S", ranks)
    found = {each.sizes.tobytes(): each.calls for each in counts.collectives if each.call == "MPI_Alltoallv"}
    assert found == wanted
    assert collective_calls(counts) == {
        ("MPI_Bcast", 4): 1,
        ("MPI_Allreduce", (512 + 5) * 4): 11,
        ("MPI_Alltoall", 4): 11,
        ("MPI_Alltoallv", None): 11,
        ("MPI_Reduce", 8): 1,
        ("MPI_Reduce", 4): 1,
    }
    # AND at the end each tells the next its largest key
    assert by_size(counts, 0, 1) == {4: 1} and by_size(counts, 1, 0) == {}


@pytest.mark.parametrize(
    ("name", "problem_class", "ranks", "published"),
    [
        ("bt", "A", 16, 200 * (3478.8 * 64**3 - 17655.7 * 64**2 + 28023.7 * 64)),
        ("sp", "B", 9, 400 * (881.174 * 102**3 - 4683.91 * 102**2 + 11484.5 * 102 - 19272.4)),
        ("lu", "W", 8, 300 * (1984.77 * 33**3 - 10923.3 * 33**2 + 27770.9 * 33 - 144010)),
        ("ep", "A", 5, 2**29),
        ("is", "A", 32, 10 * 2**23),
    ],
)
def test_all_ranks_together_do_the_published_operations(name, problem_class, ranks, published):
    assert timed_operations(name, problem_class, ranks) == pytest.approx(published, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "problem_class", "ranks", "sentence"),
    [
        ("bt", "B", 12, "bt of class B runs on a square number of ranks, as 9 or 16, not on `12`"),
        ("sp", "S", 25, "sp of class S runs on 1 to 16 ranks, not on `25`"),
        ("lu", "S", 32, "lu of class S runs on 1 to 16 ranks, not on `32`"),
        ("is", "D", 2, "is of class D runs on 4 ranks or more, not on `2`"),
        ("is", "S", 256, "is of class S runs on 1 to 128 ranks, not on `256`"),
        ("ep", "S", 257, "ep of class S runs on 1 to 256 ranks, not on `257`"),
    ],
)
def test_ranks_that_do_not_fit_are_said_in_one_sentence(name, problem_class, ranks, sentence):
    with pytest.raises(RankwiseError) as error:
        workload(name).check(problem_class, ranks)
    assert error.value.message == sentence
