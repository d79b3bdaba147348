# SPDX-License-Identifier: BSD-3-Clause
"""What each rank used of its node: a program that faults, sleeps and moves a known number of times."""

import ctypes.util
import os
import re
import subprocess
import sys
from pathlib import Path

import mpis
import numpy as np
import pytest

from rankwise.findings.catalogue import findings_of
from rankwise.findings.evidence import Evidence
from rankwise.recording import Recording
from rankwise.recording.samples import decode
from rankwise.report import use_words
from rankwise.report.build import build

pytestmark = pytest.mark.mpi

TOP = Path(__file__).resolve().parents[2]
PROGRAMS = TOP / "tests" / "programs"
PAGES, SLEEPS, MOVES = 1000, 30, 5
# The recorder's own, and what a second reading of the same number a moment later has more.
SLACK = 60
PUS = sorted(os.sched_getaffinity(0))[:2]
QUICK = [mpi for mpi in mpis.installed() if mpi.name in ("mpich-5.0.2", "openmpi-5.0.11")]
one_mpi = pytest.mark.parametrize("mpi", QUICK[:1], ids=lambda mpi: mpi.name)


@pytest.fixture
def use(compiled, record, tmp_path):
    """Function (mpi, ranks, way, environment) -> the program's own counts by rank, and the recording."""
    if len(PUS) < 2:
        pytest.skip("needs two PUs")

    def run(mpi, ranks=2, *way, expect=0, **environment):
        program = compiled(mpi, "use.c")
        command = (program, PAGES, SLEEPS, MOVES, *PUS, *way)
        done = record(mpi, ranks, *command, environment=environment, expect=expect).run
        said = {
            int(words[0]): dict(zip(("faults", "voluntary", "involuntary"), map(int, words[1:]), strict=True))
            for words in re.findall(r"rank (\d+) faults (\d+) voluntary (\d+) involuntary (\d+)", done.stdout)
        }
        return said, Recording.open(tmp_path)

    return run


def test_faults_switches_migrations_and_masks_are_those_of_the_program(mpi, use):
    # WHEN two ranks touch pages, sleep, and move from one core to another and back
    said, recording = use(mpi)
    for row in recording.table("rank_use").iter_rows(named=True):
        own = said[row["rank"]]
        # THEN there are as many faults and switches as the kernel told the program
        assert PAGES <= own["faults"] <= row["minor_faults"] <= own["faults"] + SLACK
        assert SLEEPS <= own["voluntary"] <= row["voluntary_switches"] <= own["voluntary"] + SLACK
        assert own["involuntary"] <= row["involuntary_switches"] <= own["involuntary"] + SLACK
        # AND each move was seen: as a mask, as a core it ran on
        assert row["mask_changes"] == MOVES and row["ran_on"] == PUS
        assert row["peak_memory_bytes"] > PAGES * 4096
        assert sum(row["memory_bytes"]) > PAGES * 4096
    masks = recording.table("rank_masks")
    for rank in said:
        own = masks.filter(rank=rank)
        assert own["pus"].to_list() == [[PUS[move % 2]] for move in range(MOVES + 1)]
        assert own["time_s"].is_sorted() and own["time_s"][0] == 0
        # AND it is known that the program itself did it
        assert own["set_by"][0] is None
        assert {Path(path).name.split(".")[0] for path in own["set_by"][1:]} == {"use"}


@one_mpi
def test_the_library_that_set_a_mask_is_named(mpi, compiled, record, tmp_path, tmp_path_factory):
    # GIVEN a library that binds the program, which then binds itself by a system call that libc does not see
    if len(PUS) < 2:
        pytest.skip("needs two PUs")
    library = tmp_path_factory.mktemp("binder") / "libbinder.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", mpis.PROGRAMS / "binder.c", "-o", library], check=True)
    record(mpi, 1, compiled(mpi, "bound_by.c", "-ldl"), library, *PUS)
    recording = Recording.open(tmp_path)
    # THEN the file of the first change is known, and of the second that no call was seen
    masks = recording.table("rank_masks")
    assert masks["pus"].to_list() == [[PUS[0]], [PUS[1]], [PUS[0]]]
    assert masks["set_by"].to_list()[1:] == [str(library), ""]
    # AND the finding names it
    (found,) = [each for each in findings_of(Evidence(recording))[0] if each.name == "cores-changed"]
    assert "libbinder.so.1 set them" in found.sentence


