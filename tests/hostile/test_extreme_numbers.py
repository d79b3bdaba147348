# SPDX-License-Identifier: BSD-3-Clause
"""Numbers in a recording that nothing comes to, under right checksums: they are left out, and that is said."""

import json
import random
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from raw_writer import (
    FINALIZED,
    MANIFEST,
    NODE_NOTES,
    NODE_SAMPLES,
    NOTES,
    SAMPLES,
    TRACED,
    Rank,
    RawFile,
    copy_bytes,
    notes_bytes,
    samples_bytes,
    u,
    z,
)

from rankwise.cli import main
from rankwise.recording import Recording, collection, layouts
from rankwise.recording.check import check
from rankwise.recording.layouts import (
    NOTE_ALLOWED,
    NOTE_COLUMNS,
    NOTE_FACT,
    NOTE_RAN_ON,
    NOTE_THREADS_RAN_ON,
    NOTE_VARIABLE,
)

START = 10_000
B = 2**64 - 1
EXTREMES = (2**63, B, 2**53 + 1, 2**63 - 3, 2**62 - 1, 2**56 - 1, 0)
TEXTS = (*map(str, EXTREMES), "-1", "9" * 45, "1" * 5000, "1e999", "nan", "1e308")
PORT = "sys/class/infiniband/mlx5_0/ports/1"
FILES = {
    "rankwise/taken": "{taken}\n",
    "rankwise/interrupts": "24: 0={count} 1=3 | eth0\n",
    f"{PORT}/counters/port_xmit_data": "{count}\n",
    f"{PORT}/counters/symbol_error": "0\n",
    f"{PORT}/rate": "100 Gb/sec (4X EDR)\n",
    f"{PORT}/state": "4: ACTIVE\n",
    "sys/class/cxi/cxi0/device/telemetry/packets": "{count}@1.5\n",
    "sys/class/net/eth0/irqs0": "24\n",
    "sys/class/net/eth0/operstate": "up\n",
    "sys/class/net/eth0/queues/rx-0/rps_cpus": "00000003\n",
    "proc/irq/24/smp_affinity_list": "0-1\n",
    "proc/net/netstat": "TcpExt: TCPTimeouts TCPLostRetransmit\nTcpExt: {count} 2\n",
}
ROW = {"minor_faults": 7, "cpu": 1, "user_ns": 8, "peak_memory_kib": 2000, "moves_seen": 0, "migrations": 2}
COUNTER = "counter:cpu-migrations"
NODE_ROW = {
    "cpu:user": 2,
    "cpu:idle": 2,
    "interrupts": 2,
    "interface:eth0": 8,
    "port:mlx5_0/1": 4,
    "memory:0": 2,
}
NODE_ROW |= {"memory_sampler": 1} | {
    f"tcp:{each}": 1 for each in ("InSegs", "OutSegs", "RetransSegs", "InErrs")
}


@dataclass
class Written:
    """What a recording is made of, to be changed before it is written.

    Attributes:
        notes: Of rank 0: kind, count and text of each.
        rows: Of rank 0: ticks, what `ROW` names, and three numbers of a counter.
        copies: Files of node n0 at the start and at the end.
        patches: Kind of run, number of the run of this kind, and what is written at which byte.
    """

    notes: list[tuple[int, int, str]]
    rows: list[list[int]]
    node_notes: list[tuple[int, int, str]]
    node_rows: list[list[int]]
    copies: dict[str, dict[str, str]]
    manifest: dict
    patches: list[tuple[int, int, int, int]] = field(default_factory=list)
    checksum: bool = True

    def patch(self, kind: int, at: int, value: int, which: int = 0) -> None:
        self.patches.append((kind, which, at, value))

    def to(self, directory: Path) -> Path:
        """Write it, with checksums that are right."""
        (directory / "raw").mkdir(parents=True)
        for me in range(2):
            file = Patched(self.patches)
            rank = ranks()[me]
            rank.notes = [(START, *note) for note in self.notes]
            rank.rows = self.rows
            owner = file.add(rank)
            if me == 0:
                log = notes_bytes([(START, *note) for note in self.node_notes])
                file.add_run(NODE_NOTES, log, len(log), owner=owner)
                rows = samples_bytes(self.node_rows)
                file.add_run(NODE_SAMPLES, rows, len(rows), owner=owner)
            file.write(directory / "raw" / f"n{me}.rwn")
            self.patches = []  # those of the first node
        for when, files in self.copies.items():
            (directory / "raw" / f"n0.{when}.tar").write_bytes(copy_bytes(files, self.checksum))
        (directory / "recording.json").write_text(json.dumps(self.manifest))
        return directory


