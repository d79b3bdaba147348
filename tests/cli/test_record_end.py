# SPDX-License-Identifier: BSD-3-Clause
"""The last lines of `rankwise record`."""

import errno
import os
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest
from fake_launchers import fake_launcher

from rankwise.cli import lab_run, run
from rankwise.cli.record_end import contradiction, flaws, say_untied, summary, tell
from rankwise.errors import RankwiseError
from rankwise.launchers import parse
from rankwise.launchers.execute import execute
from rankwise.launchers.line import Launch
from rankwise.quantities import bytes_text, count_text, seconds_text
from rankwise.record.library import What


def context(**changes):
    nothing = {"world_size": 16, "other_jobs": [], "missing_ranks": [], "partial_ranks": []}
    nothing |= {"trace": {"ranks": 0, "bytes": 0, "stopped": None}}
    return nothing | {"mpi": {"version": "MPICH Version:      5.0.2\nMPICH Release date: x"}} | changes


@pytest.fixture
def line(tmp_path):
    return parse([fake_launcher(tmp_path, "mpiexec", "openmpi5"), "-n", "16", "python3"])


def test_a_whole_recording_has_no_flaws(line):
    assert flaws(context(), line) == []


def test_a_trace_that_was_asked_for_and_is_empty_is_said(line):
    found = flaws(context(trace={"ranks": 16, "bytes": 0, "stopped": None}), line)
    assert found == ["the trace is empty: the calls or the phase asked for did not occur"]
    stopped = "the file of its node was no longer there"
    found = flaws(context(trace={"ranks": 16, "bytes": 0, "stopped": stopped}), line)
    assert found == [f"the trace is empty: {stopped}"]


def test_other_jobs_are_named_with_the_option_that_shows_them(line):
    found = flaws(context(other_jobs=[{"number": 2, "job": "x", "world_size": 2, "ranks": 2}]), line)
    assert found == ["other MPI jobs of this run are left out; `rankwise report` shows them with `--job 2`"]


def test_ranks_that_did_not_come_to_an_end_are_counted_with_the_reason(line):
    partial = [{"rank": rank, "why": "MPI_Finalize was not reached"} for rank in (3, 4)]
    found = flaws(context(partial_ranks=partial), line)
    assert found == ["partial: on 2 of 16 ranks MPI_Finalize was not reached"]


def test_ranks_that_left_nothing_come_first(line):
    partial = [{"rank": 3, "why": "MPI_Abort was called"}]
    found = flaws(context(missing_ranks=[1, 2], partial_ranks=partial), line)
    assert found[0] == "partial: 2 of 16 ranks left nothing"
    # AND why, if that is known
    stopped = "the file system had no space"
    found = flaws(context(missing_ranks=[1], trace={"ranks": 16, "bytes": 0, "stopped": stopped}), line)
    assert found == [f"partial: 1 of 16 ranks left nothing: {stopped}", f"the trace is empty: {stopped}"]


def test_a_launcher_that_does_not_belong_to_the_mpi_is_named(line):
    # GIVEN a script whose MPI was not known before, started by the launcher of the other one
    found = flaws(context(world_size=1), line)
    # THEN the first thing said is that there was no parallel run
    word = line.launcher.word
    expected = (
        f"16 times one rank: `{word}` (Open MPI) is not the launcher of the program's MPICH Version: 5.0.2"
    )
    assert found[0] == expected


def test_the_summary_says_ranks_calls_and_size():
    assert (
        summary(Path("a.rw"), 16, 1_234_567, 38_400_000) == "wrote a.rw: 16 ranks, 1.23 M MPI calls, 38.4 MB"
    )
    assert summary(Path("a.rw"), 1, 5, 999) == "wrote a.rw: 1 rank, 5 MPI calls, 999 B"


