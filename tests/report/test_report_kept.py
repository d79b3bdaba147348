# SPDX-License-Identifier: BSD-3-Clause
"""Reports that were made before are shown as they were, without what made them, and made again if anything differs."""

import json
import os
import random
import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.record import directory
from rankwise.recording import Recording
from rankwise.report import build
from rankwise.report.data import kept, to_dict

HEAVY = (
    "numpy",
    "polars",
    "elftools",
    "rankwise._core",
    "rankwise.findings.catalogue",
    "rankwise.report.build",
)
SHOW = f"""
import sys
from rankwise.cli import main
status = main(sys.argv[1:])
sys.stdout.flush()
print(*(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)
sys.exit(status)
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Where reports are kept, which is empty at first."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "rankwise" / "reports"


@pytest.fixture
def made(monkeypatch):
    """Recordings of which a report was made, one after the other."""
    paths, make = [], build.build

    def counting(recording, *asked, **named):
        paths.append(recording.path)
        return make(recording, *asked, **named)

    monkeypatch.setattr(build, "build", counting)
    return paths


def report_of(path, **asked):
    return to_dict(kept.report_of(Recording.open(path), **asked))


def show(path, *options):
    """Output, page, and what heavy was imported."""
    words = [sys.executable, "-c", SHOW, "report", str(path), *options]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    *said, imported = done.stderr.splitlines()
    return (done.stdout, said, path.with_name("app.report.html").read_bytes()), imported.split()


@pytest.mark.one_of(3)
@pytest.mark.parametrize("options", [(), ("-v", "--color", "always"), ("--json", "--force", "-o")], ids=len)
@pytest.mark.parametrize("broken", [False, True])
def test_a_second_report_is_the_same_and_takes_none_of_what_made_it(record, cache, broken, options):
    path = record(broken=broken)
    options = (*options, str(path.with_name("app.report.html"))) if "-o" in options else options
    # GIVEN a report, which takes all that computes
    first, imported = show(path, *options)
    assert set(imported) >= {"numpy", "polars", "rankwise.report.build"}
    # WHEN it is asked for again THEN it is the same without that
    assert show(path, *options) == (first, [])


def test_other_sections_are_shown_of_what_was_made_for_the_first(record, cache):
    path = record()
    show(path)
    assert show(path, "--section", "matrix")[1] == []


def test_a_report_that_is_kept_is_not_made_again(record, cache, made):
    path = record()
    assert report_of(path) == report_of(path) == to_dict(build.build(Recording.open(path)))
    assert made == [path, path]  # by the first, and by this test


def rename_program(manifest):
    manifest.write_text(manifest.read_text().replace("./app", "./another"))


@pytest.mark.one_of(3)
@pytest.mark.parametrize(
    "change",
    [
        lambda path, patch: os.utime(path / "raw" / "n0.rwn", ns=(1, 1)),
        lambda path, patch: rename_program(path / "recording.json"),
        lambda path, patch: (path / "raw" / "n3.topology.tar").unlink(),
        lambda path, patch: ((path / "tune").mkdir(), (path / "tune" / "n0.jsonl").write_text("{}\n")),
        lambda path, patch: patch.setattr("rankwise.__version__", "another"),
        lambda path, patch: patch.setattr(kept, "_code", lambda: [path / "recording.json"]),
        lambda path, patch: patch.setattr(
            kept, "in_use", lambda path: directory.Use("process 1", ranks=False)
        ),
    ],
    ids=["raw", "manifest", "topology", "tuner", "version", "code", "in use"],
)
def test_it_is_made_again_where_anything_differs_that_it_is_made_of(record, cache, made, monkeypatch, change):
    path = record()
    report_of(path)
    change(path, monkeypatch)
    found = report_of(path)
    assert made == [path, path]
    assert found == to_dict(build.build(Recording.open(path)))


def test_each_question_has_a_report_of_its_own(record, cache, made):
    path = record()
    answers = [
        report_of(path),
        report_of(path, ranges=(1024,)),
        report_of(path, convention="scalasca"),
    ]
    assert len(made) == 3
    again = [report_of(path), report_of(path, ranges=(1024,)), report_of(path, convention="scalasca")]
    assert len(made) == 3 and again == answers
    assert len({json.dumps(each) for each in answers}) == 3


def test_another_path_is_another_report_as_commands_name_it(record, cache, made, monkeypatch):
    path = record()
    report_of(path)
    monkeypatch.chdir(path.parent)
    assert report_of("app.rw")["recording"] == "app.rw"


def test_one_job_of_several_and_a_recording_that_cannot_be_written_to_are_not_kept(
    record, cache, monkeypatch
):
    path = record()
    kept.report_of(Recording.open(path, job="1"))
    monkeypatch.setattr("rankwise.recording.collection.save", lambda *_: (_ for _ in ()).throw(OSError()))
    kept.report_of(Recording.open(path))
    assert not cache.exists()


def test_where_nothing_can_be_kept_the_report_is_made_all_the_same(record, tmp_path, monkeypatch, made):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    path = record()
    assert report_of(path) == report_of(path)
    assert len(made) == 2


def test_a_damaged_report_is_none_and_made_again(record, cache, made):
    path = record(ranks=2)
    whole = report_of(path)
    (file,) = cache.iterdir()
    content = file.read_bytes()
    for seed in range(300):
        # GIVEN a kept report with bytes changed, cut off or put in, or something else in its place
        dice, changed = random.Random(seed), bytearray(content)
        at = dice.randrange(len(changed))
        changed[at : at + dice.randint(0, 8)] = dice.choice([b"", dice.randbytes(4), b'"', b"{", b"\xff"])
        file.write_bytes(dice.choice([changed, changed[:at], dice.randbytes(50), changed + b"]"]))
        # THEN it is not taken
        assert kept._read(file) is None or file.read_bytes() == content
    # AND the next one is as before, and mends it
    file.write_bytes(b"")
    assert report_of(path) == report_of(path) == whole
    assert made == [path, path]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_what_is_no_report_behind_a_right_checksum_is_none(tmp_path_factory, content):
    file = tmp_path_factory.getbasetemp() / "a.json"
    for text in (json.dumps(content).encode(), b"[" * 100_000, b"\xff"):
        file.write_bytes(kept._digest(text) + b"\n" + text)
        assert kept._read(file) is None


def test_the_oldest_make_room(record, cache, monkeypatch):
    path = record(ranks=2)
    report_of(path)
    (first,) = cache.iterdir()
    os.utime(first, ns=(1, 1))
    # GIVEN room for two and a half
    monkeypatch.setattr(kept, "MOST_BYTES", first.stat().st_size * 5 // 2)
    report_of(path, ranges=(1024,))
    assert first.exists()
    report_of(path, ranges=(2048,))
    assert not first.exists() and len(list(cache.iterdir())) == 2


def test_nobody_else_may_read_or_write_them(record, cache):
    report_of(record())
    assert cache.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("odd", [{"notes": [3]}, {"notes": ["\udc80"]}, {"matrix": float("nan")}], ids=str)
def test_a_report_that_would_not_come_back_as_it_is_is_shown_and_not_kept(record, cache, monkeypatch, odd):
    recording = Recording.open(record(ranks=2))
    report = msgspec.structs.replace(build.build(recording), **odd)
    monkeypatch.setattr(build, "build", lambda *_, **named: report)
    assert kept.report_of(recording) is report
    assert not cache.exists()


def test_a_whole_number_that_would_come_back_as_another_kind_is_not_kept(record, cache, monkeypatch):
    recording = Recording.open(record(ranks=2))
    report = build.build(recording)
    odd = msgspec.structs.replace(report.program, elapsed_s=1)
    monkeypatch.setattr(build, "build", lambda *_, **named: msgspec.structs.replace(report, program=odd))
    kept.report_of(recording)
    assert not cache.exists()
