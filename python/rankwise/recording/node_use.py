# SPDX-License-Identifier: BSD-3-Clause
"""Tables of what happened on the nodes while the ranks ran: cores, interrupts, interfaces."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankwise.quantities import counted, seconds_text
from rankwise.recording.job import Job
from rankwise.recording.rank_use import without_nan
from rankwise.recording.raw import RawRecording, Thread
from rankwise.recording.samples import MOUNTED, Absent, Sampled
from rankwise.recording.snapshots import Snapshot, matches_checksum

_STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_SOFTIRQS = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU")
_SOFTNET = {
    "processed": "packets",
    "dropped": "packets_dropped",
    "squeezed": "polls_cut",
    "steered": "rps_interrupts",
}
_INTERFACE = (
    "rx_bytes",
    "rx_packets",
    "rx_errors",
    "rx_dropped",
    "tx_bytes",
    "tx_packets",
    "tx_errors",
    "tx_dropped",
)
_PORT = ("rx_bytes", "rx_packets", "tx_bytes", "tx_packets")
_TCP = {
    "InSegs": "received_segments",
    "OutSegs": "sent_segments",
    "RetransSegs": "retransmitted_segments",
    "InErrs": "bad_segments",
}
# Of TcpExt in /proc/net/netstat (Documentation/networking/snmp_counter.rst of Linux).
_TCP_CAUSES = {
    "TCPTimeouts": "timeouts",
    "TCPFastRetrans": "fast_retransmits",
    "TCPSlowStartRetrans": "slow_start_retransmits",
    "TCPSynRetrans": "connection_retransmits",
    "TCPLossProbes": "loss_probes",
    "TCPLostRetransmit": "lost_again",
    "TCPDSACKRecv": "needless",
    "TCPBacklogDrop": "dropped_from_backlog",
    "TCPRcvQDrop": "dropped_from_receive_queue",
}


# What a sample has by the same file, and how it is called where it is absent.
_LOST = {
    "cpu": "cpu times",
    "interrupts": "interrupts",
    "softirq": "softirqs",
    "softnet": "packets by core",
    "interface": "interfaces",
    "tcp": "tcp",
    "port": "ports",
    "memory": "memory bandwidth",
}


@dataclass(frozen=True)
class Node:
    """What one rank at a time sampled of a node.

    Attributes:
        host: Its name, as in the other tables.
        sampled: Samples over time.
        start: Ticks at which the first rank of it left MPI_Init.
        seconds_per_tick: Of its ticks.
        files: raw/HOST.NODE.RUN of its copies.
        alone: Whether no other job of the recording was on it: copies are from the start of the first and the end
            of the last one.
    """

    host: str
    sampled: Sampled
    start: int
    seconds_per_tick: float
    files: Path
    alone: bool

    def copy(self, when: str) -> Path:
        """Where the copy of the `start` or the `end` is."""
        return self.files.with_name(f"{self.files.name}.{when}.tar")

    @cached_property
    def damaged(self) -> list[str]:
        """Which of the copies, `start` and `end`, are not as they were written."""
        return [when for when in ("start", "end") if _is_damaged(self.copy(when))]

    @cached_property
    def before(self) -> Snapshot | None:
        """Its files at the start."""
        return Snapshot.read(self.copy("start"))

    @cached_property
    def after(self) -> Snapshot | None:
        """Its files at the end of this job, or in the last half of a run without an end; `None` if that was short."""
        if not self.alone:
            return None
        return Snapshot.read(self.copy("end"))

    @property
    def time_s(self) -> np.ndarray:
        """Of each row, since MPI_Init of the first rank."""
        return np.maximum(self.sampled.ticks - self.start, 0) * self.seconds_per_tick


def nodes(directory: Path, raw: RawRecording, job: Job) -> list[Node]:
    """Nodes of the job's ranks that have samples."""
    found = []
    of_host: dict[tuple[str, str], list[Any]] = {}
    for thread in job.threads:
        of_host.setdefault((thread.rank["host"], thread.rank["node_file"]), []).append(thread)
    for (host, file), threads in of_host.items():
        sampled = raw.nodes.get(file)
        if sampled is None:
            continue
        own = {thread.process for thread in threads}
        others = [each for each in raw.threads if each.rank["node_file"] == file and each.process not in own]
        sampled = sampled.part(_rows_of(threads, others, sampled.ticks))
        if len(sampled.ticks):
            start = min(thread.rank["init_ticks"] for thread in threads)
            per_tick = threads[0].rank["seconds_per_tick"]
            found.append(Node(host, sampled, start, per_tick, directory / "raw" / file, not others))
    return found


