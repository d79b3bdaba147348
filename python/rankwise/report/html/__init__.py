# SPDX-License-Identifier: BSD-3-Clause
"""The report as one HTML file that needs no network: words and tables in templates, rasters drawn by `page.js`."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, cast

import jinja2
import msgspec
from markupsafe import Markup, escape

from rankwise.quantities import bytes_text, count_text, counted, seconds_text
from rankwise.report import (
    FIRST,
    FIRST_FINDINGS,
    SECTIONS,
    communication_words,
    efficiency_words,
    finding_words,
    time_words,
    tuning,
    use_words,
    words,
)
from rankwise.report.data import ReportData
from rankwise.report.hosts import short_names
from rankwise.report.html import (
    call_tree,
    communication,
    distribution,
    fitting,
    look,
    over_time,
    predicted,
    stack,
    templates,
)
from rankwise.report.predicted import words as predicted_words
from rankwise.sentences import capital

# Rows of a table; others are in the JSON.
_MOST_ROWS = 400  # of a table: with 500 nothing else fits into 2 MB at 10 000 ranks

_TICKS = 10_000_000  # as `drawPhases` has it
_SCRIPTS = ("page.js", "matrix.js", "map.js", "charts.js")


def environment() -> jinja2.Environment:
    """Where templates are found, with what all of them use."""
    made = templates.environment(_file)
    made.filters.update(spans=_spans, options=_options, scopes=_scopes, in_script=_in_script)
    made.globals.update(
        words=words,
        use_words=use_words,
        tuning_words=tuning,
        efficiency_words=efficiency_words,
        finding_words=finding_words,
        capital=capital,
        counted=counted,
        count_text=count_text,
        bytes_text=bytes_text,
        seconds_text=seconds_text,
        colours={"good": look.BLUE, "low": look.ORANGE},
        cut={},
    )
    return made


def render(report: ReportData) -> str:
    """The whole page; of what would be larger than 2 MB, without what is least useful (`fitting`)."""
    whole = fitting.Kept(report, _MOST_ROWS)
    return fitting.fitted(whole, fitting.CUTS, lambda kept, cut: _page(report, kept, cut))


def _page(whole: ReportData, kept: fitting.Kept, cut: Mapping[str, list[str]]) -> str:
    """Of what is kept of a report; tables of placements have all of it."""
    made, report = environment(), kept.report
    given: dict[str, Any] = {
        "report": report,
        "cut": cut,
        "undrawn": kept.without,
        "most_rows": kept.most_rows,
        "most_tracks": kept.most_tracks,
        "first_findings": FIRST_FINDINGS,
        "host_names": short_names(report.program.hosts),
        "shown_in": finding_words.shown_in,
        "named_in_use": finding_words.named_in_use(report),
        "time": stack.time_bars(report),
        "time_legend": stack.time_legend(report),
        "channel_legend": distribution.legend,
        "channel_bars": distribution.bars,
        "over_time_legend": over_time.used_legend(report),
        "unused": over_time.unused(report),
        "tracks_legend": over_time.tracks_legend(report),
        "predicted_bars": predicted.bars(report),
        "predicted_legend": predicted.legend(report),
        "predicted_words": predicted_words,
        "between_nodes": predicted_words.between_nodes(whole),
        "predicted_timelines": predicted.drawn(report) is not None,
        "predicted_timeline_legend": predicted.timeline_legend(),
        "use": report.use,
        "talk": communication_words,
        "tree": call_tree.call_tree(report, kept.most_rows),
        "size_rows": communication_words.size_rows(report),
        "size_legend": communication.channels(report),
        "state_legend": communication.state_legend(report),
        "look": {
            "parts": [
                {"key": part.key, "name": part.name, "colour": stack.COLOURS[part.key]}
                for part in time_words.parts(report)
            ],
            "over_time": over_time.used(report),
            "tracks": over_time.track_colours(report),
            "sizes": communication.size_look(report),
            "states": communication.states(report),
        },
    }
    sections = made.get_template("sections.html.jinja").render(given)
    there = {name: title for name, title in SECTIONS.items() if name in _ALWAYS or f'id="{name}"' in sections}
    return made.get_template("page.html.jinja").render(
        given,
        sections=Markup(sections),
        contents=there.items(),
        titles=there,
        style=style("predicted.css"),
        script=script("predicted.js"),
        coded=coded(drawn_from(kept)),
    )


def style(*more: str) -> Markup:
    """That of all reports, and other files."""
    return Markup("".join(map(_file, ("page.css", "report.css", *more))))


def script(*more: str) -> Markup:
    """Likewise; `page.js` draws what the page has a place for."""
    return Markup("".join(map(_file, (*_SCRIPTS, *more))))


def drawn_from(kept: fitting.Kept) -> dict[str, Any]:
    """What rasters are drawn from, with four digits, pairs with the three that are shown: 10 000 ranks fit in 2 MB.

    As the report's JSON has it, but places of pairs, which ascend, are told by how far each is from the one before; and
    so are begins of iterations, in ticks, of which seven digits of the run's time are made: four would be as wide as
    one of them.
    """
    report = kept.report
    by_rank = {"ranks", "matrix", "waiting"} - kept.without
    content: dict[str, Any] = msgspec.to_builtins(
        {
            "program": {"world_size": report.program.world_size, "hosts": _hosts(kept)},
            "elapsed_s": report.program.elapsed_s,
            "ranks": {name: getattr(report.ranks, name) for name in ("rank", "host", "time_s")}
            if by_rank
            else None,
            "time": None if "ranks" in kept.without or kept.most_bars else report.time,
            "bars": None if "ranks" in kept.without else _bars(kept),
            "matrix": None if "matrix" in kept.without else report.matrix,
            "parts": [] if "matrix" in kept.without else report.matrix_parts.parts,
            "pair_waits": None if "waiting" in kept.without else report.pair_waits,
            "sizes": report.sizes,
            "over_time": report.over_time,
            "map": {"kinds": [], "placed": []} if "map" in kept.without else report.map,
            "timeline": report.use.timeline,
            "tuning": report.tuning[: kept.most_rows],
            "predicted": predicted.drawn(report),
        }
    )
    matrix, waits, parts = content["matrix"], content["pair_waits"], content["parts"]
    if matrix is not None:
        matrix["nodes_first"] = words.nodes_first(report, report.matrix)
        matrix["cells"] = distances(matrix.pop("source"), matrix.pop("destination"), matrix["groups"])
    for part in parts:
        part["pairs"] = distances([0] * len(part["pairs"]), part["pairs"], 1)
        part["time_s"] = part["time_s"] and rounded(part["time_s"])
    if waits is not None and report.pair_waits is not None:
        waits["nodes_first"] = words.nodes_first(report, report.pair_waits)
        waits["groups"] = len(waits["members"]) or -(-report.program.world_size // waits["ranks_per_group"])
        waits["cells"] = distances(waits.pop("waiting"), waits.pop("late"), waits["groups"])
        waits["waited_s"] = rounded(waits["waited_s"])
        waits["calls"] = [int(each) for each in rounded(waits["calls"])]
    content["map"] = fitting.smaller_map(content["map"], kept.most_links, kept.most_nodes)
    links = (placed["links"] for placed in content["map"]["placed"])
    for columns in (*([matrix] if matrix else ()), *parts, *links):
        for name in ("messages", "bytes"):
            columns[name] = [int(each) for each in rounded(columns[name])]
    over = report.over_time
    if over and over.iterations:
        tick_s = over.end_s / _TICKS
        begins, ends = (
            [round(each / tick_s) for each in edges]
            for edges in (over.iterations.begin_s, over.iterations.end_s)
        )
        drawn = content["over_time"]["iterations"]
        del drawn["begin_s"], drawn["end_s"]
        drawn["distances"] = [after - before for before, after in zip([0, *begins], begins, strict=False)]
        drawn["lengths"] = [end - begin for begin, end in zip(begins, ends, strict=True)]
    return cast(dict[str, Any], short(content))


def _hosts(kept: fitting.Kept) -> list[str]:
    """Names; if only tracks are told by them, empty ones for all others."""
    hosts = kept.report.program.hosts
    if not kept.without >= {"ranks", "matrix", "waiting"}:
        return hosts
    timeline = kept.report.use.timeline
    named = {track.host for track in timeline.tracks} if timeline else set()
    return [name if at in named else "" for at, name in enumerate(hosts)]


def _bars(kept: fitting.Kept) -> dict[str, Any] | None:
    """Names of bars and the mean time of each, whole and in parts; `None` where all ranks have their own."""
    ranks, time = kept.report.ranks, kept.report.time
    if not kept.most_bars or time is None:
        return None
    together = -(-len(ranks.rank) // kept.most_bars)
    pieces = [slice(at, at + together) for at in range(0, len(ranks.rank), together)]

    def means(column: list[float]) -> list[float]:
        return [sum(column[piece]) / len(column[piece]) for piece in pieces]

    def name(some: list[int]) -> str:
        return f"ranks {some[0]}-{some[-1]}" if len(some) > 1 else f"rank {some[0]}"

    return {
        "names": [name(ranks.rank[piece]) for piece in pieces],
        "time_s": means(ranks.time_s),
        "time": {
            name: means(column)
            for name, column in msgspec.structs.asdict(time).items()
            if column and name.endswith("_s")
        },
    }


def coded(content: object) -> Markup:
    """JSON as a page carries it for `page.js`."""
    return Markup(base64.b64encode(zlib.compress(json.dumps(content).encode(), 9)).decode())


def distances(rows: list[int], columns: list[int], groups: int) -> list[int]:
    """Of pairs, which ascend, how far each is from the one before."""
    cells = [row * groups + column for row, column in zip(rows, columns, strict=True)]
    return [cell - before for before, cell in zip([0, *cells], cells, strict=False)]


def rounded(values: Sequence[float]) -> list[float]:
    """The same with the three digits that are shown."""
    return [float(f"{value:.3g}") for value in values]


def short(content: Any) -> Any:
    """The same with four digits."""
    if isinstance(content, float):
        return float(f"{content:.4g}")
    if isinstance(content, dict):
        return {name: short(each) for name, each in content.items()}
    return [short(each) for each in content] if isinstance(content, list) else content


_ALWAYS = (*FIRST, "context")


def _in_script(content: object) -> Markup:
    """JSON inside a script element, which only these could end or make a comment."""
    text = json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _file(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _scopes(name: str) -> Markup:
    """A name of C++, which may be broken behind `::`."""
    return Markup(str(escape(name)).replace("::", "::<wbr>"))


def _spans(text: str) -> Markup:
    """What stands between backticks as code."""
    return Markup(
        re.sub(r"`([^`]+)`", lambda found: f"<code>{_with_options(found[1])}</code>", str(escape(text)))
    )


def _options(command: str) -> Markup:
    """A command whose options are not broken behind their hyphens."""
    return Markup(_with_options(str(escape(command))))


def _with_options(escaped: str) -> str:
    return re.sub(r"(?<!\S)-\S{1,24}(?!\S)", r'<span class="option">\g<0></span>', escaped)
