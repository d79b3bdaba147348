# SPDX-License-Identifier: BSD-3-Clause
"""Recordings in formats of other tools: a ring of 23 laps in each, and what they do with files."""

import json
import re
from collections import Counter

import numpy as np
import polars as pl
import pytest
from raw_writer import FINALIZED, POLL, SCHED, TRACED, UNTIMED, Rank, u, write_recording, z

from rankwise.cli import main
from rankwise.exports import matrix_market, metis, mpip, perfetto
from rankwise.placement.graph import load_graph
from rankwise.recording import Recording
from rankwise.recording.collection import TABLES

LAPS, BYTES = 23, 1000


def export(path, format, *more):
    return main(["export", str(path), "--format", format, "-q", *map(str, more)])


def dense(path):
    """What a reader of the format makes of a file: a dense matrix."""
    head, *lines = path.read_text().splitlines()
    assert head == "%%MatrixMarket matrix coordinate integer general"
    rows = [[int(word) for word in line.split()] for line in lines if not line.startswith("%")]
    (height, width, entries), *cells = rows
    assert entries == len(cells)
    found = np.zeros((height, width), np.int64)
    for row, column, value in cells:
        found[row - 1, column - 1] += value
    return found


@pytest.mark.parametrize(("weight", "each"), [("bytes", LAPS * BYTES), ("messages", LAPS)])
def test_matrix_market_has_what_each_rank_sends_to_each(ring, tmp_path, weight, each):
    assert export(ring(), "mtx", "--weight", weight) == 0
    found = dense(tmp_path / "ring.mtx")
    assert (found == each * np.roll(np.eye(4, dtype=int), 1, axis=1)).all()


@pytest.mark.parametrize(("weight", "each"), [("bytes", LAPS * BYTES), ("messages", LAPS)])
def test_metis_is_read_by_place_graph(ring, tmp_path, capsys, weight, each):
    # GIVEN
    assert export(ring(), "metis", "--weight", weight) == 0
    # THEN rank k is a neighbour of k - 1 and k + 1
    lines = [line for line in (tmp_path / "ring.graph").read_text().splitlines() if line[0] != "%"]
    assert lines[0] == "4 4 001"
    assert [line.split() for line in lines[1:]] == [
        ["2", str(each), "4", str(each)], ["1", str(each), "3", str(each)],
        ["2", str(each), "4", str(each)], ["1", str(each), "3", str(each)],
    ]  # fmt: skip
    graph = load_graph(tmp_path / "ring.graph")
    assert (graph.vertices, graph.edges) == (4, 4)
    # AND two nodes of two cores cut it twice
    words = ["--hierarchy", "2:2", "--distances", "0:1", "--json"]
    assert main(["place", "--graph", str(tmp_path / "ring.graph"), *words]) == 0
    assert json.loads(capsys.readouterr().out)["placements"][-1]["cost"] == 2 * each


def test_messages_to_self_are_in_the_matrix_and_not_in_the_graph(tmp_path):
    ranks = [Rank(me, 3) for me in range(3)]
    ranks[1].send(1, 64)
    ranks[1].send(0, 8)
    ranks[0].send(1, 16)
    ranks[2].send(0, 0)  # no bytes
    path = write_recording(tmp_path / "x.rw", ranks)
    assert export(path, "mtx") == export(path, "metis") == 0
    assert dense(tmp_path / "x.mtx").tolist() == [[0, 16, 0], [8, 64, 0], [0, 0, 0]]
    # A rank without edges has an empty line.
    assert (tmp_path / "x.graph").read_text().endswith("3 1 001\n2 24\n1 24\n\n")
    assert load_graph(tmp_path / "x.graph").edges == 1


def test_tables_are_those_of_the_recording(ring, tmp_path):
    path = ring()
    assert export(path, "csv") == export(path, "parquet") == 0
    recording = Recording.open(path)
    for name in TABLES:
        table = recording.table(name)
        assert pl.read_parquet(tmp_path / "ring-parquet" / f"{name}.parquet").equals(table)
        read = pl.read_csv(tmp_path / "ring-csv" / f"{name}.csv", infer_schema=False)
        assert (read.columns, len(read)) == (table.columns, len(table))
    messages = pl.read_csv(tmp_path / "ring-csv" / "messages.csv")
    assert messages["messages"].sum() == 4 * LAPS and messages["bytes"].sum() == 4 * LAPS * BYTES
    communicators = pl.read_csv(tmp_path / "ring-csv" / "communicators.csv")
    assert communicators["members"][0] == "0 1 2 3"


