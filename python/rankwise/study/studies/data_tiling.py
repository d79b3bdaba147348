# SPDX-License-Identifier: BSD-3-Clause
"""Data processed whole or in tiles that fit a cache, round a ring (Chai, Gao & Panda 2007, section 5.4, figure 7)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from rankwise.quantities import counted
from rankwise.study.cases import Case, Seats
from rankwise.study.compared import number, percent
from rankwise.study.cost import computation_notes
from rankwise.study.platforms import BENSLEY, Platform
from rankwise.study.program import StudyProgram, workload_program
from rankwise.study.request import Request
from rankwise.study.result import Cell, ClaimOutcome, Figure, How, Series, StudyResult, Table
from rankwise.study.run.machines import nodes
from rankwise.study.run.outcomes import all_outcomes

SUMMARY = "a ring that processes its data whole or in tiles, by placement"
CLAIMS = ("C-tile",)
TAKES: tuple[str, ...] = ("--ranks",)

ITERATIONS = 3
DATA_BYTES = 64 << 20
TILE_BYTES = 256 << 10
TILES = (64 << 10, TILE_BYTES, 1 << 20, 4 << 20, 16 << 20)
CACHE_BYTES = 4 << 20
"""Of the shared cache of a machine that does not say its size: assumed, as the paper's."""
OPERATIONS = 2.0
"""On a number of 8 bytes, as the ring's program has it: assumed, the paper does not say how many its program does."""
OTHER_OPERATIONS = (1.0, OPERATIONS, 4.0)
"""With which it is shown how much turns on that."""

STREAMED = 8.0
"""Bytes to and from memory for an operation on data that are in no cache: a number is read and written for two."""

PAPER = {"2 on a chip": 0.7, "4 in a node": 0.6, "8 on 2 nodes": 0.5, "16 on 4 nodes": 0.5}
_LACKS = (
    "the paper does not say how many operations its program does on a number. Two are taken; "
    "`rankwise study data-tiling` shows other numbers"
)


def run(request: Request) -> StudyResult:
    """The study.

    Raises:
        RankwiseError: The machine has too few nodes or cores, or a case cannot be made.
    """
    platform = nodes(request, BENSLEY)[0]
    if request.ranks is not None:
        request.ranks_or(2, 2)
    places = _places(platform, request.ranks)
    cache = _cache(platform)
    tiles = (0, *TILES)
    cases = {
        (where, tile): Case(
            _ring(tile),
            ranks,
            seats,
            f"{where}, {tile or 'whole'}",
            ITERATIONS,
            bytes_per_operation=_streamed(tile, cache),
        )
        for where, (ranks, seats) in places.items()
        for tile in tiles
    }
    made = all_outcomes(request, platform, list(cases.values()))
    times = {key: made[case].time_s for key, case in cases.items()}
    saved = {where: 1 - times[where, TILE_BYTES] / times[where, 0] for where in places}
    how: How = "predicted" if request.mode == "machine" else "measured"
    best = max(saved, key=lambda where: saved[where])
    rows: list[list[Cell]] = [
        [where, *(round(times[where, tile] / times[where, 0], 4) for tile in tiles)] for where in places
    ]
    names = [f"{tile >> 10} KiB" for tile in TILES]
    return StudyResult(
        study="data-tiling",
        title="Data processed whole or in tiles",
        on=[platform.name],
        how=how,
        verdict=f"Tiles of {TILE_BYTES >> 10} KiB save {percent(min(saved.values()))} to {percent(saved[best])} of the "
        f"time; most with {best.replace(' ', ' ranks ', 1)}."
        if saved[best] > 0.005
        else f"Tiles of {TILE_BYTES >> 10} KiB save nothing.",
        tables=[
            Table(
                f"Time by that of {DATA_BYTES >> 20} MiB at once",
                ["ranks", "whole", *names],
                rows,
                [cache.said],
            ),
            *([_by_operations(request, platform, places, cache)] if request.mode == "machine" else []),
        ],
        figures=[
            Figure(
                name="data-tiling-7",
                title=f"Figure 7: effect of data tiling, {how}",
                x_label="processes",
                y_label="execution time (s)",
                series=[
                    Series("whole", list(places), [times[where, 0] for where in places]),
                    Series(
                        f"tiles of {TILE_BYTES >> 10} KiB",
                        list(places),
                        [times[where, TILE_BYTES] for where in places],
                    ),
                ],
                kind="bars",
            )
        ],
        claims=_claims(saved, how) if platform.of_paper and request.ranks is None else [],
        notes=computation_notes(request, [platform]),
    )


