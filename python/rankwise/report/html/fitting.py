# SPDX-License-Identifier: BSD-3-Clause
"""What a page leaves out if it would be larger than 2 MB: what is least useful first, and pictures last.

With all cuts a page has words, a few rows a table, and pictures whose size the number of ranks does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import msgspec

from rankwise.report.data import ReportData
from rankwise.report.data.communication import PairWaits
from rankwise.report.matrix import by_node, group_of, members_by_node
from rankwise.report.use_data import MOST_TRACKS, Track

MOST_BYTES = 2_000_000
_FEW, _MANY = 64, 256
_FEW_TRACKS = 4  # of each kind
_MOST_LINKS, _MOST_NODES, _MOST_BARS = 2_000, 256, 1_024
_FEW_PLACEMENTS, _LONG_COMMAND = 2, 10_000

Shown = TypeVar("Shown")


@dataclass(frozen=True)
class Cut(Generic[Shown]):
    """A way to leave something out.

    Attributes:
        section: Which says so.
        what: What is not in it; empty for rows of tables: each table counts those that it has not.
        less: The same without that; equal to what it was given where that was not there.
    """

    section: str
    what: str
    less: Callable[[Shown], Shown]


def fitted(
    whole: Shown, cuts: Sequence[Cut[Shown]], page: Callable[[Shown, Mapping[str, list[str]]], str]
) -> str:
    """A page of at most `MOST_BYTES`.

    Args:
        whole: All that it could show.
        cuts: In this order, as many as it takes.
        page: Makes it of what is kept, and of what is left out by section.
    """
    made = page(whole, {})
    if len(made.encode()) <= MOST_BYTES:
        return made
    states: list[tuple[Shown, Mapping[str, list[str]]]] = [(whole, {})]
    for cut in cuts:
        kept, out = states[-1]
        smaller = cut.less(kept)
        if smaller != kept:
            said = {cut.section: [*out.get(cut.section, []), cut.what]} if cut.what else {}
            states.append((smaller, {**out, **said}))
    # Pages are smaller from state to state, and take far longer to make than states; mostly few cuts do.
    few, most = min(1, len(states) - 1), len(states) - 1
    fits = None
    while few < most:
        middle = min(2 * few - 1, (few + most) // 2)
        made = page(*states[middle])
        if len(made.encode()) <= MOST_BYTES:
            most, fits = middle, made
        else:
            few = middle + 1
    return fits or page(*states[most])


@dataclass(frozen=True)
class Kept:
    """What the page of one run has of its report.

    Attributes:
        report: What pictures are drawn from, and words.
        most_rows: Of a table.
        most_links: Pairs of nodes on a map, those with most bytes.
        most_nodes: Likewise nodes.
        most_bars: Of the time by rank: of more ranks a bar is the mean of neighbours.
        most_tracks: Of what happened over time, of each kind.
        without: Sections whose picture is not drawn.
    """

    report: ReportData
    most_rows: int
    most_links: int | None = None
    most_nodes: int | None = None
    most_bars: int | None = None
    most_tracks: int = MOST_TRACKS
    without: frozenset[str] = frozenset()


def smaller_map(drawn: dict[str, Any], most_links: int | None, most_nodes: int | None) -> dict[str, Any]:
    """A drawn map with the nodes and links that have most bytes, and kinds of these nodes.

    Args:
        drawn: As in a report; a placement that has not all nodes gets how many `more` there are, and what they send.
        most_links: Of each placement; `None` for all.
        most_nodes: Likewise.
    """
    if most_links is None and most_nodes is None:
        return drawn
    placed = [_largest_nodes(each, most_nodes) for each in drawn["placed"]]
    placed = [each | {"links": _largest_links(each["links"], most_links)} for each in placed]
    kinds = sorted({node["kind"] for each in placed for node in each["nodes"]})
    now = {kind: at for at, kind in enumerate(kinds)}
    placed = [
        each | {"nodes": [node | {"kind": now[node["kind"]]} for node in each["nodes"]]} for each in placed
    ]
    return {"kinds": [drawn["kinds"][kind] for kind in kinds], "placed": placed}


def _largest_links(links: dict[str, Any], most: int | None) -> dict[str, Any]:
    size = links["bytes"]
    if most is None or len(size) <= most:
        return links
    return _these_links(links, sorted(sorted(range(len(size)), key=lambda at: -size[at])[:most]))


def _these_links(links: dict[str, Any], kept: list[int]) -> dict[str, Any]:
    columns = {name: [column[at] for at in kept] for name, column in links.items() if name != "left_out"}
    return columns | {"left_out": links["left_out"] + len(links["bytes"]) - len(kept)}


def _largest_nodes(placed: dict[str, Any], most: int | None) -> dict[str, Any]:
    nodes, links = placed["nodes"], placed["links"]
    if most is None or len(nodes) <= most:
        return placed
    order = sorted(range(len(nodes)), key=lambda at: -nodes[at]["sent_bytes"] - nodes[at]["received_bytes"])
    kept, rest = sorted(order[:most]), order[most:]
    now = {node: at for at, node in enumerate(kept)}
    ends = zip(links["source"], links["destination"], strict=True)
    inside = _these_links(links, [at for at, (one, other) in enumerate(ends) if one in now and other in now])
    return placed | {
        "nodes": [nodes[at] for at in kept],
        "links": inside | {name: [now[node] for node in inside[name]] for name in ("source", "destination")},
        "more": {"nodes": len(rest), "sent_bytes": sum(nodes[at]["sent_bytes"] for at in rest)},
    }


def _without(section: str, there: Callable[[ReportData], object]) -> Callable[[Kept], Kept]:
    return lambda kept: replace(kept, without=kept.without | {section}) if there(kept.report) else kept


def _of(less: Callable[[ReportData], ReportData]) -> Callable[[Kept], Kept]:
    return lambda kept: replace(kept, report=less(kept.report))


def _rows(count: int) -> Callable[[Kept], Kept]:
    return lambda kept: replace(kept, most_rows=count)


def _without_communicators(report: ReportData) -> ReportData:
    kept = [part for part in report.matrix_parts.parts if part.kind != "communicator"]
    return msgspec.structs.replace(
        report, matrix_parts=msgspec.structs.replace(report.matrix_parts, parts=kept)
    )


def _maps(count: int) -> Callable[[Kept], Kept]:
    return _of(
        lambda report: msgspec.structs.replace(
            report, map=msgspec.structs.replace(report.map, placed=report.map.placed[:count])
        )
    )


def _few_timelines(report: ReportData) -> ReportData:
    if report.predicted is None:
        return report
    placements = report.predicted.placements
    some = [
        *placements[:_FEW_PLACEMENTS],
        *(msgspec.structs.replace(each, timeline=None) for each in placements[_FEW_PLACEMENTS:]),
    ]
    return msgspec.structs.replace(
        report, predicted=msgspec.structs.replace(report.predicted, placements=some)
    )


def _few_distributions(report: ReportData) -> ReportData:
    return msgspec.structs.replace(report, distributions=report.distributions[:_FEW_PLACEMENTS])


def _members(report: ReportData) -> list[list[int]]:
    hosts = dict(zip(report.ranks.rank, report.ranks.host, strict=True))
    of = [hosts.get(rank, len(report.program.hosts)) for rank in range(report.program.world_size)]
    return members_by_node(of, _FEW if len(set(of)) <= _FEW else _MANY)


def _summed_waits(waits: PairWaits, of: Sequence[int], members: list[list[int]]) -> PairWaits:
    """Between groups: `of` is the group of each row that there was."""
    sums: dict[tuple[int, int], tuple[float, int]] = {}
    for waiting, late, waited_s, calls in zip(
        waits.waiting, waits.late, waits.waited_s, waits.calls, strict=True
    ):
        pair = of[waiting], of[late]
        before = sums.get(pair, (0.0, 0))
        sums[pair] = before[0] + waited_s, before[1] + calls
    pairs = sorted(sums)
    return msgspec.structs.replace(
        waits,
        ranks_per_group=max(map(len, members)),
        waiting=[waiting for waiting, _ in pairs],
        late=[late for _, late in pairs],
        waited_s=[sums[pair][0] for pair in pairs],
        calls=[sums[pair][1] for pair in pairs],
        members=members,
    )


def _waits_by_node(report: ReportData) -> ReportData:
    waits, members = report.pair_waits, _members(report)
    if waits is None or waits.ranks_per_group > 1:
        return report
    of = group_of(members, report.program.world_size).tolist()
    return msgspec.structs.replace(report, pair_waits=_summed_waits(waits, of, members))


def _few_groups(report: ReportData, members: list[list[int]]) -> tuple[list[list[int]], list[list[int]]]:
    """Which of these groups are put together, and the ranks of each."""
    hosts = dict(zip(report.ranks.rank, report.ranks.host, strict=True))
    together = members_by_node([hosts.get(some[0], len(report.program.hosts)) for some in members], _FEW)
    return together, [sum((members[at] for at in some), []) for some in together]


def _waits_of_few(report: ReportData) -> ReportData:
    waits = report.pair_waits
    if waits is None or len(waits.members) <= _FEW:
        return report
    together, members = _few_groups(report, waits.members)
    of = group_of(together, len(waits.members)).tolist()
    return msgspec.structs.replace(report, pair_waits=_summed_waits(waits, of, members))


def _without_parts(report: ReportData) -> ReportData:
    return msgspec.structs.replace(
        report, matrix_parts=msgspec.structs.replace(report.matrix_parts, parts=[])
    )


def _matrix_by_node(report: ReportData) -> ReportData:
    if report.matrix.ranks_per_group > 1:
        return report
    fewer = by_node(report.matrix, _members(report), report.program.world_size)
    return msgspec.structs.replace(_without_parts(report), matrix=fewer)


def _matrix_of_few(report: ReportData) -> ReportData:
    matrix = report.matrix
    if len(matrix.members) <= _FEW:
        return report
    together, members = _few_groups(report, matrix.members)
    fewer = by_node(matrix, together, len(matrix.members))
    fewer = msgspec.structs.replace(fewer, members=members, ranks_per_group=max(map(len, members)))
    return msgspec.structs.replace(_without_parts(report), matrix=fewer)


def _few_tracks(kept: Kept) -> Kept:
    report, timeline = kept.report, kept.report.use.timeline
    if timeline is None:
        return kept
    of_kind: dict[str, list[int]] = {}
    for at in sorted(range(len(timeline.tracks)), key=lambda at: -_most(timeline.tracks[at])):
        of_kind.setdefault(timeline.tracks[at].kind, []).append(at)
    places = sorted(at for some in of_kind.values() for at in some[:_FEW_TRACKS])
    if len(places) == len(timeline.tracks):
        return kept
    fewer = msgspec.structs.replace(timeline, tracks=[timeline.tracks[at] for at in places])
    less = msgspec.structs.replace(report, use=msgspec.structs.replace(report.use, timeline=fewer))
    return replace(kept, report=less, most_tracks=_FEW_TRACKS)


def _most(track: Track) -> float:
    return max((value or 0.0 for value in track.per_s), default=0.0)


def _without_moves(report: ReportData) -> ReportData:
    timeline = report.use.timeline
    if timeline is None:
        return report
    tracks = [msgspec.structs.replace(track, moves_s=[]) for track in timeline.tracks]
    fewer = msgspec.structs.replace(timeline, tracks=tracks)
    return msgspec.structs.replace(report, use=msgspec.structs.replace(report.use, timeline=fewer))


def _few_links(kept: Kept) -> Kept:
    more = any(len(placed.links.bytes) > _MOST_LINKS for placed in kept.report.map.placed)
    return replace(kept, most_links=_MOST_LINKS) if more else kept


def _few_nodes(kept: Kept) -> Kept:
    more = any(len(placed.nodes) > _MOST_NODES for placed in kept.report.map.placed)
    return replace(kept, most_nodes=_MOST_NODES) if more else kept


def _few_bars(kept: Kept) -> Kept:
    more = kept.report.time is not None and len(kept.report.ranks.rank) > _MOST_BARS
    return replace(kept, most_bars=_MOST_BARS) if more else kept


def _short_command(report: ReportData) -> ReportData:
    kept, room = [], _LONG_COMMAND
    for word in report.program.command:
        kept.append(word[:room])
        room -= len(word) + 1
        if room <= 0:
            break
    return msgspec.structs.replace(report, program=msgspec.structs.replace(report.program, command=kept))


CUTS: tuple[Cut[Kept], ...] = (
    Cut("matrix", "messages of single communicators", _of(_without_communicators)),
    Cut("map", "maps of placements from the third on", _maps(2)),
    Cut("predicted", "timelines of placements from the third on", _of(_few_timelines)),
    Cut("waiting", "waits between single ranks", _of(_waits_by_node)),
    Cut("use", f"curves over time but the {_FEW_TRACKS} of each kind with the most", _few_tracks),
    Cut("use", "when ranks came to another core", _of(_without_moves)),
    Cut("map", "all maps but the first", _maps(1)),
    Cut("distribution", "distributions of placements from the third on", _of(_few_distributions)),
    Cut("", "", _rows(100)),
    Cut("matrix", "how long messages took, and which of them were inside collectives", _of(_without_parts)),
    Cut("matrix", "messages between single ranks", _of(_matrix_by_node)),
    Cut("map", f"bytes of pairs of nodes but the {_MOST_LINKS} with the most", _few_links),
    Cut("ranks", "times of single ranks, so a bar is the mean of neighbours", _few_bars),
    Cut("waiting", "waits between parts of nodes or single nodes", _of(_waits_of_few)),
    Cut("matrix", "messages between parts of nodes or single nodes", _of(_matrix_of_few)),
    Cut("map", f"nodes but the {_MOST_NODES} with the most bytes to and from others", _few_nodes),
    Cut("", "", _rows(20)),
    Cut("ranks", "the picture", _without("ranks", lambda report: report.time)),
    Cut("waiting", "the picture", _without("waiting", lambda report: report.pair_waits)),
    Cut("matrix", "the picture", _without("matrix", lambda report: report.matrix.source)),
    Cut("map", "the map", _without("map", lambda report: report.map.placed)),
    Cut("context", f"the command line behind its first {_LONG_COMMAND} letters", _of(_short_command)),
    Cut("", "", _rows(5)),
)
"""Of the page of one run, in this order."""