def test_counters_of_the_kernel_agree_with_what_the_program_did(mpi, use):
    said, recording = use(mpi)
    counters = {
        (rank, name): count
        for rank, name, count in recording.table("rank_counters")
        .select("rank", "counter", "count")
        .iter_rows()
    }
    if (0, "page-faults") not in counters:
        pytest.skip("perf_event is not allowed here")
    for rank, own in said.items():
        assert PAGES <= counters[rank, "page-faults"] <= own["faults"] + SLACK
        assert counters[rank, "context-switches"] >= SLEEPS
        # The main thread is bound to one core at a time, and moves when it is told to; the library's own may as well.
        assert counters[rank, "cpu-migrations"] >= MOVES
        if mpi.family == "mpich":
            assert counters[rank, "cpu-migrations"] == MOVES
        # AND the clock of the task is its processor time
        row = recording.table("rank_use").filter(rank=rank).row(0, named=True)
        assert counters[rank, "task-clock"] * 1e-9 == pytest.approx(row["user_s"] + row["system_s"], rel=0.1)


def test_what_cannot_be_counted_is_named_with_its_reason(use):
    # GIVEN counters that exist, and some that cannot
    asked = "page-faults,no-such-counter,cycles"
    _, recording = use(QUICK[0], RANKWISE_COUNTERS=asked)
    absent = {each["source"]: each for each in recording.context["samples"]["absent"]}
    there = set(recording.table("rank_counters")["counter"])
    # THEN each is either there or absent for a reason, never 0
    assert there | {name.removeprefix("counter:") for name in absent} == set(asked.split(","))
    assert "page-faults" in there or absent["counter:page-faults"]["remedy"]
    assert "libpfm" in absent["counter:no-such-counter"]["why"]
    assert "cycles" in there or absent["counter:cycles"]["remedy"]


@one_mpi
def test_migrations_without_perf_are_the_schedulers_own(mpi, use):
    if "se.nr_migrations" not in Path("/proc/self/sched").read_text():
        pytest.skip("this kernel does not show them")
    _, recording = use(mpi, 2, RANKWISE_COUNTERS="none")
    for row in recording.table("rank_use").iter_rows(named=True):
        # THEN they are those of the thread that moved itself
        assert (row["migrations"], row["migrations_of"]) == (MOVES, "first thread")
        assert 0 < row["moves_seen"] <= MOVES
    assert build(recording).use.ranks.migrations == [MOVES, MOVES]


@one_mpi
@pytest.mark.parametrize("sched", [None, "use (1, #threads: 1)\nnr_switches   :  12\n"])
def test_migrations_that_nobody_counts_are_at_least_those_that_were_seen(mpi, use, sched, tmp_path_factory):
    # GIVEN neither perf_event nor the scheduler's number
    proc = tmp_path_factory.mktemp("proc")
    if sched:
        (proc / "self").mkdir()
        (proc / "self" / "sched").write_text(sched)
    _, recording = use(mpi, 1, RANKWISE_COUNTERS="none", RANKWISE_PROC=str(proc))
    row = recording.table("rank_use").row(0, named=True)
    assert row["migrations"] is None and 0 < row["moves_seen"] <= MOVES
    absent = {each["source"]: each for each in recording.context["samples"]["absent"]}["migrations"]
    assert "/proc/self/sched" in absent["why"] and "CAP_PERFMON" in absent["remedy"]
    shown = dict(zip(use_words.RANK_USE, use_words.rank_use(build(recording).use.ranks, 0), strict=True))
    assert shown["migrations"] == f"≥ {row['moves_seen']}"