def _places(platform: Platform, ranks: int | None) -> dict[str, tuple[int, Seats]]:
    cores = min(4, platform.topology.nodes[0].cores)
    if ranks is not None:
        nodes = -(-ranks // cores)
        return {f"{ranks} on {nodes} nodes": (ranks, Seats(nodes, cores))}
    return {
        "2 on a chip": (2, Seats(1, 2)),
        "4 in a node": (4, Seats(1, 4)),
        "8 on 2 nodes": (8, Seats(2, 4)),
        "16 on 4 nodes": (16, Seats(4, 4)),
    }


def _ring(tile: int) -> StudyProgram:
    options = [("bytes", str(DATA_BYTES))] + ([("tile", str(tile))] if tile else [])
    return workload_program("ring", options=tuple(options))


def _streamed(tile: int, cache: _Cache) -> float:
    """A tile that came through the cache is still there when it is processed; other data come from memory."""
    return 0.0 if tile and 2 * tile <= cache.bytes else STREAMED


@dataclass(frozen=True)
class _Cache:
    """What of a cache a core has, where a tile has to fit in with the buffer it came from."""

    bytes: int
    said: str


def _cache(platform: Platform) -> _Cache:
    """The largest cache that cores share, or the largest that a core has if they share none, in equal parts."""
    node = platform.topology.nodes[0]
    sharing = {name: max(Counter(of_core).values()) for name, of_core in node.caches}
    known = {
        name: size for name, size in node.cache_bytes.items() if size and (name in sharing or not sharing)
    }
    if not known:
        return _Cache(
            CACHE_BYTES // 2,
            f"A tile and its buffer fit in {CACHE_BYTES >> 21} MiB of a cache, as on the paper's machine: the"
            " description of the node does not say how large its caches are.",
        )
    name = max(known)
    cores = sharing.get(name, 1)
    return _Cache(
        known[name] // cores,
        f"A tile and its buffer fit in a core's part of the {name} cache: {known[name] >> 10} KiB for"
        f" {counted(cores, 'core')}.",
    )


def _by_operations(
    request: Request, platform: Platform, places: dict[str, tuple[int, Seats]], cache: _Cache
) -> Table:
    """What tiles save if the program did more or less with a number: bytes are of the numbers, as many each time."""
    rows: list[list[Cell]] = []
    for operations in OTHER_OPERATIONS:
        share = operations / OPERATIONS
        cases = {
            (where, tile): Case(
                _ring(tile),
                ranks,
                seats,
                f"{where}, {tile or 'whole'}, {operations:g} operations",
                ITERATIONS,
                bytes_per_operation=_streamed(tile, cache) / share,
                computation=share,
            )
            for where, (ranks, seats) in places.items()
            for tile in (0, TILE_BYTES)
        }
        made = all_outcomes(request, platform, list(cases.values()))
        times = {key: made[case].time_s for key, case in cases.items()}
        saved = [100 * (1 - times[where, TILE_BYTES] / times[where, 0]) for where in places]
        rows.append([operations, *(round(each, 1) for each in saved)])
    return Table(
        f"Percent of the time that tiles of {TILE_BYTES >> 10} KiB save, by operations on a number",
        ["operations", *places],
        rows,
        [
            f"{OPERATIONS:g} operations on a number of 8 bytes are assumed above: the paper does not say how many."
        ],
    )


def _claims(saved: dict[str, float], how: How) -> list[ClaimOutcome]:
    return [
        number(
            "C-tile", f"time that tiles of 256 KB save, {where}", paper, saved[where], percent, how, _LACKS
        )
        for where, paper in PAPER.items()
    ]
