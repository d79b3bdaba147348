# SPDX-License-Identifier: BSD-3-Clause
"""Parts of the page on accuracy below its first table: how it was measured, programs, misses, and what is not there."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from accuracy.chance import apart_by_chance
from accuracy.overview import HELD_OUT, LIBRARIES, WORST, Group
from accuracy.result import CaseResult, PlacementResult, ValidationResult, summary
from accuracy.state import Monitored
from rankwise.lab.rate import show_rate
from rankwise.lab.validation.result import TRACED
from rankwise.lab.validation.statistics import FEWEST_RUNS
from rankwise.lab.validation.tables import share, table
from rankwise.lab.validation.verdict import Pair, pairs
from rankwise.measure.fitting.statistics import confidence_of
from rankwise.quantities import counted

_MOST_ROWS = 40  # of lists that grow with what went wrong: the page stays one to read
_MOST_IN_CELL = 3
_NEARLY_ALL = (
    0.01  # of recorded bytes: what counts differ by if nothing but messages of the library is between them
)
_REASONS = (
    "Reasons are in the words of the run itself. *Messages lay*: for this part of the time messages were there, but",
    "their rank slept or had no processor. [Is a run valid?](lab.md#is-a-run-valid) calls that `messages for a",
    "sleeping rank`.",
)
_HASH = 12  # characters of a SHA-256 that tell machine files apart; the results have all


def validations(groups: Sequence[Group]) -> list[str]:
    """A row for each validation: where and how often programs ran, and what counts of it."""
    heads = (
        "",
        "MPI",
        "programs",
        "nodes x cores",
        "rate",
        "ranks",
        "runs a placement",
        "runs that count",
        "not valid",
        "shared with others",
        "failed",
        "machine file",
    )
    rows = [_validation(group, each) for group in groups for each in group.documents]
    return table(heads, rows)


def _validation(group: Group, document: ValidationResult) -> tuple[str, ...]:
    options = document.options
    runs = [len(each.measured.times_s) for case in document.cases for each in case.distinct if each.measured]
    files = ", ".join(f"{rate} `{sha256[:_HASH]}`" for rate, sha256 in document.machine_sha256.items())
    return (
        group.name.lower() + ("" if document.complete else " (not complete)"),
        _library(document),
        ", ".join(dict.fromkeys(case.setting.program for case in document.cases)),
        f"{options.nodes} x {options.cores}",
        ", ".join(map(show_rate, options.rates_bytes_per_s)),
        ", ".join(map(str, options.ranks)),
        str(options.repetitions),
        str(sum(runs)),
        str(len(document.invalid)),
        str(document.disturbed),
        str(len(document.failures)),
        files,
    )


def remarks(documents: Sequence[ValidationResult]) -> list[str]:
    """What must be known of single validations, and of how sure runs are."""
    lines = []
    if not all(each.complete for each in documents):
        lines.append(
            "* *Not complete*: time ran out before all runs were made. What was run is on this page."
        )
    lines.append(f"* On: {'; '.join(dict.fromkeys(map(_platform, documents)))}.")
    codes = list(dict.fromkeys(code for each in documents for code in each.codes if each.cases))
    if len(codes) > 1:
        lines.append(f"* **Not all was predicted by the same code**: {len(codes)} versions of it.")
    counts = [
        [len(each.measured.times_s) for each in case.distinct if each.measured]
        for document in documents
        for case in document.cases
    ]
    runs = [count for case in counts for count in case]
    if runs:
        fewest = max(FEWEST_RUNS, min(runs))
        few = sum(count < FEWEST_RUNS for count in runs)
        sure = share(confidence_of(fewest))
        said = f"* The interval of a median of {fewest} runs contains the true median with a probability of {sure}."
        lines.append(
            said
            + (
                f" Of {counted(few, 'placement')} there are fewer runs: they do not count in pairs."
                if few
                else ""
            )
        )
    chance = apart_by_chance(counts)
    apart = sum(each.predicted.pairs for each in documents)
    if apart and chance is not None:
        every = sum(len(each) * (len(each) - 1) // 2 for each in counts)
        lines.append(
            f"* {apart} of {every} pairs of placements have measured intervals that do not overlap. If all placements "
            f"of a program took the same time, chance alone would give {chance:.0f} such pairs."
        )
    twins = np.abs([twin.difference for each in documents for twin in each.twins])
    if len(twins):
        middle, most = (share(float(each), digits=1) for each in (np.median(twins), twins.max()))
        lines.append(
            f"* {counted(len(twins), 'placement')} ran under two names (such as `blocked` and `optimised`), so they "
            f"were measured twice. The two times differ by {middle} in the median, and by {most} at most."
        )
    lines += _messages([case for document in documents for case in document.cases])
    for each in documents:
        called = f"{_library(each)}, {', '.join(map(show_rate, each.options.rates_bytes_per_s))}"
        lines += [
            f"* {called}: while the machine was measured, there was no time for {said}."
            for said in each.left_out.values()
        ]
        lines += [
            f"* **{called}: others used {share(others)} of the machine while it was measured.**"
            for others in each.measured_others.values()
            if others > each.tolerated_load
        ]
    return list(dict.fromkeys(lines))


def _messages(cases: Sequence[CaseResult]) -> list[str]:
    """Whether recorded messages are those that were sent, as others count them."""
    lines = []
    monitored = [(case.setting.program, case.monitored) for case in cases if case.monitored]
    if known := [each for _, each in monitored if each.alike is not None]:
        lines.append(
            f"* In {sum(each.alike for each in known)} of {sum(each.pairs for each in known)} pairs of ranks, Open "
            "MPI's monitoring component counts the same messages as the recording. (Messages that are sent once, such "
            "as those that make communicators, are left out.)"
        )
    if known := [each for _, each in monitored if each.alike is None]:
        lines.append(
            "* Are the recorded messages those that were sent? Open MPI's monitoring component counted the same runs. "
            f"In {sum(each.equal for each in known)} of {sum(each.pairs for each in known)} pairs of ranks both counts "
            "are equal. Elsewhere the component also counts the messages that make communicators, and it does not see "
            f"persistent sends, which programs of PETSc use.{_bytes_beside(monitored)}"
        )
    rests = [
        sum(each.own_bytes for each in case.sent) / recorded
        for case in cases
        if (recorded := sum(each.recorded_bytes for each in case.sent))
    ]
    if rests:
        lines.append(
            f"* Interfaces count up to {share(max(rests), digits=1)} more bytes than the messages, their headers and "
            "the start of the program have. The rest is what libraries add to a message, and what TCP sends twice."
        )
    return lines


def _bytes_beside(monitored: Sequence[tuple[str, Monitored]]) -> str:
    """How many bytes of each program were counted, of those recorded."""
    parts = [
        (each.counted_bytes / each.recorded_bytes, program)
        for program, each in monitored
        if each.alike is None and each.recorded_bytes
    ]
    near = [abs(part - 1) for part, _ in parts if abs(part - 1) <= _NEARLY_ALL]
    said = (
        f" The bytes of {counted(len(near), 'program')} differ by at most {share(max(near), digits=1)}."
        if near
        else ""
    )
    return said + "".join(
        f" Of {program} the component counts {share(part)} of the bytes."
        for part, program in parts
        if abs(part - 1) > _NEARLY_ALL
    )


def programs(group: Group) -> list[str]:
    """Lines of a table: a row for each program and MPI."""
    heads = (
        "program",
        "MPI",
        "ranks",
        "network's share",
        "placements",
        "measured",
        "median error",
        "worst",
        "pairs in order",
        "in interval",
    )
    rows = []
    for program in group.programs:
        for mpi in group.mpis:
            cases = [case for case in group.of(mpi).cases if case.setting.program == program]
            if cases:
                title = "" if rows and rows[-1][0].startswith(f"**{program}**") else f": {cases[0].title}"
                rows.append((f"**{program}**{title}", LIBRARIES[mpi], *_program(cases)))
    return table(heads, rows)


def _program(cases: Sequence[CaseResult]) -> tuple[str, ...]:
    found = summary([case.compare() for case in cases], "predicted")
    shares = [part for case in cases if (part := recorded_share(case)) is not None]
    times = [each.measured.median_s for case in cases for each in case.distinct if each.measured]
    return (
        ", ".join(dict.fromkeys(str(case.setting.ranks) for case in cases)),
        _range(shares, lambda part: f"{100 * part:.0f}") + " %" if shares else "unknown",
        str(found.times),
        _range(times, lambda time_s: f"{time_s:.2f}") + " s",
        share(found.median_error, digits=1),
        share(found.worst_error, "+", digits=1),
        f"{found.ordered} of {found.pairs}",
        f"{found.covered} of {found.to_cover}",
    )


def recorded_share(case: CaseResult) -> float | None:
    """The part of the traced run's time in which the busiest interface transfers."""
    recorded = next((each for each in case.placements if each.name == TRACED), None)
    if recorded is None or not case.recorded_s:
        return None
    return recorded.network_share * recorded.predicted_s / case.recorded_s