def test_perfetto_has_a_track_a_rank_and_an_arrow_a_message(ring, tmp_path):
    # GIVEN
    assert export(ring(), "perfetto") == 0
    document = json.loads((tmp_path / "ring.perfetto.json").read_text())
    events = document["traceEvents"]
    # THEN nodes are processes, ranks their tracks
    names = {(e["pid"], e["args"]["name"]) for e in events if e["ph"] == "M" and "name" in e["args"]}
    assert names == {(0, "n0"), (1, "n1"), (0, "rank 0"), (0, "rank 1"), (1, "rank 2"), (1, "rank 3")}
    slices = [e for e in events if e["ph"] == "X"]
    assert Counter((e["tid"], e["name"]) for e in slices) == {
        (rank, call): LAPS for rank in range(4) for call in ("MPI_Send", "MPI_Recv")
    }
    # AND the first send begins after 10 us of computation and lasts 2 us
    first = min((e for e in slices if e["tid"] == 0), key=lambda e: e["ts"])
    assert (first["name"], first["ts"], first["dur"]) == ("MPI_Send", 10.0, 2.0)
    assert first["args"] == {"communicator": 0, "to": 1, "tag": 7, "bytes": 1000}
    # AND each arrow goes from a send to the receive of the next rank, and binds to a call at both ends
    begins = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    assert len(begins) == 4 * LAPS and begins.keys() == ends.keys()
    for number, begin in begins.items():
        end = ends[number]
        assert end["tid"] == (begin["tid"] + 1) % 4 and end["bp"] == "e"
        for at, call in ((begin, "MPI_Send"), (end, "MPI_Recv")):
            here = [e for e in slices if e["tid"] == at["tid"] and e["ts"] <= at["ts"] < e["ts"] + e["dur"]]
            assert [e["name"] for e in here] == [call]


def test_calls_that_asked_in_vain_are_one_slice_and_samples_are_none(tmp_path):
    rank = Rank(0, 1, flags=FINALIZED | TRACED)
    rank.event(POLL, 2000, 3000, u(7))
    rank.event(SCHED, 0, 0, u(5) + u(6))
    rank.event("MPI_Barrier", 1000, 500, u(0) + z(-1) + u(0) + u(8) + u(0) + u(0) + u(0))
    assert export(write_recording(tmp_path / "x.rw", [rank]), "perfetto") == 0
    events = json.loads((tmp_path / "x.perfetto.json").read_text())["traceEvents"]
    slices = [(e["name"], e["ts"], e["dur"], e["args"]) for e in events if e["ph"] == "X"]
    assert slices == [
        ("MPI_Test, MPI_Iprobe in vain", 2.0, 3.0, {"calls": 7}),
        ("MPI_Barrier", 6.0, 0.5, {"communicator": 0, "bytes": 0}),
    ]


def test_a_long_perfetto_trace_keeps_its_longest_calls(ring, tmp_path):
    left_out = perfetto.write(Recording.open(ring()), tmp_path / "t.json", most=4)
    document = json.loads((tmp_path / "t.json").read_text())
    kept = [e for e in document["traceEvents"] if e["ph"] == "X"]
    # THEN those are receives; sends take 2 us only, so that no message has both ends
    assert {e["name"] for e in kept} == {"MPI_Recv"} and len(kept) < 4 * LAPS
    assert not [e for e in document["traceEvents"] if e["ph"] in "sf"]
    assert left_out and f"left out: {left_out[0]}" in document["otherData"]["remarks"]


def section(text, title):
    """Lines of a section of a profile, as words, without their head."""
    body = re.split(rf"^@--- {title}.*\n-+\n", text, flags=re.MULTILINE)[1].split("\n---", 1)[0]
    return [line.split() for line in body.splitlines()[1:]]


