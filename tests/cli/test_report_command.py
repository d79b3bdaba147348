# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise report` as typed: streams, files, what it refuses to replace."""

import errno
import json
import os

import pytest
from raw_writer import MANIFEST, Rank, write_recording

from rankwise.cli import main


@pytest.fixture
def recording(tmp_path):
    ranks = [Rank(me, 4, host="n0") for me in range(4)]
    for rank in ranks:
        rank.send((rank.world_rank + 1) % 4, 100)
    return write_recording(tmp_path / "app.rw", ranks)


def run(*words):
    return main(["report", *map(str, words)])


def test_it_prints_the_report_writes_html_and_names_the_next_command(recording, capsys):
    assert run(recording) == 0
    out, err = capsys.readouterr()
    assert out.startswith("app: 4 ranks, 1 node, 1 s\n")
    assert "Wrote" in err and "app.report.html" in err
    # AND a command for exact times is not known without the line that was recorded
    assert err.splitlines()[-1] == "next: rankwise measure -- mpiexec -n 4"
    assert (recording.parent / "app.report.html").read_text().startswith("<!DOCTYPE html>")


def test_the_next_command_is_one_of_this_recording(tmp_path, capsys):
    def following(path, *options):
        assert run(path, *options) == 0
        return [line for line in capsys.readouterr().err.splitlines() if line.startswith("next: ")]

    # GIVEN ranks that wait for a core THEN it is that of the first finding
    busy = [Rank(me, 2, affinity=(0,), runqueue_wait_ns=700 * 10**6, run_ns=10**9) for me in range(2)]
    for rank in busy:
        rank.count("MPI_Allreduce", ns=800 * 10**6)
    path = write_recording(tmp_path / "busy.rw", busy)
    assert run(path, "--json") == 0
    first = json.loads(capsys.readouterr().out)["findings"][0]
    assert following(path) == [f"next: {first['command'] or 'rankwise explain ' + first['name']}"]
    # AND of a run without exact times that was recorded by a line: record it with them
    ranks = [Rank(me, 2, host=f"n{me}") for me in range(2)]
    path = write_recording(tmp_path / "app.rw", ranks)
    (path / "recording.json").write_text(json.dumps(MANIFEST | {"command": ["mpiexec", "-n", "2", "./app"]}))
    again = "next: rankwise record --trace --exact-times -- mpiexec -n 2 ./app"
    assert following(path) == [again]
    # AND of one rank nothing
    path = write_recording(tmp_path / "one.rw", [Rank(0, 1)])
    (path / "recording.json").write_text(json.dumps(MANIFEST | {"command": ["./app"]}))
    assert following(path) == []


def test_json_is_one_object_and_no_file(recording, capsys):
    assert run(recording, "--json", "--nodes", "2x2", "--node", "package:2 core:2") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["schema"] == "rankwise.report/1"
    assert err == ""
    assert not (recording.parent / "app.report.html").exists()


def test_the_check_names_each_file_and_has_status_1_for_damage(recording, capsys):
    assert run(recording, "--check") == 0
    out, err = capsys.readouterr()
    assert [line.split()[:2] for line in out.splitlines()] == [
        ["raw/n0.rwn", "whole"],
        ["recording.json", "not"],
    ]
    assert err == f"next: rankwise report {recording}\n"
    # WHEN a byte of a table is another one
    path = recording / "raw" / "n0.rwn"
    content = bytearray(path.read_bytes())
    content[4096 + 65536 + 64 + 30] ^= 1
    path.write_bytes(content)
    # THEN it is damaged, in text and JSON
    assert run(recording, "--check") == 1
    assert "the table of messages at byte 69632 does not match its checksum" in capsys.readouterr().out
    assert run(recording, "--check", "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["damaged"]) == ("rankwise.check/1", True)
    assert found["files"][0]["state"] == "damaged" and found["files"][0]["file"] == "raw/n0.rwn"
    # AND nothing was written, and a report is not asked for at once
    assert sorted(each.name for each in recording.iterdir()) == ["raw"]
    assert run(recording, "--check", "-o", "x.html") == 1


def test_where_nothing_can_be_written_the_terminal_report_is_there(recording, capsys, monkeypatch):
    # GIVEN a full file system, then a directory of somebody else
    def no_space(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", no_space)
    for said in ("no space left on device", "cannot be written to"):
        # WHEN a report is asked for THEN it is printed, and the missing page is a warning
        assert main(["report", str(recording)]) == 0
        out, err = capsys.readouterr()
        assert "ranks" in out
        assert err.startswith("warning: ") and said in err and "[no-html]" in err
        monkeypatch.setattr(os, "access", lambda *_: False)
    # AND a page that was asked for by name is an error
    assert main(["report", str(recording), "-o", str(recording.parent / "mine.html")]) == 1


def test_the_default_report_is_made_anew(recording, capsys):
    assert run(recording) == run(recording) == 0


def test_a_named_report_is_replaced_only_with_force(recording, tmp_path, capsys):
    target = tmp_path / "mine.html"
    assert run(recording, "-o", target) == 0
    before = target.stat().st_mtime_ns
    assert run(recording, "-o", target) == 1
    assert "exists" in capsys.readouterr().err
    assert target.stat().st_mtime_ns == before
    assert run(recording, "-o", target, "--force") == 0


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_what_is_not_a_report_is_never_replaced(recording, tmp_path, capsys, force):
    for target in (tmp_path / "thesis.html", recording.parent / "app.report.html"):
        target.write_text("chapter 1")
        words = ["-o", target] if target.name == "thesis.html" else []
        assert run(recording, *words, *force) == 1
        out, err = capsys.readouterr()
        assert "is not a report of Rankwise" in err
        assert out == ""
        assert target.read_text() == "chapter 1"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--nodes", "4x3", "--node", "core:3", "--nodes", "1x3"],
            "`1x3` has room for 3 ranks, the program has 4",
        ),
        (["--nodes", "4by4", "--node", "core:4"], "`4by4` is not a node layout"),
        (["--node", "core:4", "--allocation", "random"], "`random` is not an allocation"),
        (["--node", "rubbish:4"], "`rubbish:4` is not an hwloc synthetic description"),
        (["--ranges", "300"], "`300` is none"),
        (["--ranges", "4KiB,256"], "must ascend"),
        (["-o", "nowhere/x.html"], "no directory `nowhere`"),
        (["--placement", "missing.json"], "placement file `missing.json` cannot be read"),
    ],
)
def test_bad_input_is_a_sentence_with_a_hint_and_writes_nothing(recording, capsys, words, said):
    assert run(recording, *words) == 1
    out, err = capsys.readouterr()
    assert said in err
    assert "\n\nhint: " in err
    assert out == ""
    assert not list(recording.parent.glob("*.html"))
