# SPDX-License-Identifier: BSD-3-Clause
"""What a tuner that was killed leaves: its guard or the next start gives the ranks their masks back."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tune_driver import masks

pytestmark = pytest.mark.usefixtures("two_pus")


def only(mask: set[int], process) -> bool:
    return set(masks(process.pid).values()) == {frozenset(mask)}


def wait_for(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def guard_of(driver) -> int:
    """The process number of a driver's guard, once it has its name."""
    found = []

    def is_there() -> bool:
        children = f"/proc/{driver.process.pid}/task/{driver.process.pid}/children"
        with open(children) as file:
            found[:] = [int(word) for word in file.read().split()]
        names = []
        for child in found:
            with open(f"/proc/{child}/comm") as file:
                names.append(file.read().strip())
        return names == ["rankwise-guard"]

    wait_for(is_there)
    return found[0]


@pytest.fixture
def swapped(start, driving):
    """Two ranks that have changed places, and the driver that did it."""
    a, b = start(2, pus={0}), start(2, pus={1})
    driver = driving(a, b)
    assert driver.move((a.pid, "0", "1"), (b.pid, "1", "0")) == ""
    assert only({1}, a)
    return a, b, driver


def test_the_guard_restores_after_sigkill(swapped):
    # GIVEN ranks that were moved
    a, b, driver = swapped
    guard_of(driver)
    # WHEN the tuner is killed
    driver.kill()
    # THEN they get their masks, and the journal goes
    wait_for(lambda: only({0}, a) and only({1}, b))
    wait_for(lambda: not (driver.state / "journal").exists())


def test_signals_that_end_others_do_not_end_the_guard(swapped):
    a, b, driver = swapped
    guard = guard_of(driver)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(guard, number)
    assert os.getsid(guard) == guard
    driver.kill()
    wait_for(lambda: only({0}, a) and only({1}, b))


def test_a_guard_that_was_killed_gets_a_successor(swapped):
    a, b, driver = swapped
    guard = guard_of(driver)
    os.kill(guard, signal.SIGKILL)
    assert driver.ask("guard") == "1"
    wait_for(lambda: driver.ask("guard") == "1" and guard_of(driver) != guard)
    driver.kill()
    wait_for(lambda: only({0}, a) and only({1}, b))


def kill_both(driver):
    """Guard and tuner, so that the masks stay as they are."""
    os.kill(driver.process.pid, signal.SIGSTOP)
    guard = guard_of(driver)
    os.kill(guard, signal.SIGKILL)
    driver.kill()


def test_the_next_start_finishes_what_is_left(swapped, driving):
    # GIVEN a tuner that was killed with its guard
    a, b, driver = swapped
    kill_both(driver)
    assert only({1}, a)
    # WHEN another one starts
    following = driving(state=driver.state)
    # THEN it gives the masks back, and says so
    assert only({0}, a)
    assert only({1}, b)
    assert "6 threads" in following.ask("notes")


def test_a_journal_of_another_boot_is_not_believed(swapped, driving, tmp_path):
    # GIVEN a journal, and a node that has another boot id
    a, _, driver = swapped
    kill_both(driver)
    (tmp_path / "proc/sys/kernel/random").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/random/boot_id").write_text("another\n")
    # WHEN a tuner starts there
    driving(state=driver.state, lines=[f"proc {tmp_path / 'proc'}"])
    # THEN numbers of processes mean others: nothing is touched
    assert only({1}, a)


def test_masks_that_somebody_changed_since_stay(swapped, driving):
    a, b, driver = swapped
    kill_both(driver)
    for thread in masks(b.pid):
        os.sched_setaffinity(thread, {0, 1})
    driving(state=driver.state)
    assert only({0}, a)
    assert only({0, 1}, b)


def test_a_second_tuner_refuses_and_names_the_first(swapped, driving):
    a, _, driver = swapped
    second = driving(state=driver.state)
    assert second.first == f"error: process `{driver.process.pid}` tunes on this node already"
    assert only({1}, a)
    # AND starts once the first has ended
    driver.end()
    assert driving(state=driver.state).first == "ready"


def test_another_users_state_directory_is_refused(driving, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("the tests run without root")
    state = tmp_path / "theirs"
    state.mkdir()
    os.chown(state, 12345, 12345)
    assert "no directory of this user" in driving(state=state).first


@pytest.fixture
def journal(swapped, tmp_path):
    """A journal of two changes."""
    a, b, driver = swapped
    assert driver.move((a.pid, "1", "0"), (b.pid, "0", "1")) == ""
    assert driver.move((a.pid, "0", "1"), (b.pid, "1", "0")) == ""
    copy = tmp_path / "copy"
    shutil.copy(driver.state / "journal", copy)
    return copy


def read(program, paths) -> list[list]:
    text = subprocess.run(
        [program, "--read", "journal", *paths], capture_output=True, text=True, check=True
    ).stdout
    return [json.loads(line) for line in text.splitlines()]


def test_a_journal_torn_at_each_byte_gives_what_is_whole(journal, driver_program, tmp_path):
    # GIVEN a journal torn at each byte
    content = journal.read_bytes()
    paths = []
    for end in range(1, len(content) + 1):
        paths.append(tmp_path / f"torn{end:05}")
        paths[-1].write_bytes(content[:end])
    # WHEN they are read
    found = read(driver_program, paths)
    # THEN more bytes never tell less of a thread, the last tells all, and none tells what was never written
    whole = read(driver_program, [journal])[0]
    assert len(whole) == 6
    originals = {tid: original for tid, original, _, _ in whole}
    assert set(originals.values()) == {"0", "1"}
    counts = [len(threads) for threads in found]
    assert counts == sorted(counts)
    assert found[-1] == whole
    for threads in found:
        assert all(
            originals[tid] == original and {before, after} == {"0", "1"}
            for tid, original, before, after in threads
        )


def test_a_changed_byte_hides_what_is_behind_it(journal, driver_program, tmp_path):
    content = journal.read_bytes()
    whole = read(driver_program, [journal])[0]
    paths = []
    for at in range(len(content)):
        paths.append(tmp_path / f"changed{at:05}")
        paths[-1].write_bytes(content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :])
    for threads in read(driver_program, paths):
        assert {tid for tid, *_ in threads} <= {tid for tid, *_ in whole}
        assert all(original in ("0", "1") for _, original, _, _ in threads)


