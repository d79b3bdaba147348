# SPDX-License-Identifier: BSD-3-Clause
"""Sends of middling messages wait for their receivers, as they are longer than the eager limit."""

from __future__ import annotations

import shlex

import numpy as np

from rankwise.findings.defects.out_of_phase import costly_phases
from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import Finding
from rankwise.findings.late import LatePair
from rankwise.launchers.bound import eager
from rankwise.quantities import bytes_text, seconds_text
from rankwise.recording.raw import CALL_NAMES
from rankwise.recording.traces.operations import event_classes

NAME = "rendezvous"
LARGEST_BYTES = 256 << 10
"""Of messages that a library may well keep copies of, some tens of them for each rank."""

PAGE = """\
A rank waits in a send until its receiver stops computing, although the
message is short. It waits because the message is above the eager limit of the
MPI library. From this size on, a send waits for its receive (rendezvous).

What to do: raise the limit of the library:
    MPICH, in a node       MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE,
                           MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD and
                           MPIR_CVAR_CH4_PACK_BUFFER_SIZE (twice as large)
    MPICH, between nodes   UCX_RNDV_THRESH or MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD
    Open MPI, TCP          --mca btl_tcp_eager_limit
A higher limit takes more memory on each rank. Inside a node, Open MPI's
blocking sends of more than some KiB wait whatever the limit is. The other
way: send with MPI_Isend, and wait for its end after the computation.

How it is detected: as late-receiver, from a trace with exact times. It counts
messages of at most 256 KiB that were not sent by MPI_Ssend. If shorter
messages of this run did not wait for their receives, the finding names the
longest of them.

Shown if: fixing it saves 5 % of the run time and 10 ms.

Its cost: as for late-receiver.

It is wrong if: the run takes as long with the higher limit.
"""


def fits_eager_limit(pair: LatePair) -> bool:
    """Whether a higher limit lets messages that wait for their receives go ahead."""
    return (
        pair.need == "receive"
        and 0 < pair.mean_bytes <= LARGEST_BYTES
        and not str(CALL_NAMES[pair.waiting_call]).startswith("MPI_Ssend")
    )


def find(evidence: Evidence) -> list[Finding]:
    """The pair that costs most."""
    times = evidence.times
    phases = [{phase.sender, phase.receiver} for phase in costly_phases(evidence)]
    pairs = [
        pair
        for pair in evidence.late_pairs
        if fits_eager_limit(pair) and {pair.late, pair.waiting} not in phases
    ]
    costly = evidence.costly_pairs(pairs, times.elapsed_s - float(times.useful_least_s.max()))
    if not costly:
        return []
    cost, pair = costly[0]
    waits_in = str(CALL_NAMES[pair.waiting_call])
    at = evidence.place_of(pair.waiting, waits_in)
    lines = [f"for {pair.messages_text()}; rank {pair.late} computes before it receives them"]
    ahead = _went_ahead_bytes(evidence)
    if 0 < ahead < pair.mean_bytes:
        lines.append(f"messages up to {bytes_text(ahead)} went ahead of their receives")
    lines += [other.in_same_way_text() for _, other in costly[1:4]]
    return [
        Finding(
            name=NAME,
            sentence=f"rank {pair.waiting} waits {seconds_text(pair.waited_s)} in {waits_in}"
            + (f" at {at}" if at else "")
            + f" until rank {pair.late} receives, as its messages are longer than the eager limit",
            evidence=lines,
            ranks=[pair.late, pair.waiting],
            cost_s=cost,
            estimate="that waiting, and no more than the run is longer than the rank that computes most",
            do="let messages of this size go ahead (eager limit), or send them with MPI_Isend and wait for that later",
            command=_command(evidence, pair),
            confidence="medium",
            refuted_by="the run takes as long with a limit above their size",
        )
    ]


def _command(evidence: Evidence, pair: LatePair) -> str | None:
    if not evidence.launcher or evidence.in_lab:
        return None
    host = evidence.timeline.host
    words = eager(
        evidence.command, evidence.launcher, round(pair.mean_bytes), host[pair.late] == host[pair.waiting]
    )
    return shlex.join(words) if words else None


def _went_ahead_bytes(evidence: Evidence) -> float:
    """Of the longest message whose blocking send ended before its receive was posted; 0 where there is none."""
    timeline = evidence.timeline
    ranks, messages = timeline.on_one_clock(), timeline.messages
    longest = 0.0
    for source in np.unique(messages.source):
        each = ranks[source]
        mine = np.flatnonzero(messages.source == source)
        row = messages.send[mine]
        blocking = event_classes(each.columns)[row] == "send"
        mine, row = mine[blocking], row[blocking]
        posted = np.empty(len(mine))
        for destination in np.unique(messages.destination[mine]):
            these = messages.destination[mine] == destination
            posted[these] = ranks[destination].begin_s[messages.posted[mine[these]]]
        ahead = each.end_s[row] < posted
        longest = max(longest, float(each.columns["send_bytes"][row[ahead]].max(initial=0)))
    return longest