def missed(groups: Sequence[Group]) -> list[str]:
    """A row for each case with a time off by more than is aimed at, or a pair out of order; the worst first."""
    found = []
    for group in groups:
        for mpi in group.mpis:
            for case in group.of(mpi).cases:
                far = [each for each in case.distinct if each.error is not None and abs(each.error) > WORST]
                wrong = [pair for pair in pairs(case) if not pair.ordered]
                if far or wrong:
                    far.sort(key=lambda each: -abs(each.error))
                    worst = abs(far[0].error) if far else 0.0
                    row = (_called(group, mpi, case), _listed(map(_far, far)), _listed(map(_wrong, wrong)))
                    found.append((groups.index(group), -worst, row))
    found.sort(key=lambda each: each[:2])
    heads = ("", f"off by more than {share(WORST)}", "out of order")
    return _bounded(heads, [row for *_, row in found], "Nothing: no time and no pair.")


def largest(groups: Sequence[Group]) -> list[str]:
    """Programs held out with the largest errors, the worst first."""
    found = []
    for group in groups:
        if group.name == HELD_OUT:
            for document in group.documents:
                for case in document.cases:
                    errors = [
                        each.error for each in case.distinct if each.error is not None and each.name != TRACED
                    ]
                    if errors:
                        worst = max(errors, key=abs)
                        found.append((-abs(worst), f"{case.setting.program} {share(worst, '+', 1)}"))
    said = [text for _, text in sorted(found)[:_MOST_IN_CELL]]
    return [f"The largest errors of programs held out: {', '.join(said)}."] if said else []