class Patched(RawFile):
    """A file with numbers changed where they stand, before checksums are made."""

    def __init__(self, patches):
        super().__init__()
        self.patches, self.seen = patches, []

    def add_run(self, kind, payload, used, **more):
        changed = bytearray(payload)
        for of_kind, which, at, value in self.patches:
            if of_kind == kind and which == self.seen.count(kind) and at + 8 <= len(changed):
                changed[at : at + 8] = value.to_bytes(8, "little")
        self.seen.append(kind)
        return super().add_run(kind, bytes(changed), used, **more)


def ranks() -> list[Rank]:
    """Two ranks on two hosts, with every kind of table."""
    found = [Rank(me, 2, host=f"n{me}", flags=FINALIZED | TRACED, affinity=(0, 1)) for me in range(2)]
    for me, rank in enumerate(found):
        for way, peer in ((rank.send, 1 - me), (rank.recv, 1 - me)):
            way(peer, 100, times=2)
        rank.collective("MPI_Allreduce", 8, times=2)
        rank.sites = [(0, "MPI_Send", 64, 2, 200, 200)]
        rank.modules = ["/bin/app"]
        rank.sockets(f"10.0.0.{me + 1}", f"10.0.0.{2 - me}", 0, 3, 200, 500)
        rank.transport(layouts.TRANSPORT_UCX, 7, 1, 3, 200, 500, unsized=1)
        rank.own_address(layouts.TRANSPORT_UCX, 8 - me)
        send, receive = u(0) + z(1 - me) + z(0) + u(100), u(0) + z(1 - me) + z(0) + z(1 - me) + z(0) + u(100)
        calls = [("MPI_Send", send), ("MPI_Recv", receive)]
        for call, payload in calls if me == 0 else reversed(calls):
            rank.event(call, 1000, 1000, payload)
    return found


def sound() -> Written:
    """A recording of nothing unusual."""
    notes = [(NOTE_COLUMNS, 1, name) for name in ROW] + [(NOTE_COLUMNS, 3, COUNTER)]
    notes += [(NOTE_ALLOWED, 0, "0-1"), (NOTE_ALLOWED, 0, "1"), (NOTE_RAN_ON, 0, "0-1")]
    notes += [(NOTE_THREADS_RAN_ON, 0, "0,1")]
    facts = {"peak_memory_kib": 2048, "memory_kib:0": 1024, "dropped_notes": 2, "device:mlx5_0": 1}
    facts |= {"address:eth0 10.0.0.1": 1}
    notes += [(NOTE_FACT, 0, f"{name}\t{value}") for name, value in facts.items()]
    notes += [(NOTE_VARIABLE, 1, "size:unexpected\t5"), (NOTE_VARIABLE, 2, "counter:sent\t2.5")]
    rows = [[START + at * 10**8, *(at * n for n in ROW.values()), at, at, at] for at in range(4)]
    node_notes = [(NOTE_COLUMNS, count, name) for name, count in NODE_ROW.items()]
    node_notes += [(NOTE_FACT, 0, "clock_ticks_per_s\t100")]
    width = sum(NODE_ROW.values())
    node_rows = [[START + at * 10**8, *([at * 10] * width)] for at in range(4)]
    copies = {
        when: {name: text.format(taken=f"{at} {when}", count=at) for name, text in FILES.items()}
        for when, at in (("start", 5), ("end", 900))
    }
    return Written(notes, rows, node_notes, node_rows, copies, MANIFEST | {"trace": True})


