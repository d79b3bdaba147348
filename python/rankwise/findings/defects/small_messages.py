# SPDX-License-Identifier: BSD-3-Clause
"""Many small messages where a few larger ones would do."""

from __future__ import annotations

import numpy as np

from rankwise.findings.bundles import SMALL_BYTES, bundles_of
from rankwise.findings.evidence import LEAST_S, LEAST_SHARE, Evidence
from rankwise.findings.finding import Finding
from rankwise.quantities import bytes_text, count_text, counted, seconds_text
from rankwise.recording.raw import CALL_NAMES

NAME = "small-messages"
_LEAST_BUNDLE = 2.0
PAGE = f"""\
A rank sends another one many small messages one after the other, which could be
one message. Each costs the library's and the network's time for a message, many
times what its bytes cost.

How it is detected: from an exact trace (`--trace --exact-times`). A message of
at most {SMALL_BYTES} bytes could be part of the one before it between the same two
ranks if nothing came to the sender in between (no receive ended, no
collective), and the receiver sent nothing in between: then neither can depend
on the other. Nor did the sender do something else for four times as long as
such a message takes.
Messages of a ping-pong do not count, nor those of one MPI_Sendrecv after the
other.

Shown if: packing saves 5 % of the run time and 10 ms, and each larger message
takes the place of two or more.

Its cost: the time of the calls that go (send, receive, and their part of the
calls that end several), of the rank where that is most, less what it waited in
them for a rank outside MPI. Where ranks waited for a core, that is taken off.
No more than the run time is longer than the computation of the rank with most.

What refutes it: the program with the messages packed takes as long.

What to do: collect what goes to one rank (MPI_Pack, a derived datatype, or a
buffer) and send it once. Where many ranks send to many, MPI_Alltoallv.
"""


def find(evidence: Evidence) -> list[Finding]:
    """Of all pairs of ranks together; the pair with most is named."""
    times = evidence.times
    found = bundles_of(evidence.timeline)
    if not len(found.messages):
        return []
    core_s = np.zeros(len(times.time_s)) if times.core_s is None else times.core_s
    most = int(np.argmax(found.saved_s - core_s))
    cost_s = min(float((found.saved_s - core_s)[most]), times.elapsed_s - float(times.useful_least_s.max()))
    messages, bundles = int(found.messages.sum()), int(found.bundles.sum())
    if cost_s < max(LEAST_S, LEAST_SHARE * times.elapsed_s) or messages < _LEAST_BUNDLE * bundles:
        return []
    top = int(np.argmax(found.time_s))
    source, destination = int(found.source[top]), int(found.destination[top])
    call = str(CALL_NAMES[found.send_kind[top]])
    at = evidence.place_of(source, call)
    mean = found.bytes[top] / found.messages[top]
    return [
        Finding(
            name=NAME,
            sentence=f"rank {source} sends rank {destination} {count_text(int(found.messages[top]))} messages of "
            f"{'about ' if found.bytes[top] % found.messages[top] else ''}{bytes_text(mean)} with {call}"
            + (f" at {at}" if at else "")
            + f"; {count_text(int(found.bundles[top]))} would do",
            evidence=[
                "nothing comes to the sender between those that could be one, and the receiver sends nothing",
                f"{counted(len(found.messages), 'pair')} of ranks, {count_text(messages)} small messages in all for "
                f"{count_text(bundles)}; rank {most} spends {seconds_text(float(found.saved_s[most]))} in the calls "
                "that would go",
            ],
            ranks=sorted({source, destination}),
            cost_s=cost_s,
            estimate="the time in the calls that would go, of the rank where that is most",
            do="collect what goes to one rank and send it as one message",
            command=None
            if len(evidence.recording.call_sites)
            else evidence.record_command("--trace", "--exact-times", "--callsites"),
            confidence="medium",
            refuted_by="the program with these messages packed takes as long",
        )
    ]
