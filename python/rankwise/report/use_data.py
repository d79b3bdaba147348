# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks used of their nodes, as the report's data has it."""

from __future__ import annotations

import msgspec

MOST_TRACKS = 16
"""Of a kind on a timeline."""


class RankUse(msgspec.Struct, frozen=True):
    """By rank, from MPI_Init to MPI_Finalize, as columns of equal length; `null` for what is not known.

    Attributes:
        rank: World rank.
        user_s: Processor time of all its threads in the program.
        system_s: Processor time of all its threads in the kernel.
        runqueue_wait_s: How long it was ready to run and had no core.
        minor_faults: Page faults without reading from a disk.
        major_faults: Page faults with reading from a disk.
        voluntary_switches: Context switches because it waited.
        involuntary_switches: Context switches because something else got its core.
        migrations: How often a thread came to another core, of those in `migrations_of`.
        migrations_of: `all threads` (perf_event) or `first thread` (the scheduler's own count).
        moves_seen: How often its first thread was seen on another core than 10 ms before: it moved at least as often.
        peak_memory_bytes: Most memory that it had at once, since its process began.
        memory_bytes: Its memory at the end by NUMA node.
        allowed: OS PUs that its first thread might use at MPI_Init, as `0-3 8`.
        ran_on: OS PUs on which that was seen.
        threads_ran_on: OS PUs on which threads were that ran; empty if nobody looked.
        threads_busy: How many of its threads ran, in the mean of half seconds.
        threads_crowded: Which part of these shared a PU with another one of this rank.
        mask_changes: How often it was seen that what it might use had changed.
    """

    rank: list[int]
    user_s: list[float | None]
    system_s: list[float | None]
    runqueue_wait_s: list[float | None]
    minor_faults: list[int | None]
    major_faults: list[int | None]
    voluntary_switches: list[int | None]
    involuntary_switches: list[int | None]
    migrations: list[int | None]
    migrations_of: list[str | None]
    moves_seen: list[int | None]
    peak_memory_bytes: list[int | None]
    memory_bytes: list[list[int] | None]
    allowed: list[str]
    ran_on: list[str]
    threads_ran_on: list[str]
    threads_busy: list[float | None]
    threads_crowded: list[float | None]
    mask_changes: list[int]


class MaskChange(msgspec.Struct, frozen=True):
    """From a time on, ranks were allowed other cores.

    Attributes:
        rank: World rank.
        time_s: When a sample saw it, after MPI_Init.
        pus: OS PUs from then on, as `0-3 8`.
        set_by: Name of the file whose code called libc to set them; empty where no such call was seen, `null` where
            that is not known.
    """

    rank: int
    time_s: float
    pus: str
    set_by: str | None


class Counter(msgspec.Struct, frozen=True):
    """A counter of perf_event.

    Attributes:
        counter: Its name.
        count: By rank as `ranks.rank` has them; scaled where counters took turns, `null` where it never ran.
        running_share: Of the time that it was to count, the part that it did, where that was least.
        user_only: Whether it counts only outside of the kernel.
    """

    counter: str
    count: list[float | None]
    running_share: float | None
    user_only: bool


class AbsentSources(msgspec.Struct, frozen=True):
    """Sources that gave nothing, for one reason.

    Attributes:
        sources: Their names.
        why: The reason.
        remedy: What would give them; `null` where nothing would.
        ranks: On how many ranks; 0: of nodes.
        hosts: Of nodes, on which: indices into `program.hosts`.
    """

    sources: list[str]
    why: str
    remedy: str | None
    ranks: int
    hosts: list[int]


class Moment(msgspec.Struct, frozen=True):
    """Rates between two times, all ranks together.

    Attributes:
        begin_s: After MPI_Init.
        end_s: Likewise.
        system_share: Of the ranks' processor time, that in the kernel; `null` without processor time.
        involuntary_switches_per_s: Of all ranks; `null` if it is not known.
        faults_per_s: Of all ranks, minor and major; `null` likewise.
        runqueue_wait_share: Of the ranks' time, waiting for a core; `null` if it was not sampled.
    """

    begin_s: float
    end_s: float
    system_share: float | None
    involuntary_switches_per_s: float | None
    faults_per_s: float | None
    runqueue_wait_share: float | None