def _is_damaged(path: Path) -> bool:
    try:
        return matches_checksum(path) is False
    except (OSError, tarfile.TarError, ValueError, EOFError):
        return False  # there is none, as of ranks that were killed


def damage(found: list[Node]) -> list[str]:
    """Copies that are not as they were written."""
    return [
        f"{node.copy(when).name} does not match its checksum and was left out"
        for node in found
        for when in node.damaged
    ]


def unlikely(found: list[Node]) -> list[str]:
    """What was left out of copies although they are as they were written, or have no checksum."""
    return [
        f"{node.copy(when).name}: {counted(number, 'number')} larger than anything counts, left out"
        for node in found
        for when, copy in (("start", node.before), ("end", node.after))
        if copy is not None and (number := copy.unlikely())
    ]


def _rows_of(threads: list[Thread], others: list[Thread], ticks: np.ndarray) -> slice:
    """Rows of a job: from the first that was taken in its MPI_Init to the last before another one's."""
    begin = min(thread.rank["first_ticks"] for thread in threads)
    end = max(thread.rank["finalize_ticks"] or thread.rank["last_ticks"] for thread in threads)
    next_begin = min(
        (each.rank["first_ticks"] for each in others if each.rank["first_ticks"] > end),
        default=np.iinfo(np.int64).max,
    )
    first, after = np.searchsorted(ticks, [begin, next_begin])
    return slice(int(first), int(after))


# Of all nodes together: 26 numbers each. More are thinned out, but for the first and the last of each core.
_MOST_CORE_ROWS = 1 << 21
_LEAST_CORE_ROWS = 4


