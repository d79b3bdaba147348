# SPDX-License-Identifier: BSD-3-Clause
"""The daemon: its file, key by key, and its start and end."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from rankwise.errors import RankwiseError
from rankwise.tune import control
from rankwise.tune.daemon import Config, loads
from rankwise.tune.policy import Policy

RANKWISE = Path(sys.executable).parent / "rankwise"
TOP = Path(__file__).resolve().parents[2]


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


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("act = 1", "line 1 key `act`"),
        ("\nirq = 'no'", "line 2 key `irq`"),
        ("users = 'a'", "line 1 key `users`"),
        ("users = ['']", "line 1 key `users"),
        ("machine = 'relative.toml'", "line 1 key `machine`"),
        ("pages = 3", "line 1 key `pages`"),
        ("state = 'run'", "line 1 key `state`"),
        ("socket = ''", "line 1 key `socket`"),
        ("events = 'x'", "line 1 key `events`"),
        ("policy = 1", "line 1 key `policy`"),
        ("[policy]\nbegin_above = 2", "line 2 key `policy.begin_above`"),
        ("[policy]\nend_below = -1", "line 2 key `policy.end_below`"),
        ("[policy]\nsettle_s = 0", "line 2 key `policy.settle_s`"),
        ("[policy]\nwindow_s = 'x'", "line 2 key `policy.window_s`"),
        ("[policy]\nwindows = 2", "line 2 key `policy.windows`"),
        ("[policy]\nmoves_per_s = -1", "line 2 key `policy.moves_per_s`"),
        ("[policy]\nmost_moves = 0", "line 2 key `policy.most_moves`"),
        ("[policy]\nfirst_pause_s = 1e9", "line 2 key `policy.first_pause_s`"),
        ("[policy]\nlongest_pause_s = 0", "line 2 key `policy.longest_pause_s`"),
        ("[policy]\nperiod_s = nan", "line 2 key `policy.period_s`"),
        ("[policy]\nbegin_above = 0.01\nend_below = 0.5", "`end_below` is above `begin_above`"),
        ("[policy]\nwindow = 1", "there is no key `window`"),
        ("actt = true", "line 1 key `actt`: there is no key `actt`"),
        ("act = ", "is no TOML"),
        ("[" * 5000, "is no TOML"),
    ],
)
def test_a_wrong_key_is_named_with_its_line(text, says):
    with pytest.raises(RankwiseError) as caught:
        loads(text)
    assert says in caught.value.message


def test_what_was_nearly_typed_is_offered():
    with pytest.raises(RankwiseError) as caught:
        loads("actt = true")
    assert caught.value.hint == "did you mean `act`?"


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "tune.toml"
    places = {name: tmp_path / name for name in ("pages", "state")}
    file.write_text(
        "".join(f"{name} = '{path}'\n" for name, path in places.items()) + f"socket = '{tmp_path}/sock'\n"
    )
    return file


def started(config):
    process = subprocess.Popen(
        [RANKWISE, "tune", "--daemon", "--config", config], stderr=subprocess.PIPE, text=True
    )
    until = time.monotonic() + 20
    while not (config.parent / "sock").exists() and process.poll() is None and time.monotonic() < until:
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
        assert second.returncode == 1
        assert f"process `{daemon.pid}` tunes on this node already" in second.stderr
        assert control.status_of(config.parent / "sock").pid == daemon.pid
    finally:
        daemon.send_signal(signal.SIGTERM)
        _, log = daemon.communicate(timeout=20)
    # THEN it ends, and its log has lines with priorities as systemd takes them
    assert daemon.returncode == 0
    assert not (config.parent / "sock").exists()
    assert log.splitlines()[0].startswith("<6>started")


def test_the_daemon_can_be_stopped_by_its_socket(config):
    daemon = started(config)
    done = subprocess.run([RANKWISE, "tune", "stop", "--socket", config.parent / "sock"], capture_output=True)
    assert done.returncode == 0
    daemon.communicate(timeout=20)
    assert daemon.returncode == 0


def test_a_user_that_is_none_is_named(config):
    config.write_text(config.read_text() + "users = ['no-such-user']\n")
    done = subprocess.run(
        [RANKWISE, "tune", "--daemon", "--config", config], capture_output=True, text=True, timeout=20
    )
    assert done.returncode == 1
    assert "there is no user `no-such-user`" in done.stderr


def test_the_unit_is_one(tmp_path):
    unit = TOP / "packaging" / "systemd" / "rankwise-tune.service"
    text = unit.read_text()
    for hardened in ("ProtectSystem=strict", "NoNewPrivileges=yes", "CapabilityBoundingSet=CAP_SYS_NICE"):
        assert hardened in text
    if not Path("/usr/bin/systemd-analyze").exists():
        pytest.skip("no systemd-analyze")
    # GIVEN the unit with a program that is here
    copy = tmp_path / unit.name
    copy.write_text(text.replace("/usr/bin/rankwise", str(RANKWISE)))
    # THEN systemd finds nothing wrong with it
    done = subprocess.run(["/usr/bin/systemd-analyze", "verify", copy], capture_output=True, text=True)
    said = [line for line in done.stderr.splitlines() if unit.name in line]
    assert said == []
