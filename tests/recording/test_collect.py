# SPDX-License-Identifier: BSD-3-Clause
"""Collecting: once, again, after damage, and what is refused."""

import json
import os
import shutil

import pytest
from raw_writer import MANIFEST, Rank, write_recording

from rankwise.errors import RankwiseError
from rankwise.recording import Recording, collect


def ranks(size=4, **more):
    made = [Rank(me, size, host=f"n{me % 2}", **more) for me in range(size)]
    for rank in made:
        rank.send((rank.world_rank + 1) % size, 100)
    return made


@pytest.fixture
def recorded(tmp_path):
    return write_recording(tmp_path / "app.rw", ranks())


def stamps(directory):
    return {path.name: path.stat().st_mtime_ns for path in directory.rglob("*") if path.is_file()}


def test_collecting_again_changes_nothing(recorded):
    collect(recorded)
    before = stamps(recorded)
    collect(recorded)
    Recording.open(recorded)
    assert stamps(recorded) == before


def test_force_changed_raw_files_lost_tables_and_old_versions_are_collected_again(recorded):
    collect(recorded)

    def newer_after(change):
        before = stamps(recorded)["context.json"]
        change()
        Recording.open(recorded)
        return stamps(recorded)["context.json"] > before

    context = recorded / "context.json"
    assert newer_after(lambda: collect(recorded, force=True))
    assert newer_after(lambda: os.utime(recorded / "raw" / "n0.rwn", ns=(1, 1)))
    assert newer_after(lambda: (recorded / "tables" / "calls.parquet").unlink())
    assert newer_after(
        lambda: context.write_text(context.read_text().replace('"tables_version": ', '"tables_version": 9'))
    )
    assert newer_after(lambda: context.write_text("{"))
    assert not newer_after(lambda: None)


def test_no_temporary_files_stay(recorded):
    collect(recorded)
    assert sorted(path.name for path in recorded.rglob(".*")) == []


def test_the_launchers_file_is_kept_in_the_context_and_not_needed(recorded):
    assert Recording.open(recorded).context["run"] is None
    (recorded / "recording.json").write_text(json.dumps(MANIFEST))
    assert Recording.open(recorded).context["run"] == MANIFEST | {
        "generated": None,
        "lab": None,
        "placement": None,
        "run": None,
        "locked": True,
        "told_to_end": None,
        "usage": None,
    }
    # AND one that is no such file is said to be none
    (recorded / "recording.json").write_text(json.dumps({"command": ["mpiexec", "./app"]}))
    context = Recording.open(recorded).context
    assert context["run"] is None
    assert "recording.json` says nothing of how the program was run" in context["problems"][0]


def test_a_recording_that_cannot_be_written_to_is_read_all_the_same(recorded, monkeypatch):
    def refuse(*_):
        raise PermissionError("read-only")

    monkeypatch.setattr("rankwise.recording.collection.save", refuse)
    recording = Recording.open(recorded)
    assert recording.messages.height == 4 and not (recorded / "context.json").exists()


def test_ranks_that_left_nothing_are_named(recorded):
    (recorded / "raw" / "n1.rwn").unlink()
    recording = Recording.open(recorded)
    assert recording.context["missing_ranks"] == [1, 3]
    assert recording.ranks["rank"].to_list() == [0, 2] and recording.world_size == 4
    assert recording.placement is None


def test_of_two_jobs_the_larger_is_kept_and_the_other_named(tmp_path):
    directory = write_recording(tmp_path / "two.rw", [*ranks(2, job="small"), *ranks(4, job="large")])
    recording = Recording.open(directory)
    assert recording.world_size == 4 and recording.messages.height == 4
    assert recording.context["other_jobs"] == [{"number": 1, "job": "small", "world_size": 2, "ranks": 2}]
    assert "2 MPI jobs were recorded" in recording.context["problems"][0]


@pytest.mark.parametrize("job", ["1", "small"])
def test_the_other_of_two_jobs_is_opened_by_number_or_name(tmp_path, job):
    directory = write_recording(tmp_path / "two.rw", [*ranks(2, job="small"), *ranks(4, job="large")])
    recording = Recording.open(directory, job)
    assert recording.world_size == 2 and recording.messages.height == 2
    assert recording.context["other_jobs"] == [{"number": 2, "job": "large", "world_size": 4, "ranks": 4}]
    # AND that of all commands that do not ask for one is still the largest
    assert Recording.open(directory).world_size == 4
    with pytest.raises(RankwiseError, match="no MPI job `3`") as raised:
        Recording.open(directory, "3")
    assert raised.value.hint == "the jobs are `1` (small), `2` (large)"


