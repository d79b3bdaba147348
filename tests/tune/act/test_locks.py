# SPDX-License-Identifier: BSD-3-Clause
"""Two tuners on one node: each process is changed by one of them at most, whatever state and user they have."""

import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tune_driver import only
from waiting import until

pytestmark = pytest.mark.usefixtures("two_pus")


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's processes may not come before ranks")
def test_a_tuner_and_its_guard_come_before_ranks_that_compute(start, driving):
    # GIVEN a tuner that has changed nothing yet
    a, b = start(0, pus={0}), start(0, pus={1})
    driver = driving(a, b)
    assert os.sched_getscheduler(driver.process.pid) == os.SCHED_OTHER
    # WHEN it changes something
    assert driver.move((a.pid, "0", "1"), (b.pid, "1", "0")) == ""
    # THEN it and its guard have a real-time policy
    assert os.sched_getscheduler(driver.guard) == os.SCHED_RR
    assert os.sched_getscheduler(driver.process.pid) == os.SCHED_RR
    # WHEN the tuner computes for long without a pause, which the kernel tells it
    os.kill(driver.process.pid, signal.SIGXCPU)
    # THEN it lets ranks compute, too
    assert until(lambda: os.sched_getscheduler(driver.process.pid) == os.SCHED_OTHER)
    # AND comes before them again when it has work
    assert driver.ask("guard") == "1"
    assert os.sched_getscheduler(driver.process.pid) == os.SCHED_RR


@pytest.fixture
def two_tuners(start, driving):
    """Two ranks, the tuner that has moved them, and another that was given them as well."""
    a, b = start(2, pus={0}), start(2, pus={1})
    first, second = driving(a, b), driving(a, b)
    assert first.move((a.pid, "0", "1"), (b.pid, "1", "0")) == ""
    second.sample()
    return a, b, first, second


def test_what_one_tuner_moves_another_does_not(two_tuners):
    # GIVEN two tuners with states of their own, of which one has moved the ranks
    a, b, first, second = two_tuners
    # WHEN the other wants to
    why = second.move((a.pid, "1", "0"), (b.pid, "0", "1"))
    # THEN it refuses, and names the first
    assert why == f"process {a.pid} is tuned by process `{first.process.pid}` already"
    assert only({1}, a)
    assert only({0}, b)
    # AND may once the first has put back what it changed
    first.end()
    second.sample()
    assert second.move((a.pid, "0", "1"), (b.pid, "1", "0")) == ""
    second.end()
    assert only({0}, a)
    assert only({1}, b)


def test_what_a_killed_tuner_moved_is_its_guards_until_it_is_back(two_tuners):
    # GIVEN a tuner that is killed, and a guard that has not come to restore yet
    a, b, first, second = two_tuners
    guard = first.guard
    os.kill(guard, signal.SIGSTOP)
    first.kill()
    # WHEN another tuner wants to move the ranks
    why = second.move((a.pid, "1", "0"), (b.pid, "0", "1"))
    # THEN it refuses
    assert "already" in why
    # AND may after the guard has restored them
    os.kill(guard, signal.SIGCONT)
    assert until(lambda: only({0}, a) and only({1}, b))
    second.sample()
    assert until(lambda: second.move((a.pid, "0", "1"), (b.pid, "1", "0")) == "")


def test_the_successor_of_a_guard_has_its_claims(two_tuners):
    # GIVEN a guard that was killed, and its successor
    a, b, first, second = two_tuners
    dead = first.guard
    os.kill(dead, signal.SIGKILL)
    assert until(lambda: first.ask("guard") == "1" and first.guard != dead)
    # WHEN the tuner is killed while the new guard cannot come
    os.kill(first.guard, signal.SIGSTOP)
    guard = first.guard
    first.kill()
    # THEN the ranks are still nobody else's
    assert "already" in second.move((a.pid, "1", "0"), (b.pid, "0", "1"))
    os.kill(guard, signal.SIGCONT)
    assert until(lambda: only({0}, a) and only({1}, b))


def test_a_tuner_of_named_processes_does_not_start_beside_another(two_tuners, driving):
    a, _, first, _ = two_tuners
    third = driving(a, lines=["act 1"])
    assert third.first == f"error: process `{a.pid}` is tuned by process `{first.process.pid}` already"


def test_claims_of_ranks_that_ended_are_given_back(two_tuners):
    # GIVEN a tuner and a guard that hold two claims
    a, b, first, _ = two_tuners
    places = [f"/proc/{pid}/fd" for pid in (first.process.pid, first.guard)]

    def held() -> int:
        links = [os.readlink(f"{place}/{name}") for place in places for name in os.listdir(place)]
        return sum(link in (f"/proc/{a.pid}", f"/proc/{b.pid}") for link in links)

    assert until(lambda: held() == 4)
    # WHEN a rank ends
    a.kill()
    a.wait()
    first.sample()
    # THEN its claim is held by neither
    assert until(lambda: held() == 2)


def test_a_tuner_that_waited_for_a_lock_has_one_that_is_there(driving, tmp_path):
    # GIVEN a lock whose holder was killed, and is held by one that it forked
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    lock = os.open(state / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    subprocess.run(["flock", "-x", str(lock)], pass_fds=[lock], check=True)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(driving, state=state)
        time.sleep(0.1)
        # WHEN it removes the directory while a tuner waits
        (state / "lock").unlink()
        state.rmdir()
        os.close(lock)
        # THEN the tuner makes another
        assert waiting.result().first == "ready"
    assert (state / "journal").exists()
    assert "error" in driving(state=state).first
