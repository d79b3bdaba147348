# SPDX-License-Identifier: BSD-3-Clause
"""Threads that are born while their rank is somewhere else get back what those had that began them."""

import os
import shutil
from pathlib import Path

import pytest
from tune_driver import begun_by, execute, masks
from waiting import until

pytestmark = pytest.mark.usefixtures("two_pus")


@pytest.mark.parametrize("afterwards", ["left", "undone"])
def test_a_threads_child_does_not_get_what_somebody_gave_the_main_thread(start, driving, afterwards):
    # GIVEN a rank that was moved, whose main thread alone was given another mask from outside, which was seen
    a, b = start(1, pus={0}), start(1, pus={1})
    worker = max(masks(a.pid))
    driver = driving(a, b)
    assert driver.move((a.pid, "0", "1"), (b.pid, "1", "0")) == ""
    os.sched_setaffinity(a.pid, {0, 1})
    driver.sample()
    if afterwards == "undone":
        driver.ask("undo")
    # WHEN its other thread begins one, and the tuner ends, or is killed
    born = begun_by(a.pid, worker)
    if afterwards == "undone":
        driver.end()
    else:
        driver.kill()
    assert until(lambda: not (driver.state / "journal").exists())
    # THEN the new one has what its parent had
    assert masks(a.pid) == {a.pid: {0, 1}, worker: {0}, born: {0}}


def test_what_the_main_thread_began_before_somebody_changed_it_goes_back(start, driving):
    # GIVEN a rank whose main thread began one where the tuner had moved it
    a, b = start(pus={0}), start(pus={1})
    driver = driving(a, b)
    assert driver.move((a.pid, "0", "1"), (b.pid, "1", "0")) == ""
    born = begun_by(a.pid, a.pid)
    # WHEN somebody else gives the main thread alone another mask, which is seen, and the tuner is killed
    os.sched_setaffinity(a.pid, {0, 1})
    driver.sample()
    driver.kill()
    assert until(lambda: not (driver.state / "journal").exists())
    # THEN the thread is back where the main thread was, and that where it was put
    assert masks(a.pid) == {a.pid: {0, 1}, born: {0}}


@pytest.mark.parametrize("parent", ["main", "worker"])
@pytest.mark.parametrize("undone", [False, True], ids=["left", "undone"])
@pytest.mark.parametrize("ends", ["well", "killed"])
def test_a_thread_gets_what_its_parent_had_and_not_who_had_its_mask_before(
    start, driving, parent, undone, ends
):
    # GIVEN a rank whose threads, bound to a unit each, were exchanged with one another, and maybe again
    a = start(1, pus={0})
    worker = max(masks(a.pid))
    os.sched_setaffinity(worker, {1})
    driver = driving(a)
    assert driver.move((a.pid, "0", "1")) == ""
    assert masks(a.pid) == {a.pid: {1}, worker: {0}}
    if undone:
        assert driver.ask("undo") == ""
    # WHEN one of them begins another thread, and the tuner ends, or is killed
    born = begun_by(a.pid, worker if parent == "worker" else a.pid)
    if ends == "well":
        driver.end()
    else:
        driver.kill()
    assert until(lambda: not (driver.state / "journal").exists())
    # THEN that has what its parent had
    assert masks(a.pid) == {a.pid: {0}, worker: {1}, born: {1} if parent == "worker" else {0}}


def test_a_child_of_the_main_thread_is_not_taken_for_another_ones_with_its_mask(start, driving):
    # GIVEN a rank that was not bound, with a thread that was, which have one mask since the rank was moved
    a = start(1, pus={0, 1})
    worker = max(masks(a.pid))
    os.sched_setaffinity(worker, {1})
    driver = driving(a)
    assert driver.move((a.pid, "0-1", "1")) == ""
    born = begun_by(a.pid, a.pid)
    # WHEN somebody gives that thread another mask, which is seen, and the tuner is killed
    os.sched_setaffinity(worker, {0})
    driver.sample()
    driver.kill()
    assert until(lambda: not (driver.state / "journal").exists())
    # THEN what the main thread has begun has what that had
    assert masks(a.pid) == {a.pid: {0, 1}, worker: {0}, born: {0, 1}}


def test_what_is_begun_while_its_parent_is_moved_is_not_taken_for_another_ones_that_was(
    start, driving, slow_disk
):
    # GIVEN a rank whose threads are bound to a unit each
    a = start(1, pus={0})
    worker = max(masks(a.pid))
    os.sched_setaffinity(worker, {1})
    driver = driving(a)
    born = []
    # WHEN they are exchanged with one another, and the main thread begins one before it has its new unit
    assert slow_disk(driver, f"move {a.pid} 0 1", lambda: born.append(begun_by(a.pid, a.pid))) == ""
    # THEN that comes along, and gets back what the main thread had
    assert masks(a.pid) == {a.pid: {1}, worker: {0}, born[0]: {1}}
    driver.end()
    assert masks(a.pid) == {a.pid: {0}, worker: {1}, born[0]: {0}}


@pytest.mark.parametrize("ends", ["well", "killed"])
def test_a_thread_that_executes_a_program_gets_back_its_own_mask_under_the_main_threads_number(
    start, driving, ends
):
    # GIVEN a rank whose threads, bound to a unit each, were exchanged with one another
    a = start(1, pus={0})
    worker = max(masks(a.pid))
    os.sched_setaffinity(worker, {1})
    driver = driving(a)
    assert driver.move((a.pid, "0", "1")) == ""
    # WHEN that which is not the main thread executes a program, which is seen, and the tuner ends, or is killed
    execute(a, worker)
    assert set(masks(a.pid).values()) == {frozenset({0})}
    assert worker not in masks(a.pid)
    driver.sample()
    if ends == "well":
        driver.end()
    else:
        driver.kill()
    assert until(lambda: not (driver.state / "journal").exists())
    # THEN the program has what this thread had, and not what the main thread had
    assert set(masks(a.pid).values()) == {frozenset({1})}


def write_thread(task: Path, number: int, state: str, ran_ns: int) -> None:
    """As the kernel says it of a thread."""
    folder = task / str(number)
    folder.mkdir(exist_ok=True)
    (folder / "stat").write_text(f"{number} (a name) {state} " + "1 " * 48 + "\n")
    (folder / "schedstat").write_text(f"{ran_ns} 0 1\n")


@pytest.mark.parametrize(
    ("state", "ran_ns"),
    [
        pytest.param("S", 5_000_000, id="asleep"),
        pytest.param("R", 10_100_000, id="has run"),
        pytest.param("T", 5_000_000, id="stopped"),
        pytest.param(None, 0, id="has ended"),
    ],
)
def test_what_a_thread_was_beginning_is_waited_for_until_it_must_be_listed(driving, tmp_path, state, ran_ns):
    # GIVEN a thread that was given a mask when it was to run, and one that slept
    task = tmp_path / "task"
    task.mkdir()
    write_thread(task, 10, "R", 5_000_000)
    write_thread(task, 11, "S", 1_000)
    driver = driving()
    assert driver.ask(f"births {task} 10 11") == "not yet"
    # WHEN it gets no core, it may still be beginning another thread
    write_thread(task, 10, "D", 5_020_000)
    write_thread(task, 11, "R", 9_000)
    assert driver.ask(f"births {task}") == "not yet"
    # THEN it is not, once it has ended, cannot be in the middle of it, or was on a core for longer than that takes
    if state is None:
        shutil.rmtree(task / "10")
    else:
        write_thread(task, 10, state, ran_ns)
    assert driver.ask(f"births {task}") == "listed"
