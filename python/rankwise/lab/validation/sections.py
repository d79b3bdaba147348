# SPDX-License-Identifier: BSD-3-Clause
"""The part of the page on accuracy that one validation fills: summaries, counts, and a table a case."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankwise.lab.rate import show_rate
from rankwise.lab.validation import counted
from rankwise.lab.validation.other_load import TOLERATED
from rankwise.lab.validation.result import TRACED, CaseResult, Document, PlacementResult, Summary
from rankwise.lab.validation.statistics import Gain, apart_by_chance
from rankwise.lab.validation.tables import share, table
from rankwise.measure.statistics import confidence_of

LIBRARIES = {"mpich": "MPICH", "openmpi": "Open MPI"}
_GAIN_POINTS = 0.05


def section(document: Document, plots: Sequence[str], name: str) -> str:
    """Summaries of one validation; `plots` are file names beside the page."""
    options, context = document.options, document.context
    rates = ", ".join(map(show_rate, options.rates_bytes_per_s))
    ranks = " and ".join(map(str, options.ranks))
    lines = [
        f"## {name}",
        "",
        f"{_library(document)}; {ranks} ranks on {options.nodes} nodes of {options.cores} "
        f"cores, {rates} a node each way; {_runs(document)}; seed {options.seed}.",
        f"Kernel {context.get('kernel', 'unknown')}, Rankwise {context.get('rankwise', 'unknown')}{_code(document)}.",
        "",
        *(
            [
                f"Held out: none of these programs was ever run against a prediction before commit `{options.frozen}`.",
                "",
            ]
            if options.frozen
            else []
        ),
        "Machine files, frozen before the first run in their lab:",
        "",
        *(
            f"* {rate}: SHA-256 `{sha256}`{_meanwhile(document, rate)}{_no_time(document, rate)}"
            for rate, sha256 in document.machine_sha256.items()
        ),
        "",
        *_others(document),
    ]
    lines += [f"Not run: {name} ({why})." for name, why in options.not_run.items()]
    if options.not_run:
        lines.append("")
    if not document.complete:
        lines += ["**Not all planned runs were made.**", ""]
    lines += [*_summaries(document), "", *_by_chance(document), *_twins(document), *_unanswered(document)]
    lines += [*_gains(document), ""]
    lines += [*counted.sent(document), ""]
    lines += [*counted.monitored(document), ""]
    lines += [*counted.processors(document), ""]
    lines += [
        f"![measured and predicted times, {name}, {rate}]({plot})"
        for plot, rate in zip(plots, map(show_rate, options.rates_bytes_per_s), strict=False)
    ]
    if document.invalid:
        lines += [
            "",
            "Runs that the lab does not let count, because a cluster would have taken another time:",
            "",
        ]
        lines += [f"* {each}" for each in document.invalid]
    failed = [f"* {each}" for each in document.failures] or ["No run failed."]
    return "\n".join([*lines, "", f"### Failures: {name}", "", *failed, ""])


def single_cases(document: Document, name: str) -> str:
    """A table a case."""
    lines = [f"## Placements: {name}", ""]
    for case in document.cases:
        lines += _case(case, document)
    return "\n".join(lines)


def _library(document: Document) -> str:
    """Name and version: of what the library says of itself the first words."""
    said = str(document.context.get("mpi", "")).split(",")[0].split()
    version = next((word for word in said if word.lstrip("v")[:1].isdigit()), "")
    return f"{LIBRARIES[document.options.mpi]} {version.lstrip('v')}".strip()


def _runs(document: Document) -> str:
    planned = document.options.repetitions
    counts = [
        len(each.measured.times_s) for case in document.cases for each in case.placements if each.measured
    ]
    if not counts:
        return f"{planned} runs of each placement planned, none made"
    sure = f"measured intervals hold {confidence_of(min(counts)):.0%} or more"
    made = str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    return f"{made} runs of each placement, {planned} planned ({sure})"


def _others(document: Document) -> list[str]:
    tolerated, found = document.tolerated_load, document.median_load
    lines = []
    if document.disturbed:
        count = (
            f"{document.disturbed} runs during which others used more than {share(tolerated)} of the machine"
        )
        lines += [f"Left out, whatever their time was: {count}.", ""]
    if tolerated > TOLERATED and found is not None:
        shared = f"others used up to {share(tolerated)} of this machine (median {share(found)})"
        lines += [
            f"**The machine was not quiet:** runs count during which {shared}, which makes times longer.",
            "",
        ]
    return lines


def _summaries(document: Document) -> list[str]:
    """One row a case, and all of them together."""
    paced = _is_paced(document)
    rows = [
        (
            case.setting.program,
            str(case.setting.ranks),
            show_rate(case.setting.rate_bytes_per_s),
            share(recorded_share(case)),
            *_agreement(case, bool(document.simgrid)),
            *([_ratio(case.slowness), _ratio(case.compute_slowness)] if paced else ()),
        )
        for case in document.cases
    ]
    rows.append(
        (
            "all",
            "",
            "",
            "",
            *_agreement(document, bool(document.simgrid)),
            *(("", "") if paced else ()),
        )
    )
    heads = (
        "program",
        "ranks",
        "rate",
        "network",
        "ordered",
        "ordered: bytes",
        *(("ordered: SimGrid",) if document.simgrid else ()),
        "error",
        "worst",
        "covered",
        "width",
        "error: plain",
        "error: bytes",
        *(("error: SimGrid",) if document.simgrid else ()),
        *(("slowness", "computing") if paced else ()),
    )
    return table(heads, rows)


def _is_paced(document: Document) -> bool:
    return any(case.slowness or case.compute_slowness for case in document.cases)


def _meanwhile(document: Document, rate: str) -> str:
    others = document.measured_others.get(rate)
    return "" if others is None else f"; others used {share(others)} of the machine while it was measured"


def _no_time(document: Document, rate: str) -> str:
    said = document.left_out.get(rate)
    return f"; no time was left for {said}" if said else ""


def _code(document: Document) -> str:
    """What predicted: several versions if the command was another one when it was resumed."""
    known = [f"`{each}`" for each in document.codes if each]
    return f" (code {', '.join(known)})" if known else ""


def by_chance(document: Document) -> tuple[int, float | None]:
    """All pairs, and how many of them runs would tell apart if there were nothing to tell; `None`: not known."""
    counts = [
        [len(each.measured.times_s) for each in case.distinct if each.measured] for case in document.cases
    ]
    return sum(len(each) * (len(each) - 1) // 2 for each in counts), apart_by_chance(counts)


def _by_chance(document: Document) -> list[str]:
    pairs, chance = by_chance(document)
    if not pairs or chance is None:
        return []
    return [
        f"{document.predicted.pairs} of {pairs} pairs are told apart by their runs; if all placements of a program "
        f"took the same time, chance would tell {chance:.0f} apart.",
        "",
    ]


def _twins(document: Document) -> list[str]:
    """Placements that were run under two names say how far medians of the same thing are apart."""
    if not document.twins:
        return []
    found = np.abs([each.difference for each in document.twins])
    far = document.twins[int(np.argmax(found))]
    return [
        f"{len(found)} placements were found twice, under two names, and run as two: medians of the same placement "
        f"differ by {share(float(np.median(found)))} (median), at most by {share(float(found.max()))} "
        f"({far.case}, {far.first} and {far.second}). Here both are one, with the runs of both.",
        "",
    ]


def _unanswered(document: Document) -> list[str]:
    if not document.unanswered:
        return []
    return [f"SimGrid's replay failed or did not end in time for {document.unanswered} placements.", ""]


def _ratio(value: float | None) -> str:
    return f"{value:.2f}" if value else ""


def _agreement(of: CaseResult | Document, with_simgrid: bool) -> tuple[str, ...]:
    def ordered(by: Summary | None) -> str:
        return f"{by.ordered} of {by.pairs}" if by else ""

    found, bytes_only, simgrid = of.predicted, of.bytes_only, of.simgrid
    return (
        ordered(found),
        ordered(bytes_only),
        *((ordered(simgrid),) if with_simgrid else ()),
        share(found.median_error),
        share(found.worst_error, "+"),
        f"{found.covered} of {found.to_cover}",
        share(_width(of)),
        share(of.plain.median_error) if of.plain else "",
        share(bytes_only.median_error),
        *((share(simgrid.median_error) if simgrid else "",) if with_simgrid else ()),
    )


def widths(of: CaseResult | Document) -> list[float]:
    """Of the predicted intervals: the upper end over the lower one, less 1."""
    cases = of.cases if isinstance(of, Document) else [of]
    return [each.high_s / each.low_s - 1 for case in cases for each in case.distinct if each.low_s]


def _width(of: CaseResult | Document) -> float | None:
    found = widths(of)
    return float(np.median(found)) if found else None


def recorded_share(case: CaseResult) -> float | None:
    """The part of the traced run's time in which the busiest interface transfers."""
    recorded = next((each for each in case.placements if each.name == TRACED), None)
    if recorded is None or not case.recorded_s:
        return None
    return recorded.network_share * recorded.predicted_s / case.recorded_s