def test_mpip_has_times_by_rank_and_by_call(ring, tmp_path):
    assert export(ring(), "mpip") == 0
    text = (tmp_path / "ring.mpiP").read_text()
    assert text.startswith("@ mpiP\n@ Command : mpiexec -n 4 ./ring\n")
    assert "@ MPI Task Assignment      : 3 n1" in text
    times = section(text, "MPI Time")
    assert [line[0] for line in times] == ["0", "1", "2", "3", "*"]
    recording = Recording.open(tmp_path / "ring.rw")
    assert float(times[-1][1]) == pytest.approx(recording.ranks["time_s"].sum(), rel=1e-3)
    assert float(times[-1][2]) == pytest.approx(recording.ranks["mpi_s"].sum(), rel=1e-3)
    # AND calls by function, without MPI_Init, which is in no rank's time
    assert section(text, "Callsites: 2")[0][-1] == "Recv"
    (receives, sends) = section(text, "Aggregate Time")
    assert (receives[0], sends[0]) == ("Recv", "Send")
    assert float(sends[2]) == pytest.approx(4 * LAPS * 2e-3) and sends[5] == str(4 * LAPS)
    assert section(text, "Aggregate Sent Message Size") == [
        ["Send", "2", str(4 * LAPS), "9.2e+04", "1000", "100.00"]
    ]
    assert len(section(text, "Callsite Time statistics")) == 8


def test_mpip_names_the_places_that_were_recorded(tmp_path):
    rank = Rank(0, 1, modules=["/opt/app"])
    rank.send(0, 8, times=5, ns=1000)
    rank.sites = [(0, "MPI_Send", 0x40, 3, 3000, 24), (0, "MPI_Send", 0x80, 2, 2000, 16)]
    assert export(write_recording(tmp_path / "x.rw", [rank]), "mpip") == 0
    text = (tmp_path / "x.mpiP").read_text()
    assert [line[2] for line in section(text, "Callsites: 2")] == ["app+0x40", "app+0x80"]
    assert [line[:2] + [line[5]] for line in section(text, "Aggregate Time")] == [
        ["Send", "1", "3"], ["Send", "2", "2"]
    ]  # fmt: skip
    assert [line[:4] for line in section(text, "Aggregate Sent Message Size")] == [
        ["Send", "1", "3", "24"], ["Send", "2", "2", "16"]
    ]  # fmt: skip


def test_names_with_blanks_are_one_column_in_mpip(ring, tmp_path):
    # GIVEN two functions of C++, of which one has no line
    recording = Recording.open(ring())
    place = {"rank": 0, "count": 1, "time_s": 1e-3, "bytes": 8, "module": "/a/my app"}
    rows = [
        {
            "call": "MPI_Send",
            "offset": 64,
            "function": "sum(int, double const*)",
            "file": "/src/my sums.cpp",
            "line": 7,
        },
        {"call": "MPI_Recv", "offset": 80, "function": "operator new"},
    ]
    sites = pl.DataFrame([place | row for row in rows], schema=recording.call_sites.schema)
    table = recording.table
    recording.table = lambda name: sites if name == "call_sites" else table(name)
    mpip.write(recording, tmp_path / "out.mpiP")
    # THEN a reader of columns has each in its own
    assert section((tmp_path / "out.mpiP").read_text(), "Callsites: 2") == [
        ["1", "0", "my_app+0x50", "operator_new", "Recv"],
        ["2", "0", "my_sums.cpp", "7", "sum(int,double_const*)", "Send"],
    ]


def test_a_profile_takes_times(tmp_path, capsys):
    path = write_recording(tmp_path / "x.rw", [Rank(0, 1, flags=FINALIZED | UNTIMED)])
    assert export(path, "mpip") == 1
    assert "without `--counts`" in capsys.readouterr().err
    assert not (tmp_path / "x.mpiP").exists()


def test_talps_json_is_that_of_the_report(ring, tmp_path):
    path = ring()
    assert export(path, "talp") == 0
    assert main(["report", str(path), "--talp", str(tmp_path / "same.json"), "--json"]) == 0
    assert (tmp_path / "ring.talp.json").read_text() == (tmp_path / "same.json").read_text()


