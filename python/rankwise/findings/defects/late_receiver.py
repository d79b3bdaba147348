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
A rank waits in a send, or for the end of one, while the receiver of the message
still computes. Large messages (rendezvous) and synchronous sends do not end
before their receive begins. Messages up to 256 KiB, which a higher eager limit
would let go ahead, are reported as rendezvous instead.

How it is detected: from an exact trace (`--trace --exact-times`). A send that
ends after its receive was posted waited until then, if the receive was posted
after the send, or the wait for it, began. A send whose receive was posted in
time waited for a receiver that was outside MPI if such sends end when it comes
back into MPI (the time from there to their end varies by less than half as much
as the time that they take). Only time in which the receiver was outside MPI
counts.

Of a call that needs several messages, the last one counts. Between hosts, waits
that are shorter than what is known of their clocks do not count.

Shown if: mending it saves 5 % of the run time and 10 ms. A pair on unequal
cores that waits in turns is reported as out-of-phase.

Its cost: that waiting of one sender for one receiver, less what the receiver
computes more all in all, which is load imbalance; and no more than the run time
is longer than the computation of the rank with most.

Where the receiver waited for a core, all of that is taken off. If it may cost
enough all the same, the report says that it could not be judged.

What refutes it: the sender has nothing else to do meanwhile; or the run takes
as long with MPI_Isend there and its MPI_Wait after the computation.

What to do: send with MPI_Isend, compute, and wait after that; receive before
the computation that does not need the room of the message; or post the receive
early with MPI_Irecv, where the library transfers while ranks compute.
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
    lines += [
        f"likewise rank {other.waiting} for rank {other.late}, {seconds_text(other.waited_s)} "
        f"in {CALL_NAMES[other.waiting_call]}"
        for _, other in costly[1:4]
    ]
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
