# SPDX-License-Identifier: BSD-3-Clause
"""The reports of several recordings, in the form of that of one: runs beside runs, and how a program scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankwise.compare import words as compare_words
from rankwise.compare.comparison import Comparison, Difference
from rankwise.compare.scaling import Scaling, ScalingRow
from rankwise.findings.data import Efficiency
from rankwise.quantities import counted, seconds_text
from rankwise.report import efficiency_words, time_words
from rankwise.report.data import ReportData
from rankwise.report.html import coded, environment, script, short, stack, style
from rankwise.report.html.fitting import fitted
from rankwise.report.html.look import BLUE, GREEN, ORANGE, PINK, SKY
from rankwise.report.html.several import curves, fitting
from rankwise.report.html.several.matrices import matrices

_MOST_ROWS = 500
_FALLS = 0.98
_FIRST = {"fix": "What to fix", "efficiency": "Efficiency", "time": "Time", "map": "Map"}


@dataclass(frozen=True)
class Factor:
    """An efficiency of both sides.

    Attributes:
        name: Its name.
        depth: As of `efficiency_words.Factor`.
        meaning: Likewise.
        difference: Of both sides.
    """

    name: str
    depth: int
    meaning: str
    difference: Difference


def render_comparison(found: Comparison, before: ReportData, after: ReportData) -> str:
    """The page of runs before and after, of at most 2 MB (`fitting`).

    Args:
        found: What changed.
        before: A run before, of which time in parts and map are shown.
        after: A run after.
    """
    sides = {"before": before, "after": after}
    names = {each.name for each in found.new}

    def page(kept: fitting.Kept, cut: Mapping[str, list[str]]) -> str:
        groups: dict[str, list[Difference]] = {}
        for each in found.differences[: kept.most_rows]:
            groups.setdefault(each.of, []).append(each)
        return _page(
            "several/comparison.html.jinja",
            kept,
            cut,
            _FIRST | {"fix": "What changed", "matrix": "Communication matrix", "all": "All numbers"},
            found=found,
            headline=compare_words.headline(
                found,
                [
                    compare_words.Side(each.program.name, each.program.world_size, len(each.program.hosts))
                    for each in (before, after)
                ],
            ),
            sides=sides,
            diff=compare_words,
            factors=_factors(found, after.efficiency or before.efficiency),
            bars=_bars(sides),
            still=[each for each in after.findings if each.name not in names],
            least=[each for each in found.differences if each.of in ("time", "waiting")],
            groups=groups,
            left_out_rows=max(len(found.differences) - kept.most_rows, 0),
        )

    whole = fitting.Kept.all(list(sides.items()), matrices(before, after), _MOST_ROWS)
    return fitted(whole, fitting.CUTS, page)


def render_scaling(found: Scaling, runs: Sequence[ReportData]) -> str:
    """The page of runs on different numbers of ranks, of at most 2 MB (`fitting`).

    Args:
        found: Their efficiencies.
        runs: The runs, in the order of `found.rows`.
    """
    names = [counted(row.ranks, "rank") for row in found.rows]
    ranks = [row.ranks for row in found.rows]
    columns = [
        (name, colour, [getattr(row, key) for row in found.rows]) for name, colour, key in _columns(found)
    ]

    def page(kept: fitting.Kept, cut: Mapping[str, list[str]]) -> str:
        return _page(
            "several/scaling.html.jinja",
            kept,
            cut,
            _FIRST,
            found=found,
            headline=compare_words.scaling_headline(found, runs[-1].program.name),
            last=runs[-1],
            sentences=_sentences(found),
            crowded=compare_words.without_cores(found),
            columns=[] if found.no_efficiencies else columns,
            speed_up=curves.speed_up(ranks, [row.speed_up for row in found.rows], BLUE),
            efficiencies=None if found.no_efficiencies else curves.efficiencies(ranks, columns),
            bars=_bars(dict(zip(names, runs, strict=True))),
        )

    whole = fitting.Kept.all(list(zip(names, runs, strict=True)), None, _MOST_ROWS)
    return fitted(whole, fitting.CUTS, page)


def _page(
    template: str, kept: fitting.Kept, cut: Mapping[str, list[str]], contents: Mapping[str, str], **given: Any
) -> str:
    runs = [run for _, run in kept.runs]
    drawn_map, hosts = kept.map(), runs[-1].program.hosts
    by_node = kept.nodes_first()
    numbers = {
        "map": drawn_map,
        "program": {
            "world_size": max(each.program.world_size for each in runs),
            "hosts": hosts if kept.compared and all(each.program.hosts == hosts for each in runs) else [],
        },
        "compared": kept.compared and kept.compared | {"nodes_first": by_node},
        "ranks": kept.seats(),
    }
    return (
        environment()
        .get_template(template)
        .render(
            given,
            cut=cut,
            most_rows=kept.most_rows,
            runs=runs,
            drawn_map=drawn_map,
            compared=kept.compared,
            by_node=by_node,
            contents=contents.items(),
            time_legend=_legend(runs),
            chart_size=(curves.WIDTH, curves.HEIGHT),
            look={},
            style=style("several/several.css"),
            script=script("several/compared.js"),
            coded=coded(short(numbers)),
        )
    )


def _factors(found: Comparison, known: Efficiency | None) -> list[Factor]:
    differences = {each.what: each for each in found.differences if each.of == "efficiency"}
    factors = efficiency_words.factors(known) if known else []
    named = [(each, differences.get(each.name.removesuffix(" efficiency"))) for each in factors]
    return [Factor(each.name, each.depth, each.meaning, of) for each, of in named if of]


def _bars(runs: Mapping[str, ReportData]) -> list[tuple[str, list[stack.Piece], float, float]]:
    """Of each run with times its mean rank: name, pieces, seconds, and these of the longest."""
    known = {name: time for name, each in runs.items() if (time := stack.time_bars(each))}
    longest = max((time.mean_s for time in known.values()), default=0.0) or 1.0
    return [(name, time.mean, time.mean_s, time.mean_s / longest) for name, time in known.items()]


def _legend(runs: Sequence[ReportData]) -> list[tuple[str, str]]:
    """Names and colours of the parts of time that any run has."""
    known = {part.key: part.name for each in runs for part in time_words.parts(each)}
    return [(known[key], colour) for key, colour in stack.COLOURS.items() if key in known]


def _columns(found: Scaling) -> list[tuple[str, str, str]]:
    """Name, colour and key of the efficiencies that are drawn; communication where its factors are not known."""
    split = any(row.serialisation is not None for row in found.rows)
    factors = [("serialisation", PINK, "serialisation"), ("transfer", GREEN, "transfer")]
    return [
        ("parallel", BLUE, "parallel"),
        ("load balance", ORANGE, "load_balance"),
        *(factors if split else [("communication", PINK, "communication")]),
        ("computation scaling", SKY, "computation_scaling"),
    ]


def _sentences(found: Scaling) -> list[str]:
    """What the numbers say, from the fewest ranks to the most."""
    first, last = found.rows[0], found.rows[-1]
    more = f"{last.ranks / first.ranks:.3g} times the ranks"
    if found.kind == "strong":
        said = f"{last.speed_up:.2f} times as fast with {more}"
    else:
        said = f"{last.speed_up:.2f} times the work in the same time with {more}"
    lines = [
        f"{seconds_text(first.time_s)} on {counted(first.ranks, 'rank')}, {seconds_text(last.time_s)} on "
        f"{counted(last.ranks, 'rank')}: {said}"
    ]
    if found.no_efficiencies:
        return [*lines, f"efficiencies: {found.no_efficiencies}"]
    falls = sorted((each for each in _changes(first, last) if each[0] < _FALLS), key=lambda each: each[0])
    if falls:
        falling = [
            f"{name} from {efficiency_words.text(one)} to {efficiency_words.text(other)}"
            for _, name, one, other in falls
        ]
        lines.append(f"what falls, most first: {', '.join(falling)}")
    else:
        lines.append("no efficiency falls by more than 2 %")
    return lines


def _changes(first: ScalingRow, last: ScalingRow) -> list[tuple[float, str, float, float]]:
    """Last over first, name and both values of the factors whose product is the global efficiency."""
    split = None not in (first.serialisation, first.transfer, last.serialisation, last.transfer)
    keys = ("serialisation", "transfer") if split else ("communication",)
    pairs = (
        (key.replace("_", " "), getattr(first, key), getattr(last, key))
        for key in ("load_balance", *keys, "computation_scaling")
    )
    return [(other / one if one else 1.0, name, one, other) for name, one, other in pairs]
