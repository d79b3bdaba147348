# SPDX-License-Identifier: BSD-3-Clause
"""The timeline of what was sampled, as digits: a line for each of the busiest ranks, cores and interfaces."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from rankwise.quantities import counted, seconds_text
from rankwise.report import use_words as words
from rankwise.report.data import ReportData

_LINES, _PIECES, _NAME = 4, 40, 24
_DIGITS = "·123456789"


def view(report: ReportData) -> list[RenderableType]:
    """Of each kind up to four tracks: `9` is the most of the kind, each digit less a ninth less, a blank not known."""
    timeline = report.use.timeline
    if timeline is None:
        return []
    step = -(-(len(timeline.edges_s) - 1) // _PIECES)
    piece = seconds_text((timeline.edges_s[1] - timeline.edges_s[0]) * step)
    found: list[RenderableType] = [
        Text(f"  by rank, core and interface over time, {piece} a digit", style="bold")
    ]
    for kind in dict.fromkeys(track.kind for track in timeline.tracks):
        tracks = [track for track in timeline.tracks if track.kind == kind]
        most = max((value or 0.0 for track in tracks for value in track.per_s), default=0.0)
        if not most:
            continue
        found.append(Text(f"  {kind}, 9 is {words.track_rate_text(kind, most)}"))
        tracks.sort(key=lambda track: -max(value or 0.0 for value in track.per_s))
        for track in tracks[:_LINES]:
            drawn = "".join(
                _digit(track.per_s[at : at + step], most) for at in range(0, len(track.per_s), step)
            )
            moved = f"  {counted(len(track.moves_s), 'move')}" if track.moves_s else ""
            name = words.track_name(track, report.program.hosts)
            if len(name) >= _NAME:
                found.append(Text(f"    {name}"))
                name = ""
            found.append(Text(f"    {name:<{_NAME}}{drawn}{moved}"))
        if len(tracks) > _LINES:
            found.append(Text(f"    and {len(tracks) - _LINES} more in the HTML report"))
    return found


def _digit(values: list[float | None], most: float) -> str:
    """The most of some pieces."""
    known = [value for value in values if value is not None]
    return _DIGITS[round(9 * max(known) / most)] if known else " "
