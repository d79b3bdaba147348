# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise tune` as users type it: the program's streams and status are its own, and nothing stays changed."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rankwise.errors import RankwiseError
from rankwise.locks import is_held
from rankwise.tune import control
from rankwise.tune.attached import check_processes
from rankwise.tune.job import other_hosts
from rankwise.tune.output import claim
from rankwise.tune.summary import read_output

RANKWISE = Path(sys.executable).parent / "rankwise"


@pytest.fixture
def here(tmp_path):
    """An environment in which tuners of this test are found by nobody else."""
    (tmp_path / "run").mkdir(mode=0o700)
    return {"XDG_RUNTIME_DIR": str(tmp_path / "run")}


def tune(words, environment, **options):
    return subprocess.run(
        [RANKWISE, "tune", *map(str, words)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
        **options,
    )


def left_over(tmp_path):
    """Directories of tuners that are still there."""
    return [path.name for path in (tmp_path / "run").glob("rankwise/*")]


def affinity_of(pid):
    return {int(task): os.sched_getaffinity(int(task)) for task in os.listdir(f"/proc/{pid}/task")}


@pytest.fixture
def spinning():
    """Two processes that compute, to be tuned by number."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    yield [process.pid for process in started]
    for process in started:
        process.kill()
        process.wait()


def test_the_programs_streams_and_status_are_its_own(mpi, compiled, tmp_path, here):
    # GIVEN a program that says something and ends with a status of its own
    program = compiled(mpi, "uneven.c")
    # WHEN it runs under tune
    done = tune(
        ["-o", tmp_path / "a.tune", "--", *mpi.launch(2, program, "3", "7")], mpi.environment() | here
    )
    # THEN stdout and status are the program's
    assert re.fullmatch(r"changes \d+\n", done.stdout)
    assert done.returncode == 7
    # AND Rankwise says at most three lines, each marked
    ours = [line for line in done.stderr.splitlines() if line.startswith("rankwise:")]
    assert 1 <= len(ours) <= 3
    assert ours[-1] == f"rankwise: next: rankwise tune show {tmp_path / 'a.tune'}"
    # AND its ranks were found, and what is kept has the schema
    summary = json.loads((tmp_path / "a.tune" / "summary.json").read_text())
    assert summary["schema"] == "rankwise.tune/1"
    events = [json.loads(line) for line in (tmp_path / "a.tune" / "events.jsonl").read_text().splitlines()]
    found = sorted(rank for event in events if event["what"] == "rank_found" for rank in event["ranks"])
    assert found == [0, 1]
    assert events[-1]["what"] == "stopped"
    assert left_over(tmp_path) == []


def test_a_dry_run_changes_no_mask(mpi, compiled, tmp_path, here):
    program = compiled(mpi, "uneven.c")
    words = ["--dry-run", "-o", tmp_path / "a.tune", "--", *mpi.launch(2, program, "3")]
    # WHEN a program that looks at its own mask all the time runs
    done = tune(words, mpi.environment() | here)
    # THEN it never changed, and what would have been done is shown
    assert (done.returncode, done.stdout) == (0, "changes 0\n")
    shown = tune(["show", tmp_path / "a.tune"], os.environ | here)
    assert shown.returncode == 0
    assert re.match(r"nothing was changed|nothing was to be gained|no change was proposed", shown.stdout)
    assert max(map(len, shown.stdout.splitlines())) <= 80
    report = subprocess.run([RANKWISE, "report", tmp_path / "a.tune"], capture_output=True, text=True)
    assert "`rankwise tune show " in report.stderr
    document = json.loads(tune(["show", tmp_path / "a.tune", "--json"], os.environ | here).stdout)
    assert {each["became"] for each in document["tuners"][0]["decisions"]} <= {"proposed"}


def test_status_and_stop_reach_a_tuner_that_runs(mpi, compiled, tmp_path, here):
    program = compiled(mpi, "uneven.c")
    job = subprocess.Popen(
        [RANKWISE, "tune", "--", *mpi.launch(2, program, "6")],
        env=mpi.environment() | here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        # WHEN its status is asked while its ranks run
        for _ in range(100):
            asked = tune(["status", "--json"], os.environ | here)
            if asked.returncode == 0 and json.loads(asked.stdout)["tuners"][0]["status"]["ranks"] == 2:
                break
            time.sleep(0.1)
        # THEN it names them
        status = json.loads(asked.stdout)["tuners"][0]["status"]
        assert (status["ranks"], status["act"], status["daemon"]) == (2, True, False)
        assert status["rss_bytes"] < 30e6
        assert "ranks      2" in tune(["status"], os.environ | here).stdout
        # AND it ends when it is asked to; the program goes on
        assert tune(["stop"], os.environ | here).returncode == 0
        out, err = job.communicate(timeout=60)
        assert out.startswith("changes ")
        assert job.returncode == 0, err
    finally:
        job.kill()
        job.communicate()


def test_no_tuner_is_said(here):
    done = tune(["status"], os.environ | here)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no tuner of this user runs" in done.stderr


def test_ctrl_c_ends_the_program_and_leaves_nothing(mpi, compiled, tmp_path, here):
    program = compiled(mpi, "uneven.c")
    job = subprocess.Popen(
        [RANKWISE, "tune", "--", *mpi.launch(2, program, "60")],
        env=mpi.environment() | here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    time.sleep(4)
    # WHEN the terminal sends SIGINT to all of its group
    os.killpg(job.pid, signal.SIGINT)
    job.communicate(timeout=60)
    # THEN it has ended as an interrupted command does, and its tuner too
    assert job.returncode in (130, -signal.SIGINT)
    assert left_over(tmp_path) == []


def test_what_cannot_be_started_is_ours(mpi, compiled, tmp_path, here):
    program = compiled(mpi, "uneven.c")
    environment = os.environ | here
    assert tune(["--", tmp_path / "absent"], environment).returncode == 127
    assert tune(["--bogus", "--", program], environment).returncode == 125
    assert tune([], environment).returncode == 125
    done = tune(["--json", "--", program], environment)
    assert (done.returncode, "stdout is the program's alone" in done.stderr) == (125, True)
    (tmp_path / "mine").write_text("mine")
    done = tune(["-o", tmp_path / "mine", "-f", "--", program], environment)
    assert (done.returncode, (tmp_path / "mine").read_text()) == (125, "mine")
    assert left_over(tmp_path) == []


def test_a_recording_has_the_decisions(mpi, compiled, tmp_path, here):
    program = compiled(mpi, "uneven.c")
    # WHEN a run is tuned and recorded
    words = ["--record", tmp_path / "a.rw", "--", *mpi.launch(2, program, "3")]
    done = tune(words, mpi.environment() | here)
    # THEN there is a recording of both ranks, and events of the tuner in it
    assert done.returncode == 0
    assert "2 ranks" in done.stderr
    shown = tune(["show", tmp_path / "a.rw", "--json"], os.environ | here)
    assert json.loads(shown.stdout)["tuners"][0]["began_unix_s"] > 1e9
    # WHEN there was a change that began when the first rank was found, and was kept half a second later
    (file,) = (tmp_path / "a.rw" / "tune").glob("*.jsonl")
    events = [json.loads(line) for line in file.read_text().splitlines()]
    at = next(event["monotonic_s"] for event in events if event["what"] == "rank_found")
    moves = [{"pid": 1, "start": 2, "from": "0", "to": "1"}, {"pid": 3, "start": 4, "from": "1", "to": "0"}]
    change = {"ranks": [0, 1], "group": "g", "change": {"moves": moves}, "unix_s": 0.0}
    change |= {"estimated_gain": 0.25, "why": "rank <1> computes & waits"}
    gain = {"measured_gain": 0.2, "gain_low": 0.15, "gain_high": 0.24}
    steps = [("proposed", 0, {}), ("applied", 0.1, {}), ("kept", 0.5, gain | {"why": "it gains"})]
    lines = [
        json.dumps(change | {"what": what, "monotonic_s": at + after} | more) for what, after, more in steps
    ]
    file.write_text("\n".join(lines) + "\n")
    report = [RANKWISE, "report", tmp_path / "a.rw"]
    reported = json.loads(subprocess.run([*report, "--json"], capture_output=True, check=True).stdout)
    # THEN the report has it on its own axis of time
    (tuned,) = reported["tuning"]
    assert -1 < tuned["proposed_s"] < reported["program"]["elapsed_s"] + 0.1
    assert tuned["applied_s"] - tuned["proposed_s"] == pytest.approx(0.1)
    assert tuned["ended_s"] - tuned["proposed_s"] == pytest.approx(0.5)
    assert (tuned["became"], tuned["measured"]["low"]) == ("kept", 0.15)
    # AND in words, in the terminal and on the page
    page = tmp_path / "a.html"
    text = subprocess.run([*report, "-v", "-o", page], capture_output=True, check=True, text=True).stdout

    def plain(said):
        """Words without marks and line ends."""
        return " ".join(re.sub("</?code>|`", "", said).split())

    for words in (
        "What rankwise tune did",
        "1 change proposed: 1 kept",
        "rank 0 from PU 0 to 1",
        "measured 20 % (15 % to 24 %)",
    ):
        assert words in plain(text)
        assert words in plain(page.read_text())
    assert "rank &lt;1&gt; computes &amp; waits" in page.read_text()
    # WHEN the tuner was not to act, and a line of its events was cut off by a full disk
    started = {"monotonic_s": at, "unix_s": 0.0, "what": "started", "why": "it only says what it would do"}
    file.write_text("\n".join([json.dumps(started), lines[0], '{"monoto' + lines[0]]) + "\n")
    # THEN nothing is said to have been done
    shown = plain(tune(["show", tmp_path / "a.rw"], os.environ | here).stdout)
    assert "nothing was changed: 1 proposal in a dry run" in shown
    assert "1 line of its events cannot be read" in shown
    text = subprocess.run(
        [*report, "-v", "-o", page, "-f"], capture_output=True, check=True, text=True
    ).stdout
    for words in ("nothing was changed: 1 proposal in a dry run", "1 event of rankwise tune on "):
        assert words in plain(text)
        assert words in plain(page.read_text())


def test_processes_that_run_get_their_masks_back(spinning, tmp_path, here):
    before = [affinity_of(pid) for pid in spinning]
    # WHEN they are tuned by number, for a while
    job = subprocess.Popen(
        [RANKWISE, "tune", "--pid", *map(str, spinning), "--json"],
        env=os.environ | here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    time.sleep(5)
    job.send_signal(signal.SIGINT)
    out, err = job.communicate(timeout=60)
    # THEN their masks are what they were
    assert job.returncode == 0, err
    assert json.loads(out)["schema"] == "rankwise.tune/1"
    assert [affinity_of(pid) for pid in spinning] == before
    assert left_over(tmp_path) == []


def test_tuning_processes_ends_with_them(here):
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3)"])
    # WHEN a process that is tuned ends
    done = tune(["--pid", process.pid, "--dry-run"], os.environ | here)
    process.wait()
    # THEN so does the tuner
    assert done.returncode == 0
    assert re.match(r"nothing was to be gained|no change was proposed", done.stdout)
    assert "tuning 1 process until it ends or Ctrl-C; nothing is changed\n" in done.stderr


@pytest.mark.parametrize(
    ("words", "message", "status"),
    [
        (["--daemon", "-o", "x"], "`--output` is for a program after `--` and `--pid` only", 2),
        (["--daemon", "--machine", "x"], "`--machine` is for a program after `--` and `--pid` only", 2),
        (["--daemon", "--json"], "`--json` is for `--pid`, `status` and `show` only", 2),
        (["--pid", "1", "--record", "x"], "`--record` is for a program after `--` only", 2),
        (["status", "--keep"], "`--keep` is for `--pid` only", 2),
        (["show", "x", "--socket", "x"], "`--socket` is for `status` and `stop` only", 2),
        (["stop", "--json"], "`--json` is for `--pid`, `status` and `show` only", 2),
        (["--keep", "--", "./app"], "`--keep` is for `--pid` only", 125),
        (["--config", "x", "--", "./app"], "`--config` is for `--daemon`, `status` and `stop` only", 125),
        (["--pid", "1", "-f"], "`--force` replaces what is there, and nothing is written", 2),
        (["--trace", "--", "./app"], "`--trace` is about a recording, and none is made", 125),
        (["--pid", "1", "--exact-times"], "`--exact-times` is for a program after `--` only", 2),
        (["--daemon", "--pid", "1"], "`--pid` and `--daemon` are two ways to tune", 2),
        (["status", "--daemon"], "`status` and `--daemon` are two ways to tune", 2),
    ],
)
def test_options_that_would_do_nothing_are_refused(here, words, message, status):
    done = tune(words, os.environ | here)
    assert (done.returncode, done.stdout) == (status, "")
    assert f"error: {message}\n\nhint: " in done.stderr


def test_the_daemons_file_is_offered_for_what_it_has_only(here):
    done = tune(["--daemon", "--machine", "x"], os.environ | here)
    assert 'write `machine = "/path/to/M.machine.toml"` in the daemon\'s file' in done.stderr
    assert tune(["--daemon", "--keep"], os.environ | here).stderr.endswith("hint: leave it out\n")


@pytest.mark.parametrize(
    ("words", "message", "hint", "status"),
    [
        (
            ["mpiexec", "-n", "4", "./app"],
            "needs `--` before the program it starts",
            "`rankwise tune -- mpiexec -n 4 ./app`",
            2,
        ),
        (["--dry-run", "./app"], "needs `--` before", "`rankwise tune --dry-run -- ./app`", 2),
        (["-n", "4", "./app"], "needs `--` before", "`rankwise tune -- mpiexec -n 4 ./app`", 2),
        (
            ["mpiexec", "-n", "4", "--", "./app"],
            "`mpiexec` belongs behind `--`",
            "`rankwise tune -- mpiexec -n 4 ./app`",
            125,
        ),
        (["statsu"], "`statsu` is not what `rankwise tune` does", "did you mean `status`?", 2),
        (["status", "x"], "`rankwise tune status` does not know what to do with `x`", "", 2),
        (["show", "a", "b"], "`rankwise tune show` does not know what to do with `b`", "", 2),
        (["show"], "`rankwise tune show` needs a name", "", 2),
        (["status", "--bogus"], "`--bogus` is not an option of `rankwise tune`", "", 2),
    ],
)
def test_a_line_that_was_nearly_right_gets_the_one_that_was_meant(here, words, message, hint, status):
    done = tune(words, os.environ | here)
    assert (done.returncode, done.stdout) == (status, "")
    assert message in done.stderr
    assert f"hint: {hint}" in done.stderr


def test_what_is_no_process_is_said_in_a_sentence(here):
    done = tune(["--pid", "x"], os.environ | here)
    assert (done.returncode, "`x` is no number of a process" in done.stderr) == (2, True)
    # WHEN pgrep finds nothing
    done = tune(["--pid"], os.environ | here)
    assert done.returncode == 2
    assert "`--pid` names no process" in done.stderr
    assert "pgrep" in done.stderr


def test_a_program_without_ranks_is_said(here):
    # WHEN what runs is no MPI program
    done = tune(["--mpi", "mpich", "--", "sleep", "0.5"], os.environ | here)
    # THEN it is not said that nothing was to be gained
    assert (done.returncode, done.stdout) == (0, "")
    assert "rankwise: no rank was seen: " in done.stderr
    assert "`rankwise doctor`" in done.stderr


def killed_tuner(here, job):
    """Kill the tuner of a job as soon as it answers."""
    for _ in range(40):
        asked = tune(["status", "--json"], os.environ | here)
        if asked.returncode == 0:
            break
        time.sleep(0.05)
    os.kill(json.loads(asked.stdout)["tuners"][0]["status"]["pid"], signal.SIGKILL)
    return job.communicate(timeout=60)


@pytest.mark.slow
def test_a_tuner_that_ended_early_is_said(spinning, tmp_path, here):
    # WHEN the tuner of processes is killed
    before = [affinity_of(pid) for pid in spinning]
    job = subprocess.Popen(
        [RANKWISE, "tune", "--pid", *map(str, spinning), "-o", tmp_path / "a.tune"],
        env=os.environ | here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    out, err = killed_tuner(here, job)
    # THEN that is said, and the status is that of a failure
    assert job.returncode == 1, err
    assert out.startswith("the tuner ended early: it died of SIGKILL; ")
    assert [affinity_of(pid) for pid in spinning] == before
    shown = tune(["show", tmp_path / "a.tune"], os.environ | here)
    assert shown.stdout.startswith("the tuner ended early: ")
    # WHEN that of a program is
    job = subprocess.Popen(
        [RANKWISE, "tune", "-q", "--mpi", "mpich", "--", "sleep", "10"],
        env=os.environ | here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    out, err = killed_tuner(here, job)
    # THEN the program's status stays
    assert (job.returncode, out) == (0, "")
    assert "rankwise: the tuner ended early: it died of SIGKILL; " in err
    assert left_over(tmp_path) == []


def test_a_result_that_is_there_is_kept_until_the_next_one_is(tmp_path, here):
    # GIVEN a result, and a program that cannot be executed
    kept = tmp_path / "a.tune"
    kept.mkdir()
    (kept / "events.jsonl").write_text("earlier")
    program = tmp_path / "program"
    program.write_bytes(b"\x00")
    program.chmod(0o755)
    process = subprocess.Popen(["sleep", "60"])
    try:
        done = tune(["--pid", process.pid, "-o", kept], os.environ | here)
        assert (done.returncode, "is there already" in done.stderr) == (1, True)
        done = tune(["--pid", 2**22 + 1, "-o", tmp_path / "b.tune"], os.environ | here)
        assert done.returncode == 1
    finally:
        process.kill()
        process.wait()
    # WHEN it is to be replaced by what does not start
    unfit = ["--mpi", "mpich", "--", program]
    done = tune(["-o", kept, "-f", *unfit], os.environ | here)
    # THEN it is as before
    assert done.returncode in (125, 126)
    assert [path.name for path in kept.iterdir()] == ["events.jsonl"]
    assert (kept / "events.jsonl").read_text() == "earlier"
    # AND the directory of what did not start is not left
    assert tune(["-o", tmp_path / "b.tune", *unfit], os.environ | here).returncode in (125, 126)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tune", "program", "run"]
    # WHEN it is replaced
    assert (
        tune(["-q", "--mpi", "mpich", "-o", kept, "-f", "--", "sleep", "0.1"], os.environ | here).returncode
        == 0
    )
    assert {path.name for path in kept.iterdir()} == {"plan", "events.jsonl", "log", "summary.json"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tune", "program", "run"]


def test_what_may_not_be_looked_into_is_no_bug(tmp_path, monkeypatch):
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    # GIVEN a daemon's directory, and a result, of another user's
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    (closed / "a.tune").mkdir()
    tmp_path.chmod(0o755)
    monkeypatch.setattr("rankwise.tune.directories.DAEMON_SOCKET", closed / "tune.sock")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    os.seteuid(65534)
    try:
        # THEN nobody answers there
        assert not [path for path in control.sockets() if control.answers(path)]
        with pytest.raises(RankwiseError, match="cannot be read: permission denied"):
            read_output(closed / "a.tune")
        with pytest.raises(RankwiseError, match="cannot be made: permission denied"):
            claim(str(closed / "a.tune"), True)
    finally:
        os.seteuid(0)


def test_one_tuner_that_does_not_answer_hides_no_other(tmp_path, here):
    process = subprocess.Popen(["sleep", "60"])
    # GIVEN a tuner, and what was one
    job = subprocess.Popen(
        [RANKWISE, "tune", "--pid", str(process.pid), "--dry-run"],
        env=os.environ | here, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deaf = tmp_path / "run" / "rankwise" / "1" / "tune.sock"
    deaf.parent.mkdir(parents=True, mode=0o700)
    deaf.parent.parent.chmod(0o700)
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(deaf))
            listening.listen()
            threading.Thread(target=hang_up, args=(listening,), daemon=True).start()
            for _ in range(40):
                asked = tune(["status"], os.environ | here)
                if "tuner " in asked.stdout:
                    break
                time.sleep(0.05)
            # THEN the one is shown, the other named
            assert asked.returncode == 1
            assert f"the tuner at `{deaf}` " in asked.stderr
            # AND which one is to be stopped has to be said
            asked = tune(["stop"], os.environ | here)
            assert asked.returncode == 1
            assert "2 tuners run on this node" in asked.stderr
            assert f"`rankwise tune stop --socket {deaf}`" in asked.stderr
    finally:
        for each in (process, job):
            each.terminate()
            each.wait()


def hang_up(listening):
    """Take connections and say nothing."""
    with contextlib.suppress(OSError):
        while True:
            listening.accept()[0].close()


def test_bad_processes_are_refused():
    # GIVEN numbers that are none, of a thread, of the kernel, of one that has ended
    ended = subprocess.Popen(["true"])
    time.sleep(0.5)
    for number, why in (
        (0, "no process"),
        (-5, "no process"),
        (2**31 - 1, "no process"),
        (ended.pid, "has ended"),
    ):
        with pytest.raises(RankwiseError, match=why):
            check_processes([number], os.geteuid())
    ended.wait()


def test_another_users_process_is_refused():
    if os.geteuid() != 0:
        pytest.skip("only root can start a process of another user")
    # GIVEN a process of nobody
    process = subprocess.Popen(["sleep", "60"], user=65534)
    try:
        # THEN another user may not tune it, root may
        with pytest.raises(RankwiseError, match=f"process `{process.pid}` is `nobody`'s"):
            check_processes([process.pid], 1234)
        check_processes([process.pid], 0)
    finally:
        process.kill()
        process.wait()


def test_other_hosts_of_a_job_are_known(monkeypatch):
    from rankwise.launchers.line import Launcher, LaunchLine, Option, Segment

    def line(hosts):
        option = Option("hosts", (hosts,), ("-hosts", hosts))
        return LaunchLine(Launcher("hydra", "mpiexec"), (Segment((option,), "./app", (), 2),))

    # GIVEN lines with hosts
    monkeypatch.delenv("SLURM_JOB_NODELIST", raising=False)
    assert other_hosts(line(f"localhost,{os.uname().nodename}")) == []
    assert other_hosts(line("localhost,n02")) == ["n02"]
    # AND an allocation that the line says nothing of
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[01-02]")
    assert other_hosts(LaunchLine(Launcher("srun", "srun"), (Segment((), "./app", (), 2),))) == ["n01", "n02"]


def test_what_a_rank_gives_its_nodes_tuner_is_checked(here):
    done = tune(["--node", "nothing"], os.environ | here)
    assert (done.returncode, "`--node` is for ranks" in done.stderr) == (2, True)
    assert "--node" not in tune(["--help"], os.environ | here).stdout


@pytest.mark.slow
def test_a_killed_command_leaves_no_changed_mask(spinning, tmp_path, here):
    before = [affinity_of(pid) for pid in spinning]
    job = subprocess.Popen(
        [RANKWISE, "tune", "--pid", *map(str, spinning)],
        env=os.environ | here, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until = time.monotonic() + 30
    while not any(map(is_held, (tmp_path / "run").glob("rankwise/*/lock"))) and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(2)
    # WHEN the command is killed
    job.kill()
    job.wait()
    (state,) = (tmp_path / "run" / "rankwise").iterdir()
    for _ in range(100):
        if not is_held(state / "lock"):
            break
        time.sleep(0.05)
    # THEN its tuner and guard have ended, and masks are what they were
    assert not is_held(state / "lock")
    assert [affinity_of(pid) for pid in spinning] == before
    # AND the next one removes what is left
    process = subprocess.Popen(["sleep", "8"])
    tune(["--pid", process.pid, "--dry-run"], os.environ | here)
    process.wait()
    assert left_over(tmp_path) == []