class CoreUse(msgspec.Struct, frozen=True):
    """An OS PU of a node, from the first to the last sample; shares are of its time, `null` for what is not known.

    Attributes:
        host: Index into `program.hosts`; `null` in a lab, for the one machine that its nodes share.
        pu: OS number.
        ranks: World ranks that might use this PU alone at MPI_Init, as `0-3 8`.
        user_share: In programs (user and nice).
        system_share: In the kernel, without interrupts.
        irq_share: In interrupts.
        softirq_share: In softirqs.
        idle_share: Nothing to do, or waiting for a disk.
        steal_share: Taken by the host of a virtual machine.
        interrupts: How many.
        softirqs: How many by kind: `NET_RX`, `NET_TX`, `TIMER`, ...
        packets: It took in, of all network interfaces.
        packets_dropped: Of its queue, because that was full.
    """

    host: int | None
    pu: int
    ranks: str
    user_share: float | None
    system_share: float | None
    irq_share: float | None
    softirq_share: float | None
    idle_share: float | None
    steal_share: float | None
    interrupts: int | None
    softirqs: dict[str, int]
    packets: int | None
    packets_dropped: int | None


class InterruptLine(msgspec.Struct, frozen=True):
    """A line of /proc/interrupts that had some, the one with most first.

    Attributes:
        host: Index into `program.hosts`; `null` in a lab, likewise.
        line: Its number or name.
        what: What it is of.
        device: The network interface or adapter whose interrupt it is; `null` for others, or if that is not known.
        count: Of all PUs.
        pus: OS PUs that had some, the one with most first.
        counts: Of each of these.
    """

    host: int | None
    line: str
    what: str
    device: str | None
    count: int
    pus: list[int]
    counts: list[int]


class InterfaceUse(msgspec.Struct, frozen=True):
    """A network interface, or a port of an InfiniBand, Omni-Path, RoCE or Slingshot adapter; `null`: not known.

    Attributes:
        host: Index into `program.hosts`.
        interface: Its name; `adapter/port` for ports.
        state: `up`, `down`, ... as the kernel says.
        rx_bytes: Received.
        tx_bytes: Sent.
        rx_packets: Received.
        tx_packets: Sent.
        lost: Errors and drops, both ways.
        idle: Whether nothing came and nothing went.
        ranks: World ranks that used it, as `0-3 8`: whose connections have its address, or that had the adapter open;
            empty: none; `null` if that is not known.
        rank_bytes: Of these ranks' connections, sent and received; `null` for adapters, and if it is not known.
        interrupt_pus: OS PUs that its interrupts go to, as `0-3 8`; empty if that is not known.
        counters: Of a port, all counters that had grown.
    """

    host: int
    interface: str
    state: str | None
    rx_bytes: int | None
    tx_bytes: int | None
    rx_packets: int | None
    tx_packets: int | None
    lost: int | None
    idle: bool
    ranks: str | None
    rank_bytes: int | None
    interrupt_pus: str
    counters: dict[str, int]


class MemoryUse(msgspec.Struct, frozen=True):
    """What the memory controllers of a socket moved, of all programs; `null` for what is not known.

    Attributes:
        host: Index into `program.hosts`; `null` in a lab, for its one machine.
        pu: OS number of the PU that stands for the socket.
        read_bytes: From the memory.
        written_bytes: To the memory.
        read_bytes_per_s: On average from the first to the last sample.
        written_bytes_per_s: Likewise.
    """

    host: int | None
    pu: int
    read_bytes: int | None
    written_bytes: int | None
    read_bytes_per_s: float | None
    written_bytes_per_s: float | None


class QueueUse(msgspec.Struct, frozen=True):
    """Which cores serve a queue or an interrupt of an interface or adapter, at the start.

    Attributes:
        host: Index into `program.hosts`.
        interface: Its name.
        queue: `rx-0`, `tx-0`, or `irq` with the number of the interrupt.
        how: `interrupt` (who gets it), `allowed` (who may get it), `rps` (who takes in what the queue received), `xps`
            (who sends through it).
        pus: OS PUs, as `0-3 8`; `null` if that is not known.
    """

    host: int
    interface: str
    queue: str
    how: str
    pus: str | None


