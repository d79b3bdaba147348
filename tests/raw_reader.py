# SPDX-License-Identifier: BSD-3-Clause
"""A slow and plain reader of raw recordings (formats/recording.h), written apart from the one the package uses."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rankwise.recording import layouts

TOP = Path(__file__).resolve().parent.parent
CALLS = [line.split("\t")[0] for line in (TOP / "formats" / "mpi_calls.txt").read_text().splitlines()]
CLASSES = dict(line.split("\t")[:2] for line in (TOP / "formats" / "mpi_calls.txt").read_text().splitlines())
FLAGS = {
    "finalized": layouts.FINALIZED,
    "aborted": layouts.ABORTED,
    "full": layouts.STORAGE_FULL,
    "traced": layouts.TRACED,
    "binned": layouts.APPROXIMATE_COLLECTIVES,
    "lazy": layouts.LAZY_COMMS,
    "unclassified": layouts.UNCLASSIFIED,
    "untimed": layouts.UNTIMED,
    "cut": layouts.TRACE_CUT,
    "gone": layouts.FILE_GONE,
}
UNKNOWN = layouts.PEER_UNKNOWN


def fields(layout: np.dtype, data: bytes, at: int) -> dict:
    """A struct's fields as numbers and texts."""
    values = dict(zip(layout.names, np.frombuffer(data, layout, 1, at)[0].item(), strict=True))
    return {
        name: value.split(b"\0")[0].decode() if isinstance(value, bytes) else value
        for name, value in values.items()
    }


def size_bin(size: int) -> int:
    """0 bytes: 0; 1 byte: 1; (2^(k-2), 2^(k-1)] bytes: k."""
    return size if size < 2 else (size - 1).bit_length() + 1


@dataclass
class Thread:
    """One RW_CHUNK_RANK run and what belongs to it."""

    info: dict
    totals: dict[str, tuple[int, int, int, int, int]]  # call -> count, ticks, max_ticks, bytes, min_ticks
    sent: Counter = field(default_factory=Counter)  # (peer, call) -> messages
    sent_bytes: Counter = field(default_factory=Counter)
    received: Counter = field(default_factory=Counter)
    received_bytes: Counter = field(default_factory=Counter)
    collectives: list[dict] = field(default_factory=list)
    comms: dict[int, dict] = field(default_factory=dict)
    histograms: dict[str, list[int]] = field(default_factory=dict)  # call -> calls by power of two of ticks
    sites: list[dict] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)
    trace: list[bytes] = field(default_factory=list)  # runs

    def events(self) -> list[dict]:
        """The events of the trace, as `rest` names what they say, with `gap` and `ticks`."""
        coding = self.info["trace_coding"]
        assert coding in (layouts.TRACE_EXACT, layouts.TRACE_QUANTISED)
        return Coded(self.trace, coding == layouts.TRACE_EXACT, self.info["trace_unit_shift"]).events

    def count(self, call: str) -> int:
        """Calls of this function."""
        return self.totals[call][0]

    def has(self, flag: str) -> bool:
        """Whether rw_rank.flags has it."""
        return bool(self.info["flags"] & FLAGS[flag])


def read_node(path: Path) -> list[Thread]:
    """All threads of one node's file, in the order in which they were stored."""
    data = path.read_bytes()
    file = fields(layouts.FILE_HEADER, data, 0)
    assert (file["magic"], file["version"]) == (layouts.FILE_MAGIC, layouts.FORMAT_VERSION)
    assert (file["chunk_bytes"], file["calls"]) == (layouts.CHUNK_BYTES, len(CALLS))
    runs = []
    offset = layouts.FILE_HEADER_BYTES
    while offset + layouts.CHUNK_BYTES <= len(data):
        run = fields(layouts.CHUNK_HEADER, data, offset)
        if run["magic"] != layouts.CHUNK_MAGIC:
            offset += layouts.CHUNK_BYTES
            continue
        check_seal(data, offset, run, file)
        runs.append(run | {"at": offset + layouts.CHUNK_HEADER.itemsize})
        offset += run["chunks"] * layouts.CHUNK_BYTES
    threads = {
        run["rank_chunk"]: read_rank(data, run["at"]) for run in runs if run["kind"] == layouts.CHUNK_RANK
    }
    newest = {}
    for run in sorted(runs, key=lambda run: run["sequence"]):
        thread, log = threads[run["rank_chunk"]], data[run["at"] : run["at"] + run["used"]]
        if run["kind"] in TABLES:
            newest[run["kind"], run["rank_chunk"]] = run
        elif run["kind"] == layouts.CHUNK_COMMS:
            thread.comms |= read_comms(log)
        elif run["kind"] == layouts.CHUNK_TRACE:
            thread.trace.append(log)
        elif run["kind"] == layouts.CHUNK_HISTOGRAMS:
            thread.histograms |= read_histograms(log)
        elif run["kind"] == layouts.CHUNK_MODULES:
            thread.modules += read_modules(log)
    for (kind, owner), run in newest.items():
        layout, read_table = TABLES[kind]
        used = np.frombuffer(data, layout, run["used"], run["at"])
        read_table(
            threads[owner], [fields(layout, used, i * layout.itemsize) for i in np.flatnonzero(used["count"])]
        )
    return list(threads.values())


