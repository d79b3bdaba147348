# SPDX-License-Identifier: BSD-3-Clause
"""What a tuner that was killed leaves: its guard or the next start gives the ranks their masks back."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tune_driver import masks, only
from waiting import until

pytestmark = pytest.mark.usefixtures("two_pus")


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
    assert driver.guard
    # WHEN the tuner is killed
    driver.kill()
    # THEN they get their masks, and the journal goes
    assert until(lambda: only({0}, a) and only({1}, b))
    assert until(lambda: not (driver.state / "journal").exists())


def test_the_guard_restores_all_ranks_of_a_node_after_sigkill(start, driving):
    # GIVEN 64 ranks that have changed places in pairs (how long it takes: bench/, `python -m tune.faults --ranks 64`)
    ranks = [start(1, pus={at % 2}) for at in range(64)]
    driver = driving(*ranks)
    moves = [(rank.pid, str(at % 2), str(1 - at % 2)) for at, rank in enumerate(ranks)]
    assert driver.move(*moves) == ""
    assert all(only({1 - at % 2}, rank) for at, rank in enumerate(ranks))
    # WHEN the tuner is killed
    driver.kill()
    # THEN every thread of all of them gets its mask, and the journal goes
    assert until(lambda: all(only({at % 2}, rank) for at, rank in enumerate(ranks)))
    assert until(lambda: not (driver.state / "journal").exists())


def test_signals_that_end_others_do_not_end_the_guard(swapped):
    a, b, driver = swapped
    guard = driver.guard
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(guard, number)
    assert os.getsid(guard) == guard
    driver.kill()
    assert until(lambda: only({0}, a) and only({1}, b))


def test_a_guard_that_was_killed_gets_a_successor(swapped):
    a, b, driver = swapped
    guard = driver.guard
    os.kill(guard, signal.SIGKILL)
    assert driver.ask("guard") == "1"
    assert until(lambda: driver.ask("guard") == "1" and driver.guard != guard)
    driver.kill()
    assert until(lambda: only({0}, a) and only({1}, b))


def kill_both(driver):
    """Guard and tuner, so that the masks stay as they are."""
    os.kill(driver.process.pid, signal.SIGSTOP)
    guard = driver.guard
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
    assert until(lambda: only({0}, a) and only({1}, b))


def test_a_journal_that_somebody_removed_is_written_again(swapped):
    # GIVEN a tuner whose journal was removed
    a, b, driver = swapped
    (driver.state / "journal").unlink()
    # WHEN it moves one rank more
    assert driver.move((a.pid, "1", "0"), (b.pid, "0", "1")) == ""
    assert driver.move((a.pid, "0", "1"), (b.pid, "1", "0")) == ""
    driver.kill()
    # THEN what it has done before is known as well
    assert until(lambda: only({0}, a) and only({1}, b))


def test_the_guard_restores_where_the_journals_directory_is_gone(swapped):
    # GIVEN ranks that were moved, and a user whose last session ends: what is in /run/user or /dev/shm is removed
    a, b, driver = swapped
    guard = driver.guard
    shutil.rmtree(driver.state)
    # WHEN the tuner is killed before it looks again
    driver.kill()
    # THEN the ranks get their masks
    assert until(lambda: only({0}, a) and only({1}, b))
    # AND nothing is left behind
    assert until(lambda: not Path(f"/proc/{guard}").exists())
    assert not driver.state.exists()


def test_the_successor_of_a_guard_restores_where_the_directory_is_gone(swapped):
    a, b, driver = swapped
    guard = driver.guard
    os.kill(guard, signal.SIGKILL)
    assert until(lambda: driver.ask("guard") == "1" and driver.guard != guard)
    shutil.rmtree(driver.state)
    driver.kill()
    assert until(lambda: only({0}, a) and only({1}, b))


def test_a_journal_that_is_gone_with_its_directory_is_written_again(swapped, driving, driver_program):
    # GIVEN ranks that were moved, and a journal that is removed with its directory, and the directory above it
    a, b, driver = swapped
    before = read(driver_program, [driver.state / "journal"])
    shutil.rmtree(driver.state.parent)
    # WHEN the tuner has looked again
    assert driver.sample()["no_journal"] == ""
    # THEN directory and journal are there, for nobody else
    assert read(driver_program, [driver.state / "journal"]) == before
    assert [path.stat().st_mode & 0o777 for path in (driver.state.parent, driver.state)] == [0o700, 0o700]
    # AND no other tuner starts there
    assert f"process `{driver.process.pid}` tunes" in driving(state=driver.state).first
    # WHEN tuner and guard are killed THEN the next start gives the masks back
    kill_both(driver)
    assert only({1}, a)
    driving(state=driver.state)
    assert only({0}, a)
    assert only({1}, b)


def test_a_directory_that_is_gone_is_made_again_before_anything_is_changed(start, driving):
    # GIVEN a tuner that has moved nothing, whose directory is removed: others look for its socket there
    driver = driving(start(1))
    shutil.rmtree(driver.state)
    # WHEN it has looked again THEN it is there, and is its own
    assert driver.sample()["no_journal"] == ""
    assert f"process `{driver.process.pid}` tunes" in driving(state=driver.state).first


def test_the_guard_has_the_lock_that_was_made_again(swapped, driving):
    # GIVEN a directory that was made again, and a guard that does not come when its tuner is killed
    a, b, driver = swapped
    shutil.rmtree(driver.state)
    driver.sample()
    guard = driver.guard
    os.kill(guard, signal.SIGSTOP)
    driver.kill()
    with ThreadPoolExecutor() as pool:
        # WHEN another tuner starts
        following = pool.submit(driving, state=driver.state)
        time.sleep(0.2)
        # THEN it waits until the guard has restored
        assert not following.done()
        assert only({1}, a)
        os.kill(guard, signal.SIGCONT)
        assert following.result().first == "ready"
    assert only({0}, a)
    assert only({1}, b)


def test_nothing_is_changed_while_no_journal_can_be_made(start, driving, tmp_path):
    # GIVEN a tuner that has moved two of its ranks, and a directory that it cannot make again
    a, b, c = start(2, pus={0}), start(2, pus={1}), start(2, pus={0})
    (tmp_path / "user").mkdir()
    driver = driving(a, b, c, state=tmp_path / "user" / "state")
    assert driver.move((a.pid, "0", "1"), (b.pid, "1", "0")) == ""
    shutil.rmtree(tmp_path / "user")
    (tmp_path / "user").touch()
    # WHEN it is to move another one THEN it does not
    driver.sample()
    assert driver.move((c.pid, "0", "1"), (b.pid, "0", "1")) == "the journal cannot be written"
    assert only({0}, c)
    # AND says that nothing may stay changed, until it can
    assert "the journal is gone" in driver.sample()["no_journal"]
    assert driver.ask(f"back {a.pid} {b.pid}") == ""
    assert only({0}, a)
    assert only({1}, b)
    (tmp_path / "user").unlink()
    assert driver.sample()["no_journal"] == ""
    # AND where it has no content, it is made before a change
    driver.ask("restore")
    shutil.rmtree(tmp_path / "user")
    assert driver.move((a.pid, "0", "1"), (b.pid, "1", "0")) == ""
    kill_both(driver)
    driving(state=driver.state)
    assert only({0}, a)
    assert only({1}, b)


def test_a_change_is_in_the_journal_that_was_made_again_before_it_is_made(swapped, slow_disk, driver_program):
    # GIVEN a journal that was made again
    a, b, driver = swapped
    shutil.rmtree(driver.state)
    driver.sample()
    found = []

    def look():
        found.extend(read(driver_program, [driver.state / "journal"])[0])
        assert only({1}, a)
        assert only({0}, b)

    # WHEN ranks are moved THEN it has what they will have while they have what they had
    assert slow_disk(driver, f"move {a.pid} 1 0 {b.pid} 0 1", look) == ""
    assert {thread: after for thread, _, _, after in found} == dict.fromkeys(
        masks(a.pid), "0"
    ) | dict.fromkeys(masks(b.pid), "1")
    assert only({0}, a)


def test_another_tuner_that_has_the_directory_keeps_it(swapped, start, driving):
    # GIVEN a tuner whose directory was removed, and another one that has made it for itself
    a, b, driver = swapped
    shutil.rmtree(driver.state)
    c, d = start(2, pus={0}), start(2, pus={1})
    other = driving(c, d, state=driver.state)
    assert other.move((c.pid, "0", "1"), (d.pid, "1", "0")) == ""
    content = (driver.state / "journal").read_bytes()
    # WHEN the first looks, and is killed
    assert "the journal is gone" in driver.sample()["no_journal"]
    guard = driver.guard
    driver.kill()
    assert until(lambda: not Path(f"/proc/{guard}").exists())
    # THEN its ranks have their masks, and the other's journal and ranks are as they were
    assert only({0}, a)
    assert only({1}, b)
    assert (driver.state / "journal").read_bytes() == content
    assert only({1}, c)
    other.kill()
    assert until(lambda: only({0}, c) and only({1}, d))


def test_a_journal_of_somebody_else_is_not_written_over(swapped, start, driving):
    # GIVEN another tuner in the directory that was the first one's, killed with its guard
    a, b, driver = swapped
    shutil.rmtree(driver.state)
    c, d = start(2, pus={0}), start(2, pus={1})
    other = driving(c, d, state=driver.state)
    assert other.move((c.pid, "0", "1"), (d.pid, "1", "0")) == ""
    kill_both(other)
    content = (driver.state / "journal").read_bytes()
    # WHEN the first looks THEN it leaves what the next start needs
    assert "the journal is gone" in driver.sample()["no_journal"]
    assert (driver.state / "journal").read_bytes() == content
    # WHEN it is killed before it has given back anything THEN its guard does, of both
    driver.kill()
    assert until(lambda: only({0}, a) and only({1}, b))
    assert until(lambda: only({0}, c) and only({1}, d))
    assert until(lambda: not (driver.state / "journal").exists())


def test_a_tuner_that_ends_well_without_its_directory_leaves_nothing_to_restore(swapped):
    # GIVEN a tuner that has given back what it moved, and whose directory is gone
    a, _, driver = swapped
    guard = driver.guard
    shutil.rmtree(driver.state)
    driver.ask("restore")
    assert only({0}, a)
    # WHEN somebody sets the mask that the tuner had set, and the tuner is killed
    for thread in masks(a.pid):
        os.sched_setaffinity(thread, {1})
    driver.kill()
    assert until(lambda: not Path(f"/proc/{guard}").exists())
    # THEN the guard leaves it
    assert only({1}, a)


def test_a_directory_that_others_may_write_in_is_not_used_again(swapped):
    # GIVEN a directory that was removed, and above it one in which others may put theirs
    _, _, driver = swapped
    shutil.rmtree(driver.state)
    driver.state.parent.chmod(0o777)
    # THEN none is made there
    assert "the journal is gone" in driver.sample()["no_journal"]
    driver.state.parent.chmod(0o1777)
    assert driver.sample()["no_journal"] == ""


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
