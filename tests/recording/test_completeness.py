# SPDX-License-Identifier: BSD-3-Clause
"""What is missing in a recording is said by all that use it, and what says nothing of the run is refused."""

import errno
import json
import os
from pathlib import Path

import pytest
from raw_writer import (
    CHUNK_BYTES,
    CUT,
    FINALIZED,
    HEADER_BYTES,
    MANIFEST,
    STORAGE_FULL,
    TRACED,
    Rank,
    u,
    write_recording,
    z,
)

from rankwise.cli import main
from rankwise.errors import RankwiseError
from rankwise.record import directory
from rankwise.recording import Recording, collection
from rankwise.recording.check import check
from rankwise.recording.completeness import gaps

MACHINE = str(Path(__file__).resolve().parents[2] / "machines" / "bensley-infiniband-2007.machine.toml")


def pair(flags=FINALIZED | TRACED, second=FINALIZED | TRACED):
    ranks = [Rank(0, 2, flags=flags), Rank(1, 2, flags=second)]
    ranks[0].send(1, 100)
    ranks[0].event("MPI_Send", 1000, 100, u(0) + z(1) + z(0) + u(100))
    ranks[1].recv(0, 100)
    ranks[1].event("MPI_Recv", 1000, 100, u(0) + z(0) + z(0) + z(0) + z(0) + u(100))
    return ranks


def words(verb, path):
    more = ["--no-losses"] if verb == "predict" else ["--budget", "0.1s", "-f"]
    return [verb, str(path), "--machine", MACHINE, *more]


def severities(path):
    return {gap.severity for gap in gaps(path, Recording.open(path).context)}


