# SPDX-License-Identifier: BSD-3-Clause
"""What a tuner answers on its socket, and that nothing sent there harms it: in `make test-all` under sanitizers."""

import os
import random
import re
import resource
import shutil
import socket
import stat
import subprocess
import time
from pathlib import Path

import msgspec
import pytest
import waiting
from tune_driver import built, files_of

from rankwise.errors import RankwiseError
from rankwise.tune import control
from rankwise.tune.document import tuner_of
from rankwise.tune.events import Log

TOP = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def program(driver_flags):
    proc = [TOP / "tune" / "proc" / f"{name}.cpp" for name in ("pu_list", "text")]
    rooms = [[Path(__file__).with_name("serve.cpp")], files_of("serve"), files_of("events"), proc]
    return built("serve", rooms, driver_flags)


class Serving:
    def __init__(self, program, path, *arguments):
        self.path = path
        self.process = subprocess.Popen(
            [program, path, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout.readline() == "ready\n", self.process.stderr.read()

    def send(self, data, half_close=False):
        """All of the answer to some bytes."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            connection.connect(str(self.path))
            answer = bytearray()
            try:
                connection.sendall(data)
                if half_close:
                    connection.shutdown(socket.SHUT_WR)
                while part := connection.recv(65536):
                    answer += part
            except (BrokenPipeError, ConnectionResetError):
                pass
            return bytes(answer)

    def stop(self):
        """End it; returns the longest time that it was busy, in seconds."""
        stopped = control.stop(self.path)
        assert (stopped.left, stopped.said) == (0, "given back: 4 threads, 1 interrupt")
        out, err = self.process.communicate(timeout=20)
        assert (self.process.returncode, err) == (0, "")
        assert not self.path.exists()
        return float(out)

    def kill(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def serving(program, tmp_path):
    one = Serving(program, tmp_path / "tune.sock")
    yield one
    if one.process.poll() is None:
        one.stop()


def test_status_counts_what_the_events_say(serving):
    # WHEN its status is asked
    status = control.status_of(serving.path)
    # THEN ranks that went count no more, and only the last events are kept
    assert (status.ranks, status.act, status.daemon) == (3, True, False)
    assert [(group.ranks, group.rate_per_s, group.rate_of) for group in status.groups] == [
        (3, 12.5, "iterations")
    ]
    assert (status.groups[0].major_faults, status.groups[0].migrations) == (6, 4)
    assert status.counts["kept"] == 100
    # AND what they are called is what the events call it
    assert status.groups[0].name == 'job "1"\n\xff\\'
    assert status.rss_bytes > 1 << 20
    assert status.pid == serving.process.pid


def test_last_decisions_are_whole_and_of_the_time_since_the_tuner_began(serving):
    # WHEN the status of a tuner that has decided more than it keeps is asked twice
    status = control.status_of(serving.path)
    tuner, again = (
        tuner_of(Log(found.recent), None, found) for found in (status, control.status_of(serving.path))
    )
    # THEN it has the last decisions from the proposal on, and other events have not taken their places
    assert {event.what for event in status.recent} == {"proposed", "applied", "kept"}
    assert len(tuner.decisions) == 21
    assert all(decision.applied_s is not None for decision in tuner.decisions)
    # AND their times are since its beginning, whatever is kept
    assert tuner == msgspec.structs.replace(again, status=tuner.status)
    assert tuner.began_unix_s == pytest.approx(time.time(), abs=60)
    assert all(0 < decision.at_s <= status.up_s for decision in tuner.decisions)


def test_what_holds_the_node_back_is_said_and_what_is_not_known(serving):
    limits = control.status_of(serving.path).limits
    assert (limits.clock, limits.throttled, limits.power_w) == (0.75, None, {"package-0": 180.0})
    assert limits.unknown == ['throttling by heat: "none"']


def test_it_stands_back_until_no_other_mover_is_left(serving, program, tmp_path):
    # GIVEN a tuner beside another mover, and one whose other mover has gone
    gone = Serving(program, tmp_path / "gone.sock", "resumed")
    # THEN the first one says why it does nothing, and the second one that it does not stand back
    assert control.status_of(serving.path).stands_back.startswith("numad moves")
    assert control.status_of(gone.path).stands_back == ""
    assert "rankwise_tune_standing_back 1\n" in control.ask(serving.path, "metrics").decode()
    assert "rankwise_tune_standing_back 0\n" in control.ask(gone.path, "metrics").decode()
    gone.stop()


def is_answered(path) -> bool:
    """Whether a tuner answers there; a socket is at its path before somebody listens to it."""
    try:
        return bool(control.status_of(path))
    except RankwiseError:
        return False


def test_it_listens_again_where_its_directory_was_removed(program, tmp_path):
    # GIVEN a tuner whose socket is removed with its directory, as when its user logs out
    path = tmp_path / "user" / "tune.sock"
    path.parent.mkdir()
    serving = Serving(program, path)
    shutil.rmtree(path.parent)
    before = len(os.listdir(f"/proc/{serving.process.pid}/fd"))
    time.sleep(2.5)  # so that it tries in vain
    # WHEN the directory is there again THEN so is the socket, for nobody else
    path.parent.mkdir()
    assert waiting.until(lambda: is_answered(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert control.status_of(path).ranks == 3
    assert len(os.listdir(f"/proc/{serving.process.pid}/fd")) == before
    # WHEN somebody else has that path THEN it is left to him
    path.unlink()
    path.write_text("mine")
    time.sleep(1.5)
    assert path.read_text() == "mine"
    path.unlink()
    assert waiting.until(lambda: is_answered(path))
    serving.stop()


def cpu_s(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_who_cannot_be_let_in_is_waited_for_without_spinning(serving):
    # GIVEN a tuner that has no descriptor left
    pid = serving.process.pid
    used = max(int(entry) for entry in os.listdir(f"/proc/{pid}/fd"))
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 1, limits[1]))
    # WHEN somebody wants to ask
    before = cpu_s(pid)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(serving.path))
        connection.sendall(b"status\n")
        time.sleep(2)
        # THEN it sleeps
        assert cpu_s(pid) - before < 0.5
        # AND answers once it can
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
        connection.settimeout(10)
        assert connection.recv(100).startswith(b'{"pid"')
    assert control.status_of(serving.path).ranks == 3


def test_the_socket_is_its_users_alone(serving):
    assert stat.S_IMODE(serving.path.stat().st_mode) == 0o600


def test_another_user_gets_no_answer(serving, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can ask as another user")
    # GIVEN a socket that the file system would let anybody connect to
    for directory in (tmp_path, *tmp_path.parents[:3]):
        directory.chmod(0o755)
    serving.path.chmod(0o666)
    # WHEN another user asks it to stop
    script = (
        f"import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect({str(serving.path)!r})\n"
        "try:\n    s.sendall(b'stop\\n')\n    print(s.recv(100))\n"
        "except (BrokenPipeError, ConnectionResetError):\n    print(b'')\n"
    )
    done = subprocess.run(
        ["/usr/bin/env", "python3", "-c", script], user=65534, group=65534, capture_output=True, text=True
    )
    # THEN the connection was closed without a word, before or after it asked, and it goes on
    assert done.stdout == "b''\n", done.stderr
    assert control.status_of(serving.path).ranks == 3


METRIC = re.compile(
    r'^rankwise_tune_[a-z_]+(\{[a-z]+="(?:[^"\\\n]|\\["\\n])*"(,[a-z]+="(?:[^"\\\n]|\\["\\n])*")*\})? [-+.e0-9]+$'
)


def test_metrics_are_prometheus_text(serving):
    # WHEN metrics are asked for
    text = control.ask(serving.path, "metrics").decode("ascii")
    # THEN each line is a sample, or HELP or TYPE of the samples below it
    described = set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            described.add(line.split()[2])
            assert line.split()[3] in ("counter", "gauge")
        elif not line.startswith("# HELP "):
            assert METRIC.match(line), line
            assert re.split(r"[{ ]", line)[0] in described
    assert 'rankwise_tune_ranks{user="unknown"} 3\n' in text
    assert "rankwise_tune_kept_total 100\n" in text


def test_metrics_are_of_users_and_not_of_each_job(program, tmp_path):
    # GIVEN two jobs of a user, one of whom has iterations, and a guard that took 0.3 s of a processor
    serving = Serving(program, tmp_path / "jobs.sock", "jobs")

    def metrics():
        lines = control.ask(serving.path, "metrics").decode().splitlines()
        return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))

    assert waiting.until(lambda: float(metrics()["rankwise_tune_cpu_seconds_total"]) > 0.3)
    found = metrics()
    # THEN no job's name makes a series, and rates of one kind are summed
    user = '{user="1000"}'
    assert not [name for name in found if "mpiexec" in name or "cgroup" in name]
    for name, value in (
        ("groups", 2),
        ("ranks", 2),
        ("iterations_per_second", 12.5),
        ("mpi_calls_per_second", 12.5),
    ):
        assert float(found[f"rankwise_tune_{name}{user}"]) == value
    assert 'rankwise_tune_mpi_calls_per_second{user="unknown"}' not in found
    # AND what was moved is counted, and when
    moved = [found[f"rankwise_tune_moved_{what}_total"] for what in ("ranks", "interrupts", "pages")]
    assert moved == ["2", "2", "1"]
    assert 0 <= float(found["rankwise_tune_since_change_seconds"]) < 120
    serving.stop()


def test_prometheus_may_ask_by_http(serving):
    # WHEN it is asked as a web server is
    answer = serving.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n")
    # THEN the answer is one
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    assert b"rankwise_tune_ranks" in body
    # AND so it is with a query, or for the head alone
    assert serving.send(b"GET /metrics?collect[]=all HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 200 OK\r\n")
    alone = serving.send(b"HEAD /metrics HTTP/1.1\r\n\r\n")
    assert alone.startswith(b"HTTP/1.1 200 OK\r\n")
    assert alone.endswith(b"\r\n\r\n")
    assert serving.send(b"HEAD /metricsx HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 404 ")
    assert serving.send(b"GET /etc/passwd HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 404 ")
    assert serving.send(b"POST /metrics HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 405 ")


def test_a_second_one_refuses_and_the_first_goes_on(serving, program):
    # WHEN a second one starts at the same path
    done = subprocess.run([program, serving.path], capture_output=True, text=True)
    # THEN it says why not
    assert done.returncode == 1
    assert "another tuner answers" in done.stderr
    assert control.status_of(serving.path).ranks == 3


def test_a_socket_that_was_left_behind_is_replaced(program, tmp_path):
    # GIVEN one that was killed
    first = Serving(program, tmp_path / "tune.sock")
    first.kill()
    assert first.path.exists()
    with pytest.raises(RankwiseError, match="no tuner answers"):
        control.status_of(first.path)
    # WHEN another one starts
    second = Serving(program, first.path)
    # THEN it answers
    assert control.status_of(second.path).ranks == 3
    second.stop()


def test_what_is_no_socket_is_left_alone(program, tmp_path):
    path = tmp_path / "notes"
    path.write_text("mine")
    done = subprocess.run([program, path], capture_output=True, text=True)
    assert "is no socket" in done.stderr
    assert path.read_text() == "mine"


def test_clients_that_say_nothing_are_left_after_a_while(serving):
    # GIVEN as many silent clients as there may be
    silent = []
    for _ in range(16):
        silent.append(socket.socket(socket.AF_UNIX))
        silent[-1].connect(str(serving.path))
    time.sleep(0.2)
    # THEN one more is not heard
    assert serving.send(b"status\n") == b""
    # WHEN they say nothing for a while
    time.sleep(3.5)
    # THEN others are
    assert control.status_of(serving.path).ranks == 3
    for each in silent:
        assert each.recv(1) == b""
        each.close()


def test_a_client_that_reads_nothing_holds_nobody_up(serving):
    # GIVEN clients whose answers do not fit into their sockets, as they ask and never read
    slow = []
    for _ in range(8):
        one = socket.socket(socket.AF_UNIX)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        one.connect(str(serving.path))
        one.sendall(b"status\n")
        slow.append(one)
    # THEN others get theirs
    began = time.monotonic()
    assert control.status_of(serving.path).ranks == 3
    assert time.monotonic() - began < 2
    for one in slow:
        one.close()


def hostile_inputs():
    dice = random.Random(23)
    words = [
        b"status",
        b"metrics",
        b"stop ",
        b"GET /metrics HTTP/1.1",
        b"GET ",
        b"\r\n",
        b"\n\n",
        b"\0",
        b" ",
        b"%n%s",
        b"\xff\xfe",
    ]
    yield from (b"", b"\n", b"\0\n", b"status", b"x" * 255 + b"\n", b"x" * 257 + b"\n", b"y" * 1_000_000)
    yield b"GET /metrics HTTP/1.1\r\n" + b"a: b\r\n" * 100_000
    yield b"status\nstatus\nstatus\n" * 1000
    for _ in range(400):
        yield b"".join(
            dice.choice([*words, dice.randbytes(dice.randint(0, 40))]) for _ in range(dice.randint(1, 9))
        )


def test_no_input_harms_it(serving):
    # WHEN it gets all kinds of bytes, in whole and with the end of the connection behind them
    for data in hostile_inputs():
        if data.split(b"\n")[0].rstrip(b"\r") == b"stop":
            continue
        answer = serving.send(data, half_close=True)
        assert answer == b"" or answer[:1] in b"{#H"
    # THEN it is well, and was never busy for long
    assert control.status_of(serving.path).ranks == 3
    assert serving.stop() < 0.25
