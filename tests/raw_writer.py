# SPDX-License-Identifier: BSD-3-Clause
"""A slow, obvious writer of raw recordings (formats/recording.h), so that readers are tested without MPI."""

from __future__ import annotations

import io
import ipaddress
import tarfile
import zlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rankwise.recording import layouts

CALLS_TEXT = (Path(__file__).resolve().parent.parent / "formats" / "mpi_calls.txt").read_bytes()
CALL_NUMBERS = {line.split("\t")[0]: number for number, line in enumerate(CALLS_TEXT.decode().splitlines())}
FILE_MAGIC, CHUNK_MAGIC = layouts.FILE_MAGIC, layouts.CHUNK_MAGIC
CHUNK_BYTES, HEADER_BYTES = layouts.CHUNK_BYTES, layouts.FILE_HEADER_BYTES
RANK, PEERS, COLLECTIVES = layouts.CHUNK_RANK, layouts.CHUNK_PEERS, layouts.CHUNK_COLLECTIVES
COMMS, TRACE, DEAD = layouts.CHUNK_COMMS, layouts.CHUNK_TRACE, layouts.CHUNK_DEAD
SAMPLES, NOTES = layouts.CHUNK_SAMPLES, layouts.CHUNK_NOTES
NODE_SAMPLES, NODE_NOTES = layouts.CHUNK_NODE_SAMPLES, layouts.CHUNK_NODE_NOTES
HISTOGRAMS, SITES, MODULES = layouts.CHUNK_HISTOGRAMS, layouts.CHUNK_SITES, layouts.CHUNK_MODULES
OLD_SITES = layouts.CHUNK_SITES_WITHOUT_BYTES
FINALIZED, ABORTED, STORAGE_FULL = layouts.FINALIZED, layouts.ABORTED, layouts.STORAGE_FULL
TRACED, UNCLASSIFIED, UNTIMED = layouts.TRACED, layouts.UNCLASSIFIED, layouts.UNTIMED
CUT = layouts.TRACE_CUT
RECEIVE = layouts.DIRECTION_RECEIVE
POLL, SCHED, LOST = layouts.EVENT_POLL, layouts.EVENT_SCHED, layouts.EVENT_LOST
CLOSED = layouts.SEAL_CLOSED
TICK_S = 1e-9  # one tick a nanosecond: ticks and clocks are easy to compare

# recording.json of two ranks that ended well.
MANIFEST = {
    "schema": "rankwise.recording/1",
    "rankwise": "0.1.0",
    "command": ["mpiexec", "-n", "2", "./app"],
    "directory": "/tmp",
    "host": "n0",
    "ranks": 2,
    "programs": ["/tmp/app"],
    "launcher": {"kind": "hydra", "vendor": "MPICH", "version": "5.0.2", "path": "/usr/bin/mpiexec"},
    "mpi": {"flavour": "mpich", "library": "libmpi.so.12", "path": None, "reason": "linked"},
    "trace": False,
    "job": None,
    "start_s": 1.0,
    "end_s": 2.0,
    "exit_status": 0,
    "settings": {},
    "signal": None,
}


def pack(layout: np.dtype, **fields) -> bytes:
    """A struct; what is not named is 0."""
    struct = np.zeros((), layout)
    for name, value in fields.items():
        struct[name] = value
    return struct.tobytes()


