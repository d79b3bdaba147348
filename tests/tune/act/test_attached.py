# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise tune --pid`, `status` and `stop`: whose progress is known, which tuners are found, when one has ended."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rankwise import locks
from rankwise.errors import RankwiseError
from rankwise.tune import control, directories
from rankwise.tune.attached import pages_of
from rankwise.tune.preload import tune_environment

NOBODY = 1 << 22  # above all numbers of processes
RANKWISE = Path(sys.executable).parent / "rankwise"


@pytest.fixture
def sleeper():
    """Function (RANKWISE_TUNE=) -> the number of a process that sleeps."""
    started = []

    def start(**variables: str) -> int:
        started.append(subprocess.Popen(["sleep", "60"], env=os.environ | variables))
        return started[-1].pid

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_the_directory_of_pages_is_that_which_all_processes_name(sleeper, tmp_path):
    # GIVEN processes that were started with a directory for their pages, and without
    first, second = sleeper(RANKWISE_TUNE=str(tmp_path)), sleeper(RANKWISE_TUNE=str(tmp_path))
    without, elsewhere = sleeper(), sleeper(RANKWISE_TUNE="/dev/shm")
    # THEN
    assert pages_of([first, second]) == tmp_path
    assert pages_of([first, without]) == tmp_path  # a helper of the job
    assert pages_of([first, elsewhere]) is None
    assert pages_of([without]) is None
    assert pages_of([sleeper(RANKWISE_TUNE="pages")]) is None
    assert pages_of([sleeper(RANKWISE_TUNE=str(tmp_path / "gone"))]) is None
    # AND another user's directory is none
    if os.geteuid() == 0:
        os.chown(tmp_path, 12345, 12345)
        assert pages_of([first, second]) is None


def test_ranks_that_run_are_known_by_their_pages(mpi, compiled, tmp_path):
    # GIVEN ranks that were started with the library, as a module file of a node has it
    pages = tmp_path / "pages"
    pages.mkdir(mode=0o700)
    (tmp_path / "run").mkdir(mode=0o700)
    given = tune_environment(pages, None)
    program = compiled(mpi, "uneven.c")
    job = subprocess.Popen(
        mpi.launch(2, program, "30", environment=given), env=mpi.environment(), stdout=subprocess.DEVNULL
    )
    try:
        for _ in range(100):
            ranks = [path.name.split(".") for path in pages.glob("*.page")]
            if len(ranks) == 2:
                break
            time.sleep(0.1)
        # WHEN one of them is tuned by its number
        (first,) = (number for rank, number, _ in ranks if rank == "0")
        tuner = subprocess.Popen(
            [RANKWISE, "tune", "-q", "-o", tmp_path / "a.tune", "--pid", first],
            env=os.environ | {"XDG_RUNTIME_DIR": str(tmp_path / "run")}, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        events = tmp_path / "a.tune" / "events.jsonl"
        for _ in range(100):
            if events.exists() and "rank_found" in events.read_text():
                break
            time.sleep(0.1)
        tuner.send_signal(signal.SIGINT)
        tuner.wait(30)
        # THEN it is rank 0, and the other one, which was not given, is none of its ranks
        found = [json.loads(line) for line in events.read_text().splitlines() if "rank_found" in line]
        assert [event["ranks"] for event in found] == [[0]]
    finally:
        job.terminate()
        job.wait()


@pytest.fixture
def places(tmp_path, monkeypatch):
    """A user's session directory, and the node's memory."""
    session, memory = tmp_path / "user" / str(os.geteuid()), tmp_path / "memory"
    session.mkdir(parents=True, mode=0o700)
    memory.mkdir()
    monkeypatch.setattr(directories, "RUNTIME", tmp_path / "user")
    monkeypatch.setattr(directories, "IN_MEMORY", memory)
    return session, memory


@pytest.mark.parametrize("asks_from_session", [True, False])
def test_a_tuner_is_found_from_a_session_and_from_a_batch_job(places, monkeypatch, asks_from_session):
    session, _ = places

    def enter(is_session):
        if is_session:
            monkeypatch.setenv("XDG_RUNTIME_DIR", str(session))
        else:
            monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)

    # GIVEN tuners of a session and of a batch job, and what one that was killed has left
    enter(not asks_from_session)
    theirs = directories.new_state(1)[0] / directories.SOCKET
    theirs.touch()
    left, _ = directories.new_state(NOBODY)
    (left / "lock").touch()
    # WHEN they are looked for from the other one
    enter(asks_from_session)
    own = directories.new_state(os.getppid())[0] / directories.SOCKET
    own.touch()
    # THEN both are found, and what was left is removed
    assert {own, theirs} <= set(control.sockets())
    assert own.parent.parent != theirs.parent.parent
    assert not left.exists()
    # AND who has set a place of his own is asked there only
    (session / "mine").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(session / "mine"))
    assert not {own, theirs} & set(control.sockets())


