# SPDX-License-Identifier: BSD-3-Clause
"""TCP sends segments again."""

from __future__ import annotations

from typing import Any

from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import Finding
from rankwise.quantities import count_text, counted

NAME = "tcp-retransmits"
_LEAST_SHARE, _LEAST = 1e-3, 10
_CAUSES = {
    "timeouts": "{} timeouts",
    "fast_retransmits": "{} fast retransmits",
    "slow_start_retransmits": "{} in slow start",
    "connection_retransmits": "{} to connect",
    "lost_again": "{} lost again",
    "needless": "{} needless",
}
PAGE = """\
TCP of a node sent segments again: packets were lost, or came so late that
they seemed lost.

What to do: look for drops (`ip -s link`, `ethtool -S`, the ports of the
switch). Causes are buffers that are too small when many ranks send to one
(incast), a bad cable, or a wrong MTU.

How it is detected: from the kernel's counts of TCP segments while the program
ran (/proc/net/snmp, netstat). They are counts of the whole node.

Shown if: 1 segment in 1000 was sent again, and at least 10. What other
programs of a node (ssh, file systems) send again is usually less.

Its cost: not estimated, because it is not known which messages waited. Linux
waits at least 0.2 s before it sends again, and everything that needs this
message waits as long.

It is wrong if: the lost packets did not belong to the program, but to other
traffic of the node.
"""


def find(evidence: Evidence) -> list[Finding]:
    """The node with the largest share."""
    found: list[tuple[float, str, dict[str, Any], dict[str, int]]] = []
    for node in evidence.recording.context["nodes"]:
        tcp = node["tcp"]
        if not tcp or not tcp["sent_segments"]:
            continue
        again, share = tcp["retransmitted_segments"], tcp["retransmitted_segments"] / tcp["sent_segments"]
        if again >= _LEAST and share >= _LEAST_SHARE:
            found.append((share, node["host"], tcp, node["tcp_causes"] or {}))
    if not found:
        return []
    share, host, tcp, causes = max(found, key=lambda each: each[0])
    words = [
        text.format(count_text(causes[name])) for name, text in _CAUSES.items() if causes.get(name, 0) > 0
    ]
    return [
        Finding(
            name=NAME,
            sentence=f"TCP of {host} sent {count_text(tcp['retransmitted_segments'])} of "
            f"{count_text(tcp['sent_segments'])} segments again"
            + (f" ({', '.join(words)})" if words else "")
            + (f"; the same on {counted(len(found) - 1, 'more node')}" if len(found) > 1 else ""),
            evidence=[],
            ranks=[],
            cost_s=None,
            estimate="which messages waited for it is not known",
            do="look where packets are lost: `ip -s link`, `ethtool -S`, the switch's ports",
            command=None,
            confidence="medium",
            refuted_by="the node's other traffic, which is in the same counts",
        )
    ]
