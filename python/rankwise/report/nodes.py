# SPDX-License-Identifier: BSD-3-Clause
"""What happened on the nodes while the ranks ran, for the report: by core, by interrupt, by interface, over time."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl

from rankwise.placement.by_node import numbers_text
from rankwise.recording import Recording
from rankwise.recording.emulated import is_emulated
from rankwise.report.pieces import grown, share, summed
from rankwise.report.use_data import (
    CoreUse,
    InterfaceUse,
    InterruptLine,
    MemoryUse,
    NodeMoment,
    QueueUse,
    TcpUse,
)

_STATES = ("user_s", "nice_s", "system_s", "idle_s", "iowait_s", "irq_s", "softirq_s", "steal_s")
_SOFTIRQS = ("hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu")
_PACKETS = ("packets", "packets_dropped")
_LOST = ("rx_errors", "rx_dropped", "tx_errors", "tx_dropped")


def of_machines(recording: Recording, name: str) -> tuple[pl.DataFrame, dict[str, int | None]]:
    """A table by host and core, and the index of each host.

    The nodes of a lab share one machine, so each of them has its counts: those of the node with the most samples stand
    for it, with no host.
    """
    table, hosts = recording.table(name), _hosts(recording)
    if not is_emulated(recording.context["run"]):
        return table, dict(hosts)
    sampled = (
        recording.table("core_samples").group_by("host").len().sort(["len", "host"], descending=[True, False])
    )
    chosen = sampled["host"].head(1).to_list()
    return table.filter(pl.col("host").is_in(chosen)), dict.fromkeys(chosen)


def _hosts(recording: Recording) -> dict[str, int]:
    """Index of each host; that of the only machine where nodes are emulated."""
    names = {host["host"]: at for at, host in enumerate(recording.context["hosts"])}
    return names | {node["host"]: names.get(node["host"], 0) for node in recording.context["nodes"]}


def cores(recording: Recording) -> list[CoreUse]:
    """By host and OS PU."""
    samples, hosts = of_machines(recording, "core_samples")
    emulated = is_emulated(recording.context["run"])
    alone: dict[tuple[int | None, int], list[int]] = {}
    of_host = _hosts(recording)
    for entry in recording.context["bindings"]:
        pus = entry.get("host_pus", entry["pus"])
        if len(pus) == 1:
            alone.setdefault((None if emulated else of_host[entry["host"]], pus[0]), []).append(entry["rank"])
    last = samples.group_by("host", "pu", maintain_order=True).agg(
        pl.col(*_STATES, "interrupts", *_SOFTIRQS, *_PACKETS).drop_nulls().last()
    )
    found = []
    for row in last.iter_rows(named=True):
        time_s = sum(row[name] or 0.0 for name in _STATES) or None

        def of(*names: str, row: dict[str, Any] = row, time_s: float | None = time_s) -> float | None:
            known = [row[name] for name in names]
            return None if time_s is None or None in known else sum(known) / time_s

        found.append(
            CoreUse(
                host=hosts[row["host"]],
                pu=row["pu"],
                ranks=numbers_text(sorted(alone.get((hosts[row["host"]], row["pu"]), []))),
                user_share=of("user_s", "nice_s"),
                system_share=of("system_s"),
                irq_share=of("irq_s"),
                softirq_share=of("softirq_s"),
                idle_share=of("idle_s", "iowait_s"),
                steal_share=of("steal_s"),
                interrupts=None if row["interrupts"] is None else int(row["interrupts"]),
                softirqs={name.upper(): int(row[name]) for name in _SOFTIRQS if row[name] is not None},
                **{name: None if row[name] is None else int(row[name]) for name in _PACKETS},
            )
        )
    return found


def interrupt_lines(recording: Recording) -> list[InterruptLine]:
    """By host and line, the most first."""
    table, hosts = of_machines(recording, "interrupts")
    queues = recording.table("interface_queues")
    device_of = {
        (host, queue.removeprefix("irq ")): device
        for host, device, queue in queues.select("host", "device", "queue").iter_rows()
        if queue.startswith("irq ")
    }
    names = recording.table("interface_samples")["interface"].unique().to_list()
    found = []
    rows = table.sort("count", descending=True)
    for (host, line, what), counts in rows.group_by("host", "line", "what", maintain_order=True):
        # Drivers without a directory of their interrupts name them after the interface: `eth0-TxRx-3`.
        named = [name for name in names if re.search(rf"(^|[\s@]){re.escape(name)}($|[-@\s])", str(what))]
        found.append(
            InterruptLine(
                host=hosts[str(host)],
                line=str(line),
                what=str(what),
                device=device_of.get((host, line), named[0] if named else None),
                count=int(counts["count"].sum()),
                pus=counts["pu"].to_list(),
                counts=counts["count"].to_list(),
            )
        )
    return sorted(found, key=lambda each: -each.count)


def interfaces(recording: Recording) -> list[InterfaceUse]:
    """Network interfaces by host and name, then ports of adapters."""
    hosts = _hosts(recording)
    states = {node["host"]: node["states"] for node in recording.context["nodes"]}
    served: dict[tuple[str, str], set[int]] = {}
    for row in recording.table("interface_queues").filter(how="interrupt").iter_rows(named=True):
        served.setdefault((row["host"], row["device"]), set()).update(row["pus"] or ())
    columns = ("rx_bytes", "tx_bytes", "rx_packets", "tx_packets", *_LOST)
    users = _Users(recording)
    last = (
        recording.table("interface_samples")
        .group_by("host", "interface", maintain_order=True)
        .agg(pl.col(*columns).drop_nulls().last())
    )
    found = []
    for row in last.iter_rows(named=True):
        lost = [row[name] for name in _LOST]
        found.append(
            InterfaceUse(
                host=hosts[row["host"]],
                interface=row["interface"],
                state=states[row["host"]].get(row["interface"]),
                **{name: None if row[name] is None else int(row[name]) for name in columns[:4]},
                lost=None if None in lost else int(sum(lost)),
                idle=row["rx_packets"] == 0 and row["tx_packets"] == 0,
                ranks=users.ranks(row["host"], row["interface"]),
                rank_bytes=users.bytes(row["host"], row["interface"]),
                interrupt_pus=numbers_text(sorted(served.get((row["host"], row["interface"]), ()))),
                counters={},
            )
        )
    return found + _ports(recording, hosts, served, users)


class _Users:
    """Which ranks used which interface of their host."""

    def __init__(self, recording: Recording):
        self.devices = recording.table("rank_devices")
        self.known = set(recording.context["devices_known"])

    def _of(self, host: str, device: str) -> pl.DataFrame:
        return self.devices.filter(pl.col("host") == host, pl.col("device") == device)

    def ranks(self, host: str, device: str) -> str | None:
        """World ranks as `0-3 8`; `None` where it is not known of every rank of the host."""
        if host not in self.known:
            return None
        return numbers_text(sorted(self._of(host, device)["rank"].unique().to_list()))

    def bytes(self, host: str, device: str) -> int | None:
        """Sent and received in these ranks' connections."""
        if host not in self.known:
            return None
        return int(
            self._of(host, device)
            .select(pl.col("sent_bytes", "received_bytes").sum())
            .sum_horizontal()
            .item()
        )


