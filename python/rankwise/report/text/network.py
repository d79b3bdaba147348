# SPDX-License-Identifier: BSD-3-Clause
"""Time in the transport's own calls, between nodes."""

from __future__ import annotations

from rich.console import RenderableType
from rich.padding import Padding

from rankwise.quantities import count_text, seconds_text
from rankwise.report.data import ReportData
from rankwise.report.text.columns import columns
from rankwise.report.text.tables import title
from rankwise.report.words import bytes_or_dash, network_text, node_pair_text

_SHOWN = 8


def view(report: ReportData) -> list[RenderableType]:
    """The pairs of nodes with the most time, what ranks spent on looking and waiting, or why there is nothing."""
    network = report.network
    rows = [
        (
            node_pair_text(report, pair),
            pair.transport,
            seconds_text(pair.send_time_s),
            seconds_text(pair.receive_time_s),
            bytes_or_dash(pair.send_bytes),
            bytes_or_dash(pair.receive_bytes),
            count_text(pair.send_calls + pair.receive_calls),
        )
        for pair in network.pairs[:_SHOWN]
    ]
    headings = ("nodes", "through", "sending", "receiving", "sent", "received", "calls")
    parts: list[RenderableType] = [title("Network time"), *columns(headings, [("", rows)])]
    more = len(network.pairs) - _SHOWN
    for line in [
        *([f"{more} more are in `rankwise report --json`"] if more > 0 else []),
        *network_text(report),
    ]:
        parts.append(Padding(line, (0, 0, 0, 2)))
    return parts
