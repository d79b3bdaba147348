# SPDX-License-Identifier: BSD-3-Clause
"""The part of the page on accuracy about what was counted in traced runs: bytes, messages, processor time."""

from __future__ import annotations

from rankwise.lab.validation.result import TRACED, CaseResult, Document
from rankwise.lab.validation.state import HEADER_BYTES
from rankwise.lab.validation.tables import share, table


def sent(document: Document) -> list[str]:
    """Bytes between nodes in the traced runs: recorded, and counted by the interfaces."""
    rows = []
    for case in document.cases:
        sent = case.sent
        recorded = sum(each.recorded_bytes for each in sent)
        counted = sum(each.counted_bytes for each in sent)
        frames = HEADER_BYTES * sum(each.counted_packets - each.startup_packets for each in sent)
        startup = sum(each.startup_bytes for each in sent)
        own = sum(each.own_bytes for each in sent)
        messages = sum(each.recorded_messages for each in sent)
        if recorded:
            of_each = f"{own / messages:.0f}" if messages else "unknown"
            numbers = (counted, recorded, frames, startup, own)
            rows.append(
                (case.name, *(f"{each:,}" for each in numbers), of_each, share(own / recorded, digits=1))
            )
    if not rows:
        return []
    heads = ("case", "counted", "messages", "headers", "startup", "rest", "a message", "beside")
    return ["Bytes between nodes in the traced runs:", "", *table(heads, rows)]


def monitored(document: Document) -> list[str]:
    """Messages as the recorder and as Open MPI's monitoring component count them."""
    rows = []
    for case in document.cases:
        found = case.monitored
        name = f"{case.setting.program}.{case.setting.ranks}"
        if found is None and _is_to_be_monitored(case, document):
            why = f": {case.not_monitored}" if case.not_monitored else ""
            rows.append((name, f"not counted{why}", "", "", ""))
        if found is not None:
            messages = f"{found.recorded_messages:,} ({found.counted_messages:,})"
            sent = f"{found.recorded_bytes:,} ({found.counted_bytes:,})"
            rows.append(
                (
                    name,
                    f"{found.equal} of {found.pairs}",
                    messages,
                    sent,
                    case.not_monitored if found.alike is None else f"{found.alike} of {found.pairs}",
                )
            )
    if not rows:
        return []
    return [
        "Messages between ranks as the recorder has them (as Open MPI's monitoring component counts them):",
        "",
        *table(("case", "pairs that are equal", "messages", "bytes", "alike"), rows),
    ]


def _is_to_be_monitored(case: CaseResult, document: Document) -> bool:
    options = document.options
    lowest = case.setting.rate_bytes_per_s == min(options.rates_bytes_per_s)
    return options.mpi == "openmpi" and lowest and not case.failure


def processors(document: Document) -> list[str]:
    """Processor time of the traced runs, beside the error of the prediction for the same placement."""
    if not document.processors:
        return []
    blocked = {
        case.name: each.error for case in document.cases for each in case.placements if each.name == TRACED
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
        for each in document.processors
    ]
    heads = ("case", "busy", "used", "computation", "messages", "known", "error of blocked")
    return ["Processor time in the traced runs:", "", *table(heads, rows)]
