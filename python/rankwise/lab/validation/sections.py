# SPDX-License-Identifier: BSD-3-Clause
"""The part of the page on accuracy that one validation fills: summaries, counts, and a table a case."""

from __future__ import annotations

from collections.abc import Sequence

from rankwise.lab.rate import show_rate
from rankwise.lab.validation.other_load import TOLERATED
from rankwise.lab.validation.processors import Processors
from rankwise.lab.validation.result import CaseResult, Document, PlacementResult
from rankwise.lab.validation.state import HEADER_BYTES
from rankwise.measure.statistics import confidence_of

LIBRARIES = {"mpich": "MPICH", "openmpi": "Open MPI"}
_GAIN_POINTS = 0.05


def section(
    document: Document, plots: Sequence[str], processors: Sequence[Processors] = (), name: str | None = None
) -> str:
    """All of one validation; `plots` are file names beside the page, `processors` of its traced runs.

    It is called `name`, by default as its MPI.
    """
    options, context = document.options, document.context
    name = name or LIBRARIES[options.mpi]
    rates = ", ".join(map(show_rate, options.rates_bytes_per_s))
    ranks = " and ".join(map(str, options.ranks))
    lines = [
        f"## {name}",
        "",
        f"{context.get('mpi') or LIBRARIES[options.mpi]}; {ranks} ranks on {options.nodes} nodes of {options.cores} "
        f"cores, {rates} a node each way; {_runs(document)}; seed {options.seed}.",
        f"Kernel {context.get('kernel', 'unknown')}, Rankwise {context.get('rankwise', 'unknown')}.",
        "",
        "Machine files, frozen before the first run in their lab:",
        "",
        *(f"* {rate}: SHA-256 `{sha256}`" for rate, sha256 in document.machine_sha256.items()),
        "",
        *_others(document),
    ]
    lines += [f"Not run: {name} ({why})." for name, why in options.not_run.items()]
    if options.not_run:
        lines.append("")
    if not document.complete:
        lines += ["**Not all planned runs were made.**", ""]
    lines += [*_summaries(document), "", *_slowness(document)]
    lines += [*_gains(document), ""]
    lines += [*_sent(document), ""]
    lines += [*_monitored(document), ""]
    lines += [*_processors(document, processors), ""]
    lines += [f"![measured and predicted times]({plot})" for plot in plots]
    lines.append("")
    for case in document.cases:
        lines += _case(case, document.tolerated_load)
    failed = [f"* {each}" for each in document.failures] or ["No run failed."]
    return "\n".join([*lines, f"### Failures: {name}", "", *failed, ""])


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


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
        count = f"{document.disturbed} runs during which others used more than {tolerated:.0%} of the machine"
        lines += [f"Left out, whatever their time was: {count}.", ""]
    if tolerated > TOLERATED and found is not None:
        shared = f"others used up to {tolerated:.0%} of this machine (median {found:.0%}), which makes times longer"
        lines += [f"**The machine was not quiet:** runs count during which {shared}.", ""]
    return lines


def _summaries(document: Document) -> list[str]:
    """One row a case, and all of them together."""
    paced = _is_paced(document)
    rows = [
        (
            case.setting.program,
            str(case.setting.ranks),
            show_rate(case.setting.rate_bytes_per_s),
            _recorded_share(case),
            *_agreement(case),
            *(_simgrid(case) if document.simgrid else ()),
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
            *_agreement(document),
            *(_simgrid(document) if document.simgrid else ()),
            *(("", "") if paced else ()),
        )
    )
    heads = (
        "program",
        "ranks",
        "rate",
        "network",
        "pairs ordered",
        "by bytes",
        "median error",
        "worst",
        "covered",
        "scaled",
        "bytes",
        *(("by SimGrid", "SimGrid") if document.simgrid else ()),
        *(("slowness", "computing") if paced else ()),
    )
    return _table(heads, rows)


def _is_paced(document: Document) -> bool:
    return any(case.slowness for case in document.cases)


def _slowness(document: Document) -> list[str]:
    if not _is_paced(document):
        return []
    return [
        "*slowness*: how many times as long as while the machine was measured a fixed exercise (8 KiB through TCP "
        "from a process to itself, on each processor in turn) took just before the runs; *computing*: how many times "
        "as long as at the traced run one that computes in the cache. A virtual machine's processors are not always "
        "as fast: predictions are for messages on those that were measured, and for computation on those of the "
        "recording.",
        "",
    ]


def _ratio(value: float | None) -> str:
    return f"{value:.2f}" if value else ""


def _agreement(of: CaseResult | Document) -> tuple[str, ...]:
    found, bytes_only = of.predicted, of.bytes_only
    return (
        f"{found.ordered} of {found.pairs}",
        f"{bytes_only.ordered} of {bytes_only.pairs}",
        share(found.median_error),
        share(found.worst_error, "+"),
        f"{found.covered} of {found.times}",
        share(of.scaled.median_error),
        share(bytes_only.median_error),
    )


def _simgrid(of: CaseResult | Document) -> tuple[str, str]:
    found = of.simgrid
    return (f"{found.ordered} of {found.pairs}", share(found.median_error)) if found else ("", "")


def _recorded_share(case: CaseResult) -> str:
    recorded = next((each for each in case.placements if each.name == "blocked"), None)
    if recorded is None or not case.recorded_s:
        return share(None)
    return share(recorded.network_share * recorded.predicted_s / case.recorded_s)


