# SPDX-License-Identifier: BSD-3-Clause
"""The daemon: its file, key by key, and its start and end."""

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
import waiting

from rankwise.errors import RankwiseError
from rankwise.tune import control
from rankwise.tune.daemon import REFUSED_STATUS, Config, loads, read
from rankwise.tune.policy import Policy

RANKWISE = Path(sys.executable).parent / "rankwise"
TOP = Path(__file__).resolve().parents[3]


def test_the_example_has_every_key_and_says_the_defaults():
    # GIVEN the example, all of whose keys are commented out or defaults
    text = (TOP / "packaging" / "tune.toml").read_text()
    assert loads(text) == Config()
    # WHEN every key is uncommented
    lines = [line.removeprefix("# ") if " = " in line else line for line in text.splitlines()]
    config = msgspec.to_builtins(loads("\n".join(lines)))
    # THEN none is missing
    assert set(config) == {field.name for field in msgspec.structs.fields(Config)}
    assert None not in config["policy"].values()
    assert set(config["policy"]) == {field.name for field in msgspec.structs.fields(Policy)}


def test_defaults_of_the_example_are_those_of_the_tuner():
    # GIVEN what the example says the defaults are
    text = (TOP / "packaging" / "tune.toml").read_text()
    lines = [line.removeprefix("# ") if " = " in line else line for line in text.splitlines()]
    policy = loads("\n".join(lines)).policy.fields()
    # THEN each is that of the tuner's own Policy
    header = (TOP / "tune" / "tuner.hpp").read_text()
    for name, value in policy.items():
        declared = header.split(f" {name} =", 1)[1].split(";", 1)[0]
        assert float(declared) == value, name
    assert policy == Policy().fields()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("act = 1", "line 1 key `act`: expected `true` or `false`, got `1`"),
        ("\nirq = 'no'", 'line 2 key `irq`: expected `true` or `false`, got `"no"`'),
        ("users = 'a'", 'line 1 key `users`: expected a list, got `"a"`'),
        ("users = ['']", "line 1 key `users[0]`: expected a user's name or number, got "),
        ("machine = 'relative.toml'", 'key `machine`: expected an absolute path, got `"relative.toml"`'),
        ("pages = 'shm'", 'line 1 key `pages`: expected an absolute path, got `"shm"`'),
        ("pages = 3", "line 1 key `pages`: expected an absolute path, got `3`"),
        ("state = 'run'", 'line 1 key `state`: expected an absolute path, got `"run"`'),
        ("socket = ''", 'line 1 key `socket`: expected an absolute path, got `""`'),
        ("events = 'x'", 'line 1 key `events`: expected an absolute path, got `"x"`'),
        ("policy = 1", "line 1 key `policy`: expected a table, got `1`"),
        (
            "[policy]\nbegin_above = 2",
            "line 2 key `policy.begin_above`: expected a number from 0 to 1, got `2`",
        ),
        ("[policy]\nend_below = -1", "key `policy.end_below`: expected a number from 0 to 1, got `-1`"),
        ("[policy]\nsettle_s = 0", "expected a number of seconds above 0, at most 86400, got `0`"),
        ("[policy]\nwindow_s = 'x'", "line 2 key `policy.window_s`: expected a number of seconds above 0"),
        ("[policy]\nwindows = 2", "key `policy.windows`: expected a whole number from 3 to 1000, got `2`"),
        (
            "[policy]\nwindows = 4.5",
            "key `policy.windows`: expected a whole number from 3 to 1000, got `4.5`",
        ),
        ("[policy]\nmoves_per_s = -1", "key `policy.moves_per_s`: expected a number from 0 to 1000"),
        ("[policy]\nmost_moves = 0", "line 2 key `policy.most_moves`: expected a number from 1 to 1000"),
        ("[policy]\nfirst_pause_s = 1e9", "line 2 key `policy.first_pause_s`: expected a number of seconds"),
        (
            "[policy]\nlongest_pause_s = 0",
            "line 2 key `policy.longest_pause_s`: expected a number of seconds",
        ),
        ("[policy]\nperiod_s = nan", "line 2 key `policy.period_s`: expected a number of seconds"),
        (
            "[policy]\nbegin_above = 0.01\nend_below = 0.5",
            "line 3 key `policy`: `policy.end_below` is 0.5, above `begin_above`, which is 0.01",
        ),
        # One of two, beside the default of the other.
        ("[policy]\nend_below = 0.05", "`policy.end_below` is 0.05, above `begin_above`, which is 0.03"),
        ("[policy]\nbegin_above = 0.005", "`policy.end_below` is 0.01, above `begin_above`, which is 0.005"),
        ("[policy]\nfirst_pause_s = 900", "`policy.first_pause_s` is 900, above `longest_pause_s`"),
        ("[policy]\nwindow = 1", "line 2 key `policy.window`: there is no key `window`"),
        ("actt = true", "line 1 key `actt`: there is no key `actt`"),
        ("act = \nirq = true", "line 1: is not TOML: the line ends too early"),
        ("act = true\nIRQ yes", "line 2: is not TOML: expected something else than `yes`"),
        ("act = true\nact = false", "line 2 key `act`: is given twice"),
        ("users = ['a',", "line 1: is not TOML: it ends in the middle of a value"),
        ("users = " + "[" * 5000, "`tune.toml` is nested too deeply"),
        ("a." * 200 + "b = 1", "line 1: a key has more than 100 parts"),
        ("act = " + "9" * 5000, "has a number of too many digits"),
        ('schema = "rankwise.machine/1"', "`tune.toml` is a machine file, not the daemon's"),
    ],
)
def test_a_wrong_key_is_named_with_its_line_and_what_was_expected(text, says):
    with pytest.raises(RankwiseError) as caught:
        loads(text)
    assert f"{says}" in caught.value.message
    assert caught.value.hint
    # AND none of it is in the words of a library
    for word in (
        "`str`",
        "`int`",
        "`bool`",
        "`float`",
        "`object`",
        "`array`",
        "regex",
        "recursion",
        "statement",
    ):
        assert word not in caught.value.message