def read_all(path: Path, capsys, pages: bool = True) -> Recording:
    """Everything that reads it ends well, and with no number that is none."""
    check(path)
    made = collection.make(path)
    json.dumps(made.context, allow_nan=False)
    for name, table in made.tables.items():
        for column in table:
            if column.dtype.is_integer() and len(column.drop_nulls()):
                assert str(column.dtype) == "Int64" and column.min() >= 0, (name, column)
            if column.dtype.is_float() and column.name != "below_s":
                assert column.drop_nulls().is_finite().all(), (name, column)
    commands = [["report", "-v"], ["report", "--json"]]
    commands += (
        [["report", "-o", path.with_suffix(".html"), "-f"], ["export", "--format", "mpip"]] if pages else []
    )
    for command in commands:
        status = main([*map(str, command), str(path)])
        said = capsys.readouterr()
        assert status == 0, (command, said.err)
        assert not re.search(r"bug in rankwise|Traceback|Warning", said.err), said.err
        assert "-9223372036854775808" not in said.out
    return Recording(path, made.context, made.tables)


def of(layout: np.dtype, name: str, slot: int = 0) -> int:
    """Where a field is."""
    return slot * layout.itemsize + layout.fields[name][1]


def in_rank(*names, value=2**63):
    def change(it):
        for name in names:
            it.patch(layouts.CHUNK_RANK, of(layouts.RANK, name), value)

    return change


def in_table(kind, layout, name, value, slot=1):
    return lambda it: it.patch(kind, of(layout, name, slot), value)


def in_totals(name, value):
    def change(it):
        for call in range(RawFile().calls):
            it.patch(layouts.CHUNK_RANK, layouts.RANK.itemsize + of(layouts.CALL_TOTAL, name, call), value)

    return change


def in_progress(it):
    totals = layouts.CALL_TOTAL.itemsize * RawFile().calls
    it.patch(layouts.CHUNK_RANK, layouts.RANK.itemsize + totals, B)


def turns(*numbers):
    """What a counter counted, was enabled and ran."""

    def change(it):
        for row, new in zip(it.rows, numbers, strict=False):
            row[-3:] = new

    return change


def column(name: str, *values: int):
    """Of the first rows of rank 0."""

    def change(it):
        at = 1 + (list(ROW) + [COUNTER]).index(name)
        for row, value in zip(it.rows, values, strict=False):
            row[at] = value

    return change


def note(old: str, new: str, node: bool = False):
    def change(it):
        notes = it.node_notes if node else it.notes
        assert any(old in text for *_, text in notes)
        notes[:] = [(kind, count, text.replace(old, new)) for kind, count, text in notes]

    return change


def copied(name: str, text: str, when: str = "end"):
    def change(it):
        it.copies[when][name] = text

    return change


def manifest(**more):
    return lambda it: it.manifest.update(more)