def crc32c(content: bytes) -> int:
    """CRC-32C of RFC 3720, appendix B.4."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def remainder(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


CRC_TABLE = [remainder(byte) for byte in range(256)]


def check_seal(data: bytes, offset: int, run: dict, file: dict) -> None:
    """The checksum of a run that is closed, or of what does not change any more of an open one."""
    assert run["first_chunk"] * layouts.CHUNK_BYTES + layouts.FILE_HEADER_BYTES == offset
    assert run["run"].tolist() == file["run"].tolist()
    checked, closed = run["seal"] & layouts.SEAL_BYTES, run["seal"] & layouts.SEAL_CLOSED
    is_table = run["kind"] in TABLES
    entry = TABLES[run["kind"]][0].itemsize if is_table else 1
    logs = ("COMMS", "TRACE", "MODULES", "NOTES", "NODE_NOTES")
    if not closed and run["kind"] not in [getattr(layouts, f"CHUNK_{name}") for name in logs]:
        return
    assert not closed or run["kind"] == layouts.CHUNK_DEAD or checked == run["used"] * entry
    sealed = np.zeros((), layouts.SEALED)
    for name in ("kind", "chunks", "rank_chunk", "sequence", "first_chunk", "run"):
        sealed[name] = run[name]
    sealed["checked"], sealed["slots"] = run["seal"] & 0xFFFFFFFF, run["used"] if is_table else 0
    at = offset + layouts.CHUNK_HEADER.itemsize
    assert crc32c(data[at : at + checked] + sealed.tobytes()) == run["seal"] >> 32, (run["kind"], offset)


def read_rank(data: bytes, at: int) -> Thread:
    info = fields(layouts.RANK, data, at)
    at += layouts.RANK.itemsize
    info["affinity"] = [i for i in range(128 * 64) if int(info["affinity"][i // 64]) >> (i % 64) & 1]
    totals = np.frombuffer(data, layouts.CALL_TOTAL, len(CALLS), at)
    progress = fields(layouts.PROGRESS, data, at + totals.nbytes)
    in_call = CALLS[progress["call"] - 1] if progress["call"] else None
    info |= {"in_call": in_call, "in_call_begin_ticks": progress["begin_ticks"]}
    return Thread(info, dict(zip(CALLS, totals.tolist(), strict=True)))


def read_peers(thread: Thread, entries: list[dict]) -> None:
    for entry in entries:
        name, count, total = CALLS[entry["call"] & 0x7FFF], entry["count"], entry["bytes"]
        messages, sizes = (
            (thread.received, thread.received_bytes)
            if entry["call"] & layouts.DIRECTION_RECEIVE
            else (thread.sent, thread.sent_bytes)
        )
        messages[entry["peer"], name] += count
        sizes[entry["peer"], name] += total
        assert size_bin(-(-total // count)) >= entry["bin"] >= size_bin(total // count)


def read_collectives(thread: Thread, entries: list[dict]) -> None:
    thread.collectives += [entry | {"call": CALLS[entry["call"]]} for entry in entries]


def read_sites(thread: Thread, entries: list[dict]) -> None:
    thread.sites += [entry | {"call": CALLS[entry["call"]]} for entry in entries]


TABLES = {
    layouts.CHUNK_PEERS: (layouts.PEER_ENTRY, read_peers),
    layouts.CHUNK_COLLECTIVES: (layouts.COLLECTIVE_ENTRY, read_collectives),
    layouts.CHUNK_SITES: (layouts.SITE_ENTRY, read_sites),
}


def read_histograms(data: bytes) -> dict[str, list[int]]:
    return {
        CALLS[each["call"]]: each["bins"].tolist() for each in np.frombuffer(data, layouts.CALL_HISTOGRAM)
    }


def read_modules(data: bytes) -> list[str]:
    paths, at = [], 0
    while at < len(data):
        length = fields(layouts.MODULE, data, at)["path_bytes"]
        at += layouts.MODULE.itemsize
        paths.append(data[at : at + length].decode())
        at += (length // 8 + 1) * 8
    return paths


def read_comms(data: bytes) -> dict[int, dict]:
    comms = {}
    at = 0
    while at < len(data):
        comm = fields(layouts.COMM, data, at)
        at += layouts.COMM.itemsize
        lists = []
        for count in (comm["runs"], comm["remote_runs"]):
            members = []
            for first, stride, length in np.frombuffer(data, layouts.RANK_RUN, count, at).tolist():
                members += [(first + stride * i) & 0xFFFFFFFF for i in range(length)]
            at += count * layouts.RANK_RUN.itemsize
            lists.append(members)
        comms[comm["index"]] = {
            "size": comm["size"],
            "rank": comm["rank"],
            "hash": comm["group_hash"],
            "instance": comm["instance"],
            "members": lists[0],
            "remote_size": comm["remote_size"],
            "remote": lists[1],
        }
    return comms


def read(directory: Path) -> list[Thread]:
    """All threads of a recording directory, by world rank and thread number."""
    threads = [thread for path in sorted((directory / "raw").glob("*.rwn")) for thread in read_node(path)]
    return sorted(threads, key=lambda thread: (thread.info["world_rank"], thread.info["thread"]))


def matrix(threads: list[Thread], what: str = "sent") -> dict[tuple[int, int], int]:
    """(rank, peer) -> messages (or bytes with what="sent_bytes"), all calls together."""
    table: dict[tuple[int, int], int] = defaultdict(int)
    for thread in threads:
        for (peer, _), value in getattr(thread, what).items():
            table[thread.info["world_rank"], peer] += value
    return dict(table)


POLL, SCHED, LOST = layouts.EVENT_POLL, layouts.EVENT_SCHED, layouts.EVENT_LOST
TAKES_NUMBER = {"isend", "irecv", "isendrecv", "send_init", "recv_init", "icollective", "collective_init"}


class Numbers:
    """LEB128 varints, taken one after the other."""

    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def u(self) -> int:
        """Unsigned."""
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def z(self) -> int:
        """Signed, zigzag."""
        value = self.u()
        return value >> 1 ^ -(value & 1)


def all_numbers(data: bytes) -> list[int]:
    """All of them."""
    numbers, found = Numbers(data), []
    while numbers.at < len(data):
        found.append(numbers.u())
    return found


def leb128(value: int) -> bytes:
    """One number."""
    return bytes([value]) if value < 0x80 else bytes([value & 0x7F | 0x80]) + leb128(value >> 7)


def rest(numbers: "Numbers", kind: int, taken: int) -> dict:
    """What an event says beside its times."""
    if kind >= POLL:
        values = [numbers.u() for _ in range(2 if kind == SCHED else 1)]
        return {"call": {POLL: "poll", SCHED: "sched", LOST: "lost"}[kind], "values": values}
    event = {"call": CALLS[kind], "class": CLASSES[CALLS[kind]]}
    if event["class"] in TAKES_NUMBER:
        event["request"] = taken
        taken += 1
    return event | payload(numbers, event["class"], event["call"], taken)


class Coded:
    """The events of a coded trace, as formats/recording.h describes it ("Coded traces")."""

    def __init__(self, runs: list[bytes], exact: bool, unit_shift: int):
        self.exact, self.unit_shift = exact, unit_shift
        self.events, self.taken, self.tokens = [], 0, 0
        self.gap_cpu_ns = None
        self.forget()
        for run in runs:
            self.read(Numbers(run))

    def forget(self) -> None:
        self.shapes, self.codes, self.after = [], [], {}
        self.followers, self.history, self.last = {}, (0, 0, 0, 0), (0, 0)
        self.of_kind = {}

    def read(self, numbers: Numbers) -> None:
        while numbers.at < len(numbers.data):
            token = numbers.data[numbers.at]
            numbers.at += 1
            self.tokens += 1
            if token < 240:
                for _ in range(token):
                    number, codes = self.expected()
                    self.came(number, *self.times(numbers, codes))
            elif token == 240:
                start = numbers.at
                rest(numbers, numbers.u(), self.taken)
                self.shapes.append(numbers.data[start : numbers.at])
                self.codes.append(self.last)
                self.came(len(self.shapes) - 1, *self.times(numbers, self.last))
            elif token == 241:
                number = numbers.u()
                self.came(number, *self.times(numbers, self.codes[number]))
            elif token == 242:
                event = rest(numbers, numbers.u(), self.taken)
                self.taken += "request" in event
                self.events.append({"gap": numbers.u(), "ticks": numbers.u()} | event)
                if event["call"] != "lost" and event["call"] != "poll":
                    self.events[-1]["gap_cpu_ns"], self.gap_cpu_ns = self.gap_cpu_ns, None
            elif token == 243:
                self.forget()
            elif token == 247:
                self.gap_cpu_ns = numbers.u() << 10
            elif token in (245, 246):
                base = self.changed(numbers, token == 245)
                self.codes.append(self.codes[base])
                self.came(len(self.shapes) - 1, *self.times(numbers, self.codes[base]))
            else:
                assert token == 244
                values = [numbers.u() << 17, numbers.u() << 17]
                self.events.append({"gap": 0, "ticks": 0, "call": "sched", "values": values})

    def changed(self, numbers: Numbers, differences: bool) -> int:
        """Add a shape by what it changes of another; the number of that."""
        given, mask = numbers.u(), numbers.u()
        base = self.of_kind[given - 1] if given else self.expected()[0]
        kind, *values = all_numbers(self.shapes[base])
        assert not mask >> len(values)
        for i in range(len(values)):
            if mask >> i & 1:
                values[i] = (values[i] + numbers.z()) % 2**64 if differences else numbers.u()
        self.shapes.append(b"".join(map(leb128, (kind, *values))))
        return base

    def slot(self) -> tuple[int, int]:
        h = sum(number << 16 * i for i, number in enumerate(self.history))
        x = h * 0x9E3779B97F4A7C15 % 2**64
        return x >> 52, x >> 8 & 0xFFFF

    def expected(self):
        slot, check = self.slot()
        if slot in self.followers and self.followers[slot][0] == check:
            return self.followers[slot][1:]
        number = self.after[self.history[0]]
        return number, self.codes[number]

    def times(self, numbers: Numbers, expected: tuple[int, int]):
        if self.exact:
            return (numbers.u(), numbers.u()), (0, 0)
        byte = numbers.data[numbers.at]
        numbers.at += 1
        codes = []
        for nibble, before in zip((byte >> 4, byte & 15), expected, strict=True):
            codes.append(numbers.data[numbers.at] if nibble == 15 else before + nibble - 7)
            numbers.at += nibble == 15
        units = [code if code < 8 else (4 + code % 4) << (code // 4 - 1) for code in codes]
        return tuple(unit << self.unit_shift for unit in units), tuple(codes)

    def came(self, number: int, ticks: tuple[int, int], codes: tuple[int, int]) -> None:
        slot, check = self.slot()
        self.followers[slot] = (check, number, codes)
        self.after[self.history[0]] = number
        self.codes[number] = self.last = codes
        self.history = (number + 1, *self.history[:3])
        shape = Numbers(self.shapes[number])
        kind = shape.u()
        self.of_kind[kind] = number
        event = rest(shape, kind, self.taken)
        assert shape.at == len(shape.data)
        self.taken += "request" in event
        self.events.append({"gap": ticks[0], "ticks": ticks[1], "gap_cpu_ns": self.gap_cpu_ns} | event)
        self.gap_cpu_ns = None


def payload(numbers: Numbers, kind: str, call: str, taken: int) -> dict:
    """What follows kind, gap and duration, by class of call."""

    def sent() -> dict:
        return {"comm": numbers.u(), "to": numbers.z(), "tag": numbers.z(), "bytes": numbers.u()}

    def posted() -> dict:
        return {"comm": numbers.u(), "posted_from": numbers.z(), "posted_tag": numbers.z()}

    def came() -> dict:
        return {"from": numbers.z(), "came_tag": numbers.z(), "received": numbers.u()}

    if kind in ("send", "isend", "send_init"):
        return sent()
    if kind in ("recv", "probe"):
        return posted() | came()
    if kind in ("irecv", "recv_init"):
        return posted() | {"capacity": numbers.u()}
    if kind == "sendrecv":
        return sent() | posted() | came()
    if kind == "isendrecv":
        return sent() | posted() | {"capacity": numbers.u()}
    if kind == "start":
        return {"started": [taken - numbers.u() for _ in range(numbers.u())]}
    if kind == "complete":
        completed = []
        for _ in range(numbers.u()):
            number = taken - numbers.u()
            completed.append({"request": number} | (came() if numbers.u() else {}))
        return {"completed": completed}
    if kind == "comm":
        return {"parent": numbers.u() - 1, "reorder": numbers.u()}
    if kind in ("cancel", "request_free"):
        back = numbers.u()
        return {"of": taken - back if back else None}
    if kind.endswith(("collective", "collective_init")):
        names = ("comm", "root", "flags", "datatype_bytes", "bytes", "bytes2")
        fields = {name: numbers.z() if name == "root" else numbers.u() for name in names}
        to_neighbours = "eighbor" in call
        sizes = [(numbers.z(), numbers.u()) if to_neighbours else numbers.u() for _ in range(numbers.u())]
        return fields | {"sizes": sizes}
    return {}
