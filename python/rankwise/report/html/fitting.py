# SPDX-License-Identifier: BSD-3-Clause
"""What a page of a run leaves out if it would be larger than 2 MB: what is least useful first.

Columns by rank stay: they are what is left of the page of a run of many ten thousand ranks.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from rankwise.report.data import ReportData
from rankwise.report.matrix import by_node, group_of, members_by_node
from rankwise.report.use_data import Track

MOST_BYTES = 2_000_000
_FEW, _MANY = 64, 256
_MOST_TRACKS = 4  # of each kind

Less = Callable[[ReportData], ReportData]


def _without_communicators(report: ReportData) -> ReportData:
    kept = [part for part in report.matrix_parts.parts if part.kind != "communicator"]
    return msgspec.structs.replace(
        report, matrix_parts=msgspec.structs.replace(report.matrix_parts, parts=kept)
    )


def _two_maps(report: ReportData) -> ReportData:
    return _maps(report, 2)


def _one_map(report: ReportData) -> ReportData:
    return _maps(report, 1)


def _maps(report: ReportData, count: int) -> ReportData:
    return msgspec.structs.replace(
        report, map=msgspec.structs.replace(report.map, placed=report.map.placed[:count])
    )


def _members(report: ReportData) -> list[list[int]]:
    hosts = dict(zip(report.ranks.rank, report.ranks.host, strict=True))
    of = [hosts.get(rank, len(report.program.hosts)) for rank in range(report.program.world_size)]
    return members_by_node(of, _FEW if len(set(of)) <= _FEW else _MANY)


def _waits_by_node(report: ReportData) -> ReportData:
    waits, members = report.pair_waits, _members(report)
    if waits is None or waits.ranks_per_group > 1:
        return report
    of = group_of(members, report.program.world_size).tolist()
    sums: dict[tuple[int, int], tuple[float, int]] = {}
    for waiting, late, waited_s, calls in zip(
        waits.waiting, waits.late, waits.waited_s, waits.calls, strict=True
    ):
        pair = of[waiting], of[late]
        before = sums.get(pair, (0.0, 0))
        sums[pair] = before[0] + waited_s, before[1] + calls
    pairs = sorted(sums)
    fewer = msgspec.structs.replace(
        waits,
        ranks_per_group=max(map(len, members)),
        waiting=[waiting for waiting, _ in pairs],
        late=[late for _, late in pairs],
        waited_s=[sums[pair][0] for pair in pairs],
        calls=[sums[pair][1] for pair in pairs],
        members=members,
    )
    return msgspec.structs.replace(report, pair_waits=fewer)


def _without_parts(report: ReportData) -> ReportData:
    return msgspec.structs.replace(
        report, matrix_parts=msgspec.structs.replace(report.matrix_parts, parts=[])
    )


def _matrix_by_node(report: ReportData) -> ReportData:
    if report.matrix.ranks_per_group > 1:
        return report
    fewer = by_node(report.matrix, _members(report), report.program.world_size)
    return msgspec.structs.replace(_without_parts(report), matrix=fewer)


def _few_tracks(report: ReportData) -> ReportData:
    timeline = report.use.timeline
    if timeline is None:
        return report
    of_kind: dict[str, list[int]] = {}
    for at in sorted(range(len(timeline.tracks)), key=lambda at: -_most(timeline.tracks[at])):
        of_kind.setdefault(timeline.tracks[at].kind, []).append(at)
    places = sorted(at for some in of_kind.values() for at in some[:_MOST_TRACKS])
    fewer = msgspec.structs.replace(timeline, tracks=[timeline.tracks[at] for at in places])
    return msgspec.structs.replace(report, use=msgspec.structs.replace(report.use, timeline=fewer))


def _most(track: Track) -> float:
    return max((value or 0.0 for value in track.per_s), default=0.0)


CUTS: tuple[tuple[str, str, Less], ...] = (
    ("matrix", "messages of single communicators", _without_communicators),
    ("map", "maps of placements from the third on", _two_maps),
    ("waiting", "waits between single ranks", _waits_by_node),
    ("use", f"curves over time but the {_MOST_TRACKS} of each kind with the most", _few_tracks),
    ("map", "all maps but the first", _one_map),
    ("matrix", "how long messages took, and which of them were inside collectives", _without_parts),
    ("matrix", "messages between single ranks", _matrix_by_node),
)
"""Section, what is not in it, and how; in this order."""
