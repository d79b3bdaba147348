# SPDX-License-Identifier: BSD-3-Clause
"""Many small messages where a few larger ones would do."""

from __future__ import annotations

import numpy as np

from rankwise.findings.bundles import SMALL_BYTES, bundles_of
from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import LEAST_S, LEAST_SHARE, Finding
from rankwise.quantities import bytes_text, count_text, counted, seconds_text
from rankwise.recording.raw import CALL_NAMES

NAME = "small-messages"
_LEAST_BUNDLE = 2.0
PAGE = f"""\
A rank sends many small messages to another one, one after the other. They
could be one message. Each of them costs the time of a message, and that is
many times what its bytes cost.

What to do: collect what goes to one rank, and send it once (MPI_Pack, a
derived datatype, or a buffer). If many ranks send to many, use MPI_Alltoallv.

How it is detected: from a trace with exact times. A message of at most
{SMALL_BYTES} bytes could be part of the message before it between the same
two ranks if neither can depend on the other. This is so if the sender got
nothing in between (no receive ended, no collective), and the receiver sent
nothing in between. The sender must also not do something else in between for
longer than four such messages take. Messages of a ping-pong do not count, and
neither do those of several MPI_Sendrecv in a row.

Shown if: packing saves 5 % of the run time and 10 ms, and each larger message
replaces two or more.

Its cost: the time of the calls that are no longer needed (sends, receives,
and their part of calls that complete several), on the rank where it is
longest. Time in which this rank waited for a rank outside MPI is subtracted,
and so is time in which ranks waited for a core. The cost is never more than
the run time minus the computation of the rank that computes longest.

It is wrong if: the program takes as long with the messages packed.
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
            + f"; {count_text(int(found.bundles[top]))} larger ones would be enough",
            evidence=[
                "nothing comes to the sender between those that could be one, and the receiver sends nothing",
                f"{counted(len(found.messages), 'pair')} of ranks, {count_text(messages)} small messages in all, where "
                f"{count_text(bundles)} would be enough; rank {most} spends {seconds_text(float(found.saved_s[most]))} "
                "in calls that would not be needed",
            ],
            ranks=sorted({source, destination}),
            cost_s=cost_s,
            estimate="the time in calls that would not be needed, of the rank where that is most",
            do="collect what goes to one rank and send it as one message",
            command=None
            if len(evidence.recording.call_sites)
            else evidence.record_command("--trace", "--exact-times", "--callsites"),
            confidence="medium",
            refuted_by="the program with these messages packed takes as long",
        )
    ]
