# SPDX-License-Identifier: BSD-3-Clause
"""Who tunes whom on this node: the daemon another user's ranks with what its unit leaves it, a user his own."""

import configparser
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import misplaced
import mpis
import pytest
from waiting import until

from rankwise.tune import control
from rankwise.tune.preload import tune_environment

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.usefixtures("two_pus"),
    mpis.only(mpis.has_its_own_launcher, quick=("mpich-5.0.2",)),
]
RANKWISE = Path(sys.executable).parent / "rankwise"
UNIT = mpis.TOP / "packaging/systemd/rankwise-tune.service"
NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all")


def within_the_unit() -> list[str]:
    """Words before a command that root runs with the capabilities that the unit leaves it."""
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.read(UNIT)
    kept = unit["Service"]["CapabilityBoundingSet"].lower().replace("cap_", "").split()
    return ["setpriv", f"--bounding-set=-all,{','.join(f'+{each}' for each in kept)}", "--no-new-privs"]


def events_of(file: Path) -> list[dict]:
    lines = file.read_text().split("\n")[:-1] if file.exists() else []
    return [json.loads(line) for line in lines]


def whats(file: Path) -> list[str]:
    return [event["what"] for event in events_of(file)]


@pytest.fixture
def place():
    """A directory that every user can look into, with one of nobody's in it."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    place = Path(tempfile.mkdtemp(prefix="rankwise-test-", dir="/dev/shm"))
    place.chmod(0o755)
    for name in ("pages", "pages/nobody", "own"):
        (place / name).mkdir()
    (place / "pages").chmod(0o1777)
    for name in ("pages/nobody", "own"):
        (place / name).chmod(0o700)
        os.chown(place / name, NOBODY, NOBODY)
    yield place
    shutil.rmtree(place)


@pytest.fixture
def nobodys(mpi, compiled, place):
    """A job of another user, whose busy rank has a fifth of core 0 and whose other one waits on core 1."""
    program = shutil.copy(compiled(mpi, misplaced.PROGRAM), place / "program")
    pages = place / "pages/nobody"
    variables = tune_environment(pages, None)
    for needed in (program, *filter(None, variables.get("LD_PRELOAD", "").split(":"))):
        if subprocess.run([*AS_NOBODY, "test", "-r", needed]).returncode:
            pytest.skip("other users cannot read this checkout")
    # Open MPI keeps files of a job there, and /tmp is not everywhere for all users.
    under = (*AS_NOBODY, "env", f"TMPDIR={place}/own")
    job = misplaced.Misplaced(mpi, Path(program), place, pages, variables, under)
    job.share_core()
    yield job
    job.end()


CHANGED = [{frozenset({1})}, {frozenset({0})}]


def test_an_acting_daemon_moves_another_users_ranks_with_the_capabilities_of_its_unit(
    nobodys, place, tmp_path
):
    # GIVEN a daemon that acts, with the capabilities that its unit leaves it
    config, events, socket = (tmp_path / name for name in ("tune.toml", "events.jsonl", "sock"))
    config.write_text(
        f"act = true\npages = '{place}/pages'\nstate = '{tmp_path}/state'\nsocket = '{socket}'\n"
        f"events = '{events}'\n"
    )
    line = [*misplaced.FIRST, *within_the_unit(), RANKWISE, "tune", "--daemon", "--config", config]
    with (tmp_path / "log").open("w+") as log:
        daemon = subprocess.Popen(line, stderr=log)
        try:
            # THEN it finds the ranks, measures their exchange, and keeps it
            assert until(lambda: "kept" in whats(events)), log.name
            assert nobodys.masks() == CHANGED
            assert nobodys.goes_on()
            status = control.status_of(socket)
            assert (status.daemon, status.act, status.pid) == (True, True, daemon.pid)
            (kept,) = (event for event in events_of(events) if event["what"] == "kept")
            assert kept["gain_low"] > 0
            assert {move["pid"] for move in kept["change"]["moves"]} == set(nobodys.ranks)
        finally:
            # WHEN it is to end
            daemon.send_signal(signal.SIGTERM)
            daemon.wait(20)
        # THEN they have what they had, which is said in its log
        assert (daemon.returncode, nobodys.is_as_before()) == (0, True)
        log.seek(0)
        assert [said for said in log if said.startswith("<6>") and "given back: " in said]
    assert nobodys.goes_on()


def test_a_user_without_root_tunes_his_own_ranks(nobodys, place):
    # GIVEN a tuner of the ranks' user
    own = place / "own"
    environment = os.environ | {"XDG_RUNTIME_DIR": str(own), "HOME": str(own)}
    line = [
        *misplaced.FIRST,
        *AS_NOBODY,
        RANKWISE,
        "tune",
        "-o",
        own / "a.tune",
        "--pid",
        *map(str, nobodys.ranks),
    ]
    tuner = subprocess.Popen(line, env=environment, cwd=own, stderr=subprocess.PIPE, text=True)
    try:
        # THEN they change places
        assert until(lambda: "kept" in whats(own / "a.tune/events.jsonl"))
        assert nobodys.masks() == CHANGED
        # AND when it is stopped by its user, they have what they had
        stop = [*AS_NOBODY, RANKWISE, "tune", "stop"]
        stopped = subprocess.run(stop, env=environment, cwd=own, capture_output=True, text=True)
        assert stopped.returncode == 0, stopped.stderr
        assert nobodys.is_as_before()
        _, err = tuner.communicate(timeout=30)
        assert tuner.returncode == 0, err
    finally:
        tuner.kill()
        tuner.communicate()
    assert nobodys.goes_on()