def _ports(
    recording: Recording, hosts: dict[str, int], served: dict[tuple[str, str], set[int]], users: _Users
) -> list[InterfaceUse]:
    found = []
    rows = recording.table("port_counters").drop_nulls("count")
    for (host, device, port), counters in rows.group_by("host", "device", "port", maintain_order=True):
        counted = dict(counters.select("counter", "count").iter_rows())
        errors = [
            n for name, n in counted.items() if "error" in name or "discard" in name or "dropped" in name
        ]
        data = [counted.get(f"port_{way}_{what}") for what in ("data", "packets") for way in ("rcv", "xmit")]
        if not port:
            data[:2] = [counted.get(f"hni_sts_{way}_ok_octets") for way in ("rx", "tx")]
        found.append(
            InterfaceUse(
                host=hosts[str(host)],
                interface=f"{device}/{port}" if port else str(device),
                state=None,
                rx_bytes=data[0],
                tx_bytes=data[1],
                rx_packets=data[2],
                tx_packets=data[3],
                lost=sum(errors) if errors else None,
                idle=not any(counted.values()),
                ranks=users.ranks(str(host), str(device)),
                rank_bytes=None,
                interrupt_pus=numbers_text(sorted(served.get((str(host), str(device)), ()))),
                counters={name: n for name, n in counted.items() if n},
            )
        )
    return found


def queues(recording: Recording) -> list[QueueUse]:
    """By host, interface and queue."""
    hosts = _hosts(recording)
    return [
        QueueUse(hosts[host], device, queue, how, None if pus is None else numbers_text(sorted(pus)))
        for host, device, queue, how, pus in recording.table("interface_queues")
        .select("host", "device", "queue", "how", "pus")
        .iter_rows()
    ]


def tcp(recording: Recording) -> list[TcpUse]:
    """By host."""
    hosts = _hosts(recording)
    return [
        TcpUse(host=hosts[node["host"]], **node["tcp"], causes=node["tcp_causes"])
        for node in recording.context["nodes"]
        if node["tcp"]
    ]


def memory(recording: Recording) -> list[MemoryUse]:
    """By host and socket."""
    samples, hosts = of_machines(recording, "memory_samples")
    found = []
    for (host, pu), rows in samples.group_by("host", "pu", maintain_order=True):
        seconds = float(rows["time_s"].to_numpy().max())
        moved = [rows[name].drop_nulls().to_list() for name in ("read_bytes", "written_bytes")]
        read, written = (int(each[-1]) if each else None for each in moved)
        found.append(
            MemoryUse(
                host=hosts[str(host)],
                pu=int(pu),
                read_bytes=read,
                written_bytes=written,
                read_bytes_per_s=None if read is None or seconds <= 0 else read / seconds,
                written_bytes_per_s=None if written is None or seconds <= 0 else written / seconds,
            )
        )
    return found


def over_time(recording: Recording, edges: np.ndarray | None) -> list[NodeMoment]:
    """Sums over nodes in the pieces between `edges`."""
    samples, _ = of_machines(recording, "core_samples")
    if edges is None or samples.is_empty():
        return []
    network = samples.with_columns(network=pl.col("net_rx") + pl.col("net_tx"))
    outside = recording.table("interface_samples").filter(pl.col("interface") != "lo")
    wanted = [
        (network, ("host", "pu"), "interrupts"),
        (network, ("host", "pu"), "network"),
        (outside.with_columns(bytes=pl.col("rx_bytes") + pl.col("tx_bytes")), ("host", "interface"), "bytes"),
    ]
    sums = [
        summed(
            [
                grown(rows["time_s"].to_numpy(), rows[name].to_numpy().astype(float), edges)
                for _, rows in frame.group_by(key)
            ],
            edges,
        )
        for frame, key, name in wanted
    ]
    return [
        NodeMoment(begin, end, *(share(each[at], end - begin) for each in sums))
        for at, (begin, end) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    ]