def test_two_nodes_of_one_name_are_two_hosts(tmp_path):
    # GIVEN two files of nodes that both say they are n0
    both = write_recording(tmp_path / "both.rw", [Rank(0, 2, host="n0")])
    other = write_recording(tmp_path / "other.rw", [Rank(1, 2, host="n0")])
    (both / "raw" / "n0.rwn").rename(both / "raw" / "n0.00000001.rwn")
    (other / "raw" / "n0.rwn").rename(both / "raw" / "n0.00000002.rwn")
    # THEN they are told apart, and a name that is there once stays as it is
    recording = Recording.open(both)
    assert recording.ranks["host"].to_list() == ["n0.00000001", "n0.00000002"]
    (both / "raw" / "n0.00000002.rwn").unlink()
    assert Recording.open(both).ranks["host"].to_list() == ["n0"]


def test_a_second_run_without_a_job_name_replaces_the_first(tmp_path):
    first, second = Rank(0, 1, job="", pid=7), Rank(0, 1, job="", pid=8)
    first.send(0, 8, times=2)
    second.send(0, 8, times=5)
    recording = Recording.open(write_recording(tmp_path / "twice.rw", [first, second]))
    assert recording.messages["messages"].to_list() == [5]
    assert "earlier run" in recording.context["problems"][0]


def test_a_damaged_file_among_good_ones_is_said_and_left_out(recorded):
    (recorded / "raw" / "n1.rwn").write_bytes(b"garbage" * 1000)
    recording = Recording.open(recorded)
    assert recording.context["missing_ranks"] == [1, 3]
    assert (
        "n1.rwn" in recording.context["problems"][0]
        and "not a raw recording" in recording.context["problems"][0]
    )


def test_a_recording_cut_short_is_read_to_where_it_ends(recorded):
    path = recorded / "raw" / "n0.rwn"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - 3 * 65536])
    recording = Recording.open(recorded)
    # Rank 2's last tables are gone, its record is there.
    assert recording.ranks["rank"].to_list() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: None, "does not exist"),
        (lambda path: path.write_text("x"), "is a file"),
        (lambda path: path.mkdir(), "has no `raw` directory"),
        (lambda path: (path / "raw").mkdir(parents=True), "no rank called MPI_Init"),
    ],
)
def test_what_is_no_recording_is_refused_with_a_way_out(tmp_path, make, words):
    path = tmp_path / "x.rw"
    make(path)
    for use in (collect, Recording.open):
        with pytest.raises(RankwiseError) as error:
            use(path)
        assert (
            words in error.value.message
            and str(path) in error.value.message
            and "`rankwise" in error.value.hint
        )


@pytest.mark.parametrize("beside", [False, True])
def test_reports_and_traces_of_otf2_are_told_from_recordings(tmp_path, beside):
    # GIVEN an HTML report, with or without its recording, and a trace that was exported
    page, trace = tmp_path / "app.report.html", tmp_path / "app-otf2"
    page.write_text("<!DOCTYPE html>")
    trace.mkdir()
    (trace / "traces.otf2").touch()
    if beside:
        (tmp_path / "app.rw").mkdir()
    # THEN each is refused with what can be done with it
    with pytest.raises(RankwiseError) as error:
        Recording.open(page)
    again = f", or `rankwise report {tmp_path / 'app.rw'}`" if beside else ""
    assert error.value.hint == f"open it in a browser{again}"
    with pytest.raises(RankwiseError) as error:
        Recording.open(trace)
    assert error.value.hint == f"it is a trace of OTF2: `rankwise predict {trace} --machine FILE`"


def test_a_newer_format_is_refused(recorded):
    shutil.rmtree(recorded / "raw")
    (recorded / "raw").mkdir()
    from raw_writer import RawFile

    RawFile(version=5).write(recorded / "raw" / "n0.rwn")
    with pytest.raises(RankwiseError, match="format version 5"):
        Recording.open(recorded)


@pytest.mark.slow
def test_a_thousand_ranks_are_collected(tmp_path):
    made = [Rank(me, 1024, host="n0") for me in range(1024)]
    for rank in made:
        rank.collective("MPI_Allreduce", 8, element=8)
        rank.send((rank.world_rank + 1) % 1024, 8)
    recording = Recording.open(write_recording(tmp_path / "large.rw", made))
    assert recording.messages.filter(collective=True)["messages"].sum() == 1024 * 10
