# SPDX-License-Identifier: BSD-3-Clause
"""Placing the ranks of a METIS graph on a hierarchy: the least sum of weight x distance, beside a lower bound."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rankwise import regular_files, whole_files
from rankwise._core.placement import Graph as Graph
from rankwise._core.placement import Mapping
from rankwise.errors import RankwiseError

# Sums of weights are below 4e15, so that with these no sum of weight x distance overflows.
_MOST_DISTANCE = 1e200
# What is known of each core takes tens of bytes.
_MOST_CORES = 1 << 25


@dataclass(frozen=True)
class Hierarchy:
    """A machine whose blocks are all alike.

    Attributes:
        parts: Cores of a smallest block, smallest blocks of the next, ..., nodes.
        distances: What a unit of weight costs between two cores of a smallest block, of the next, ..., of two nodes.
    """

    parts: tuple[int, ...]
    distances: tuple[float, ...]

    @property
    def cores(self) -> int:
        """Cores of the machine."""
        return math.prod(self.parts)

    @classmethod
    def parse(cls, parts: str, distances: str, ranks: int) -> Hierarchy:
        """A hierarchy such as `8:4:2:N` with distances such as `1:3:10:50`.

        Args:
            parts: Whole numbers, smallest blocks first; the last may be `N`, as many nodes as `ranks` need.
            distances: As many numbers, none smaller than the one before.
            ranks: How many there are to place.

        Raises:
            RankwiseError: They are something else, or there is no room for the ranks.
        """
        words = parts.split(":")
        counts = [int(word) if re.fullmatch(r"[1-9]\d{0,8}", word) else 0 for word in words]
        if words[-1] == "N":
            counts[-1] = max(1, -(-ranks // max(1, math.prod(counts[:-1]))))
        if 0 in counts:
            raise RankwiseError(
                f"`{words[counts.index(0)]}` in the hierarchy `{parts}` is not a whole number from 1",
                "smallest blocks first, nodes last, for example `--hierarchy 8:4:2:16` or `8:4:2:N`",
            )
        try:
            lengths = tuple(float(word) for word in distances.split(":"))
        except ValueError:
            lengths = (math.nan,)
        rising = all(a <= b for a, b in zip(lengths, lengths[1:], strict=False))
        if not rising or not all(math.isfinite(each) and each >= 0 for each in lengths):
            raise RankwiseError(
                f"the distances `{distances}` are not numbers from 0 that never get smaller",
                "nearest first, for example `--distances 1:3:10:50`",
            )
        if len(lengths) != len(counts):
            raise RankwiseError(
                f"the hierarchy `{parts}` has {len(counts)} levels, the distances `{distances}` are {len(lengths)}",
                "give a distance for each level, for example `--hierarchy 8:4:2:N --distances 1:3:10:50`",
            )
        if lengths[-1] > _MOST_DISTANCE:
            raise RankwiseError(
                f"the distances `{distances}` are more than {_MOST_DISTANCE:g}",
                "divide them by a common factor",
            )
        found = cls(tuple(counts), lengths)
        if found.cores > _MOST_CORES:
            raise RankwiseError(
                f"the hierarchy `{parts}` has {found.cores} cores, more than {_MOST_CORES}",
                "`N` for the nodes takes as many as are needed",
            )
        if ranks > found.cores:
            raise RankwiseError(
                f"the graph has {ranks} vertices, the hierarchy `{parts}` {found.cores} cores",
                f"use more nodes: `--hierarchy {':'.join([*words[:-1], 'N'])}` takes as many as are needed",
            )
        return found


@dataclass(frozen=True)
class GraphPlacement:
    """Ranks on the cores of a hierarchy, one each.

    Attributes:
        name: `blocked`, `cyclic`, `given`, or how the best was found.
        core: Core of each rank; cores are numbered so that those of a block follow each other.
        cost: Sum of weight x distance over the edges.
        busiest: Weight between the busiest node and all others.
    """

    name: str
    core: np.ndarray
    cost: float
    busiest: float


@dataclass(frozen=True)
class GraphResult:
    """What a search found.

    Attributes:
        placements: Blocked, cyclic, those given, and last the best.
        lower_bound: No placement costs less than this.
        interrupted: The search was ended early, by Ctrl-C.
    """

    placements: list[GraphPlacement]
    lower_bound: float
    interrupted: bool


def load_graph(path: str | os.PathLike[str]) -> Graph:
    """Read a METIS graph file.

    Raises:
        RankwiseError: It cannot be read, or a line of it breaks the format.
    """
    try:
        text = regular_files.read_bytes(path)
    except OSError as error:
        raise RankwiseError(
            f"graph `{path}` cannot be read: {(error.strerror or str(error)).lower()}",
            "name a METIS graph file",
        ) from None
    return Graph.read_metis(text, os.fspath(path))


def place_graph(
    graph: Graph,
    hierarchy: Hierarchy,
    *,
    seed: int = 1,
    budget_s: float | None = None,
    never_busier: bool = False,
    grid: Sequence[int] = (),
    given: Sequence[np.ndarray] = (),
    progress: Callable[[str, float, float], None] | None = None,
) -> GraphResult:
    """Find the best placement of a graph.

    Args:
        graph: Who talks to whom.
        hierarchy: The machine.
        seed: Of the search.
        budget_s: Go on with other seeds for this long; without it, one search with its natural end.
        never_busier: Do not take a placement whose busiest node has more to send than that of the best known.
        grid: Extents of the graph if it is a grid, slowest first, as programs name them.
        given: Cores of placements that the result is to be no worse than.
        progress: Called with name, cost and busiest node of each new best.

    Raises:
        RankwiseError: The ranks do not fit, or a given placement puts two ranks on one core.
    """
    mapping = Mapping(graph, list(hierarchy.parts), list(hierarchy.distances))
    found, interrupted = mapping.search(
        seed=seed, budget_s=budget_s, never_busier=never_busier, grid=[int(each) for each in reversed(grid)],
        given=[each.tolist() for each in given], progress=progress,
    )  # fmt: skip
    return GraphResult([GraphPlacement(*each) for each in found], mapping.lower_bound(), interrupted)


def parse_grid(text: str, ranks: int) -> tuple[int, ...]:
    """Extents of a grid from `64x64` or `32x16x8`.

    Raises:
        RankwiseError: It is something else, or has another number of points than there are ranks.
    """
    if not re.fullmatch(r"[1-9]\d{0,8}([xX][1-9]\d{0,8}){0,2}", text):
        raise RankwiseError(f"`{text}` is not a grid, which is written as `64x64` or `32x16x8`")
    extents = tuple(int(word) for word in text.lower().split("x"))
    if math.prod(extents) != ranks:
        raise RankwiseError(
            f"the grid `{text}` has {math.prod(extents)} points, the graph {ranks} vertices",
            "leave `--grid` out, and it is looked for in the graph",
        )
    return extents


def load_cores(path: str | os.PathLike[str], ranks: int, cores: int) -> np.ndarray:
    """Read a placement from a text file with a line a rank, its core.

    Raises:
        RankwiseError: A line is no core of the machine, a core is taken twice, or there are more or fewer lines than
            ranks.
    """
    try:
        words = regular_files.read_text(path).split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise RankwiseError(f"`{path}` cannot be read: {(reason or str(error)).lower()}") from None
    while words and not words[-1].strip():
        words.pop()
    taken: dict[int, int] = {}
    for rank, word in enumerate(words):
        if not re.fullmatch(r"\s*\d{1,10}\s*", word) or int(word) >= cores:
            raise RankwiseError(
                f"`{path}` line {rank + 1}: rank {rank} is placed on `{word.strip()}`, which is not a core from 0 to "
                f"{cores - 1}",
                "a line a rank, with the number of its core",
            )
        if int(word) in taken:
            raise RankwiseError(
                f"`{path}` line {rank + 1}: ranks {taken[int(word)]} and {rank} are both placed on core {int(word)}",
                "each rank takes a core of its own",
            )
        taken[int(word)] = rank
    if len(words) != ranks:
        raise RankwiseError(f"`{path}` places {len(words)} ranks, the graph has {ranks} vertices")
    return np.array(list(taken), dtype=np.int64)


def save_cores(core: np.ndarray, path: str | os.PathLike[str]) -> None:
    """Write a placement as a text file with a line a rank, its core, by rename.

    Raises:
        RankwiseError: It cannot be written.
    """
    whole_files.write(Path(path), ("\n".join(map(str, core.tolist())) + "\n").encode())