_SLOWER = (TRACED, "cyclic", "worst")


def gains_of(document: Document, *over: str) -> list[Gain]:
    """What the optimised placement saves of the time of others, where both were measured and are not the same."""
    gains = (case.gain(other) for case in document.cases for other in over or _SLOWER)
    return [gain for gain in gains if gain]


def _gains(document: Document) -> list[str]:
    """What the optimised placement saves, measured and predicted."""
    known = gains_of(document)
    if not known:
        return []
    sure = sure_of(known)
    parts = [[gain for case in document.cases if (gain := case.gain(over))] for over in _SLOWER]
    split = ", ".join(
        f"{near(part)} of {len(part)} over {over}" for over, part in zip(_SLOWER, parts, strict=True)
    )
    lines = [
        f"Time that the optimised placement saves, measured (predicted): {near(known)} of {len(known)} predicted "
        f"within 5 points ({split}). Of {len(sure)} the runs themselves say it to within 5 points (*sure*, by the "
        f"intervals of both times), and {near(sure)} of these are predicted so.",
        "",
        *table(
            ("case", *(f"over {over}" for over in _SLOWER)),
            [[case.name, *(_gain(case, over) for over in _SLOWER)] for case in document.cases],
        ),
    ]
    worse = surely_slower(document)
    if worse:
        said = "Optimised placements that are slower than blocked, by the intervals of both"
        lines += ["", f"{said}: {', '.join(worse)}."]
    return lines


