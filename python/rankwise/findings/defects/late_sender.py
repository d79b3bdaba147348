# SPDX-License-Identifier: BSD-3-Clause
"""A rank waits in a receive while the sender still computes."""

from __future__ import annotations

from rankwise.findings.defects import serialised
from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import Finding
from rankwise.quantities import count_text, seconds_text
from rankwise.recording.raw import CALL_NAMES

NAME = "late-sender"
PAGE = """\
A rank waits in a receive for a message, because the sender is still
computing.

What to do: send before the computation that the message does not need. Or
post the receive early (MPI_Irecv), and compute before you wait for it. If the
ranks form a pipeline, cut the work into smaller pieces.

How it is detected: from a trace with exact times. A receive waits until its
send begins. Only the time in which the sender was outside MPI counts. While
the sender is in MPI, it may be waiting itself, and another rank is the cause.

If a call gets several messages, only the last one counts. Between hosts, a
wait must be longer than the error of their clocks.

Shown if: fixing it saves 5 % of the run time and 10 ms. Two cases have
findings of their own: late-receiver, if the sender itself waits as long until
this receiver receives; and serialised, if ranks wait for each other in turn.

Its cost: the time that one receiver waited for one sender, minus the time by
which the sender computes longer than the receiver over the whole run (that is
load imbalance). It is never more than the run time on an ideal network minus
the computation of the rank that computes longest.

If the sender waited for a core, all of that time is subtracted. If the
waiting may still cost enough, the report says that this could not be judged.

It is wrong if: the sender needs all of this computation for the message. (The
first ranks of a pipeline always make the others wait.) Or you send earlier,
and the run takes as long.
"""


def find(evidence: Evidence) -> list[Finding]:
    """The pair that costs most."""
    times = evidence.times
    # Their waiting is told once.
    in_turns = {rank for finding in serialised.find(evidence) for rank in finding.ranks}
    answers = _answered_s(evidence)
    pairs = [
        pair
        for pair in evidence.late_pairs
        if pair.need == "message"
        and answers.get((pair.late, pair.waiting), 0.0) <= pair.waited_s / 2
        and not {pair.late, pair.waiting} <= in_turns
    ]
    efficiency = evidence.efficiency
    if not pairs or efficiency is None:
        return []
    ideal_s = efficiency.elapsed_s if efficiency.ideal_s is None else efficiency.ideal_s
    bound_s = min(ideal_s, times.elapsed_s) - float(times.useful_least_s.max())
    costly = evidence.costly_pairs(pairs, bound_s)
    if not costly:
        return []
    cost, pair = costly[0]
    receive, send = str(CALL_NAMES[pair.waiting_call]), str(CALL_NAMES[pair.late_call])
    at, sent_at = evidence.place_of(pair.waiting, receive), evidence.place_of(pair.late, send)
    lines = [
        f"in {count_text(pair.messages)} "
        f"{'message' if pair.messages == 1 else 'messages'} that rank {pair.late} sends with {send}"
        + (f" at {sent_at}" if sent_at else "")
        + " after it has computed"
    ]
    lines += [other.in_same_way_text() for _, other in costly[1:4]]
    return [
        Finding(
            name=NAME,
            sentence=f"rank {pair.waiting} waits {seconds_text(pair.waited_s)} in {receive}"
            + (f" at {at}" if at else "")
            + f" for rank {pair.late}, which sends late",
            evidence=lines,
            ranks=[pair.late, pair.waiting],
            cost_s=cost,
            estimate="that waiting, and no more than ranks lose to waiting for each other on an ideal network",
            do=f"have rank {pair.late} send before it computes what the message does not need, or rank "
            f"{pair.waiting} compute before it needs the message",
            command=None
            if len(evidence.recording.call_sites)
            else evidence.record_command("--trace", "--exact-times", "--callsites"),
            confidence="medium",
            refuted_by="the message needs all that the sender computes before it",
        )
    ]


def _answered_s(evidence: Evidence) -> dict[tuple[int, int], float]:
    """By sender and receiver, how long the sender waited for that receiver to receive: it may be late for that."""
    found: dict[tuple[int, int], float] = {}
    for pair in evidence.late_pairs:
        if pair.need == "receive":
            key = pair.waiting, pair.late
            found[key] = found.get(key, 0.0) + pair.waited_s
    return found
