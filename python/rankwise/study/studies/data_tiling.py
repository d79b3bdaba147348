# SPDX-License-Identifier: BSD-3-Clause
"""Data processed whole or in tiles that fit a cache, round a ring (Chai, Gao & Panda 2007, section 5.4, figure 7)."""

from __future__ import annotations

from rankwise.study.cases import Case, Seats
from rankwise.study.compared import number, percent
from rankwise.study.platforms import BENSLEY, Platform
from rankwise.study.program import StudyProgram, workload_program
from rankwise.study.request import Request
from rankwise.study.result import Cell, ClaimOutcome, Figure, How, Series, StudyResult, Table
from rankwise.study.run.machines import nodes
from rankwise.study.run.outcomes import all_outcomes

SUMMARY = "a ring that processes its data whole or in tiles, by placement and size of the tiles"
CLAIMS = ("C-tile",)
TAKES: tuple[str, ...] = ("--ranks",)

ITERATIONS = 3
DATA_BYTES = 64 << 20
TILE_BYTES = 256 << 10
TILES = (64 << 10, TILE_BYTES, 1 << 20, 4 << 20, 16 << 20)
CACHE_BYTES = 4 << 20
"""Of the cache that a tile has to fit into with the buffer it came from."""

STREAMED = 8.0
"""Bytes to and from memory for an operation on data that are in no cache: a number is read and written for two."""

PAPER = {"2 on a chip": 0.7, "4 in a node": 0.6, "8 on 2 nodes": 0.5, "16 on 4 nodes": 0.5}
_LACKS = (
    "how many operations the paper's program does on a number is not in it; two are taken: with four tiles save "
    "75, 48, 48 and 48 %, with one 82, 53, 53 and 53 %"
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
    tiles = (0, *TILES)
    cases = {
        (where, tile): Case(
            _ring(tile),
            ranks,
            seats,
            f"{where}, {tile or 'whole'}",
            ITERATIONS,
            bytes_per_operation=_streamed(tile),
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
        verdict=f"Tiles of {TILE_BYTES >> 10} KiB save {percent(saved[best])} of the time with ranks {best}, "
        f"{percent(min(saved.values()))} at least."
        if saved[best] > 0.005
        else f"Tiles of {TILE_BYTES >> 10} KiB save nothing.",
        tables=[Table(f"Time by that of {DATA_BYTES >> 20} MiB at once", ["ranks", "whole", *names], rows)],
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


def _streamed(tile: int) -> float:
    """A tile that came through the cache is still there when it is processed; other data come from memory."""
    return 0.0 if tile and 2 * tile <= CACHE_BYTES else STREAMED


def _claims(saved: dict[str, float], how: How) -> list[ClaimOutcome]:
    return [
        number(
            "C-tile", f"time that tiles of 256 KB save, {where}", paper, saved[where], percent, how, _LACKS
        )
        for where, paper in PAPER.items()
    ]