LEFT_OUT, ENTRY, RANK_GONE = "left out", "damaged table entries were left out", "rank record at byte"
UNLIKELY = "larger than anything counts"
PEERS, PEER = layouts.CHUNK_PEERS, layouts.PEER_ENTRY
COLLECTIVES, COLLECTIVE = layouts.CHUNK_COLLECTIVES, layouts.COLLECTIVE_ENTRY
# What is damaged, how, what is said of it.
TABLE = [
    ("a count of rows that falls", column("minor_faults", B, B, B, 0), "damaged numbers"),
    ("a count of rows that falls from what can be", column("moves_seen", 2**62 - 1, 5, 5, 0), "backwards"),
    ("a PU of rows", column("cpu", 1 << 63), "damaged number"),
    ("a PU of rows that no machine has", column("cpu", 1 << 40), "damaged number"),
    ("memory of rows", column("peak_memory_kib", 0, 0, 0, 2**62 - 1), "damaged number"),
    ("a counter that takes turns", turns([B, 1, 1], [0, B, 2]), "too large"),
    ("how long a counter ran", turns([0, 0, B], [9, 9, B], [9, 9, B], [9, 9, B]), "too large"),
    ("a counter that hardly ran", turns([0, 0, 0], [2**60, 2**60, 1], [2**60] * 3, [2**61] * 3), "backwards"),
    ("ticks of a row", lambda it: it.rows[3].__setitem__(0, 1 << 63), "damaged number"),
    ("notes that were dropped", note("dropped_notes\t2", "dropped_notes\t" + "9" * 19), "`dropped_notes`"),
    ("peak memory", note("memory_kib\t2048", f"memory_kib\t{1 << 62}"), "`peak_memory_kib`"),
    ("memory of a NUMA node", note("kib:0\t1024", f"kib:0\t{1 << 62}"), "`memory_kib:0`"),
    ("a fact below 0", note("kib:0\t1024", "kib:0\t-1"), "`memory_kib:0`"),
    ("a NUMA node", note("memory_kib:0", "memory_kib:" + "1" * 5000), None),
    ("a list of PUs", note("0-1", "1" * 5000 + "-1"), None),
    ("inf of MPI", note("unexpected\t5", "unexpected\tinf"), "MPI library says inf"),
    ("1e999 of MPI", note("unexpected\t5", "unexpected\t1e999"), "MPI library says inf"),
    ("nan of MPI", note("unexpected\t5", "unexpected\tnan"), "MPI library says nan"),
    ("a large number of MPI", note("unexpected\t5", "unexpected\t1.7e308"), "MPI library says 1.7e+308"),
    ("a comma of MPI", note("unexpected\t5", "unexpected\t0,5"), None),
    ("a call that did not end", in_totals("min_ticks", B), None),
    ("a clock that went back", in_totals("max_ticks", B), None),
    ("processor time of threads in turn", in_rank("cpu_ns", value=B), None),
    ("no number of MPI", note("unexpected\t5", "unexpected\t?"), "`unexpected`"),
    ("ticks of MPI_Init", in_rank("init_ticks"), RANK_GONE),
    *((f"clock {name}", in_rank(name), RANK_GONE) for name in ("first_ticks", "last_monotonic_ns")),
    ("two clocks", in_rank("last_ticks", "last_monotonic_ns", value=2**63 + 10**9), RANK_GONE),
    ("processor time", in_rank("cpu_ns", "unrecorded_messages", value=2**62), "2 damaged numbers of the rank record"),
    ("what the recorder took", in_rank("recorder_ticks", "call_cost_ticks_1024"), "2 damaged numbers"),
    ("when it was sealed", in_rank("sealed_ticks"), "1 damaged numbers of the rank record"),
    ("the call it was in", in_progress, "what it was in"),
    ("bytes of messages", in_table(PEERS, PEER, "bytes", 2**63), ENTRY),
    ("messages", in_table(PEERS, PEER, "count", B), ENTRY),
    ("a size range", in_table(PEERS, PEER, "peer", 1 | 64 << 48), ENTRY),
    ("calls of a collective", in_table(COLLECTIVES, COLLECTIVE, "count", 2**63, 0), ENTRY),
    ("all calls of a collective", in_table(COLLECTIVES, COLLECTIVE, "count", B, 0), ENTRY),
    ("bytes of all calls", in_table(COLLECTIVES, COLLECTIVE, "bytes", 2**56 - 1, 0), ENTRY),
    ("bytes of a call site", in_table(layouts.CHUNK_SITES, layouts.SITE_ENTRY, "bytes", 2**63, 0), ENTRY),
    ("where a call site is", in_table(layouts.CHUNK_SITES, layouts.SITE_ENTRY, "offset", 2**63, 0), ENTRY),
    ("ticks of a call site", in_table(layouts.CHUNK_SITES, layouts.SITE_ENTRY, "ticks", B, 0), ENTRY),
    *((f"{name} of all calls", in_totals(name, B), "totals of calls") for name in ("count", "bytes", "ticks")),
    ("calls by time", in_table(layouts.CHUNK_HISTOGRAMS, layouts.CALL_HISTOGRAM, "bins", B, 0), "histogram"),
    *(
        (f"{name} of sockets", in_table(layouts.CHUNK_NETWORK, layouts.NETWORK_PEER, name, 2**63, 0), "network time")
        for name in ("calls", "bytes", "ticks")
    ),
    ("unsized", in_table(layouts.CHUNK_TRANSPORTS, layouts.TRANSPORT_ENTRY, "unsized", B, 0), "network time"),
    ("what sampling cost", in_table(SAMPLES, layouts.SAMPLES, "cost_ticks", B, 0), "`cost_ticks`"),
    ("what sampling the node cost", in_table(NODE_SAMPLES, layouts.SAMPLES, "cost_ticks", B, 0), "the node: `cost"),
    ("a row of the node", lambda it: it.node_rows[2].__setitem__(-1, B), "the node: 1 damaged number"),
    ("a socket", note("memory:0", f"memory:{2**64}", True), "name of a column"),
    ("a socket of many digits", note("memory:0", "memory:" + "9" * 45, True), "name of a column"),
    ("interrupts", copied("rankwise/interrupts", f"24: 0={'9' * 20} | eth0\n"), UNLIKELY),
    ("many digits", copied("rankwise/interrupts", f"24: 0={'9' * 5000} 1=5 | eth0\n"), UNLIKELY),
    ("a PU of interrupts", copied("rankwise/interrupts", f"24: {'9' * 20}=5 | eth0\n"), UNLIKELY),
    ("words of a port", copied(f"{PORT}/counters/port_xmit_data", f"{2**62}\n"), UNLIKELY),
    ("errors of a port", copied(f"{PORT}/counters/symbol_error", "9" * 19), UNLIKELY),
    ("all of 64 bits", copied(f"{PORT}/counters/symbol_error", str(B)), UNLIKELY),
    ("a cause of TCP", copied("proc/net/netstat", f"TcpExt: TCPTimeouts\nTcpExt: {B}\n"), UNLIKELY),
    ("a rate", copied(f"{PORT}/rate", f"{'9' * 400} Gb/sec (4X EDR)\n", "start"), None),
    *((f"start {start:g}", manifest(start_s=start), "recording.json") for start in (1e308, 2**70, -1)),
    ("an end", manifest(end_s=1e300), "recording.json"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "change", "said"), TABLE, ids=[what for what, *_ in TABLE])
