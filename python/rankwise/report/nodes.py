# SPDX-License-Identifier: BSD-3-Clause
"""What happened on the nodes while the ranks ran, for the report: by core, by interrupt, by interface, over time."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl

from rankwise.placement.by_node import numbers_text
from rankwise.quantities import count_text
from rankwise.recording import Recording
from rankwise.recording.completeness import ranks_text
from rankwise.report.pieces import PIECES, grown, share
from rankwise.report.use_data import CoreUse, InterfaceUse, InterruptLine, MemoryUse, NodeMoment, TcpUse

_STATES = ("user_s", "nice_s", "system_s", "idle_s", "iowait_s", "irq_s", "softirq_s", "steal_s")
_SOFTIRQS = ("hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu")
_PACKETS = ("packets", "packets_dropped")
_LOST = ("rx_errors", "rx_dropped", "tx_errors", "tx_dropped")
# From here on it stands out.
_INTERRUPT_SHARE, _STEAL_SHARE, _PER_S, _ONE_CORE = 0.05, 0.02, 100.0, 0.5


def _hosts(recording: Recording) -> dict[str, int]:
    """Index of each host; that of the only machine where nodes are emulated."""
    names = {host["host"]: at for at, host in enumerate(recording.context["hosts"])}
    return names | {node["host"]: names.get(node["host"], 0) for node in recording.context["nodes"]}


def cores(recording: Recording) -> list[CoreUse]:
    """By host and OS PU."""
    hosts = _hosts(recording)
    alone: dict[tuple[str, int], list[int]] = {}
    for entry in recording.context["bindings"]:
        if len(entry["pus"]) == 1:
            alone.setdefault((entry["host"], entry["pus"][0]), []).append(entry["rank"])
    last = (
        recording.table("core_samples")
        .group_by("host", "pu", maintain_order=True)
        .agg(pl.col(*_STATES, "interrupts", *_SOFTIRQS, *_PACKETS).drop_nulls().last())
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
                ranks=numbers_text(alone.get((row["host"], row["pu"]), [])),
                program_share=of("user_s", "nice_s"),
                system_share=of("system_s"),
                interrupt_share=of("irq_s", "softirq_s"),
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
    hosts = _hosts(recording)
    queues = recording.table("interface_queues")
    device_of = {
        (host, queue.removeprefix("irq ")): device
        for host, device, queue in queues.select("host", "device", "queue").iter_rows()
        if queue.startswith("irq ")
    }
    names = recording.table("interface_samples")["interface"].unique().to_list()
    found = []
    rows = recording.table("interrupts").sort("count", descending=True)
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
                lost=sum(errors),
                idle=not any(counted.values()),
                ranks=users.ranks(str(host), str(device)),
                rank_bytes=None,
                interrupt_pus=numbers_text(sorted(served.get((str(host), str(device)), ()))),
                counters={name: n for name, n in counted.items() if n},
            )
        )
    return found


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
    hosts = _hosts(recording)
    found = []
    for (host, pu), rows in recording.table("memory_samples").group_by("host", "pu", maintain_order=True):
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


def over_time(recording: Recording) -> list[NodeMoment]:
    """Sums over nodes in pieces of equal length."""
    samples = recording.table("core_samples")
    end_s = samples.select(pl.max("time_s")).item()
    if not end_s or samples.group_by("host", "pu").len()["len"].max() < 3:  # type: ignore[operator]
        return []
    edges = np.linspace(0, end_s, PIECES + 1)
    network = samples.with_columns(network=pl.col("net_rx") + pl.col("net_tx"))
    outside = recording.table("interface_samples").filter(pl.col("interface") != "lo")
    wanted = [
        (network, ("host", "pu"), "interrupts"),
        (network, ("host", "pu"), "network"),
        (outside.with_columns(bytes=pl.col("rx_bytes") + pl.col("tx_bytes")), ("host", "interface"), "bytes"),
    ]
    sums = []
    for frame, key, name in wanted:
        parts = [
            grown(rows["time_s"].to_numpy(), rows[name].to_numpy().astype(float), edges)
            for _, rows in frame.group_by(key)
        ]
        sums.append(np.sum(parts, axis=0) if parts else np.full(PIECES, np.nan))
    length = end_s / PIECES
    return [
        NodeMoment(float(edges[at]), float(edges[at + 1]), *(share(each[at], length) for each in sums))
        for at in range(PIECES)
    ]


def notable(
    recording: Recording,
    found_cores: list[CoreUse],
    lines: list[InterruptLine],
    found_interfaces: list[InterfaceUse],
    found_tcp: list[TcpUse],
) -> list[str]:
    """What stands out of the nodes, one sentence each."""
    names = [host["host"] for host in recording.context["hosts"]]
    elapsed_s = recording.table("core_samples").select(pl.max("time_s")).item() or 0.0
    found = _interrupt_cores(recording, names, elapsed_s, lines)
    for host in range(len(names)):
        own = [core for core in found_cores if core.host == host]
        received, what = _received(own)
        total = sum(received.values())
        if len(own) > 1 and total > _PER_S * elapsed_s:
            pu = max(received, key=lambda each: received[each])
            if received[pu] > _ONE_CORE * total:
                ranks = _ranks_on(recording, names[host], pu)
                found.append(
                    f"{names[host]}: PU {pu} did {received[pu] / total * 100:.0f} % of the network's receive work "
                    f"({count_text(total)} {what}){ranks}"
                )
        for core in own:
            if (core.interrupt_share or 0) > _INTERRUPT_SHARE:
                found.append(
                    f"{names[host]}: PU {core.pu} was in interrupts for {(core.interrupt_share or 0) * 100:.0f} % of "
                    f"the time{_ranks_on(recording, names[host], core.pu)}"
                )
        stolen = max((core.steal_share or 0 for core in own), default=0)
        if stolen > _STEAL_SHARE:
            found.append(
                f"{names[host]}: up to {stolen * 100:.0f} % of a core's time was taken by the host of the VM"
            )
    for each in found_interfaces:
        if each.lost:
            found.append(
                f"{names[each.host]}: {each.interface} lost {count_text(each.lost)} packets, or had errors"
            )
    for entry in found_tcp:
        if entry.retransmitted_segments:
            found.append(
                f"{names[entry.host]}: TCP sent {count_text(entry.retransmitted_segments)} of "
                f"{count_text(entry.sent_segments)} segments again{_causes(entry)}"
            )
    return found


def _received(own: list[CoreUse]) -> tuple[dict[int, int], str]:
    """What each PU took in, and what was counted: a core that only hands packets on to others has NET_RX as well."""
    packets = {core.pu: core.packets for core in own if core.packets is not None}
    if packets:
        return packets, "packets"
    return {core.pu: core.softirqs.get("NET_RX", 0) for core in own}, "NET_RX"


def _causes(entry: TcpUse) -> str:
    """`: 12 after timeouts, 3 fast`; nothing where that is not known."""
    words = {
        "timeouts": "{} timeouts",
        "fast_retransmits": "{} fast retransmits",
        "slow_start_retransmits": "{} in slow start",
        "connection_retransmits": "{} to connect",
        "lost_again": "{} lost again",
        "needless": "{} needless",
    }
    counts = entry.causes or {}
    said = [text.format(count_text(counts[name])) for name, text in words.items() if counts.get(name, 0) > 0]
    return f" ({', '.join(said)})" if said else ""


def _interrupt_cores(
    recording: Recording, names: list[str], elapsed_s: float, lines: list[InterruptLine]
) -> list[str]:
    """The core that most interrupts of a network interface went to, where there were many."""
    by_device: dict[tuple[int, str], dict[int, int]] = {}
    for line in lines:
        if line.device is not None:
            counts = by_device.setdefault((line.host, line.device), {})
            for pu, count in zip(line.pus, line.counts, strict=True):
                counts[pu] = counts.get(pu, 0) + count
    found = []
    for (host, device), counts in by_device.items():
        total = sum(counts.values())
        pu = max(counts, key=lambda each: counts[each])
        if total > _PER_S * elapsed_s and counts[pu] > _ONE_CORE * total:
            found.append(
                f"{names[host]}: PU {pu} took {counts[pu] / total * 100:.0f} % of the {count_text(total)} interrupts "
                f"of {device}{_ranks_on(recording, names[host], pu)}"
            )
    return found


def _ranks_on(recording: Recording, host: str, pu: int) -> str:
    """`; rank 3 ran there`, of ranks that were seen on a PU."""
    on_host = {entry["rank"] for entry in recording.context["bindings"] if entry["host"] == host}
    seen = recording.table("rank_use").filter(pl.col("ran_on").list.contains(pu))["rank"].to_list()
    ranks = sorted(on_host.intersection(seen))
    return f"; {ranks_text(ranks)} ran there" if ranks else ""