FORMATS = ("perfetto", "csv", "parquet", "metis", "mtx", "mpip", "talp")


@pytest.mark.parametrize("format", FORMATS)
def test_nothing_is_replaced_without_force(ring, tmp_path, format, capsys):
    path = ring()
    assert export(path, format) == 0
    before = {each: each.stat().st_mtime_ns for each in tmp_path.rglob("*") if "ring.rw" not in each.parts}
    assert export(path, format) == 1
    assert "--force" in capsys.readouterr().err
    assert {each: each.stat().st_mtime_ns for each in before} == before
    # AND with it, what is not the export's stays
    (there,) = [each for each in tmp_path.iterdir() if each.name != "ring.rw"]
    if there.is_dir():
        (there / "mine.txt").write_text("mine")
    assert export(path, format, "--force") == 0
    assert not there.is_dir() or (there / "mine.txt").read_text() == "mine"
    assert {each.name for each in tmp_path.iterdir()} == {"ring.rw", there.name}


@pytest.mark.parametrize(
    ("format", "file"),
    [
        ("perfetto", "ring.perfetto.json"),
        ("metis", "ring.graph"),
        ("mtx", "ring.mtx"),
        ("mpip", "ring.mpiP"),
        ("csv", "ring-csv/remarks.txt"),
        ("parquet", "ring-parquet/remarks.txt"),
    ],
)
def test_a_part_of_a_run_says_that_it_is_one(ring, tmp_path, capsys, format, file):
    # GIVEN a run whose last rank did not reach MPI_Finalize
    path = ring(last=0)
    assert main(["export", str(path), "--format", format]) == 0
    # THEN file and terminal say so
    assert "partial: the end of rank 3" in (tmp_path / file).read_text()
    assert "the end of rank 3" in capsys.readouterr().err


def test_a_whole_run_says_nothing_of_parts(ring, tmp_path, capsys):
    assert main(["export", str(ring()), "--format", "mtx"]) == 0
    assert "partial" not in (tmp_path / "ring.mtx").read_text()
    assert "warning" not in capsys.readouterr().err


def test_a_remark_ends_with_its_line(tmp_path, ring):
    path = ring()
    about = json.loads((path / "recording.json").read_text())
    (path / "recording.json").write_text(json.dumps(about | {"programs": ["/bin/a\n1 2 3"]}))
    assert export(path, "mtx") == 0
    assert dense(tmp_path / "ring.mtx").shape == (4, 4)


def test_a_timeline_takes_a_trace_with_exact_times(ring, tmp_path, capsys):
    assert export(ring(flags=0), "perfetto") == 1
    assert "--exact-times" in capsys.readouterr().err
    assert not (tmp_path / "ring.perfetto.json").exists()


@pytest.mark.parametrize("words", [["--format", "csv", "--weight", "bytes"], ["--format", "svg"], []])
def test_what_does_not_go_together_is_a_wrong_line(ring, words):
    assert main(["export", str(ring()), *words]) == 2


def test_matrices_of_many_ranks(ring, tmp_path):
    # GIVEN 4096 ranks with 64 partners each, messages in three ranges of sizes
    ranks, partners = 4096, 64
    small = Recording.open(ring())
    source = np.repeat(np.arange(ranks), partners * 3)
    step = np.tile(np.repeat(np.arange(1, partners + 1), 3), ranks)
    messages = pl.DataFrame({"source": source, "destination": (source + step) % ranks}).with_columns(
        messages=pl.lit(2), bytes=pl.lit(2048)
    )
    large = Recording(small.path, small.context | {"world_size": ranks}, {"messages": messages})
    # WHEN
    metis.write(large, tmp_path / "x.graph", "bytes")
    matrix_market.write(large, tmp_path / "x.mtx", "messages")
    # THEN
    graph = load_graph(tmp_path / "x.graph")
    assert (graph.vertices, graph.edges) == (ranks, ranks * partners)
    lines = (tmp_path / "x.mtx").read_text().splitlines()
    assert lines[-ranks * partners - 1] == f"{ranks} {ranks} {ranks * partners}"
    assert lines[-1] == f"{ranks} {partners} 6"