def test_bytes_that_are_no_text_are_named_by_line(tmp_path):
    (tmp_path / "tune.toml").write_bytes(b"act = true\n# \xe9\n")
    with pytest.raises(RankwiseError, match="line 2: byte 0xe9 is not UTF-8"):
        read(str(tmp_path / "tune.toml"))


def test_a_file_that_is_not_there_is_the_defaults_unless_it_was_named(tmp_path, monkeypatch):
    monkeypatch.setattr("rankwise.tune.daemon.CONFIG", tmp_path / "absent.toml")
    assert read(None) == Config()
    with pytest.raises(RankwiseError, match="cannot be read: no such file"):
        read(str(tmp_path / "absent.toml"))


def test_a_file_that_may_not_be_read_is_not_taken_for_none(tmp_path, monkeypatch):
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    # GIVEN the file of /etc in a directory of root's
    monkeypatch.setattr("rankwise.tune.daemon.CONFIG", tmp_path / "tune.toml")
    tmp_path.chmod(0o700)
    os.seteuid(65534)
    try:
        with pytest.raises(RankwiseError, match="cannot be read: permission denied"):
            read(None)
    finally:
        os.seteuid(0)


def test_what_was_nearly_typed_is_offered():
    with pytest.raises(RankwiseError) as caught:
        loads("actt = true")
    assert caught.value.hint.startswith("did you mean `act`?")


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "tune.toml"
    places = {name: tmp_path / name for name in ("pages", "state")}
    file.write_text(
        "".join(f"{name} = '{path}'\n" for name, path in places.items()) + f"socket = '{tmp_path}/sock'\n"
    )
    return file


def started(config, at="sock", **variables):
    process = subprocess.Popen(
        [RANKWISE, "tune", "--daemon", "--config", config],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | variables,
    )
    until = time.monotonic() + 20
    while not (config.parent / at).exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    return process


def test_the_daemon_serves_refuses_a_second_one_and_ends(config):
    # WHEN it is started with a file that does not say that it acts
    daemon = started(config)
    try:
        status = control.status_of(config.parent / "sock")
        # THEN it does not, and nothing of Python is left
        assert (status.daemon, status.act, status.pid) == (True, False, daemon.pid)
        assert "rankwise-tuned" in os.readlink(f"/proc/{daemon.pid}/exe")
        assert status.rss_bytes < 30e6
        # AND ranks of every user may say how they get on
        assert stat.S_IMODE((config.parent / "pages").stat().st_mode) == 0o1777
        assert stat.S_IMODE((config.parent / "state").stat().st_mode) == 0o700
        # AND a second one refuses
        second = subprocess.run(
            [RANKWISE, "tune", "--daemon", "--config", config], capture_output=True, text=True, timeout=20
        )
        assert second.returncode == REFUSED_STATUS
        assert f"process `{daemon.pid}` tunes on this node already" in second.stderr
        assert control.status_of(config.parent / "sock").pid == daemon.pid
    finally:
        daemon.send_signal(signal.SIGTERM)
        _, log = daemon.communicate(timeout=20)
    # THEN it ends, and its log has lines with priorities as systemd takes them
    assert daemon.returncode == 0
    assert not (config.parent / "sock").exists()
    assert log.splitlines()[0].startswith("<6>started")


def test_the_daemon_opens_its_file_of_events_again(config):
    # GIVEN a daemon whose file has been renamed
    events, old = config.parent / "events.jsonl", config.parent / "events.jsonl.1"
    config.write_text(config.read_text() + f"events = '{events}'\n")
    daemon = started(config)
    assert waiting.until(lambda: events.exists() and "started" in events.read_text())
    events.rename(old)
    # WHEN whoever did that says so
    daemon.send_signal(signal.SIGHUP)
    # THEN it writes a new one
    assert waiting.until(events.exists)
    before = old.read_text()
    daemon.send_signal(signal.SIGTERM)
    daemon.communicate(timeout=20)
    assert daemon.returncode == 0
    assert '"stopped"' in events.read_text()
    assert old.read_text() == before