def notes_bytes(notes: list[tuple[int, int, int, str]]) -> bytes:
    """A log of rw_note: ticks, kind, count and text of each."""
    log = b""
    for ticks, kind, count, text in notes:
        content = text.encode()
        log += pack(layouts.NOTE, ticks=ticks, kind=kind, count=count, bytes=len(content))
        log += content.ljust((len(content) + 7) // 8 * 8, b"\0")
    return log


def samples_bytes(rows: list[list[int]], asked_ns: int = 100_000_000, **more: int) -> bytes:
    """An rw_samples with its rows: ticks first."""
    columns = len(rows[0]) - 1 if rows else 0
    head = {"columns": columns, "room": len(rows), "rows": len(rows), "interval_ticks": asked_ns}
    head |= {"asked_ns": asked_ns, "taken": len(rows)} | more
    return pack(layouts.SAMPLES, **head) + np.array(rows, "<u8").tobytes()


def fnv1a(members: list[int]) -> int:
    """The group hash of rw_comm."""
    value = 0xCBF29CE484222325
    for byte in np.array(members, "<u4").tobytes():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value


def _crc_table() -> list[int]:
    values = list(range(256))
    for _ in range(8):
        values = [value >> 1 ^ (0x82F63B78 if value & 1 else 0) for value in values]
    return values


CRC_TABLE = _crc_table()


def crc32c(content: bytes) -> int:
    """CRC-32C, as RFC 3720 has it."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def copy_bytes(files: dict[str, str], checksum: bool = True) -> bytes:
    """A copy of a node's files (raw/HOST.start.tar), as the recorder writes it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as made:

        def add(name: str, content: bytes) -> None:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            made.addfile(entry, io.BytesIO(content))

        for name, text in files.items():
            add(name, text.encode())
        if checksum:
            add("rankwise/crc32c", f"{crc32c(packed.getvalue()[: made.offset]):08x}\n".encode())
    return packed.getvalue()


def size_bin(size: int) -> int:
    return 0 if size == 0 else 1 + (size - 1).bit_length()


def u(value: int) -> bytes:
    """LEB128."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def z(value: int) -> bytes:
    """Zigzag LEB128."""
    return u(2 * value if value >= 0 else -2 * value - 1)


def single(call: str | int, gap: int, duration: int, payload: bytes = b"") -> bytes:
    """An event as RW_TOKEN_SINGLE, which is not remembered."""
    number = CALL_NUMBERS[call] if isinstance(call, str) else call
    return b"\xf2" + u(number) + payload + u(gap) + u(duration)


def coded_example():
    """A coded trace of unit shift 0 with every kind of token: twelve events."""
    send = u(CALL_NUMBERS["MPI_Send"]) + u(0) + z(1) + z(0) + u(8)
    wait = u(CALL_NUMBERS["MPI_Waitall"]) + u(1) + u(1) + u(0)
    polls = b"\xf2" + u(POLL) + u(3) + u(100) + u(200)
    once = b"\xf0" + send + b"\xca" + b"\xf0" + wait + b"\xff\x40\x41" + b"\xf1\x00\x77" + b"\x02\x77\x77"
    sample = b"\xf4" + u(3) + u(9)
    return once + polls + sample + b"\xf3" + once


def changes_example():
    """Behind the coded example: 24 instead of 8 bytes to rank 1, the 8 again, and 9 bytes to rank 3 for the 24."""
    by = b"\xf5" + u(1 + CALL_NUMBERS["MPI_Send"]) + u(0b1000) + z(16) + b"\x77"
    to = b"\xf6" + u(0) + u(0b1010) + z(3) + u(9) + b"\x88"
    return coded_example() + by + b"\xf1\x00\x77" + to


def gaps_example():
    """Behind the changes: the first shape twice, 9 units of processor time in the gap of the first of them."""
    return changes_example() + b"\xf7" + u(9) + b"\xf4" + u(1) + u(2) + b"\xf1\x00\x77" * 2


@dataclass
class Rank:
    """What one thread of one process writes down; one tick is one nanosecond."""

    world_rank: int
    world_size: int
    host: str = "n0"
    job: str = "job"
    thread: int = 0
    pid: int = 0
    flags: int = FINALIZED
    flavour: int = 1
    version: str = "MPICH Version:      4.3.2"
    library: str = "/usr/lib/libmpi.so.12"
    affinity: tuple[int, ...] = ()
    cpu: int = 0
    run_ns: int = 1_000_000_000
    mpi_ns: int = 0
    runqueue_wait_ns: int = 0
    still_ns: int = 0  # neither running nor waiting for a core
    schedstat_samples: int = 1
    unrecorded: int = 0
    note: str = ""
    in_call: tuple[str, int] | None = None  # and ns after the start
    clocks: int = 2
    shift_ns: int = 0  # of MPI_Init's end after the first reading of the clocks
    call_cost_ns: int = 0
    recorder_ns: int = 0
    sealed_ns: int = 0
    coding: tuple[int, int] = (layouts.TRACE_EXACT, 0)
    least: dict[str, int] = field(default_factory=dict)
    bins: dict[str, Counter] = field(default_factory=dict)
    # module, call, offset, count, ns, and bytes, or None: as recordings before bytes were counted
    sites: list[tuple[int, str, int, int, int, int | None]] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)
    totals: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)
    peers: dict[tuple[int, str, int, int], list[int]] = field(default_factory=dict)
    collectives: list[bytes] = field(default_factory=list)
    comms: list[bytes] = field(default_factory=list)
    trace: list[bytes] = field(default_factory=list)
    notes: list[tuple[int, int, int, str]] = field(default_factory=list)  # ticks, kind, count, text
    rows: list[list[int]] = field(default_factory=list)  # samples: ticks and values
    network: list[bytes] = field(default_factory=list)
    transports: list[bytes] = field(default_factory=list)

    def __post_init__(self):
        self.pid = self.pid or 1000 + self.world_rank
        if not self.comms:
            self.comm(0, list(range(self.world_size)))
            self.comm(1, [self.world_rank])

    def count(self, call: str, ns: int = 0, size: int = 0, times: int = 1) -> None:
        before = self.totals.get(call, (0, 0, 0, 0))
        self.totals[call] = (
            before[0] + times,
            before[1] + ns * times,
            max(before[2], ns),
            before[3] + size * times,
        )
        self.mpi_ns += ns * times
        self.least[call] = min(self.least.get(call, ns), ns)
        self.bins.setdefault(call, Counter())[max(ns.bit_length() - 1, 0)] += times

    def send(self, peer: int, size: int, call: str = "MPI_Send", times: int = 1, ns: int = 100) -> None:
        self._message(peer, size, call, times, 0)
        self.count(call, ns, size, times)

    def recv(self, peer: int, size: int, call: str = "MPI_Recv", times: int = 1, ns: int = 100) -> None:
        self._message(peer, size, call, times, RECEIVE)
        self.count(call, ns, size, times)

    def _message(self, peer: int, size: int, call: str, times: int, direction: int) -> None:
        entry = self.peers.setdefault((peer, call, direction, size_bin(size)), [0, 0])
        entry[0] += times
        entry[1] += times * size

    def peer_bytes(self, peer: int, size: int, call: str, times: int = 1) -> None:
        """A message of a collective only its caller knows."""
        self._message(peer, size, call, times, 0)

    def collective(self, call, size, *, comm=0, root=-1, flags=0, element=1, size2=0, times=1, ns=1000):
        self.collectives.append(
            pack(
                layouts.COLLECTIVE_ENTRY,
                call=CALL_NUMBERS[call],
                flags=flags,
                comm=comm,
                root=root,
                datatype_bytes=element,
                bytes=size,
                bytes2=size2,
                count=times,
                ticks=ns * times,
            )
        )
        self.count(call, ns, 0, times)

    def comm(
        self, index: int, members: list[int], instance: int = 0, listed: bool = True, remote: list[int] = ()
    ):
        me = members.index(self.world_rank)
        runs = [(first, 1, 1) for first in members] if listed else []
        if listed and members == list(range(members[0], members[0] + len(members))):
            runs = [(members[0], 1, len(members))]
        remote_runs = [(first, 1, 1) for first in remote]
        head = pack(
            layouts.COMM,
            index=index,
            size=len(members),
            rank=me,
            runs=len(runs),
            group_hash=fnv1a(members),
            instance=instance,
            remote_size=len(remote),
            remote_runs=len(remote_runs),
        )
        self.comms.append(head + np.array([*runs, *remote_runs], layouts.RANK_RUN).tobytes())

    def sockets(
        self, own: str | None, peer: str | None, kind: int, calls: int, size: int, ns: int, inside=True
    ) -> None:
        """Socket calls between two addresses; of no peer without them."""
        packed = [ipaddress.IPv6Address(f"::ffff:{each}" if each else "::").packed for each in (own, peer)]
        addresses = [np.frombuffer(each, "<u4") for each in packed]
        at = kind + (layouts.NETWORK_KINDS if inside else 0)
        totals = {"calls": calls, "bytes": size, "ticks": ns}
        totals = {
            name: [value * (i == at) for i in range(layouts.NETWORK_TOTALS)] for name, value in totals.items()
        }
        self.network.append(pack(layouts.NETWORK_PEER, own=addresses[0], peer=addresses[1], **totals))

    def transport(
        self, which: int, peer: int | None, kind: int, calls: int, size: int, ns: int, unsized=0
    ) -> None:
        """Calls of a transport inside MPI to the peer with this hash; of no peer without it."""
        role = layouts.ROLE_NONE if peer is None else layouts.ROLE_PEER
        at = layouts.NETWORK_KINDS + kind
        totals = {"calls": calls, "bytes": size, "ticks": ns}
        totals = {
            name: [value * (i == at) for i in range(layouts.NETWORK_TOTALS)] for name, value in totals.items()
        }
        not_sized = [unsized * (i == 2 + kind) for i in range(4)]
        self.transports.append(
            pack(
                layouts.TRANSPORT_ENTRY,
                transport=which,
                role=role,
                address=peer or 0,
                unsized=not_sized,
                **totals,
            )
        )

    def own_address(self, which: int, address: int) -> None:
        """A transport's address, by its hash, that is the process's own."""
        entry = pack(layouts.TRANSPORT_ENTRY, transport=which, role=layouts.ROLE_OWN, address=address)
        self.transports.append(entry)

    def event(self, call: str | int, gap: int, duration: int, payload: bytes = b"") -> None:
        self.trace.append(single(call, gap, duration, payload))

    def record(self) -> bytes:
        start, real = 10_000, 1_700_000_000_000_000_000
        last = (
            (start + self.run_ns, start + self.run_ns, real + self.run_ns)
            if self.clocks == 2
            else (start, start, real)
        )
        mask = [0] * 128
        for pu in self.affinity:
            mask[pu // 64] |= 1 << pu % 64
        finalize = start + self.run_ns if self.flags & FINALIZED else 0
        texts = {
            "job": self.job,
            "host": self.host,
            "mpi_library": self.library,
            "mpi_version": self.version,
            "executable": "/bin/app",
            "note": self.note,
        }
        clocks = ("last_ticks", "last_monotonic_ns", "last_realtime_ns")
        return pack(
            layouts.RANK,
            world_rank=self.world_rank,
            world_size=self.world_size,
            pid=self.pid,
            thread=self.thread,
            flavour=self.flavour,
            flags=self.flags,
            cpu_at_start=self.cpu,
            first_ticks=start,
            first_monotonic_ns=start,
            first_realtime_ns=real,
            **dict(zip(clocks, last, strict=True)),
            init_ticks=start + self.shift_ns,
            finalize_ticks=finalize,
            mpi_ticks=self.mpi_ns,
            runqueue_wait_ns=self.runqueue_wait_ns,
            cpu_ns=self.run_ns - self.runqueue_wait_ns - self.still_ns,
            schedstat_samples=self.schedstat_samples,
            unrecorded_messages=self.unrecorded,
            affinity=mask,
            **{name: value.encode()[: layouts.RANK[name].itemsize - 1] for name, value in texts.items()},
            trace_coding=self.coding[0],
            trace_unit_shift=self.coding[1],
            call_cost_ticks_1024=self.call_cost_ns * 1024,
            recorder_ticks=self.recorder_ns,
            sealed_ticks=self.sealed_ns,
        )

    def totals_bytes(self) -> bytes:
        call, begin_ns = self.in_call or (None, 0)
        now = CALL_NUMBERS[call] + 1 if call else 0
        progress = pack(layouts.PROGRESS, begin_ticks=10_000 + begin_ns, call=now)
        totals = [(*self.totals.get(name, (0, 0, 0, 0)), self.least.get(name, 0)) for name in CALL_NUMBERS]
        return np.array(totals, layouts.CALL_TOTAL).tobytes() + progress

    def peers_bytes(self) -> tuple[bytes, int]:
        """A table twice as large as needed, its used slots spread."""
        slots = np.zeros(2 * len(self.peers) + 2, layouts.PEER_ENTRY)
        slots["peer"], slots["call"] = layouts.PEER_EMPTY, 0xFFFF
        for index, ((peer, call, direction, bin_), (count, size)) in enumerate(self.peers.items()):
            slots[2 * index + 1] = (peer, CALL_NUMBERS[call] | direction, bin_, count, size)
        return slots.tobytes(), len(slots)

    def collectives_bytes(self) -> tuple[bytes, int]:
        free = bytes(layouts.COLLECTIVE_ENTRY.itemsize)
        return b"".join(entry + free for entry in [*self.collectives, free]), 2 * len(self.collectives) + 2

    def histograms_bytes(self) -> bytes:
        return b"".join(
            pack(
                layouts.CALL_HISTOGRAM,
                call=CALL_NUMBERS[call],
                bins=[bins[k] for k in range(layouts.TICK_BINS)],
            )
            for call, bins in self.bins.items()
        )

    def sites_run(self) -> tuple[int, bytes, int]:
        """Kind, table and slots."""
        old = any(size is None for *_, size in self.sites)
        slots = np.zeros(
            2 * len(self.sites) + 2, layouts.SITE_ENTRY_WITHOUT_BYTES if old else layouts.SITE_ENTRY
        )
        for index, (module, call, offset, count, ns, size) in enumerate(self.sites):
            entry = (module, CALL_NUMBERS[call], 0, offset, count, ns)
            slots[2 * index] = entry if old else (*entry, size)
        return OLD_SITES if old else SITES, slots.tobytes(), len(slots)

    def modules_bytes(self) -> bytes:
        padded = [(path.encode(), (len(path.encode()) // 8 + 1) * 8) for path in self.modules]
        return b"".join(
            pack(layouts.MODULE, path_bytes=len(path)) + path.ljust(room, b"\0") for path, room in padded
        )


@dataclass
class RawFile:
    """One node's file; runs are placed in the order added."""

    body: bytearray = field(default_factory=bytearray)
    version: int = layouts.FORMAT_VERSION
    run: tuple[int, int] = (0, 0)
    calls: int = len(CALL_NUMBERS)
    crc: int = zlib.crc32(CALLS_TEXT)

    def add_run(
        self,
        kind: int,
        payload: bytes,
        used: int,
        owner: int | None = None,
        sequence: int = 0,
        checked: int | None = None,
    ) -> int:
        """Add a run, closed; with `checked` bytes it is open, and the rest was written after its checksum."""
        first = len(self.body) // CHUNK_BYTES
        chunks = -(-(layouts.CHUNK_HEADER.itemsize + len(payload)) // CHUNK_BYTES)
        owner = first if owner is None else owner
        both = {"kind": kind, "chunks": chunks, "rank_chunk": owner, "sequence": sequence}
        where = {"first_chunk": first, "run": self.run}
        header = {"magic": CHUNK_MAGIC, "used": used}
        length = 0 if kind == DEAD else len(payload) if checked is None else checked
        state = length | (CLOSED if checked is None else 0)
        slots = used if kind in (PEERS, COLLECTIVES, SITES, OLD_SITES) else 0
        sealed = pack(layouts.SEALED, checked=state, slots=slots, **both, **where)
        header |= {"seal": crc32c(payload[:length] + sealed) << 32 | state, **where}
        packed = pack(layouts.CHUNK_HEADER, **both, **header)
        self.body += (packed + payload).ljust(chunks * CHUNK_BYTES, b"\0")
        return first

    def add_unused(self, chunks: int = 1) -> None:
        self.body += bytes(chunks * CHUNK_BYTES)

    def add(self, rank: Rank, events_a_run: int = 10**9) -> int:
        payload = rank.record() + rank.totals_bytes()
        owner = self.add_run(RANK, payload, len(payload))
        self.add_run(PEERS, *rank.peers_bytes(), owner=owner)
        self.add_run(COLLECTIVES, *rank.collectives_bytes(), owner=owner)
        log = b"".join(rank.comms)
        self.add_run(COMMS, log, len(log), owner=owner)
        log = rank.histograms_bytes()
        self.add_run(HISTOGRAMS, log, len(log), owner=owner)
        if rank.sites:
            self.add_run(*rank.sites_run(), owner=owner)
            log = rank.modules_bytes()
            self.add_run(MODULES, log, len(log), owner=owner)
        if rank.notes:
            log = notes_bytes(rank.notes)
            self.add_run(NOTES, log, len(log), owner=owner)
            rows = samples_bytes(rank.rows)
            self.add_run(SAMPLES, rows, len(rows), owner=owner)
        if rank.transports:
            log = b"".join(rank.transports)
            self.add_run(layouts.CHUNK_TRANSPORTS, log, len(log), owner=owner)
        if rank.network:
            log = b"".join(rank.network)
            self.add_run(layouts.CHUNK_NETWORK, log, len(log), owner=owner)
        for sequence, start in enumerate(range(0, len(rank.trace), events_a_run)):
            log = b"".join(rank.trace[start : start + events_a_run])
            self.add_run(TRACE, log, len(log), owner=owner, sequence=sequence)
        return owner

    def bytes(self) -> bytes:
        chunks = len(self.body) // CHUNK_BYTES
        header = {
            "magic": FILE_MAGIC,
            "version": self.version,
            "chunk_bytes": CHUNK_BYTES,
            "calls": self.calls,
            "calls_crc": self.crc,
            "run": self.run,
        }
        before = layouts.FILE_HEADER.fields["crc"][1]
        header["crc"] = crc32c(pack(layouts.FILE_HEADER, **header)[:before])
        packed = pack(layouts.FILE_HEADER, next_chunk=chunks, **header)
        return packed.ljust(HEADER_BYTES, b"\0") + bytes(self.body)

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.bytes())
        return path


def write_recording(directory: Path, ranks: list[Rank]) -> Path:
    """A recording directory as the ranks leave it, one file a host, without `recording.json`."""
    files: dict[str, RawFile] = {}
    for rank in ranks:
        files.setdefault(rank.host, RawFile()).add(rank)
    for host, file in files.items():
        file.write(directory / "raw" / f"{host}.rwn")
    return directory
