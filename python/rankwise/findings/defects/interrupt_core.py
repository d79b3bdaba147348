# SPDX-License-Identifier: BSD-3-Clause
"""A rank that computes much is on the core that takes the network's interrupts, while another one waits."""

from __future__ import annotations

import numpy as np

from rankwise.errors import RankwiseError
from rankwise.findings.cores import CoreTaken
from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import LEAST_S, LEAST_SHARE, Finding
from rankwise.quantities import seconds_text

NAME = "interrupt-core"
PAGE = """\
A rank that computes nearly all the time is on the core that handles the
network's interrupts. They take time from it, and another rank on the same
node mostly waits.

What to do: swap the two ranks. As root you can also send the interrupts to
another core (/proc/irq/N/smp_affinity, or rps_cpus of the interface).

How it is detected: the interrupts of a network interface, or the packets that
the kernel hands on (RPS), go to this core only. The core also spent more time
on them (irq and softirq in /proc/stat) than the core of the rank that waits.
Interrupts that came while the rank was in MPI cost it nothing. So it lost
only a part of this difference: as large as its share of time outside MPI.

Shown if: the swap saves 5 % of the run time and 10 ms.

Its cost: what this rank lost, minus what the other rank would lose after the
swap. It is never more than the time by which this rank computes longer than
every other rank. Ranks that wait for a core do not count in this comparison.

It is wrong if: the run with these two ranks swapped takes as long. Then the
interrupts come while all ranks are in MPI.
"""


def find(evidence: Evidence) -> list[Finding]:
    """The swap that saves most."""
    swap = best_swap(evidence)
    if swap is None:
        return []
    saved_s, lost_s, busy, waiting = swap
    times = evidence.times
    device = evidence.receiving_pus[busy.host, busy.pu]
    mpi = times.mpi_s / times.elapsed_s * 100
    lines = [
        f"PU {busy.pu} was in interrupts for {busy.interrupts * 100:.0f} % of the time, "
        f"PU {waiting.pu} for {waiting.interrupts * 100:.0f} %",
        f"rank {busy.rank} is in MPI for {mpi[busy.rank]:.0f} % of the time, "
        f"rank {waiting.rank} for {mpi[waiting.rank]:.0f} %",
        f"rank {busy.rank} lost {seconds_text(lost_s)} of computation to them",
    ]
    if evidence.has_machine:
        try:
            lines.append(_predicted(evidence, busy.rank, waiting.rank))
        except RankwiseError as error:
            lines.append(f"the swap is not predicted: {error.message}")
    return [
        Finding(
            name=NAME,
            sentence=f"rank {busy.rank} computes on PU {busy.pu} of {busy.host}, which takes the interrupts of "
            f"{device}, while rank {waiting.rank} on PU {waiting.pu} waits",
            evidence=lines,
            ranks=[busy.rank, waiting.rank],
            cost_s=saved_s,
            estimate="the core's time in interrupts while that rank computed, and no more than it computes longer "
            "than the others",
            do=f"swap them: rank {waiting.rank} onto PU {busy.pu}, rank {busy.rank} onto PU {waiting.pu}; or, as "
            f"root, send the interrupts of {device} to PU {waiting.pu}",
            command=evidence.swapped_command(busy.rank, waiting.rank),
            confidence="medium",
            refuted_by="a run with these two ranks swapped that takes as long",
        )
    ]


def best_swap(evidence: Evidence) -> tuple[float, float, CoreTaken, CoreTaken] | None:
    """Seconds saved, seconds that the busy rank lost, the busy rank and the waiting one; `None`: none is worth it."""
    times = evidence.times
    found = []
    for busy in evidence.cores_taken:
        if (busy.host, busy.pu) not in evidence.receiving_pus or evidence.shares_pu(busy.rank):
            continue
        own_s = float(times.useful_least_s[busy.rank])
        for waiting in evidence.cores_taken:
            more = busy.interrupts - waiting.interrupts
            if waiting.host != busy.host or waiting.pu == busy.pu or more <= 0:
                continue
            lost_s = more * own_s
            after_s = times.useful_most_s.copy()
            after_s[busy.rank] = own_s - lost_s
            after_s[waiting.rank] *= 1 + more
            saved_s = own_s - float(np.max(after_s))
            if saved_s >= max(LEAST_S, LEAST_SHARE * times.elapsed_s):
                found.append((saved_s, lost_s, busy, waiting))
    # Of swaps that save as much, that with the rank that waits most.
    return max(found, key=lambda each: (each[0], -times.useful_most_s[each[3].rank]), default=None)


def _predicted(evidence: Evidence, busy: int, waiting: int) -> str:
    machine = evidence.on_machine
    order = list(range(machine.recorded.ranks))
    order[busy], order[waiting] = waiting, busy
    saved_s = machine.saved_s(machine.recorded.renumbered(order))
    word = "less" if saved_s > 0 else "more"
    return f"on {machine.path} the swap is predicted to take {seconds_text(abs(saved_s))} {word}"
