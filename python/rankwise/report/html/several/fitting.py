# SPDX-License-Identifier: BSD-3-Clause
"""What the page of several recordings leaves out if it would be larger than 2 MB."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from rankwise.report import words
from rankwise.report.data import ReportData
from rankwise.report.html.fitting import Cut, smaller_map
from rankwise.report.html.several.matrices import matrices, seats

# Of the maps of a page together.
_MOST_LINKS, _FEW_LINKS = 30_000, 4_000
_MOST_NODES = 256


@dataclass(frozen=True)
class Kept:
    """What the page has of its recordings.

    Attributes:
        runs: Name and report of each run.
        compared: The matrices of two runs, as they are drawn; `None` without.
        most_rows: Of a table.
        whole_maps: By place of a run its map and the kinds of its nodes, made once for all pages that are tried.
        most_links: Pairs of nodes of all maps together, those with most bytes of each.
        most_nodes: Of a map, likewise.
        maps: Runs that have one, by their place; `None` for all.
    """

    runs: tuple[tuple[str, ReportData], ...]
    compared: dict[str, Any] | None
    most_rows: int
    whole_maps: Mapping[int, tuple[dict[str, Any], list[Any]]] = field(compare=False)
    most_links: int = _MOST_LINKS
    most_nodes: int | None = None
    maps: tuple[int, ...] | None = None

    @classmethod
    def all(
        cls, runs: Sequence[tuple[str, ReportData]], compared: dict[str, Any] | None, most_rows: int
    ) -> Kept:
        """Nothing left out of what these have."""
        maps = {at: _whole_map(run) for at, (_, run) in enumerate(runs) if run.map.placed}
        return cls(tuple(runs), compared, most_rows, maps)

    def mapped(self) -> list[int]:
        """The runs whose map is drawn, by their place."""
        places = range(len(self.runs)) if self.maps is None else self.maps
        return [at for at in places if at in self.whole_maps]

    def map(self) -> dict[str, Any]:
        """Where the ranks of each run were: the runs as placements."""
        kinds: list[Any] = []
        placed, drawn = [], self.mapped()
        for at in drawn:
            whole, own = self.whole_maps[at]
            nodes = [node | {"kind": node["kind"] + len(kinds)} for node in whole["nodes"]]
            placed.append(whole | {"name": self.runs[at][0], "nodes": nodes})
            kinds += own
        return smaller_map(
            {"kinds": kinds, "placed": placed}, self.most_links // max(len(drawn), 1), self.most_nodes
        )

    def nodes_first(self) -> bool:
        """Whether compared matrices are of nodes first, of which the ranks can be seen: as of one run (`words`)."""
        if not self.compared or self.compared["ranks_per_group"] > 1:
            return False
        seats = self.seats()
        # Where a map lacks nodes, its order lacks ranks.
        whole = [self.whole_maps[at][0]["nodes"] for at in self.mapped()] if self.most_nodes is None else []
        known = any(len(nodes) > 1 for nodes in whole) or words.nodes_in_turn(seats["rank"], seats["host"])
        return known and words.has_many(self.runs[-1][1].program.world_size)

    def seats(self) -> dict[str, list[int]]:
        """Of a comparison with matrices, the host of each rank."""
        return seats(self.runs[0][1], self.runs[-1][1]) if self.compared else {"rank": [], "host": []}


def _whole_map(run: ReportData) -> tuple[dict[str, Any], list[Any]]:
    whole = msgspec.to_builtins(run.map.placed[0])
    # Messages are not drawn.
    links = {key: column for key, column in whole["links"].items() if key != "messages"}
    return whole | {"links": links}, msgspec.to_builtins(run.map.kinds)


def _rows(count: int) -> Callable[[Kept], Kept]:
    return lambda kept: replace(kept, most_rows=count)


def _groups(most_pairs: int, most_groups: int) -> Callable[[Kept], Kept]:
    def less(kept: Kept) -> Kept:
        if kept.compared is None or kept.compared["groups"] <= most_groups:
            return kept
        (_, before), (_, after) = kept.runs
        return replace(kept, compared=matrices(before, after, most_pairs, most_groups))

    return less


def _ends(kept: Kept) -> Kept:
    places = kept.mapped()
    return replace(kept, maps=(places[0], places[-1])) if len(places) > 2 else kept


def _few_links(kept: Kept) -> Kept:
    most = _FEW_LINKS // max(len(kept.mapped()), 1)
    more = any(len(kept.whole_maps[at][0]["links"]["bytes"]) > most for at in kept.mapped())
    return replace(kept, most_links=_FEW_LINKS) if more else kept


def _few_nodes(kept: Kept) -> Kept:
    more = any(len(kept.whole_maps[at][0]["nodes"]) > _MOST_NODES for at in kept.mapped())
    return replace(kept, most_nodes=_MOST_NODES) if more else kept


def _without_matrix(kept: Kept) -> Kept:
    return replace(kept, compared=None)


def _without_maps(kept: Kept) -> Kept:
    return replace(kept, maps=()) if kept.mapped() else kept


CUTS: Sequence[Cut[Kept]] = (
    Cut("map", "maps of all runs but the first and the last", _ends),
    Cut("map", f"bytes of pairs of nodes but the {_FEW_LINKS} with the most, all maps together", _few_links),
    Cut("matrix", "messages between single ranks", _groups(0, 256)),
    Cut("", "", _rows(100)),
    Cut("map", f"nodes but the {_MOST_NODES} with the most bytes to and from others", _few_nodes),
    Cut("matrix", "messages between smaller groups of ranks", _groups(0, 64)),
    Cut("", "", _rows(20)),
    Cut("matrix", "the picture", _without_matrix),
    Cut("map", "the maps", _without_maps),
    Cut("", "", _rows(5)),
)
"""In this order."""