def test_quantities_have_three_digits_and_a_unit():
    assert [count_text(n) for n in (0, 999, 1000, 320_000, 999_900)] == ["0", "999", "1 k", "320 k", "1 M"]
    assert [bytes_text(n) for n in (0, 65536, 1e9)] == ["0 B", "65.5 kB", "1 GB"]
    values = (0, 3.1e-7, 4.2e-6, 0.0015, 9.1, 59.96, 7380)
    assert [seconds_text(s) for s in values] == [
        "0 s",
        "310 ns",
        "4.2 us",
        "1.5 ms",
        "9.1 s",
        "60 s",
        "2 h 03 min",
    ]


@pytest.mark.parametrize(("asked", "found"), [(None, "openmpi"), ("mpich", None), ("mpich", "mpich")])
def test_nothing_is_said_of_an_mpi_that_is_what_the_user_said(asked, found):
    assert contradiction(SimpleNamespace(flavour=asked), {"mpi": {"flavour": found}}) == []


def test_an_mpi_that_is_not_what_the_user_said_is_named():
    said = contradiction(SimpleNamespace(flavour="mpich"), {"mpi": {"flavour": "openmpi"}})
    assert said == ["`--mpi mpich` did not count: the library of the ranks is Open MPI"]


def test_a_verification_that_is_killed_is_a_line_and_no_lost_status():
    # GIVEN a placed run that ended, where finding out where its ranks were takes more memory than there is
    session = SimpleNamespace(
        verify=lambda: os.kill(os.getpid(), signal.SIGKILL),
        placement=SimpleNamespace(partial=()),
        renumbered=False,
        recording=None,
    )
    args = SimpleNamespace(placement="p.placement.json", quiet=0, reorder=False)
    # WHEN it is to be told THEN this process lives, passes the status on, and says what it does not know
    assert run._lines(session, SimpleNamespace(status=3), args) == [
        "where the ranks ran could not be verified: memory was short"
    ]


def test_a_lab_that_went_down_and_a_failing_verification_are_lines():
    def fails():
        raise RankwiseError("lab `x` went down while `./app` ran in it")

    result = SimpleNamespace(
        verify=lambda: os.kill(os.getpid(), signal.SIGKILL),
        usage=lambda: None,
        counters=fails,
        ended=SimpleNamespace(status=3),
        prepared=SimpleNamespace(becomes=None),
    )
    args = SimpleNamespace(placement=None, allocation="blocked", quiet=0, output=None)
    assert lab_run._lines(args, result, None, What()) == [
        "where the ranks ran could not be verified: memory was short",
        lab_run._UNKNOWN,
        "what the interfaces carried is not known: lab `x` went down while `./app` ran in it",
    ]


def test_a_program_that_outlives_us_is_started_and_that_is_said(monkeypatch, capfd):
    # GIVEN no memory for a copy of this process
    def refuses():
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr(os, "fork", refuses)
    # WHEN a program is started THEN it runs, and what is not as ever is said
    ended = execute(Launch(["sh", "-c", "exit 3"]), say_untied)
    assert ended.status == 3
    assert "will not end if `rankwise` is killed" in capfd.readouterr().err


def test_a_file_system_without_locks_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("rankwise.record.recording_run.finish", lambda *_: True)
    monkeypatch.setattr("rankwise.cli.record_end.do_apart", lambda work: ["wrote x.rw: 2 ranks"])
    for locked in (False, True):
        manifest = SimpleNamespace(locked=locked)
        said = tell(SimpleNamespace(path=tmp_path, claim=None, manifest=manifest), None, quiet=0)
        assert ("its file system has no locks" in said[0]) != locked


def test_a_signal_that_never_came_is_passed_on_to_nobody(monkeypatch):
    # GIVEN a wait that is interrupted as its time is over, of which CPython tells what was never filled in
    waits = [SimpleNamespace(si_signo=32_000, si_code=0)]
    wait = signal.sigtimedwait
    monkeypatch.setattr(signal, "sigtimedwait", lambda *given: waits.pop() if waits else wait(*given))
    # WHEN a launch runs on for longer than signals are held back THEN it ends as it would have
    ended = execute(Launch(["sleep", "0.6"]))
    assert (ended.status, ended.signal, ended.asked_to_end) == (0, None, None)