@pytest.mark.parametrize("verb", ["predict", "place"])
def test_of_a_run_that_crashed_what_was_recorded_is_used_and_said_to_be_a_part(tmp_path, capsys, verb):
    # GIVEN a run one rank of which never came to MPI_Finalize
    recording = write_recording(tmp_path / "x.rw", pair(second=TRACED))
    # WHEN it is used
    assert main(words(verb, recording)) == 0
    # THEN the first line says that it is a part, and why
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("warning: the run was cut short: ")
    assert len([line for line in said if "MPI_Finalize" in line]) == 1
    # AND so does JSON
    assert main([*words(verb, recording), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    missing = document["input"]["missing"] if verb == "predict" else document["missing"]
    assert any("MPI_Finalize was not reached" in each["why"] for each in missing)


@pytest.mark.parametrize("verb", ["predict", "place"])
def test_a_whole_run_is_said_to_lack_nothing(tmp_path, capsys, verb):
    recording = write_recording(tmp_path / "x.rw", pair())
    assert main([*words(verb, recording), "--json"]) == 0
    out = capsys.readouterr()
    document = json.loads(out.out)
    assert (document["input"] if verb == "predict" else document)["missing"] == []
    assert "partial" not in out.err


@pytest.mark.parametrize("verb", ["predict", "place"])
@pytest.mark.parametrize("chunks", range(1, 12))
def test_a_raw_file_that_was_cut_short_is_never_a_prediction(tmp_path, capsys, verb, chunks):
    # GIVEN the first chunks of a node's file only
    recording = write_recording(tmp_path / "x.rw", pair())
    file = recording / "raw" / "n0.rwn"
    content = file.read_bytes()
    length = HEADER_BYTES + chunks * CHUNK_BYTES
    assert length < len(content)
    file.write_bytes(content[:length])
    # THEN nothing is predicted from it, and nothing placed
    assert main(words(verb, recording)) == 1
    error = capsys.readouterr().err
    assert "error:" in error and "hint:" in error
    assert not (tmp_path / "x.placement.json").exists()


def test_a_rank_whose_calls_were_counted_and_whose_trace_is_gone_is_damage(tmp_path, capsys):
    ranks = pair()
    ranks[1].trace.clear()
    recording = write_recording(tmp_path / "x.rw", ranks)
    assert main(words("predict", recording)) == 1
    assert "is damaged: the trace of rank 1: their calls were counted" in capsys.readouterr().err
    assert "damaged" in severities(recording)


def test_a_run_that_was_killed_before_anything_was_traced_is_an_error(tmp_path, capsys):
    recording = write_recording(tmp_path / "x.rw", [Rank(me, 2, flags=TRACED) for me in range(2)])
    assert main(words("predict", recording)) == 1
    assert "is empty: it ended before anything was traced" in capsys.readouterr().err


def test_an_end_that_a_full_disk_made_is_said_to_be_that(tmp_path):
    flags = FINALIZED | TRACED | CUT | STORAGE_FULL
    recording = write_recording(tmp_path / "x.rw", [Rank(me, 2, flags=flags) for me in range(2)])
    (trace,) = [
        entry for entry in Recording.open(recording).context["not_recorded"] if entry["what"] == "trace"
    ]
    assert "the file system had no space" in trace["why"] and "did not occur" not in trace["why"]


@pytest.mark.parametrize("verb", ["predict", "place"])
@pytest.mark.parametrize("lost", ["trace", "rank"])
def test_what_a_full_disk_took_is_said_to_be_that_wherever_it_is_used(tmp_path, capsys, verb, lost):
    # GIVEN a recording that has no trace of a rank, or nothing of it, as another one found no room
    ranks = pair(flags=FINALIZED | TRACED | STORAGE_FULL)
    ranks[0].trace.clear()
    recording = write_recording(tmp_path / "x.rw", ranks if lost == "trace" else ranks[:1])
    # WHEN it is used THEN the disk is the cause, and more of it the way out
    assert main(words(verb, recording)) == 1
    error = capsys.readouterr().err
    assert {"trace": "is damaged: the trace of rank 0", "rank": "lacks rank `1`"}[lost] in error
    assert "the file system had no space" in error
    assert "hint: record it again where there is more space: `df -h" in error
    assert "every node" not in error


def test_a_recording_that_is_under_way_is_not_said_to_be_empty(tmp_path, capsys):
    # GIVEN a directory that is recorded into, and no rank has called MPI_Init yet
    path = tmp_path / "x.rw"
    claim = directory.create(path, replace=False, run=directory.new_run())
    # WHEN it is used THEN who records into it is named
    for words_ in (words("predict", path), words("place", path), ["report", str(path)]):
        assert main(words_) == 1
        error = capsys.readouterr().err
        assert f"is still being recorded by process {os.getpid()} on" in error and "doctor" not in error
    # AND when it is over, that no rank came
    os.close(claim.lock)
    assert main(["report", str(path)]) == 1
    assert "no rank called MPI_Init" in capsys.readouterr().err


def test_a_run_that_was_killed_in_its_first_moments_is_not_said_to_lack_the_recorder(tmp_path, capsys):
    # GIVEN `rankwise record` that was killed before any rank came, so that it did not write when it ended
    path = tmp_path / "x.rw"
    (path / "raw").mkdir(parents=True)
    (path / "recording.json").write_text(json.dumps(MANIFEST | {"end_s": None, "exit_status": None}))
    # THEN that is said
    assert main(["report", str(path)]) == 1
    assert "was ended before any rank called MPI_Init" in capsys.readouterr().err
    # AND of ranks that were killed before they wrote anything, no more than is known
    (path / "raw" / "n0.rwn").touch()
    assert main(["report", str(path)]) == 1
    assert "its ranks ended, or found no space, before they wrote anything" in capsys.readouterr().err


def test_a_full_disk_leaves_the_report_in_memory(tmp_path, monkeypatch, capsys):
    # GIVEN a disk that is full when the tables are written
    recording = write_recording(tmp_path / "x.rw", pair())

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    # THEN what was recorded is shown all the same
    assert main(["report", str(recording), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["summary"]["messages"] == 1


@pytest.mark.parametrize("name", ["context.json", *(f"tables/{name}.parquet" for name in collection.TABLES)])
def test_a_cache_that_was_altered_is_made_again(tmp_path, name):
    # GIVEN a file that still can be read, of the same length, with other numbers in it, or none of its rows
    recording = write_recording(tmp_path / "x.rw", pair())
    messages = Recording.open(recording).messages
    file = recording / name
    content = file.read_bytes()
    if name == "context.json":
        file.write_bytes(content.replace(b'"world_size": 2', b'"world_size": 3'))
    else:
        import polars as pl

        table = pl.read_parquet(file)
        numbers = [name for name, kind in table.schema.items() if kind.is_numeric()]
        changed = collection.parquet(table.with_columns(pl.col(numbers) + 1) if numbers else table.clear())
        file.write_bytes(changed[: len(content)].ljust(len(content), b"\0"))
    # THEN the numbers are the true ones
    opened = Recording.open(recording)
    assert opened.world_size == 2
    for table in collection.TABLES:
        assert opened.table(table).width > 0
    assert opened.messages.equals(messages)


def test_a_run_of_a_wrong_name_is_read_and_said_to_be_another(tmp_path):
    # GIVEN a recording one digit of whose name is another one in recording.json
    recording = write_recording(tmp_path / "x.rw", pair())
    (recording / "recording.json").write_text(json.dumps(MANIFEST | {"run": "0" * 31 + "1"}))
    # THEN what the ranks wrote is there, and it is said
    opened = Recording.open(recording)
    assert opened.messages["messages"].sum() == 1
    (gap,) = [gap for gap in gaps(recording, opened.context) if "names another run" in gap.why]
    assert gap.severity == "note"
    assert [each.file for each in check(recording) if each.state == "damaged"] == ["recording.json"]


def test_a_pipe_among_the_raw_files_is_not_waited_for(tmp_path):
    recording = write_recording(tmp_path / "x.rw", pair())
    os.mkfifo(recording / "raw" / "x.rwn")
    opened = Recording.open(recording)
    assert opened.messages["messages"].sum() == 1
    assert "it is a pipe or a device, not a file" in opened.context["problems"][0]


def test_ranks_that_found_no_room_at_all_are_not_said_to_have_been_missed(tmp_path):
    # GIVEN a node's file that was made, of which nothing could be written but its head
    recording = write_recording(tmp_path / "x.rw", pair())
    (file,) = (recording / "raw").glob("*.rwn")
    file.write_bytes(file.read_bytes()[:HEADER_BYTES])
    # WHEN it is read THEN ranks are said to have come so far
    with pytest.raises(RankwiseError, match="its ranks could not write into their files") as caught:
        Recording.open(recording)
    assert "df -h" in caught.value.hint
