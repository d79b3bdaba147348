# SPDX-License-Identifier: BSD-3-Clause
"""What took the cores of ranks from them: interrupts, and the host of a virtual machine."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from rankwise.recording import Recording

_STATES = ("user_s", "nice_s", "system_s", "idle_s", "iowait_s", "irq_s", "softirq_s", "steal_s")


@dataclass(frozen=True)
class CoreTaken:
    """What a rank's only PU did besides running it.

    Attributes:
        rank: World rank.
        host: Its node.
        pu: OS index of the PU; in a lab that of the machine behind it.
        interrupts: Part of the PU's time in irq and softirq.
        steal: Part of it that the host of the virtual machine took.
    """

    rank: int
    host: str
    pu: int
    interrupts: float
    steal: float


def cores_taken(recording: Recording, pu_of: dict[int, int]) -> list[CoreTaken]:
    """Of ranks whose PU is known and was sampled.

    Args:
        recording: The run.
        pu_of: The only PU that a rank ran on, by rank.
    """
    last = (
        recording.table("core_samples")
        .sort("time_s", maintain_order=True)
        .group_by("host", "pu")
        .agg(pl.col(*_STATES).drop_nulls().last())
        .drop_nulls()
    )
    shares: dict[tuple[str, int], tuple[float, float]] = {}
    for host, pu, *states in last.select("host", "pu", *_STATES).iter_rows():
        if sum(states) > 0:
            shares[host, pu] = (states[5] + states[6]) / sum(states), states[7] / sum(states)
    found = []
    for entry in recording.context["bindings"]:
        rank, host = entry["rank"], entry["host"]
        if (host, pu_of.get(rank)) in shares:
            found.append(CoreTaken(rank, host, pu_of[rank], *shares[host, pu_of[rank]]))
    return found


def receiving_pus(recording: Recording) -> dict[tuple[str, int], str]:
    """PUs of a host that alone serve interrupts or take in packets of a network interface that had some, and which.

    Interfaces whose packets are taken in where they were sent (loopback) are not among them.
    """
    received = (
        recording.table("interface_samples").group_by("host", "interface").agg(pl.col("rx_packets").max())
    )
    busy = {(host, name) for host, name, packets in received.iter_rows() if packets and name != "lo"}
    found: dict[tuple[str, int], str] = {}
    queues = recording.table("interface_queues").filter(pl.col("how").is_in(["interrupt", "rps"]))
    for host, device, pus in queues.select("host", "device", "pus").iter_rows():
        if (host, device) in busy and pus is not None and len(pus) == 1:
            found.setdefault((host, pus[0]), device)
    return found