def test_a_number_that_nothing_comes_to_is_left_out_and_said(tmp_path, capsys, what, change, said):
    # GIVEN a recording in which it stands, under right checksums
    written = sound()
    change(written)
    # WHEN it is read and shown THEN that ends well
    recording = read_all(written.to(tmp_path / "a.rw"), capsys)
    # AND it is said what is not in it: as damage, but for what a library or a kernel may have said
    context = recording.context
    if said is None:
        assert context["damage"] == []
    elif said in ("backwards", "too large") or said.startswith("MPI library"):
        assert any(said in each["why"] for each in context["samples"]["absent"]) and not context["damage"]
    elif said in (UNLIKELY, "recording.json"):
        assert any(said in each for each in context["problems"]) and not context["damage"]
    else:
        damage = context["damage"] + [each["why"] for each in context["partial_ranks"] if each.get("damaged")]
        assert any(said in each for each in damage), damage


def test_of_a_sound_recording_nothing_is_said(tmp_path, capsys):
    recording = read_all(sound().to(tmp_path / "a.rw"), capsys)
    assert recording.context["damage"] == [] and recording.context["partial_ranks"] == []
    use = recording.table("rank_use").row(0, named=True)
    assert use["minor_faults"] == 21 and use["migrations"] == 3 and use["peak_memory_bytes"] == 2 << 20
    assert recording.table("rank_devices")["sent_bytes"].to_list() == [None, 200, None]
    assert recording.table("performance_variables")["value"].to_list()[:2] == [2.5, 5]
    ports = {row[3]: row[4] for row in recording.table("port_counters").iter_rows()}
    assert ports["port_xmit_data"] == 4 * 895
    assert recording.table("interrupts")["count"].to_list() == [895]
    assert all(file.state != "damaged" for file in check(tmp_path / "a.rw"))


def test_other_numbers_beside_a_damaged_one_are_there(tmp_path, capsys):
    # GIVEN a count of rows and bytes by interface that are none
    written = sound()
    column("minor_faults", B, B, B, B)(written)
    in_table(layouts.CHUNK_NETWORK, layouts.NETWORK_PEER, "bytes", B, 0)(written)
    recording = read_all(written.to(tmp_path / "a.rw"), capsys)
    row = recording.table("rank_use").row(0, named=True)
    assert row["minor_faults"] is None and row["moves_seen"] == 0 and row["ran_on"] == [0, 1]
    assert recording.messages["messages"].sum() > 0