def _far(each: PlacementResult) -> str:
    return f"{each.name} {share(each.error, '+')} ({each.measured.median_s:.2f} s)"


def _wrong(pair: Pair) -> str:
    faster, slower = pair.faster, pair.slower
    return (
        f"`{faster.name}` was faster ({faster.measured.median_s:.3f} s, `{slower.name}` "
        f"{slower.measured.median_s:.3f} s), but was predicted slower ({faster.predicted_s:.3f} and "
        f"{slower.predicted_s:.3f} s)"
    )


def not_run(documents: Sequence[ValidationResult]) -> list[str]:
    """Programs and cases that no validation has, and why."""
    made = {(of.options.mpi, case.setting) for of in documents for case in of.cases}
    programs = {(mpi, setting.program) for mpi, setting in made}
    chosen = {(of.options.mpi, name) for of in documents for name in of.options.programs}
    lines = []
    for of in documents:
        mpi = of.options.mpi
        lines += [
            f"* {LIBRARIES[mpi]}: {name}: {why}."
            for name, why in of.options.not_run.items()
            if (mpi, name) not in programs
        ]
        others = [
            each
            for each in of.options.described
            if (mpi, each.name) not in chosen and each.name not in of.options.not_run
        ]
        for can, why in (
            (True, "not chosen for this run"),
            (False, "the file of programs says how to get them for another MPI only"),
        ):
            if names := [each.name for each in others if (mpi in each.mpi) == can]:
                lines.append(f"* {LIBRARIES[mpi]}: {', '.join(names)}: {why}.")
        if left := [each.key for each in of.options.settings() if (mpi, each) not in made]:
            lines.append(f"* {LIBRARIES[mpi]}: {', '.join(left)}: no time was left.")
    return list(dict.fromkeys(lines)) or ["All that was planned was run."]


def not_valid(groups: Sequence[Group]) -> list[str]:
    """A row for each case with runs that the lab does not let count."""
    rows = []
    for group in groups:
        for document in group.documents:
            for case in document.cases:
                runs = [
                    run for run in document.invalid if run.startswith((f"{case.name} ", f"{case.name}, "))
                ]
                if runs:
                    recorded = [run for run in runs if run.startswith(f"{case.name}, ")]
                    count = "the recorded run, so all of it" if recorded else counted(len(runs), "run")
                    _, _, why = runs[0].partition(": ")
                    rows.append((_called(group, document.options.mpi, case), count, why))
    lines = _bounded(("", "not valid", "why (the first)"), rows, "All runs were valid.")
    return [*lines, "", *_REASONS] if rows else lines


def failed(groups: Sequence[Group]) -> list[str]:
    """A line for each failure."""
    lines = [
        f"* {LIBRARIES[document.options.mpi]}, {failure}"
        for group in groups
        for document in group.documents
        for failure in document.failures
    ]
    return [*lines[:_MOST_ROWS], *_more(len(lines))] if lines else ["No run failed."]


def _platform(document: ValidationResult) -> str:
    known = document.context
    count, model = known.get("processors"), known.get("processor", known.get("machine", ""))
    processors = f"{counted(int(count), 'processor')} ({model})" if count else str(model)
    return (
        f"Rankwise {known.get('rankwise', 'unknown')}, Linux {known.get('kernel', 'unknown')}, {processors}"
    )


def _called(group: Group, mpi: str, case: CaseResult) -> str:
    setting = case.setting
    rate = show_rate(setting.rate_bytes_per_s)
    return f"{group.name.lower()}: {setting.program}, {LIBRARIES[mpi]}, {setting.ranks} ranks, {rate}"


def _library(document: ValidationResult) -> str:
    """Name and version: of what the library says of itself the first words."""
    said = str(document.context.get("mpi", "")).split(",")[0].split()
    version = next((word for word in said if word.lstrip("v")[:1].isdigit()), "")
    return f"{LIBRARIES[document.options.mpi]} {version.lstrip('v')}".strip()


def _range(values: Sequence[float], show) -> str:
    low, high = show(min(values)), show(max(values))
    return low if low == high else f"{low} to {high}"


def _listed(said: Iterable[str]) -> str:
    said = iter(said)
    shown = list(itertools.islice(said, _MOST_IN_CELL))
    left = sum(1 for _ in said)
    return "; ".join([*shown, f"{left} more"] if left else shown)


def _bounded(heads: Sequence[str], rows: Sequence[Sequence[str]], nothing: str) -> list[str]:
    if not rows:
        return [nothing]
    return [*table(heads, rows[:_MOST_ROWS]), *_more(len(rows))]


def _more(count: int) -> list[str]:
    return ["", f"{count - _MOST_ROWS} more are in the results."] if count > _MOST_ROWS else []