@one_mpi
@pytest.mark.parametrize(
    ("answer", "why"),
    [("EPERM", "EPERM"), ("ENOSYS", "ENOSYS"), ("kill", "seccomp kills who calls perf_event_open")],
)
def test_a_filter_of_system_calls_is_survived_and_named(mpi, compiled, record, tmp_path, answer, why):
    # GIVEN a filter that refuses perf_event_open, or kills who calls it
    program = compiled(mpi, "use.c")
    done = record(mpi, 2, compiled(mpi, "confined.c"), answer, program, PAGES, 1, 1, *PUS[:1], *PUS[:1])
    # THEN the program ends well, and counters are absent for that reason
    assert len(re.findall("rank . faults", done.run.stdout)) == 2
    recording = Recording.open(tmp_path)
    absent = {each["source"]: each for each in recording.context["samples"]["absent"]}
    for counter in ("counter:task-clock", "counter:page-faults"):
        assert why in absent[counter]["why"] and "seccomp" in absent[counter]["remedy"]
    assert recording.table("rank_use")["minor_faults"].min() >= PAGES


@pytest.mark.skipif(ctypes.util.find_library("pfm") is None, reason="libpfm4 is not installed")
def test_names_of_libpfm4_are_looked_up(use):
    name = "perf::PERF_COUNT_SW_PAGE_FAULTS"
    said, recording = use(QUICK[0], 1, RANKWISE_COUNTERS=name)
    rows = recording.table("rank_counters")
    if rows.is_empty():
        pytest.skip("perf_event is not allowed here")
    assert rows["counter"].to_list() == [name]
    assert PAGES <= rows["count"][0] <= said[0]["faults"] + SLACK


@pytest.mark.parametrize("rows", [0, 1, 172, 173, 1000, 5000])
def test_samples_never_take_more_than_their_room_and_stay_even(rows, tmp_path):
    # GIVEN the recorder's own rows, of which 172 fit, apart from MPI
    mpi, room = QUICK[0], TOP / "record"
    generated = subprocess.run(
        [sys.executable, room / "generate.py", TOP / "formats" / "mpi_calls.txt"],
        capture_output=True,
        check=True,
    )
    (tmp_path / "calls_generated.h").write_bytes(generated.stdout)
    flags = (
        str(room / "counters" / "series.c"),
        f"-I{room}",
        f"-I{tmp_path}",
        f"-I{TOP / 'formats'}",
        "-D_GNU_SOURCE",
    )
    program = mpi.compile("series_main.c", tmp_path / "series", *flags)
    # WHEN more rows are added than fit
    written = subprocess.run([program, str(rows)], capture_output=True, check=True).stdout
    runs = []
    while written:
        length = int.from_bytes(written[:8], "little")
        runs.append(written[8 : 8 + length])
        written = written[8 + length :]
    sampled = decode(runs[1], runs[0])
    # THEN every second one went each time: the first is there, the last is there, the others are evenly apart
    kept = [tick // 1000 - 1 for tick in sampled.ticks]
    step = sampled.head["interval_ticks"] // 1000
    assert len(kept) <= sampled.head["room"] == 172
    assert step == {0: 1, 1: 1, 172: 1, 173: 2, 1000: 8, 5000: 32}[rows]
    assert kept == sorted({*range(0, rows, step), *range(max(rows - 1, 0), rows)})
    # AND each row has its own numbers, and what it has not is not known
    assert sampled.column("cpu:user", 0).tolist() == kept
    assert sampled.column("user_ns").tolist() == [3 * row for row in kept]
    assert np.isnan(sampled.column("cpu:user", 7)).all()


@one_mpi
def test_samples_come_as_asked_for(mpi, use):
    _, recording = use(mpi, 1, "calls", "200", RANKWISE_COUNTERS="none", RANKWISE_SAMPLES="50")
    rows = recording.table("rank_samples")
    gaps = rows["time_s"].diff().drop_nulls()
    assert recording.context["samples"]["asked_s"] == 0.05
    # The first is at MPI_Init, the last in MPI_Finalize, whenever that is.
    assert len(rows) >= 5 and gaps[:-1].min() > 0.049
    assert rows["time_s"][0] == 0 and rows["time_s"][-1] == pytest.approx(
        recording.ranks["time_s"][0], rel=0.05
    )
    assert all(rows[name].is_sorted() for name in ("user_s", "minor_faults", "voluntary_switches"))


@one_mpi
def test_what_a_rank_loses_between_two_clocks_changes_no_rate(mpi, use, environment_for, tmp_path):
    # GIVEN a rank that often loses its core between reading the ticks and reading a clock
    late_clock = tmp_path / "late_clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", PROGRAMS / "late_clock.c", "-o", late_clock], check=True)
    # WHEN it is recorded
    lost = {"LD_PRELOAD": f"{environment_for(tmp_path)['LD_PRELOAD']}:{late_clock}"}
    _, recording = use(mpi, 1, "calls", "200", RANKWISE_COUNTERS="none", RANKWISE_SAMPLES="50", **lost)
    # THEN its samples are as far apart as was asked for
    gaps = recording.table("rank_samples")["time_s"].diff().drop_nulls()
    assert len(gaps) >= 4 and gaps[:-1].min() > 0.0495