def test_a_copy_that_is_not_as_it_was_written_is_left_out(tmp_path, capsys):
    path = sound().to(tmp_path / "a.rw")
    copy = path / "raw" / "n0.end.tar"
    copy.write_bytes(copy.read_bytes().replace(b"0=900", b"0=500"))
    recording = read_all(path, capsys)
    assert recording.context["damage"] == ["n0.end.tar does not match its checksum and was left out"]
    assert recording.table("interrupts").is_empty()
    (absent,) = [each for each in recording.context["nodes"][0]["absent"] if "interrupts" in each["source"]]
    assert absent["why"] == "the copy of the node's files at the end is damaged"


def mutated(seed: int) -> Written:
    """One to three numbers became others: eight bytes of a run, or digits of a text."""
    dice = random.Random(seed)
    written = sound()
    written.checksum = dice.random() < 0.5
    for _ in range(dice.randint(1, 3)):
        where = dice.randrange(8)
        if where < 4:
            kind, size = dice.choice(_runs())
            # Of long ones, as totals of calls, most is empty.
            at = (
                dice.randrange(size // 8) * 8
                if dice.random() < 0.5
                else dice.randrange(min(size, 400) // 8) * 8
            )
            written.patch(kind, at, dice.choice(EXTREMES))
        elif where == 4:
            rows = dice.choice([written.rows, written.node_rows])
            row = dice.choice(rows)
            row[dice.randrange(len(row))] = dice.choice(EXTREMES)
        elif where == 5:
            notes = dice.choice([written.notes, written.node_notes])
            at = dice.randrange(len(notes))
            kind, count, text = notes[at]
            notes[at] = kind, count, _other_number(text, dice)
        elif where == 6:
            files = written.copies[dice.choice(["start", "end"])]
            name = dice.choice(list(files))
            files[name] = _other_number(files[name], dice)
        else:
            name = dice.choice([key for key, value in MANIFEST.items() if isinstance(value, (int, float))])
            written.manifest[name] = dice.choice([*EXTREMES, -1, 1e308, 2**70])
    return written


def _other_number(text: str, dice: random.Random) -> str:
    found = list(re.finditer(r"\d+", text))
    if not found:
        return text + dice.choice(TEXTS)
    word = dice.choice(found)
    return text[: word.start()] + dice.choice(TEXTS) + text[word.end() :]


def _runs() -> list[tuple[int, int]]:
    """Kinds of runs and their bytes."""
    totals = layouts.CALL_TOTAL.itemsize * RawFile().calls
    found = {layouts.CHUNK_RANK: layouts.RANK.itemsize + totals + layouts.PROGRESS.itemsize}
    found |= {PEERS: 6 * PEER.itemsize, COLLECTIVES: COLLECTIVE.itemsize, layouts.CHUNK_COMMS: 100}
    found |= {layouts.CHUNK_SITES: layouts.SITE_ENTRY.itemsize, layouts.CHUNK_MODULES: 24, NOTES: 200}
    found |= {layouts.CHUNK_HISTOGRAMS: 3 * layouts.CALL_HISTOGRAM.itemsize, layouts.CHUNK_TRACE: 24}
    found |= {layouts.CHUNK_NETWORK: layouts.NETWORK_PEER.itemsize}
    found |= {layouts.CHUNK_TRANSPORTS: 2 * layouts.TRANSPORT_ENTRY.itemsize}
    found |= dict.fromkeys((SAMPLES, NODE_SAMPLES), layouts.SAMPLES.itemsize + 200) | {NODE_NOTES: 200}
    return list(found.items())


@pytest.mark.parametrize("count", [20, pytest.param(400, marks=pytest.mark.slow)])
def test_no_number_of_a_recording_ends_a_command(tmp_path, capsys, count):
    for seed in range(count):
        print(f"seed {seed}")
        written = mutated(seed)
        capsys.readouterr()
        path = written.to(tmp_path / f"{seed}.rw")
        try:
            read_all(path, capsys, pages=seed % 10 == 0)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