class TcpUse(msgspec.Struct, frozen=True):
    """TCP of a node, all programs.

    Attributes:
        host: Index into `program.hosts`.
        sent_segments: As often.
        retransmitted_segments: Of these, sent again.
        received_segments: As often.
        bad_segments: Of these, with errors.
        causes: Why segments were sent again or dropped, by what Linux calls it: `timeouts`, `fast_retransmits`,
            `slow_start_retransmits`, `connection_retransmits`, `loss_probes`, `lost_again` (what was sent again),
            `needless` (it had come), `dropped_from_backlog`, `dropped_from_receive_queue`; `null` if it is not known.
    """

    host: int
    sent_segments: int
    retransmitted_segments: int
    received_segments: int
    bad_segments: int
    causes: dict[str, int] | None


class NodeMoment(msgspec.Struct, frozen=True):
    """Rates between two times, all nodes together; of a lab's cores, those of the one machine.

    Attributes:
        begin_s: After MPI_Init.
        end_s: Likewise.
        interrupts_per_s: Of all PUs.
        network_softirqs_per_s: NET_RX and NET_TX of all PUs.
        bytes_per_s: Received and sent by all interfaces but `lo`.
    """

    begin_s: float
    end_s: float
    interrupts_per_s: float | None
    network_softirqs_per_s: float | None
    bytes_per_s: float | None


class Track(msgspec.Struct, frozen=True):
    """One line of the timeline: what happened in each piece of time.

    Attributes:
        kind: `waiting for a core` (of a rank), `interrupts` and `NET_RX` (of a core), `bytes` (received and sent by an
            interface), `bytes of ports` (of InfiniBand and the like), `bytes of memory` (of a socket).
        host: Index into `program.hosts`; `null` in a lab, of cores and sockets.
        of: `rank 3`, `PU 2`, `eth0`, `mlx5_0/1`, `socket of PU 0`.
        per_s: How many a second in each piece, of waiting the part of the time; `null` where it is not known.
        pu: Of a rank, the OS PU it was seen on at the end of each piece; `null` for others.
        moves_s: Of a rank, when a sample saw it on another PU than the one before, after MPI_Init.
    """

    kind: str
    host: int | None
    of: str
    per_s: list[float | None]
    pu: list[int | None] | None
    moves_s: list[float]


class Timeline(msgspec.Struct, frozen=True):
    """Tracks on one axis of time, of each kind the 16 with the most; all of them are in the recording's tables.

    Attributes:
        edges_s: Begin of the first piece and end of each, after MPI_Init; at most 60 pieces, and as many as there are
            intervals between samples.
        tracks: Those in which something happened.
    """

    edges_s: list[float]
    tracks: list[Track]


class Use(msgspec.Struct, frozen=True):
    """What the ranks used of their nodes.

    Attributes:
        why_not: Which ranks were not sampled, and why; `null` if all were.
        emulated: Whether nodes are those of a lab: cores and interrupts are of the one machine below them.
        interval_s: Between two samples that were kept, at least; `null`: only at the start and the end.
        cost_share: What sampling cost, of the time of the rank where it cost most.
        ranks: By rank.
        mask_changes: Where ranks' cores changed while they ran.
        counters: Counters of perf_event.
        cores: By core, of nodes that were sampled.
        interrupts: By line.
        interfaces: By interface and port.
        queues: By interface and queue.
        tcp: By node.
        memory: By socket; empty where no counters of memory controllers can be read.
        over_time: Of ranks, in pieces of equal length, up to 20, and never more than there are intervals between
            samples; empty with fewer than 3 samples.
        nodes_over_time: Of nodes, in the same pieces.
        timeline: What happened when by rank, core and interface; `null` with fewer than 3 samples.
        absent: Sources that gave nothing.
        notable: What stands out, one sentence each; empty where nothing does.
    """

    why_not: str | None
    emulated: bool
    interval_s: float | None
    cost_share: float | None
    ranks: RankUse
    mask_changes: list[MaskChange]
    counters: list[Counter]
    cores: list[CoreUse]
    interrupts: list[InterruptLine]
    interfaces: list[InterfaceUse]
    queues: list[QueueUse]
    tcp: list[TcpUse]
    memory: list[MemoryUse]
    over_time: list[Moment]
    nodes_over_time: list[NodeMoment]
    timeline: Timeline | None
    absent: list[AbsentSources]
    notable: list[str]