@one_mpi
def test_without_samples_over_time_there_are_start_and_end(mpi, use):
    _, recording = use(mpi, 2, RANKWISE_SAMPLES="off", RANKWISE_COUNTERS="none")
    assert recording.table("rank_use")["samples"].to_list() == [2, 2]
    assert recording.table("rank_use")["mask_changes"].to_list() == [MOVES, MOVES]
    assert recording.table("rank_counters").is_empty()
    assert recording.context["samples"]["interval_s"] is None
    assert build(recording).use.over_time == []


@one_mpi
def test_a_rank_that_is_killed_leaves_the_samples_until_then(mpi, use):
    _, recording = use(mpi, 1, "kill", expect=None)
    row = recording.table("rank_use").row(0, named=True)
    assert row["samples"] >= 3 and row["minor_faults"] >= PAGES and row["ran_on"]
    assert row["mask_changes"] == MOVES


def test_descriptors_that_the_program_takes_over_are_never_read(mpi, use):
    # GIVEN a program that puts a pipe in place of all descriptors that the recorder may have
    said, recording = use(mpi, 1, "refill")
    # THEN it finds its text in the pipe, and what could still be read is there
    assert said[0]["faults"] <= recording.table("rank_use")["minor_faults"][0]
    counters = recording.table("rank_counters")
    assert counters["count"].null_count() == len(counters)
    # AND what cannot be read is not known, not 0, and said with what would give it
    report = build(recording)
    assert all(core.interrupts is None and core.softirqs == {} for core in report.use.cores)
    assert not any(each.idle for each in report.use.interfaces)
    lost = [each for each in report.use.absent if "could not be read after" in each.why]
    assert {"interrupts", "softirqs", "interfaces"} <= {source for each in lost for source in each.sources}
    assert all("1000 to 1063" in each.remedy for each in lost)


@one_mpi
def test_threads_that_share_a_core_are_seen(mpi, compiled, record, tmp_path):
    # GIVEN a first thread alone on one core, and two others together on another one
    if len(PUS) < 2:
        pytest.skip("needs two PUs")
    record(mpi, 1, compiled(mpi, "crowded.c"), *PUS, 3)
    recording = Recording.open(tmp_path)
    (row,) = recording.table("rank_use").iter_rows(named=True)
    # THEN three ran, though two of them sleep whenever the first one is in MPI, and these share a core
    assert row["threads_busy"] == pytest.approx(3, abs=0.5)
    assert row["threads_crowded"] == pytest.approx(2 / 3, abs=0.2)
    assert row["threads_ran_on"] == PUS and PUS[0] in row["ran_on"]
    # AND what stands out says so
    (said,) = [each for each in build(recording).use.notable if "shared a core" in each]
    assert said.startswith("threads of rank 0 ")


@one_mpi
def test_one_thread_shares_with_nobody(mpi, use):
    _, recording = use(mpi, 1)
    (row,) = recording.table("rank_use").iter_rows(named=True)
    assert row["threads_crowded"] in (0, None) and (row["threads_busy"] or 1) < 1.5
    assert not any("shared a core" in each for each in build(recording).use.notable)