def test_the_daemon_can_be_stopped_by_its_socket(config):
    daemon = started(config)
    # WHEN whoever rotates logs has sent SIGHUP, THEN it is there still
    daemon.send_signal(signal.SIGHUP)
    time.sleep(0.2)
    assert control.status_of(config.parent / "sock").pid == daemon.pid
    # WHEN it is asked to end, THEN it does
    done = subprocess.run([RANKWISE, "tune", "stop", "--socket", config.parent / "sock"], capture_output=True)
    assert done.returncode == 0, done.stderr
    daemon.communicate(timeout=20)
    assert daemon.returncode == 0


def is_answered(path) -> bool:
    """Whether a tuner answers there; a socket is at its path before somebody listens to it."""
    try:
        return bool(control.status_of(path))
    except RankwiseError:
        return False


def test_a_tuner_can_be_asked_again_after_its_directory_was_removed(config):
    # GIVEN a tuner that has moved nothing, and whose socket is in the directory of its journal
    path = config.parent / "state" / "sock"
    config.write_text(config.read_text().replace(f"{config.parent}/sock", str(path)))
    daemon = started(config, "state/sock")
    assert control.status_of(path).pid == daemon.pid
    # WHEN somebody removes it all THEN it can be asked there again, at its next look and a second
    shutil.rmtree(path.parent)
    assert waiting.until(lambda: is_answered(path))
    assert control.status_of(path).pid == daemon.pid
    assert control.stop(path).left == 0
    daemon.communicate(timeout=20)
    assert daemon.returncode == 0
    assert not path.exists()


def test_the_daemon_is_found_by_its_file(config):
    # GIVEN a daemon whose socket is where its file says
    daemon = started(config)
    asked = [RANKWISE, "tune", "status", "--config", config, "--json"]
    done = subprocess.run(asked, capture_output=True, check=True)
    assert json.loads(done.stdout)["tuners"][0]["status"]["pid"] == daemon.pid
    done = subprocess.run([RANKWISE, "tune", "stop", "--config", config], capture_output=True)
    assert done.returncode == 0, done.stderr
    daemon.communicate(timeout=20)


def test_the_daemon_tells_systemd_that_it_comes_round(config):
    # GIVEN a service manager that ends it unless it says so each 2 seconds
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(config.parent / "notify"))
        manager.settimeout(20)
        daemon = started(config, NOTIFY_SOCKET=str(config.parent / "notify"), WATCHDOG_USEC="2000000")
        # THEN it does, again and again
        assert [manager.recv(100) for _ in range(3)] == [b"WATCHDOG=1"] * 3
    # AND ends well without the manager
    control.ask(config.parent / "sock", "stop")
    daemon.communicate(timeout=20)
    assert daemon.returncode == 0


def test_a_user_that_is_none_yet_is_named_and_may_be_one_the_next_time(config):
    config.write_text(config.read_text() + "users = ['no-such-user']\n")
    done = subprocess.run(
        [RANKWISE, "tune", "--daemon", "--config", config], capture_output=True, text=True, timeout=20
    )
    assert done.returncode == 1
    assert "there is no user `no-such-user`" in done.stderr


def test_the_directory_of_pages_is_made_when_the_node_starts():
    lines = (TOP / "packaging/tmpfiles.d/rankwise-tune.conf").read_text().splitlines()
    assert [line.split() for line in lines if line[:1] not in ("", "#")] == [
        ["d", str(Config().pages), "1777", "root", "root"]
    ]


def test_the_unit_is_one(tmp_path):
    unit = TOP / "packaging" / "systemd" / "rankwise-tune.service"
    text = unit.read_text()
    for hardened in ("ProtectSystem=strict", "NoNewPrivileges=yes", "CapabilityBoundingSet=CAP_SYS_NICE"):
        assert hardened in text
    # AND nothing keeps its guard from being real-time, or starts a daemon again and again whose file is wrong
    assert "RestrictRealtime=yes" not in text
    assert f"RestartPreventExitStatus=2 3 {REFUSED_STATUS}\n" in text
    # AND nothing forbids what older libraries of Python do: writable memory that is executed
    assert "MemoryDenyWriteExecute" not in text
    if not Path("/usr/bin/systemd-analyze").exists():
        pytest.skip("no systemd-analyze")
    # GIVEN the unit with a program that is here
    copy = tmp_path / unit.name
    copy.write_text(text.replace("/usr/bin/rankwise", str(RANKWISE)))
    # THEN systemd finds nothing wrong with it, its manual page included, which is beside this Python
    done = subprocess.run(
        ["/usr/bin/systemd-analyze", "verify", copy],
        env=os.environ | {"MANPATH": str(Path(sys.prefix) / "share/man")},
        capture_output=True,
        text=True,
    )
    said = [line for line in done.stderr.splitlines() if unit.name in line]
    assert said == []