@pytest.fixture
def recovering(tmp_path, monkeypatch):
    """A program in place of the tuner that is asked to put back what is left; gets its exit status and what it says."""

    def program(status: int, text: str) -> None:
        script = tmp_path / "recover"
        script.write_text(f"#!/bin/sh\nprintf '{text}' >&2\nexit {status}\n")
        script.chmod(0o755)
        monkeypatch.setattr(directories, "installed", lambda _: script)

    return program


def test_what_cannot_be_put_back_is_said_and_kept(places, recovering):
    # GIVEN what a killed tuner left, some of which cannot be put back
    left, _ = directories.new_state(NOBODY)
    (left / "lock").touch()
    recovering(1, "error: 2 threads have a wrong mask\\n\\nhint: try again\\n")
    # WHEN the next one starts THEN it knows, and what is left stays
    assert directories.new_state(os.getpid())[1] == ["2 threads have a wrong mask"]
    assert left.exists()


def test_directories_without_a_lock_go_with_the_process_that_made_them(places):
    # GIVEN directories whose tuner never started: of a process that is gone, of one that lives, and of nobody
    gone, starting = directories.new_state(NOBODY)[0], directories.new_state(os.getppid())[0]
    other = gone.with_name("notes")
    other.mkdir()
    # WHEN the next tuner starts
    own, problems = directories.new_state(os.getpid())
    # THEN only the first is removed
    assert (gone.exists(), starting.exists(), other.exists(), problems) == (False, True, True, [])
    # AND at its end its own is, with or without a lock
    assert directories.remove_state(own) == ""
    assert not own.exists()


def test_what_another_tuner_took_meanwhile_is_not_removed(places, recovering, monkeypatch):
    # GIVEN a directory whose lock another process takes once it was looked through
    left, _ = directories.new_state(NOBODY)
    (left / "lock").touch()
    recovering(0, "")
    with locks.held(left / "lock") as is_held:
        assert is_held
        monkeypatch.setattr(directories, "is_held", lambda _: False)
        # WHEN it is to be removed THEN it stays
        assert directories.remove_state(left) == ""
        assert left.exists()
    # AND goes when nobody has it
    assert directories.remove_state(left) == ""
    assert not left.exists()


def test_stop_returns_when_the_tuner_has_ended(tmp_path, monkeypatch):
    # GIVEN a tuner that takes its time to put masks back
    path, ended = tmp_path / "tune.sock", threading.Event()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()

        def end() -> None:
            connection, _ = listening.accept()
            with connection:
                assert connection.recv(16) == b"stop\n"
                time.sleep(0.5)
                connection.sendall(b'{"left": 1, "said": "could not be given back: 1"}\n')
            ended.set()
            path.unlink()

        tuner = threading.Thread(target=end)
        tuner.start()
        # WHEN it is asked to end, THEN it has when that is answered
        assert control.stop(path).left == 1
        assert ended.is_set()
        tuner.join()
        # WHEN one says that it ends, and does not
        path.touch()
        monkeypatch.setattr(control, "_END_S", 0.1)
        monkeypatch.setattr(control, "ask", lambda *_: b'{"left": 0, "said": ""}')
        monkeypatch.setattr(control, "answers", lambda *_: True)
        # THEN that is said
        with pytest.raises(RankwiseError, match="masks may still be as it set them"):
            control.stop(path)
        # WHEN it was killed meanwhile, THEN it has ended, too
        monkeypatch.setattr(control, "answers", lambda *_: False)
        control.stop(path)


@pytest.mark.parametrize(
    "module", ["rankwise.tune.attached", "rankwise.tune.daemon", "rankwise.cli.tune_service"]
)
def test_a_tuner_without_a_program_starts_without_what_only_programs_need(module):
    # Each costs a tenth of the 200 ms that a start may take, or more.
    code = (
        f"import sys, {module}\n"
        "heavy = {'elftools', 'numpy', 'polars', 'rich', 'rankwise.launchers', 'rankwise._core'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("after_s", [0.08, 0.12, 0.16, 0.2, 0.24, 0.28])
def test_ctrl_c_ends_it_also_while_it_starts(start, tmp_path, after_s):
    # GIVEN a tuner that is being started
    job = start(1)
    tuning = subprocess.Popen([RANKWISE, "tune", "-q", "--pid", str(job.pid)], stdout=subprocess.PIPE)
    time.sleep(after_s)
    # WHEN Ctrl-C comes, wherever that is
    tuning.send_signal(signal.SIGINT)
    # THEN it ends, in Python's own way where its first modules are being loaded, and nothing of it is left
    tuning.communicate(timeout=60)
    assert not (directories.user_directory() / str(tuning.pid)).exists()
