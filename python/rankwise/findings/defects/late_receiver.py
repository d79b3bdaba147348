# SPDX-License-Identifier: BSD-3-Clause
"""A rank waits in a send while the receiver still computes."""

from __future__ import annotations

from rankwise.findings.defects.out_of_phase import costly_phases
from rankwise.findings.defects.rendezvous import fits_eager_limit
from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import Finding
from rankwise.quantities import seconds_text
from rankwise.recording.raw import CALL_NAMES

NAME = "late-receiver"
PAGE = """\
A rank waits in a send, or for the end of a send, because the receiver is
still computing. Large messages (rendezvous) and synchronous sends end only
when their receive has begun.

What to do: send with MPI_Isend, compute, and wait for the end of the send
after that. Or receive earlier: before computation that does not need the
buffer of the message. Or post the receive early with MPI_Irecv; this helps if
the library transfers data while ranks compute.

How it is detected: from a trace with exact times. There are two cases. First:
the receive was posted when the send, or the wait for it, had already begun.
Then the sender waited until the receive was posted. Second: the receive was
posted in time, but the receiver was outside MPI, and the send ended when the
receiver entered MPI again. (To know that, Rankwise looks at all such sends. It
compares two times of each: from the receiver's entry to the end of the send,
and from the begin of the send to its end. The first must vary less than half
as much as the second.) Only time in which the receiver was outside MPI counts.

If a call needs several messages, only the last one counts. Between hosts, a
wait must be longer than the error of their clocks.

Shown if: fixing it saves 5 % of the run time and 10 ms. Two cases have
findings of their own: rendezvous, if a higher eager limit would help
(messages of at most 256 KiB); and out-of-phase, if two ranks on unequal cores
wait for each other in turns.

Its cost: the time that one sender waited for one receiver, minus the time by
which the receiver computes longer than the sender over the whole run (that is
load imbalance). It is never more than the run time minus the computation of
the rank that computes longest.

If the receiver waited for a core, all of that time is subtracted. If the
waiting may still cost enough, the report says that this could not be judged.

It is wrong if: the sender has nothing else to do in this time. Or the run
takes as long with MPI_Isend and its MPI_Wait after the computation.
"""


def find(evidence: Evidence) -> list[Finding]:
    """The pair that costs most."""
    times = evidence.times
    phases = [{phase.sender, phase.receiver} for phase in costly_phases(evidence)]
    pairs = [
        pair
        for pair in evidence.late_pairs
        if pair.need == "receive" and {pair.late, pair.waiting} not in phases and not fits_eager_limit(pair)
    ]
    costly = evidence.costly_pairs(pairs, times.elapsed_s - float(times.useful_least_s.max()))
    if not costly:
        return []
    cost, pair = costly[0]
    waits_in, receive = str(CALL_NAMES[pair.waiting_call]), str(CALL_NAMES[pair.late_call])
    at, received_at = evidence.place_of(pair.waiting, waits_in), evidence.place_of(pair.late, receive)
    lines = [
        f"for {pair.messages_text()} that rank {pair.late} receives with {receive}"
        + (f" at {received_at}" if received_at else "")
        + ", while it computes"
    ]
    lines += [other.in_same_way_text() for _, other in costly[1:4]]
    return [
        Finding(
            name=NAME,
            sentence=f"rank {pair.waiting} waits {seconds_text(pair.waited_s)} in {waits_in}"
            + (f" at {at}" if at else "")
            + f" for rank {pair.late}, which receives late",
            evidence=lines,
            ranks=[pair.late, pair.waiting],
            cost_s=cost,
            estimate="that waiting, and no more than the run is longer than the rank that computes most",
            do=f"have rank {pair.waiting} send with MPI_Isend and wait for that after it has computed, or rank "
            f"{pair.late} receive before it computes",
            command=None
            if len(evidence.recording.call_sites)
            else evidence.record_command("--trace", "--exact-times", "--callsites"),
            confidence="medium",
            refuted_by="the sender has nothing to compute meanwhile",
        )
    ]
