# SPDX-License-Identifier: BSD-3-Clause
"""A pair that exchanges large messages between unequal cores and computes in turns."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import polars as pl

from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import LEAST_S, LEAST_SHARE, Finding
from rankwise.quantities import bytes_text, seconds_text
from rankwise.recording.raw import CALL_NAMES

NAME = "out-of-phase"
PAGE = """\
Two ranks that exchange large messages compute in turns and wait for each
other. The reason is that their cores are unequal: one of them also handles
the network's interrupts, so its rank is slower.

What to do: put both ranks on cores that handle interrupts, or both on cores
that do not. Or send with MPI_Isend, and let both ranks be in MPI at the same
time. A study of LAMMPS over TCP on 10-gigabit Ethernet describes this
pattern, and what equal cores gain.

How it is detected: from a trace with exact times. One rank waits until the
other one receives (late-receiver), and the other one waits for its messages
(late-sender). Also, one of the two cores spent more time on interrupts and
network protocols (softirq), as the kernel counts it: the difference is 5 % of
the run.

Shown if: fixing it saves 5 % of the run time and 10 ms.

Its cost: the shorter of the two waits, minus the time that ranks waited for a
core. It is never more than the run time minus the computation of the rank
that computes longest.

It is wrong if: the same two ranks wait as long on two cores with equally many
interrupts. Or the interrupts do not come from the network.
"""


class Phase(NamedTuple):
    """A pair that waits in turns."""

    cost_s: float
    sender: int
    receiver: int
    sender_waits_s: float
    receiver_waits_s: float
    size_bytes: float
    send: str
    receive: str
    share: dict[int, float]


def costly_phases(evidence: Evidence) -> list[Phase]:
    """Pairs that wait in turns on unequal cores, where it is worth telling, most first.

    Raises:
        RankwiseError: As `Evidence.late_pairs` and `times`.
    """
    times = evidence.times
    waits: dict[tuple[int, int, bool], float] = defaultdict(float)
    largest: dict[tuple[int, int, bool], tuple[float, float, int]] = {}
    for pair in evidence.late_pairs:
        if pair.need != "member":
            key = (pair.waiting, pair.late, pair.need == "receive")
            waits[key] += pair.waited_s
            largest[key] = max(
                largest.get(key, (0.0, 0.0, 0)), (pair.waited_s, pair.mean_bytes, pair.waiting_call)
            )
    shares = _interrupt_shares(evidence)
    limit_s = max(LEAST_S, LEAST_SHARE * times.elapsed_s)
    bound_s = times.elapsed_s - float(times.useful_least_s.max())
    found = []
    for (sender, receiver, sends), waited_s in waits.items():
        back = (receiver, sender, False)
        if not sends or back not in waits or not {sender, receiver} <= shares.keys():
            continue
        core_s = float(times.core_outside_s[[sender, receiver]].max())
        cost_s = min(waited_s - core_s, waits[back] - core_s, bound_s)
        if cost_s >= limit_s and abs(shares[sender] - shares[receiver]) >= LEAST_SHARE:
            _, size, send = largest[sender, receiver, True]
            receive = str(CALL_NAMES[largest[back][2]])
            found.append(
                Phase(
                    cost_s,
                    sender,
                    receiver,
                    waited_s,
                    waits[back],
                    size,
                    str(CALL_NAMES[send]),
                    receive,
                    shares,
                )
            )
    return sorted(found, reverse=True, key=lambda each: each.cost_s)


def find(evidence: Evidence) -> list[Finding]:
    """The pair that costs most."""
    phases = costly_phases(evidence)
    if not phases:
        return []
    worst = phases[0]
    slow, fast = sorted((worst.sender, worst.receiver), key=lambda rank: -worst.share[rank])
    return [
        Finding(
            name=NAME,
            sentence=f"ranks {min(slow, fast)} and {max(slow, fast)} compute in turns and wait for each other: "
            f"rank {worst.receiver} in {worst.receive}, rank {worst.sender} in {worst.send}, because the core of "
            f"rank {slow} takes the interrupts",
            evidence=[
                f"rank {worst.receiver} waits {seconds_text(worst.receiver_waits_s)}, rank {worst.sender} "
                f"{seconds_text(worst.sender_waits_s)}, for messages of about {bytes_text(worst.size_bytes)}",
                *(
                    f"rank {rank} waits at {at}"
                    for rank, call in ((worst.receiver, worst.receive), (worst.sender, worst.send))
                    if (at := evidence.place_of(rank, call))
                ),
                f"interrupts and network protocols take {worst.share[slow] * 100:.0f} % of the core of rank {slow}, "
                f"{worst.share[fast] * 100:.0f} % of that of rank {fast}",
            ],
            ranks=[slow, fast],
            cost_s=worst.cost_s,
            estimate="the smaller of both waits",
            do=_pairing(evidence, slow, fast, worst.share),
            command=None,
            confidence="medium",
            refuted_by="the pair on two cores that take as many interrupts, and it waits as long",
        )
    ]


def _pairing(evidence: Evidence, slow: int, fast: int, shares: dict[int, float]) -> str:
    """Which swap gives both cores that are alike, if one does."""
    for rank, other in ((fast, slow), (slow, fast)):
        node = next((node.ranks for node in evidence.nodes if rank in node.ranks), [])
        like = [one for one in node if one not in (slow, fast) and one in shares]
        best = min(like, key=lambda one: abs(shares[one] - shares[other]), default=None)
        if best is not None and abs(shares[best] - shares[other]) < LEAST_SHARE:
            return f"swap the cores of ranks {rank} and {best}: ranks {slow} and {fast} then have cores that are alike"
    return (
        f"move the interrupts off the core of rank {slow}, or leave that core free; or have rank {fast} send with "
        "MPI_Isend"
    )


def _interrupt_shares(evidence: Evidence) -> dict[int, float]:
    """Part of the time of each rank's cores that interrupts and network protocols took, where it was sampled."""
    spent = pl.col("irq_s") + pl.col("softirq_s")
    samples = evidence.recording.table("core_samples").sort("time_s")
    spans = samples.group_by("host", "pu").agg(
        spent=spent.drop_nulls().last() - spent.drop_nulls().first(),
        span=pl.col("time_s").last() - pl.col("time_s").first(),
    )
    share = {
        (None if evidence.in_lab else host, pu): used / span
        for host, pu, used, span in spans.iter_rows()
        if used is not None and span
    }
    found = {}
    for node in evidence.nodes:
        for rank, pus in zip(node.ranks, node.pus, strict=True):
            known = [share.get((None if evidence.in_lab else node.host, pu)) for pu in pus]
            of_pus = [each for each in known if each is not None]
            if of_pus and len(of_pus) == len(known):
                found[rank] = sum(of_pus) / len(of_pus)
    return found
