# SPDX-License-Identifier: BSD-3-Clause
"""Whether Rankwise is right about one program: a sentence, a table, a page."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from rankwise.lab.rate import show_rate
from rankwise.lab.validation.result import CaseResult, PlacementResult, ValidationResult
from rankwise.lab.validation.statistics import FEWEST_RUNS
from rankwise.lab.validation.tables import share, table
from rankwise.quantities import counted, seconds_text

MARK = "<!-- Written by `rankwise lab validate` of one program. -->"
HEADS = ("placement", "predicted", "interval", "measured", "interval", "error", "in order")
# What is called right: nine of ten pairs in order, and a median error of a tenth.
LEAST_ORDERED, MOST_ERROR = 0.9, 0.1


_HOW = (
    "The machine was measured first. Then the program was recorded once, with its ranks placed blocked. All placements "
    "were predicted from that recording, anchored at its time, and then each was run in turn. A time begins when the "
    "last rank has left `MPI_Init`, and ends when the last one enters `MPI_Finalize`. *in order*: of the pairs with "
    "other placements whose measured intervals do not overlap (three runs each), how often was the faster one "
    "predicted to be faster."
)


class Pair(NamedTuple):
    """Two placements that runs tell apart, and whether the faster one was predicted to be faster; medians."""

    faster: PlacementResult
    slower: PlacementResult
    ordered: bool
    faster_s: float
    slower_s: float


def pairs(case: CaseResult) -> list[Pair]:
    """All pairs of placements whose measured intervals do not overlap, as `statistics.agreement` counts them."""
    known = [
        (each.measured, each)
        for each in case.distinct
        if each.measured and len(each.measured.times_s) >= FEWEST_RUNS
    ]
    found = []
    for two in itertools.combinations(known, 2):
        (one, faster), (other, slower) = sorted(two, key=lambda each: each[0].median_s)
        if one.high_s < other.low_s:
            ordered = faster.predicted_s < slower.predicted_s
            found.append(Pair(faster, slower, ordered, one.median_s, other.median_s))
    return found


def sentence(document: ValidationResult) -> str:
    """The verdict, in one sentence that begins with it."""
    case = document.cases[0] if document.cases else None
    if case is None:
        return "not known yet: no run was recorded"
    if case.failure:
        return f"not known: {case.failure}"
    found = document.predicted
    if not found.times and document.invalid:
        _, _, why = document.invalid[0].partition(": ")
        return f"not known: no run counts: {why}; a run of two seconds or more, at a lower `--rate`, may"
    if not found.times and document.disturbed:
        return (
            f"not known yet: {counted(document.disturbed, 'run')} shared the machine with others, none counts; "
            "`--tolerate` says how much others may use"
        )
    if not found.times:
        return "not known yet: nothing was measured"
    if found.median_error is None:
        return "not known yet: of no placement but the recorded one does a run count"
    error = f"median error {share(found.median_error)}, the worst {share(found.worst_error, '+')}"
    inside = f"{found.covered} of {found.to_cover} times in their interval"
    if not found.pairs:
        fewest = min(len(each.measured.times_s) for each in case.distinct if each.measured)
        why = (
            f"{counted(fewest, 'run')} a placement tell none apart (three do)"
            if fewest < FEWEST_RUNS
            else "their runs tell no two placements apart"
        )
        right = "right in times" if found.median_error <= MOST_ERROR else "wrong in times"
        return f"{right}, the order is not known: {why}; {error}, {inside}"
    order = f"{found.ordered} of {counted(found.pairs, 'pair')} in order"
    if found.ordered < LEAST_ORDERED * found.pairs:
        wrong = [each for each in pairs(case) if not each.ordered]
        worst = max(wrong, key=lambda each: each.slower_s / each.faster_s)
        faster, slower = worst.faster, worst.slower
        return (
            f"no: only {order}; `{slower.name}` is predicted to take {seconds_text(slower.predicted_s)} and "
            f"`{faster.name}` {seconds_text(faster.predicted_s)}, they took {seconds_text(worst.slower_s)} "
            f"and {seconds_text(worst.faster_s)}; {error}, {inside}"
        )
    if found.median_error > MOST_ERROR:
        return f"right in order, wrong in times: {order}, but a {error}, {inside}"
    return f"yes: {order}, {error}, {inside}"


def rows(case: CaseResult) -> list[tuple[str | None, ...]]:
    """Cells under `HEADS`: placements in the order of their predicted times."""
    found = pairs(case)

    def order(each: PlacementResult) -> str | None:
        own = [pair.ordered for pair in found if each.name in (pair.faster.name, pair.slower.name)]
        return f"{sum(own)} of {len(own)}" if own else None

    def spread(low: float, high: float) -> str:
        return f"{low:.3f} - {high:.3f}"

    return [
        (
            f"{each.name} (as {each.same_as})" if each.same_as else each.name,
            f"{each.predicted_s:.3f} s",
            spread(each.low_s, each.high_s),
            f"{each.measured.median_s:.3f} s" if each.measured else "failed" if each.failures else None,
            spread(each.measured.low_s, each.measured.high_s) if each.measured else None,
            share(each.error, "+") if each.error is not None else None,
            order(each),
        )
        for each in sorted(case.placements, key=lambda each: each.predicted_s)
    ]


def page(document: ValidationResult) -> str:
    """The whole in Markdown."""
    options = document.options
    (case,) = document.cases
    where = (
        f"by `{' '.join(options.on)}` on {counted(options.nodes, 'host')}"
        if options.on
        else f"in a lab of {options.nodes} nodes of {options.cores} cores at {show_rate(options.rates_bytes_per_s[0])}"
    )
    ((_, sha256),) = document.machine_sha256.items()
    cells = [[each or "" for each in row] for row in rows(case)]
    context = document.context | {"mpi": " ".join(str(document.context.get("mpi", "")).split()[:4])}
    return "\n".join(
        [
            MARK,
            f"# Is Rankwise right about `{options.programs[0]}`?",
            "",
            f"{document.verdict}.",
            "",
            f"`{' '.join(options.command)}`, {counted(options.ranks[0], 'rank')}, {where}.",
            "",
            *table(HEADS, cells),
            "",
            *_notes(document, case),
            _HOW,
            "",
            f"Machine file: SHA-256 {sha256}. "
            + ", ".join(f"{name} {value}" for name, value in context.items() if value and name != "code")
            + ".",
            "",
        ]
    )


def _notes(document: ValidationResult, case: CaseResult) -> Sequence[str]:
    noted = [f"* failed: {each}" for each in document.failures]
    noted += [f"* not replayed: {what} ({count})" for what, count in case.omitted.items()]
    if document.disturbed:
        noted.append(f"* {document.disturbed} runs shared the machine with others and do not count")
    noted += [f"* does not count: {each}" for each in document.invalid]
    return [*noted, ""] if noted else []