def core_samples(found: list[Node]) -> pl.DataFrame:
    """By OS PU and time, since the first sample: time in each state, what came to it; null while it is offline."""
    schema: dict[str, Any] = {"host": pl.String, "pu": pl.Int64, "time_s": pl.Float64}
    schema |= {f"{state}_s": pl.Float64 for state in _STATES} | {"interrupts": pl.Float64}
    schema |= {kind.lower(): pl.Float64 for kind in _SOFTIRQS}
    schema |= dict.fromkeys(_SOFTNET.values(), pl.Float64)
    all_pus = sum(_pus(node) for node in found)
    frames = [pl.DataFrame(schema=schema)]
    frames += [_cores_of(node, max(_MOST_CORE_ROWS // max(all_pus, 1), _LEAST_CORE_ROWS)) for node in found]
    return pl.concat(frames, how="diagonal_relaxed")


def _pus(node: Node) -> int:
    counts = node.sampled.counts
    return max((counts.get(name, 0) for name in ("cpu:user", "interrupts", "softirq:HI")), default=0)


def _cores_of(node: Node, most_rows: int) -> pl.DataFrame:
    """One node's part, at most so many rows of each core; cores that were never seen have none."""
    sampled, pus = node.sampled, _pus(node)
    per_s = sampled.facts.get("clock_ticks_per_s") or 100
    groups = {f"{state}_s": (f"cpu:{state}", 1 / per_s) for state in _STATES} | {
        "interrupts": ("interrupts", 1)
    }
    groups |= {kind.lower(): (f"softirq:{kind}", 1) for kind in _SOFTIRQS}
    groups |= {name: (f"softnet:{kind}", 1) for kind, name in _SOFTNET.items()}
    count = len(sampled.ticks)
    rows = np.unique(np.linspace(0, count - 1, min(count, most_rows)).round().astype(int))
    tables = {
        name: _all_grown(sampled, group, pus)[rows] * factor for name, (group, factor) in groups.items()
    }
    there = np.flatnonzero(~(np.isnan(tables["idle_s"]) & np.isnan(tables["interrupts"])).all(axis=0))
    columns: dict[str, Any] = {
        "host": [node.host] * (len(rows) * len(there)),
        "pu": np.repeat(there.astype(np.int64), len(rows)),
        "time_s": np.tile(node.time_s[rows], len(there)),
    }
    columns |= {name: table[:, there].T.ravel() for name, table in tables.items()}
    return without_nan(columns, ())


def interface_samples(found: list[Node]) -> pl.DataFrame:
    """By network interface and time, since the first sample."""
    schema: dict[str, Any] = {"host": pl.String, "interface": pl.String, "time_s": pl.Float64}
    frames = [pl.DataFrame(schema=schema | dict.fromkeys(_INTERFACE, pl.Float64))]
    for node in found:
        for group in node.sampled.columns:
            what, _, name = group.partition(":")
            if what == "interface":
                rows = len(node.sampled.ticks)
                columns: dict[str, Any] = {"host": [node.host] * rows, "interface": [name] * rows}
                columns["time_s"] = node.time_s
                columns |= {each: _grown(node.sampled, group, at) for at, each in enumerate(_INTERFACE)}
                frames.append(without_nan(columns, ()))
    return pl.concat(frames, how="diagonal_relaxed")


def memory_samples(found: list[Node]) -> pl.DataFrame:
    """By socket and time, since the first sample: what its memory controllers read and wrote, of all programs.

    Columns: host, pu (OS number of the PU that stands for the socket), time_s, read_bytes, written_bytes.
    """
    schema: dict[str, Any] = {"host": pl.String, "pu": pl.Int64, "time_s": pl.Float64}
    frames = [pl.DataFrame(schema=schema | {"read_bytes": pl.Float64, "written_bytes": pl.Float64})]
    for node in found:
        for group in node.sampled.columns:
            what, _, pu = group.partition(":")
            if what == "memory":
                rows = len(node.sampled.ticks)
                columns: dict[str, Any] = {"host": [node.host] * rows, "pu": [int(pu)] * rows}
                columns["time_s"] = node.time_s
                columns |= {
                    name: _grown_by_turns(node.sampled, group, at)
                    for at, name in enumerate(("read_bytes", "written_bytes"))
                }
                frames.append(without_nan(columns, ()))
    return pl.concat(frames, how="diagonal_relaxed")


def port_samples(found: list[Node]) -> pl.DataFrame:
    """By port of InfiniBand, Omni-Path, RoCE and Slingshot adapters and time, since the first sample.

    Columns: host, port (`adapter/port`, or Slingshot's adapter), time_s, rx_bytes, rx_packets, tx_bytes, tx_packets;
    null for what there is no counter of, and from where one was set back or came to its most.
    """
    schema: dict[str, Any] = {"host": pl.String, "port": pl.String, "time_s": pl.Float64}
    frames = [pl.DataFrame(schema=schema | dict.fromkeys(_PORT, pl.Float64))]
    for node in found:
        for group in node.sampled.columns:
            what, _, name = group.partition(":")
            if what == "port":
                rows = len(node.sampled.ticks)
                columns: dict[str, Any] = {"host": [node.host] * rows, "port": [name] * rows}
                columns["time_s"] = node.time_s
                # Units of InfiniBand are four bytes (InfiniBand specification, PortCounters); Slingshot's are bytes.
                word = 4 if "/" in name else 1
                for at, each in enumerate(_PORT):
                    grown = node.sampled.since_start(group, at)
                    fell = np.cumsum(np.diff(grown, prepend=grown[0]) < 0) > 0
                    columns[each] = np.where(fell, np.nan, grown) * (word if each.endswith("bytes") else 1)
                frames.append(without_nan(columns, ()))
    return pl.concat(frames, how="diagonal_relaxed")


def _grown(sampled: Sampled, name: str, index: int) -> np.ndarray:
    """A column since the first row that has it, as `_all_grown`."""
    return _all_grown(sampled, name, index + 1)[:, index]


def _grown_by_turns(sampled: Sampled, name: str, index: int) -> np.ndarray:
    """A column that each rank counts from when it began to sample, since the first row that has it.

    From the last row of one rank to the first of the next it is taken to grow as in the rows behind, or before.
    """
    column, sampler = sampled.column(name, index), sampled.column("memory_sampler")
    rows = np.flatnonzero(~np.isnan(column))
    grown = np.full(len(column), np.nan)
    if len(rows) < 2:
        return grown
    steps, time = np.diff(column[rows]), np.diff(sampled.ticks[rows])
    own = (np.diff(sampler[rows]) == 0) & (steps >= 0)
    if not own.any():
        return grown
    rates = steps[own] / time[own]
    nearest = np.searchsorted(np.flatnonzero(own), np.flatnonzero(~own)).clip(max=len(rates) - 1)
    steps[~own] = rates[nearest] * time[~own]
    grown[rows] = np.concatenate([[0.0], np.cumsum(steps)])
    return grown


def _all_grown(sampled: Sampled, name: str, count: int) -> np.ndarray:
    """The first columns of a group since the first row that has them, rows x columns; NaN where it is not known.

    What falls back (iowait, CPUs that went) counts on from there. One that only one row has says nothing.
    """
    values = sampled.group(name, count)
    known = ~np.isnan(values)
    if not known.any():
        return values
    latest = np.maximum.accumulate(np.where(known, np.arange(len(values))[:, None], 0), axis=0)
    steps = np.diff(np.take_along_axis(values, latest, axis=0), axis=0, prepend=np.nan)
    grown = np.cumsum(np.maximum(np.nan_to_num(steps), 0), axis=0)
    grown[~known | (known.sum(axis=0) < 2)] = np.nan
    return grown


def interrupts(found: list[Node]) -> pl.DataFrame:
    """By line of /proc/interrupts and OS PU: how many between the copies at the start and the end, if any."""
    rows = []
    for node in found:
        if node.before is None or node.after is None:
            continue
        for (line, what, pu), count in sorted((node.after.interrupts() - node.before.interrupts()).items()):
            rows.append((node.host, line, what, pu, count))
    schema = (
        ("host", pl.String),
        ("line", pl.String),
        ("what", pl.String),
        ("pu", pl.Int64),
        ("count", pl.Int64),
    )
    return pl.DataFrame(rows, schema=list(schema), orient="row")


def port_counters(found: list[Node]) -> pl.DataFrame:
    """Counters of InfiniBand, Omni-Path, RoCE and Slingshot adapters between the copies at the start and the end."""
    rows = []
    for node in found:
        if node.before is None or node.after is None:
            continue
        before = node.before.port_counters()
        for (device, port, counter), now in sorted(node.after.port_counters().items()):
            if (device, port, counter) in before:
                # Counters of 32 bits stay at their most; one that was reset begins anew.
                then = before[device, port, counter]
                grown = None if now is None or then is None or now < then else now - then
                rows.append((node.host, device, port, counter, grown))
    schema = (
        ("host", pl.String),
        ("device", pl.String),
        ("port", pl.String),
        ("counter", pl.String),
        ("count", pl.Int64),
    )
    return pl.DataFrame(rows, schema=list(schema), orient="row")


def interface_queues(found: list[Node]) -> pl.DataFrame:
    """Which OS PUs serve which interrupts and queues of which interface, at the start."""
    rows = [
        (node.host, queue.device, queue.queue, queue.how, queue.pus)
        for node in found
        if node.before is not None
        for queue in node.before.queues()
    ]
    schema = ("host", pl.String), ("device", pl.String), ("queue", pl.String), ("how", pl.String)
    return pl.DataFrame(rows, schema=[*schema, ("pus", pl.List(pl.Int64))], orient="row")


def describe(found: list[Node]) -> list[dict[str, Any]]:
    """By node for context.json: `host`, `tcp` (segments; null without), `interval_s`, `cost_s`, `ports`, `absent`."""
    return [
        {
            "host": node.host,
            "tcp": _tcp(node),
            "tcp_causes": _tcp_causes(node),
            "interval_s": _interval_s(node),
            "cost_s": node.sampled.head["cost_ticks"] * node.seconds_per_tick,
            "states": _states(node),
            "ports": [asdict(port) for port in node.before.ports()] if node.before else [],
            "absent": [
                {"source": each.source, "why": each.why, "remedy": each.remedy} for each in _absent(node)
            ],
        }
        for node in found
    ]


def _interval_s(node: Node) -> float | None:
    ticks = node.sampled.head["interval_ticks"]
    return ticks * node.seconds_per_tick if ticks < 1 << 62 else None


def _tcp(node: Node) -> dict[str, int] | None:
    totals = {to: node.sampled.total(f"tcp:{name}") for name, to in _TCP.items()}
    known = {name: int(total) for name, total in totals.items() if total is not None}
    return known if len(known) == len(totals) else None


def _tcp_causes(node: Node) -> dict[str, int] | None:
    """Why TCP sent again, between the copies at the start and the end, as far as the kernel counts it."""
    if node.before is None or node.after is None:
        return None
    before, after = node.before.tcp_extended(), node.after.tcp_extended()
    found = {
        name: after[kernel] - before[kernel]
        for kernel, name in _TCP_CAUSES.items()
        if after.get(kernel, -1) >= before.get(kernel, 0) and kernel in before
    }
    return found or None


def _states(node: Node) -> dict[str, str]:
    names = [group.partition(":")[2] for group in node.sampled.columns if group.startswith("interface:")]
    states = {name: node.before.state(name) for name in names} if node.before else {}
    return {name: state for name, state in states.items() if state}


def _absent(node: Node) -> Iterator[Absent]:
    yield from node.sampled.absent
    yield from node.sampled.lost(_LOST, node.start, node.seconds_per_tick)
    if which := node.damaged:
        why = f"the copy of the node's files at the {which[0]} is damaged"
        yield Absent("interrupts by line, counters of ports", why, None)
    elif node.before is None:
        yield Absent("interrupts by line", "there is no copy of the node's files at the start", None)
    elif not node.alone:
        why = "several jobs were recorded on this node, and copies are from before the first and after the last of them"
        yield Absent("interrupts by line, counters of ports", why, "a recording for each job")
    elif node.after is None:
        why = "not every rank of the node came to MPI_Finalize, so there is no copy at the end"
        yield Absent(
            "interrupts by line", why, "a run that ends well; sums by core are there until its last sample"
        )
    elif "rankwise/interrupts" not in node.before.files:
        yield Absent("interrupts by line", "ENOENT: No such file or directory; /proc/interrupts", MOUNTED)
    elif not (node.before.files["rankwise/interrupts"] and node.after.files.get("rankwise/interrupts")):
        yield Absent(
            "interrupts by line", "its counts are more than 64 MiB of text, or there was no memory", None
        )
    elif node.after.meanwhile is not None:
        until_s = max(node.after.meanwhile - node.start, 0) * node.seconds_per_tick
        yield Absent(
            f"interrupts by line, all counters of ports and causes of retransmissions after {seconds_text(until_s)}",
            "not every rank of the node came to MPI_Finalize, so they end with the last copy that was taken meanwhile",
            "a run that ends well; sums by core are there until its last sample",
        )
    elif not node.after.interrupts():
        yield Absent("interrupts by line", "no lines in /proc/interrupts", None)
    if node.before is not None:
        yield from _not_in_copy(node.before)


def _not_in_copy(copy: Snapshot) -> Iterator[Absent]:
    ports = "ports of InfiniBand, Omni-Path, RoCE, Slingshot"
    if not any(name.startswith("sys/class/net/") for name in copy.files):
        what = "states and queues of interfaces, the cores that their interrupts go to"
        for source in (what, ports):
            yield Absent(source, "ENOENT: No such file or directory; /sys/class/net", MOUNTED)
        return
    if not copy.port_counters():
        yield Absent(ports, "none in /sys/class", None)
    asked = {queue.queue for queue in copy.queues() if queue.queue.startswith("irq ")}
    if asked and not any(name.startswith("proc/irq/") for name in copy.files):
        what = "the cores that interrupts of interfaces go to"
        yield Absent(what, "ENOENT: No such file or directory; /proc/irq", MOUNTED)
