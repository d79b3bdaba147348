# SPDX-License-Identifier: BSD-3-Clause
"""Counts of small cases, worked out by hand from the algorithms."""

from collections import defaultdict

import pytest

from rankwise.errors import RankwiseError
from rankwise.workloads import Communication, generate, names, workload

CONJUGATE_GRADIENTS = 16  # class S: one untimed and 15 timed
V_CYCLES = 5  # class S: one untimed and 4 timed


def by_size(communication: Communication, source: int, destination: int) -> dict[int, int]:
    """Bytes -> messages from one rank to another."""
    counts: dict[int, int] = defaultdict(int)
    rows = (communication.source == source) & (communication.destination == destination)
    for size, messages in zip(communication.bytes[rows], communication.messages[rows], strict=True):
        counts[int(size)] += int(messages)
    return dict(counts)


def collective_calls(communication: Communication) -> dict[tuple[str, int], int]:
    return {(c.call, c.bytes): c.calls for c in communication.collectives}


def test_cg_on_four_ranks_swaps_half_vectors_along_rows_and_with_the_transpose_partner():
    # GIVEN a matrix of order 1400 on 2 x 2 ranks: segments of 700 doubles
    counts = generate("cg", "S", 4)
    # THEN each of 26 products sums a segment over the row and sends it to the transpose partner, and 2 scalars a step,
    # one before, one after go along the row
    row = {5600: 26 * CONJUGATE_GRADIENTS, 8: 52 * CONJUGATE_GRADIENTS, 16: CONJUGATE_GRADIENTS}
    assert by_size(counts, 0, 1) == by_size(counts, 1, 0) == by_size(counts, 2, 3) == row
    assert by_size(counts, 1, 2) == by_size(counts, 2, 1) == {5600: 26 * CONJUGATE_GRADIENTS}
    # AND ranks on the diagonal are their own transpose partners
    assert by_size(counts, 0, 0) == by_size(counts, 3, 3) == {5600: 26 * CONJUGATE_GRADIENTS}
    assert by_size(counts, 0, 2) == by_size(counts, 0, 3) == {}


def test_cg_without_a_square_grid_hands_over_half_a_segment():
    # GIVEN 1 x 2 ranks: one segment of 1400 doubles, cut in two halves
    counts = generate("cg", "S", 2)
    assert by_size(counts, 0, 1) == {
        5600: 26 * CONJUGATE_GRADIENTS,
        8: 52 * CONJUGATE_GRADIENTS,
        16: CONJUGATE_GRADIENTS,
    }
    assert by_size(counts, 1, 1) == {5600: 26 * CONJUGATE_GRADIENTS}


def test_cg_cuts_an_order_that_does_not_divide_as_the_original_does():
    # GIVEN order 7000 on 8 x 16 ranks: rows of 875, whose halves are 438 and 437
    counts = generate("cg", "W", 128, iterations=1)
    # THEN in a sum's first stage an even column hands the smaller half to its odd neighbour and gets the larger one
    assert by_size(counts, 0, 1)[437 * 8] == by_size(counts, 1, 0)[438 * 8] == 26 * 2
    assert 438 * 8 in by_size(counts, 0, 2) and 438 * 8 not in by_size(counts, 0, 1)


def test_cg_calls_no_collectives_but_one_of_each_at_start_and_end():
    assert collective_calls(generate("cg", "B", 16)) == {
        ("MPI_Bcast", 4): 1,
        ("MPI_Barrier", 0): 1,
        ("MPI_Reduce", 8): 1,
    }