def surely_slower(document: Document) -> list[str]:
    """Cases whose optimised placement is slower than the traced one, by the intervals of both times."""
    return [case.name for case in document.cases if (gain := case.gain(TRACED)) and gain.high < 0]


def slower(gains: Sequence[Gain]) -> list[Gain]:
    """Gains that are losses, by the medians."""
    return [gain for gain in gains if gain.measured < 0]


def near(gains: Sequence[Gain]) -> int:
    """How many gains are predicted within 5 points."""
    return sum(gain.is_near(_GAIN_POINTS) for gain in gains)


def possible(gains: Sequence[Gain]) -> int:
    """How many gains are predicted within 5 points of what the runs leave open."""
    return sum(gain.is_possible(_GAIN_POINTS) for gain in gains)


def sure_of(gains: Sequence[Gain]) -> list[Gain]:
    """Gains that the runs themselves say to within 5 points."""
    return [gain for gain in gains if gain.is_sure(_GAIN_POINTS)]


def _gain(case: CaseResult, over: str) -> str:
    gain = case.gain(over)
    if gain is None:
        measured = {each.name for each in case.placements if each.measured}
        return "the same" if {over, "optimised"} <= measured else ""
    sure = " *sure*" if gain.is_sure(_GAIN_POINTS) else ""
    return f"{share(gain.measured, '+')} ({share(gain.predicted, '+')}){sure}"


def _case(case: CaseResult, document: Document) -> list[str]:
    setting, tolerated = case.setting, document.tolerated_load
    of = f"{setting.program}, {setting.ranks} ranks, {show_rate(setting.rate_bytes_per_s)}"
    lines = [
        f"### {of}, {LIBRARIES[document.options.mpi]}",
        "",
        f"{case.title}.",
    ]
    if case.failure:
        return [*lines, "", f"Failed: {case.failure}", ""]
    lines[-1] += f" The traced run took {case.recorded_s:.3f} s."
    if case.recorded_others is not None and case.recorded_others > tolerated:
        lines[-1] += (
            f" **Others used {case.recorded_others:.0%} of the machine meanwhile,** more than the {tolerated:.0%} that "
            "runs may have, and each time that it was recorded anew: all predictions are made from it."
        )
    if case.omitted:
        left = "; ".join(f"{what} ({count})" for what, count in case.omitted.items())
        lines.append(f"Not replayed: {left}.")
    heads = ("placement", "measured", "interval", "predicted", "interval", "error", "network", "bytes only")
    rows = list(map(_row, case.placements))
    if case.simgrid:
        heads += ("SimGrid",)
        of_simgrid = ("" if each.simgrid_s is None else f"{each.simgrid_s:.3f} s" for each in case.placements)
        rows = [[*row, simulated] for row, simulated in zip(rows, of_simgrid, strict=True)]
    return [*lines, "", *table(heads, rows), ""]


def _row(each: PlacementResult) -> list[str]:
    measured = each.measured
    return [
        each.name + (f" (as {each.same_as})" if each.same_as else ""),
        f"{measured.median_s:.3f} s" if measured else "failed" if each.failures else "none counts",
        f"{measured.low_s:.3f} - {measured.high_s:.3f}" if measured else "",
        f"{each.predicted_s:.3f} s",
        f"{each.low_s:.3f} - {each.high_s:.3f}",
        share(each.error, "+"),
        share(each.network_share),
        f"{each.bytes_only_s:.3f} s",
    ]