def _gains(document: Document) -> list[str]:
    """What the optimised placement saves, measured and predicted."""
    rows, near, known = [], 0, 0
    for case in document.cases:
        cells = [case.name]
        for over in ("blocked", "cyclic", "worst"):
            gain = case.gain(over)
            if gain is None:
                cells.append("")
                continue
            known += 1
            near += abs(gain[0] - gain[1]) <= _GAIN_POINTS
            cells.append(f"{share(gain[0], '+')} ({share(gain[1], '+')})")
        rows.append(cells)
    if not known:
        return []
    heads = ("case", "over blocked", "over cyclic", "over worst")
    return [
        f"Time that the optimised placement saves, measured (predicted); {near} of {known} predicted within 5 points:",
        "",
        *_table(heads, rows),
    ]


def _sent(document: Document) -> list[str]:
    """Bytes between nodes in the traced runs: recorded, and counted by the interfaces."""
    rows = []
    for case in document.cases:
        recorded, counted, frames, startup, own, messages = (
            (
                sum(numbers)
                for numbers in zip(
                    *(
                        (
                            each.recorded_bytes,
                            each.counted_bytes,
                            HEADER_BYTES * (each.counted_packets - each.startup_packets),
                            each.startup_bytes,
                            each.own_bytes,
                            each.recorded_messages,
                        )
                        for each in case.sent
                    ),
                    strict=True,
                )
            )
            if case.sent
            else [0] * 6
        )
        if recorded:
            of_each = f"{own / messages:.0f}" if messages else "unknown"
            numbers = (counted, recorded, frames, startup, own)
            rows.append((case.name, *(f"{each:,}" for each in numbers), of_each, share(own / recorded, "+")))
    if not rows:
        return []
    heads = ("case", "counted", "messages", "headers", "startup", "own", "a message", "beside")
    return [*_SENT, "", *_table(heads, rows)]


_SENT = [
    "Bytes between nodes in the traced runs. *counted*: by the interfaces, whole frames. Of these, *messages*: as the "
    f"recorder has them; *headers*: {HEADER_BYTES} a frame (Ethernet 14, IP 20, TCP 32), acknowledgements included; "
    "*startup*: counted in a run of as many ranks that only starts and ends MPI. *own* is the rest, what the library "
    "adds to messages, in all, a message, and beside *messages*. A known stream of messages between two nodes says "
    "what that is: with MPICH 5.0.2 (UCX) 13 bytes a message, 37 more in two pieces and 21 for each further piece; "
    "with Open MPI 5.0.11 (btl tcp) 22 a message up to 64 KiB, above 96, and 64 from the receiver, and what a pair's "
    "first message sends to connect, as its startup sends nothing:",
]


def _monitored(document: Document) -> list[str]:
    """Messages as the recorder and as Open MPI's monitoring component count them."""
    rows = []
    for case in document.cases:
        found = case.monitored
        if found is not None:
            messages = f"{found.recorded_messages:,} ({found.counted_messages:,})"
            sent = f"{found.recorded_bytes:,} ({found.counted_bytes:,})"
            rows.append(
                (
                    f"{case.setting.program}.{case.setting.ranks}",
                    f"{found.equal} of {found.pairs}",
                    messages,
                    sent,
                    "" if found.alike is None else f"{found.alike} of {found.pairs}",
                )
            )
    if not rows:
        return []
    return [
        "Messages between ranks, those of collectives included, as the recorder has them and (in brackets) as Open MPI"
        "'s monitoring component counts them in the same run. *alike*: pairs whose difference, in messages and bytes, "
        "is the same in a run of twice as many steps, so that what is different there is sent once: to make "
        "communicators, those of nodes (`han`) at the first collective call included, whose messages are no call's:",
        "",
        *_table(("case", "pairs that are equal", "messages", "bytes", "alike"), rows),
    ]


def _processors(document: Document, processors: Sequence[Processors]) -> list[str]:
    """Processor time of the traced runs, beside the error of the prediction for the same placement."""
    if not processors:
        return []
    blocked = {
        case.name: each.error for case in document.cases for each in case.placements if each.name == "blocked"
    }
    rows = [
        (
            each.case,
            share(each.busy_share),
            f"{1e3 * each.used_s:.0f} ms",
            f"{1e3 * each.computation_s:.0f} ms",
            f"{1e3 * each.overhead_s:.0f} ms",
            share(each.known_share),
            share(blocked.get(each.case), "+"),
        )
        for each in processors
    ]
    heads = ("case", "busy", "used", "computation", "messages", "known", "error of blocked")
    return [*_PROCESSORS, "", *_table(heads, rows)]


_PROCESSORS = [
    "Processor time in the traced runs. *busy*: part of the processors behind the lab's cores that the ranks kept "
    "busy; *used*: by a rank, as the kernel counted it. Of this the model has *computation* between calls and, from "
    "the machine file, what its *messages* cost; *known* is these two over what was used. What is missing below 100 % "
    "is used inside of calls: looking for messages while waiting, and what the kernel does meanwhile. Above, messages "
    "cost less in the program than in the microbenchmark, where each wakes up its receiver:",
]


def _case(case: CaseResult, tolerated: float) -> list[str]:
    setting = case.setting
    lines = [
        f"### {setting.program}, {setting.ranks} ranks, {show_rate(setting.rate_bytes_per_s)}",
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
    return [*lines, "", *_table(heads, rows), ""]


def _row(each: PlacementResult) -> list[str]:
    measured = each.measured
    return [
        each.name,
        f"{measured.median_s:.3f} s" if measured else "failed",
        f"{measured.low_s:.3f} - {measured.high_s:.3f}" if measured else "",
        f"{each.predicted_s:.3f} s",
        f"{each.low_s:.3f} - {each.high_s:.3f}",
        share(each.error, "+"),
        share(each.network_share),
        f"{each.bytes_only_s:.3f} s",
    ]


def share(value: float | None, sign: str = "") -> str:
    """A part as percent."""
    return "unknown" if value is None else f"{100 * value:{sign}.0f} %"