def test_what_is_whole_of_a_torn_journal_is_restored(swapped, driving):
    # GIVEN what a tuner left, the last record torn
    a, b, driver = swapped
    kill_both(driver)
    content = (driver.state / "journal").read_bytes()
    (driver.state / "journal").write_bytes(content[:-5])
    # WHEN another one starts
    driving(state=driver.state)
    # THEN threads of whole records have their masks, and all but one are of these
    kept = [*masks(a.pid).values()].count({1}) + [*masks(b.pid).values()].count({0})
    assert kept <= 1


@pytest.fixture
def small_state(tmp_path):
    """A state directory in which 16 KiB can be written."""
    state = tmp_path / "small"
    state.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k,mode=700", "none", state], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no mount namespaces here")
    yield state
    subprocess.run(["umount", "-l", state], check=True)


def test_a_journal_that_could_not_be_begun_is_begun_again(start, driving, small_state):
    # GIVEN a tuner that has no journal, as nothing is to be given back, and a disk that is full
    a, b = start(2, pus={0}), start(2, pus={1})
    driver = driving(a, b, state=small_state)
    driver.ask("restore")
    filler = small_state / "filler"
    with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as file:
        while True:
            file.write(bytes(512))
    assert driver.move((a.pid, "0", "1"), (b.pid, "1", "0")) == "the journal cannot be written"
    # WHEN there is room again
    filler.unlink()
    assert driver.move((a.pid, "0", "1"), (b.pid, "1", "0")) == ""
    driver.kill()
    # THEN the guard finds all it needs in the next journal
    wait_for(lambda: only({0}, a) and only({1}, b))


def test_a_journal_that_somebody_removed_is_written_again(swapped):
    # GIVEN a tuner whose journal was removed
    a, b, driver = swapped
    (driver.state / "journal").unlink()
    # WHEN it moves one rank more
    assert driver.move((a.pid, "1", "0"), (b.pid, "0", "1")) == ""
    assert driver.move((a.pid, "0", "1"), (b.pid, "1", "0")) == ""
    driver.kill()
    # THEN what it has done before is known as well
    wait_for(lambda: only({0}, a) and only({1}, b))


def test_a_damaged_journal_is_kept_and_said(swapped, driving):
    # GIVEN what a tuner left, with a byte of the first thread's record changed
    a, _, driver = swapped
    kill_both(driver)
    content = bytearray((driver.state / "journal").read_bytes())
    content[-200] ^= 0x10
    (driver.state / "journal").write_bytes(content)
    # WHEN another one starts
    following = driving(state=driver.state)
    # THEN it says so, and what there is can be looked at
    assert "a journal is damaged" in following.ask("notes")
    assert (driver.state / "journal.damaged").read_bytes() == content
    # AND works
    assert following.first == "ready"


def test_interrupts_that_cannot_be_given_back_are_tried_again_by_each_start(driving, tmp_path):
    # GIVEN two tuners, killed one after the other, each with an interrupt that stays where it was moved to
    stuck = Path("/sys/devices/system/cpu/cpu0/topology/core_id")
    if not stuck.exists() or stuck.read_text() != "0\n":
        pytest.skip("no file here that has a number and cannot be written")
    proc, state = tmp_path / "proc", tmp_path / "state"
    files = {number: proc / f"irq/{number}/smp_affinity_list" for number in (9, 10)}
    for number, file in files.items():
        file.parent.mkdir(parents=True)
        file.write_text("0-1\n")
        driver = driving(state=state, lines=[f"proc {proc}", "irq 1"])
        assert driver.ask(f"irq {number} 0") == ""
        kill_both(driver)
        file.unlink()
        file.symlink_to(stuck)
    following = driving(state=state, lines=[f"proc {proc}", "irq 1"])
    assert "could not be given back: 2" in following.ask("notes")
    kill_both(following)
    # WHEN they can be written again
    for file in files.values():
        file.unlink()
        file.write_text("0\n")
    driving(state=state, lines=[f"proc {proc}", "irq 1"])
    # THEN the next start gives both back
    assert [file.read_text() for file in files.values()] == ["0-1\n", "0-1\n"]
    assert not (state / "journal.left").exists()
