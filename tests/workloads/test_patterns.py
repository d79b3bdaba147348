# SPDX-License-Identifier: BSD-3-Clause
"""Patterns with options: who sends how much to whom, by hand and by brute force."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from rankwise.errors import RankwiseError
from rankwise.workloads import generate, workload

ITERATIONS = 3


def sent(name: str, ranks: int, **options) -> dict[tuple[int, int], Counter]:
    """Messages of one iteration by size, for each pair of ranks."""
    counted = generate(name, "", ranks, ITERATIONS, options)
    found: dict[tuple[int, int], Counter] = {}
    columns = (counted.source, counted.destination, counted.bytes, counted.messages)
    for source, destination, size, messages in zip(*(c.tolist() for c in columns), strict=True):
        each, rest = divmod(messages, ITERATIONS)
        assert rest == 0
        found.setdefault((source, destination), Counter())[size] += each
    return found


def messages(found: dict[tuple[int, int], Counter]) -> int:
    return sum(pair.total() for pair in found.values())


def places(grid: tuple[int, int, int]) -> list[tuple[int, ...]]:
    """Of each rank, the last dimension running fastest."""
    return list(product(*map(range, grid)))


@pytest.mark.parametrize("periodic", ["no", "yes"])
@pytest.mark.parametrize(
    ("points", "grid"), [(3, (5, 1, 1)), (5, (3, 4, 1)), (9, (4, 3, 1)), (7, (3, 4, 2)), (27, (3, 2, 4))]
)
def test_halo_exchanges_with_every_neighbour_of_the_stencil(points, grid, periodic):
    # GIVEN blocks of 10 points and two layers, and all pairs of places that the stencil relates
    dimensions = {3: 1, 5: 2, 9: 2, 7: 3, 27: 3}[points]
    options = dict(zip("xyz", grid, strict=True)) | {"points": str(points), "periodic": periodic}
    wanted: dict[tuple[int, int], Counter] = {}
    at = places(grid)
    for rank, place in enumerate(at):
        for offset in product(*[(-1, 0, 1)] * dimensions + [(0,)] * (3 - dimensions)):
            across = sum(map(abs, offset))
            other = tuple(p + o for p, o in zip(place, offset, strict=True))
            if periodic == "yes":
                other = tuple(o % extent for o, extent in zip(other, grid, strict=True))
            if across == 0 or (across > 1 and points not in (9, 27)) or other not in at or other == place:
                continue
            size = 8 * 2**across * 10 ** (dimensions - across)
            wanted.setdefault((rank, at.index(other)), Counter())[size] += 1
    # WHEN and THEN these messages are sent
    assert sent("halo", len(at), size=10, depth=2, **options) == wanted


def test_halo_without_a_grid_cuts_evenly_and_messages_may_all_be_of_one_size():
    # GIVEN 24 ranks and a fixed size WHEN counted
    found = sent("halo", 24, points="27", bytes=1000, periodic="no")
    # THEN 4 x 3 x 2 blocks: for each offset as many as have a neighbour there
    grid = (4, 3, 2)
    assert workload("halo").grid("", 24, {"points": "27"}) == grid
    offsets = [o for o in product((-1, 0, 1), repeat=3) if any(o)]
    assert messages(found) == sum(
        np.prod([n - abs(d) for n, d in zip(grid, o, strict=True)]) for o in offsets
    )
    assert {size for pair in found.values() for size in pair} == {1000}


@pytest.mark.parametrize(
    ("ranks", "points", "grid"),
    [
        (16, "7", (4, 2, 2)),
        (12, "5", (4, 3, 1)),
        (60, "7", (5, 4, 3)),
        (7, "7", (7, 1, 1)),
        (1, "3", (1, 1, 1)),
    ],
)
def test_process_grids_are_as_even_as_can_be(ranks, points, grid):
    assert workload("halo").grid("", ranks, {"points": points}) == grid


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"x": 3}, "3 x 1 x 1"),
        ({"points": "5", "x": 2, "y": 2, "z": 2}, "2 dimensions"),
        ({"size": 4, "depth": 5}, "no 5 layers"),
    ],
)
def test_halo_says_which_grid_is_none(options, why):
    with pytest.raises(RankwiseError, match=why):
        workload("halo").check("", 8, options)


def test_lammps_sends_to_six_neighbours_forth_and_back():
    # GIVEN 4 x 2 x 2 bricks WHEN counted
    found = sent("lammps", 16, bytes=100)
    # THEN left and right are one rank where there are two, and each gets positions and forces
    at = places((4, 2, 2))
    wanted: dict[tuple[int, int], Counter] = {}
    for rank, place in enumerate(at):
        for d, step in product(range(3), (-1, 1)):
            other = [p + step * (d == k) for k, p in enumerate(place)]
            other = tuple(o % n for o, n in zip(other, (4, 2, 2), strict=True))
            wanted.setdefault((rank, at.index(other)), Counter())[100] += 2
    assert found == wanted
    # AND a dimension with one rank is copied
    assert messages(sent("lammps", 2)) == 2 * 2 * 2


def test_lammps_sums_temperature_energy_and_pressure_now_and_then():
    counted = generate("lammps", "", 8, 25, {"thermo": 10})
    sums = {(each.bytes, each.calls) for each in counted.collectives if each.call == "MPI_Allreduce"}
    assert sums == {(8, 4), (48, 2)}


def test_gromacs_sends_slabs_down_and_forces_up():
    # GIVEN 2 x 2 x 2 domains of 1000 atoms in a box of 40, so of length 20, and a cut-off of 10: half of a domain
    found = sent("gromacs", 8, atoms=8000, box=40, cutoff=10, fourier=32)
    at = places((2, 2, 2))
    # WHEN positions travel in z, then y, then x, with what came before: 500, 750, 1125 atoms of 12 bytes
    wanted: dict[tuple[int, int], Counter] = {}
    for rank, place in enumerate(at):
        for d, atoms in ((2, 500), (1, 750), (0, 1125)):
            other = tuple(1 - p if k == d else p for k, p in enumerate(place))
            wanted.setdefault((rank, at.index(other)), Counter())[12 * atoms] += 2  # and forces back
    # AND on 4 x 2 ranks of PME 3 planes go on in y: of 8 x 32 points; and in x: of 16 x 32
    for rank in range(8):
        x, y = divmod(rank, 2)
        wanted.setdefault((rank, 2 * x + 1 - y), Counter())[4 * 3 * 8 * 32] += 2
        for step in (-1, 1):
            wanted.setdefault((rank, 2 * ((x + step) % 4) + y), Counter())[4 * 3 * 16 * 32] += 1
    # THEN
    assert found == wanted


def test_gromacs_transposes_in_rows_and_columns():
    # GIVEN 32 points on 4 x 2 ranks of PME: 17 complex ones a line after a transform of real data WHEN counted
    counted = generate("gromacs", "", 8, ITERATIONS, {"fourier": 32})
    found = {
        (each.communicator, each.bytes, each.calls) for each in counted.collectives if "Alltoall" in each.call
    }
    # THEN rows of 2 exchange 8 x 16 x 9 points with each other, columns of 4 exchange 8 x 8 x 9, forth and back
    rows = {((2 * x, 2 * x + 1), 8 * 8 * 16 * 9, 2 * ITERATIONS) for x in range(4)}
    columns = {((y, y + 2, y + 4, y + 6), 8 * 8 * 8 * 9, 2 * ITERATIONS) for y in range(2)}
    assert found == rows | columns


def test_gromacs_with_short_domains_sends_in_several_pulses():
    # GIVEN 5 domains of length 8 in a row, and a cut-off of 20: 8, 8 and 4
    found = sent("gromacs", 5, atoms=5000, box=40, cutoff=20, slabs="yes", fourier=15)
    # THEN 1000, 1000 and 500 atoms go down, forces up
    sizes = found[1, 0]
    assert {size: count for size, count in sizes.items() if size % 12000 == 0 or size == 6000} == {
        12000: 2,
        6000: 1,
    }


def test_gromacs_with_ranks_for_pme_alone():
    # GIVEN 6 domains, and 2 ranks for PME behind those they work for
    found = sent("gromacs", 8, pme=2, atoms=6000, box=60, cutoff=5, fourier=32)
    # THEN positions go there, forces come back: 1000 atoms of 12 bytes; domains have nothing else to do with them
    pme = [3, 7]
    for domain in (0, 1, 2, 4, 5, 6):
        its, others = (pme[0], pme[1]) if domain < 3 else (pme[1], pme[0])
        assert found[domain, its] == found[its, domain] == {12000: 1}
        assert (domain, others) not in found
    # AND energies are summed over domains alone
    counted = generate("gromacs", "", 8, 10, {"pme": 2})
    assert [each.communicator for each in counted.collectives if each.call == "MPI_Allreduce"] == [
        (0, 1, 2, 4, 5, 6)
    ]


def test_namd_is_many_to_many_in_messages_of_a_patch():
    # GIVEN ApoA1 on 16 ranks: 9 x 9 x 6 patches of 12 Angstroms, 92224 atoms of 24 bytes WHEN counted
    counted = generate("namd", "", 16, ITERATIONS)
    # THEN nine of ten messages and bytes are between 4 and 64 KB (Chai, Gao & Panda, section 5.2), forth as back
    inside = (counted.bytes > 4096) & (counted.bytes <= 65536)
    for weight in (counted.messages, counted.messages * counted.bytes):
        assert weight[inside].sum() > 0.9 * weight.sum()
    pairs = Counter()
    for source, destination, count in zip(counted.source, counted.destination, counted.messages, strict=True):
        pairs[int(source), int(destination)] += int(count)
    assert all(pairs[b, a] == count for (a, b), count in pairs.items())


def test_namd_on_two_ranks_by_brute_force():
    # GIVEN a box of 4 x 3 x 3 patches, cut by two ranks in the longest dimension
    at = places((4, 3, 3))
    home = {place: int(place[0] >= 2) for place in at}
    # WHEN each patch has a proxy on the ranks of the seven patches below it
    proxies = [
        (place, rank)
        for place in at
        for rank in {
            home[tuple((p - b) % n for p, b, n in zip(place, below, (4, 3, 3), strict=True))]
            for below in product((0, 1), repeat=3)
        }
        - {home[place]}
    ]
    # THEN positions go there and forces come back, 10 atoms of 24 bytes a patch
    found = sent("namd", 2, atoms=360, x=48, y=36, z=36)
    for rank in (0, 1):
        own = [1 for place, proxy in proxies if home[place] == rank or proxy == rank]
        assert found[rank, 1 - rank] == {240: len(own)}


def channel_shares(counted) -> list[float]:
    """Messages within a chip, between chips, between nodes in percent: 4 x 4, OS cores 0 and 2 on one chip."""
    apart = counted.source // 4 != counted.destination // 4
    same_chip = ~apart & (counted.source % 2 == counted.destination % 2)
    shares = [counted.messages[chosen].sum() for chosen in (same_chip, ~apart & ~same_chip, apart)]
    return [100 * share / counted.messages.sum() for share in shares]


def test_namd_half_of_the_messages_cross_the_network():
    # GIVEN blocked ranks; published are 10 / 30 / 60 (claim C-namd) WHEN counted
    shares = channel_shares(generate("namd", "", 16, 1))
    # THEN the published order, not the published numbers: patches alone keep twice as much within a chip
    assert shares == pytest.approx([19.2, 28.0, 52.8], abs=0.1)


def test_ring_sends_the_data_whole_or_in_tiles():
    # GIVEN 1 MiB a rank WHEN whole THEN one message an iteration; in tiles of 64 KiB THEN 16
    ring = [(rank, (rank + 1) % 5) for rank in range(5)]
    assert sent("ring", 5, bytes=1 << 20) == {pair: {1 << 20: 1} for pair in ring}
    assert sent("ring", 5, bytes=1 << 20, tile=1 << 16) == {pair: {1 << 16: 16} for pair in ring}


def test_ring_refuses_tiles_that_do_not_make_up_the_data():
    with pytest.raises(RankwiseError, match="tiles of `100000` bytes do not make up 1048576"):
        workload("ring").check("", 4, {"bytes": 1 << 20, "tile": 100000})


@pytest.mark.parametrize("ranks", [1, 2, 7, 16, 21])
def test_trees_go_along_their_edges(ranks):
    # GIVEN parents: without the lowest bit, and halved
    binomial = {(rank, rank & (rank - 1)) for rank in range(1, ranks)}
    binary = {(rank, (rank - 1) // 2) for rank in range(1, ranks)}
    for shape, edges in (("binomial", binomial), ("binary", binary)):
        down = {(parent, child) for child, parent in edges}
        # WHEN and THEN each edge has one message up and one down
        assert set(sent("tree", ranks, shape=shape)) == edges | down
        assert set(sent("tree", ranks, shape=shape, direction="up")) == edges
        assert set(sent("tree", ranks, shape=shape, direction="down")) == down
        assert messages(sent("tree", ranks, shape=shape)) == 2 * (ranks - 1)


@pytest.mark.parametrize("order", ["pairwise", "linear"])
def test_alltoall_sends_to_all_others_once(order):
    found = sent("alltoall", 6, order=order, bytes=64)
    assert found == {(a, b): {64: 1} for a, b in product(range(6), repeat=2) if a != b}


def test_random_sends_to_as_many_others_as_asked_by_the_seed():
    # GIVEN 3 peers of 20 ranks WHEN drawn
    found = sent("random", 20, peers=3, least=10, most=20, seed=5)
    # THEN each rank has three others, a size within the bounds for each, and the seed decides
    assert Counter(source for source, _ in found) == dict.fromkeys(range(20), 3)
    assert all(source != destination for source, destination in found)
    assert all(10 <= size <= 20 and count == 1 for pair in found.values() for size, count in pair.items())
    assert found == sent("random", 20, peers=3, least=10, most=20, seed=5)
    assert found != sent("random", 20, peers=3, least=10, most=20, seed=6)
    # AND with as many peers as others it is all to all
    assert len(sent("random", 5, peers=4)) == 20