def test_ft_transposes_slabs_with_one_all_to_all_each_transform():
    # GIVEN 512 x 256 x 256 points of 16 bytes on 16 ranks
    counts = generate("ft", "B", 16)
    # THEN each of 22 transforms (2 forward, 20 inverse) exchanges 1/256 of them between each pair
    assert collective_calls(counts) == {
        ("MPI_Bcast", 4): 5,
        ("MPI_Barrier", 0): 1,
        ("MPI_Reduce", 16): 20,
        ("MPI_Alltoall", 512 * 256 * 256 * 16 // 256): 22,
    }
    assert counts.messages.sum() == 0


def test_ft_cuts_pencils_when_there_are_more_ranks_than_planes():
    # GIVEN 128 x 128 x 32 points (class W) on 64 ranks: a process grid of 32 x 2
    counts = generate("ft", "W", 64)
    local_bytes = 128 * 128 * 32 * 16 // 64
    exchanges = [c for c in counts.collectives if c.call == "MPI_Alltoall"]
    # THEN each of 8 transforms has one all-to-all in each row of 2 neighbours and one in each column of 32 ranks
    rows = {c.communicator for c in exchanges if c.bytes == local_bytes // 2}
    columns = {c.communicator for c in exchanges if c.bytes == local_bytes // 32}
    assert rows == {(r, r + 1) for r in range(0, 64, 2)}
    assert columns == {tuple(range(first, 64, 2)) for first in (0, 1)}
    assert {c.calls for c in exchanges} == {8}


@pytest.mark.parametrize(
    ("neighbour", "face"),
    [(1, lambda n: n * n), (2, lambda n: (n + 2) * n), (4, lambda n: (n + 2) * (n + 2))],
    ids=["first", "second", "third"],
)
def test_mg_on_a_cube_of_ranks_exchanges_faces_on_every_grid(neighbour, face):
    # GIVEN 32 points in each dimension on 2 x 2 x 2 ranks: 16, 8, 4, 2, 1 of them on a rank, both neighbours the same
    counts = by_size(generate("mg", "S", 8), 0, neighbour)
    # THEN the finest grid is exchanged twice a V cycle, and 9 times around them; the others after each operator
    exchanges = {16: 2 * V_CYCLES + 9, 8: 3 * V_CYCLES, 4: 3 * V_CYCLES, 2: 3 * V_CYCLES, 1: 2 * V_CYCLES}
    assert counts == {8 * face(n): 2 * times for n, times in exchanges.items()}


def test_mg_ranks_without_points_drop_out_and_come_in_again():
    # GIVEN 4 x 4 x 4 ranks: on the grid of 2 points a dimension only places 1 and 3 have any
    counts = generate("mg", "S", 64)
    fine = {512: 19, 128: 15, 32: 15, 8: 15}
    # THEN place 1 hands two layers up to place 2 and one down to place 0, faces with all layers around (3 x 3 points)
    assert by_size(counts, 1, 2) == fine | {2 * 9 * 8: V_CYCLES}
    assert by_size(counts, 1, 0) == fine | {9 * 8: V_CYCLES}
    # AND on that grid the neighbours of the remaining ranks are two places away
    assert by_size(counts, 21, 23) == {8: 2 * 2 * V_CYCLES}
    assert by_size(counts, 0, 2) == {}


def test_mg_reductions_and_broadcasts_are_those_of_set_up_and_norms():
    # GIVEN ten extremes found twice (4 reductions each), and 4 times two norms
    assert collective_calls(generate("mg", "S", 8)) == {
        ("MPI_Barrier", 0): 6,
        ("MPI_Bcast", 4): 6,
        ("MPI_Bcast", 32): 1,
        ("MPI_Allreduce", 8): 2 * 20 + 4 * 2,
        ("MPI_Allreduce", 16): 2 * 20,
        ("MPI_Reduce", 8): 1,
    }


@pytest.mark.parametrize("name", sorted(set(names()) - {"random", "ring"}))
def test_one_rank_sends_nothing(name):
    assert generate(name, (*workload(name).classes, "")[0], 1).messages.sum() == 0


@pytest.mark.parametrize(
    ("problem_class", "ranks", "sentence"),
    [
        ("S", 6, "mg of class S runs on a power of two of ranks, as 4 or 8, not on `6`"),
        ("S", 0, "mg runs on 1 rank or more, not on `0`"),
        ("S", 65536, "mg of class S runs on 1 to 32768 ranks, not on `65536`"),
        ("Q", 4, "mg has the classes SWABCD, not `Q`"),
        ("", 4, "mg has the classes SWABCD, not ``"),
    ],
)
def test_ranks_or_classes_that_do_not_fit_are_said_in_one_sentence(problem_class, ranks, sentence):
    with pytest.raises(RankwiseError) as error:
        generate("mg", problem_class, ranks)
    assert error.value.message == sentence


def test_an_unknown_workload_is_answered_with_the_known_ones():
    with pytest.raises(RankwiseError) as error:
        workload("ua")
    assert error.value.message == "there is no workload `ua`"
    assert "bt, cg, ep, ft, is, lu, mg, sp" in error.value.hint
