# SPDX-License-Identifier: BSD-3-Clause
"""What threads get back: exactly what they had, units that are offline and a cpuset that grows with it."""

import errno
import json
import os
import subprocess
from pathlib import Path

import pytest
from tune_driver import masks, only
from waiting import until

pytestmark = pytest.mark.usefixtures("two_pus")

ALL_UNITS = "0-8191"


@pytest.fixture
def originals(driver_program):
    """Function (driver) -> of each thread in its journal, what it is to get back."""

    def read(driver) -> dict[int, str]:
        done = subprocess.run(
            [driver_program, "--read", "journal", driver.state / "journal"],
            capture_output=True,
            text=True,
            check=True,
            timeout=20,
        )
        return {thread: original for thread, original, _, _ in json.loads(done.stdout)}

    return read


@pytest.fixture
def online(tmp_path):
    """Function (units) -> a tree in place of /sys that says these are online."""

    def write(units: str) -> Path:
        path = tmp_path / "sys/devices/system/cpu/online"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(units + "\n")
        return tmp_path / "sys"

    return write


def test_some_processes_get_back_what_they_had(start, driving):
    # GIVEN a rank that was not bound, with a thread that is, and a rank that was moved as well
    a, b = start(2, pus={0, 1}), start(1, pus={0})
    helper = max(masks(a.pid))
    os.sched_setaffinity(helper, {1})
    before = masks(a.pid)
    driver = driving(a, b)
    assert driver.move((a.pid, "0-1", "0")) == ""
    assert driver.move((b.pid, "0", "1")) == ""
    # WHEN the first gets back what it had
    assert driver.ask(f"back {a.pid}") == ""
    # THEN each of its threads has, and the other rank is where it was put
    assert masks(a.pid) == before
    assert only({1}, b)
    # AND it can be moved again, and is given back at the end
    assert driver.move((a.pid, "0-1", "0")) == ""
    assert only({0}, a)
    driver.end()
    assert masks(a.pid) == before
    assert only({0}, b)


def test_what_somebody_else_changed_is_not_given_back(start, driving):
    # GIVEN a rank that was moved, of which a thread got another mask
    a = start(2, pus={0, 1})
    driver = driving(a)
    assert driver.move((a.pid, "0-1", "0")) == ""
    thread = max(masks(a.pid))
    os.sched_setaffinity(thread, {1})
    # WHEN it gets back what it had, THEN that thread keeps its mask
    assert driver.ask(f"back {a.pid}") == ""
    assert masks(a.pid)[thread] == {1}
    assert masks(a.pid)[a.pid] == {0, 1}
    # AND at the end as well
    driver.sample()
    driver.end()
    assert masks(a.pid)[thread] == {1}


def test_a_mask_that_was_once_tried_is_its_owners_afterwards(start, driving):
    # GIVEN a rank that was bound to a unit on trial, and given back what it had
    a = start(2, pus={0, 1})
    driver = driving(a)
    assert driver.move((a.pid, "0-1", "0")) == ""
    assert driver.ask("undo") == ""
    driver.sample()
    # WHEN a thread binds itself to this unit
    thread = max(masks(a.pid))
    os.sched_setaffinity(thread, {0})
    # THEN it has it when the tuner has ended
    driver.end()
    assert masks(a.pid)[thread] == {0}
    assert masks(a.pid)[a.pid] == {0, 1}


def test_a_tuner_that_is_killed_behind_an_undo_has_its_first_masks_given_back(start, driving):
    # GIVEN a rank with a change that was kept, another one on trial, and a look at all threads meanwhile
    a = start(2, pus={0, 1})
    driver = driving(a)
    assert driver.move((a.pid, "0-1", "0")) == ""
    driver.sample()
    assert driver.move((a.pid, "0", "1")) == ""
    driver.sample()
    # WHEN the trial is undone, and the tuner killed before it looks again
    assert driver.ask("undo") == ""
    assert only({0}, a)
    driver.kill()
    # THEN its guard gives back what was there before the first change
    assert until(lambda: only({0, 1}, a))


def test_what_a_runtime_binds_within_new_units_is_within_the_old_ones_at_the_end(driving):
    # GIVEN threads of a rank that has 4-7 instead of 0-3
    driver = driving()
    # WHEN its runtime has bound them THEN each gets the unit that it would have had
    assert [driver.ask(f"bound {mask} 4-7 0-3") for mask in ("4", "6-7", "5,7")] == ["0", "2-3", "1,3"]
    # AND what it was given itself, what lies outside, and units of a rank that was given fewer are left
    assert driver.ask("bound 4-7 4-7 0-3") == "no"
    assert driver.ask("bound 3-4 4-7 0-3") == "no"
    assert driver.ask("bound 4 4-5 0-3") == "no"
    assert driver.ask("bound 4 4-7 4-7") == "no"


@pytest.mark.parametrize(("units", "original"), [("0-1", ALL_UNITS), ("0-2", "0-1")])
def test_who_had_all_of_its_cpuset_is_to_get_all_units(start, driving, originals, online, units, original):
    # GIVEN a rank on two units, which are all there are, or not
    a = start(1, pus={0, 1})
    driver = driving(a, lines=[f"sys {online(units)}"])
    # WHEN it is moved
    assert driver.move((a.pid, "0-1", "1")) == ""
    # THEN the journal says what gives it back what it had: in all of its cpuset, it stays in all of it
    assert set(originals(driver).values()) == {original}


def test_a_unit_that_is_offline_is_given_back_too(start, driving, originals, online, tmp_path):
    # GIVEN ranks whose masks have a unit that is offline, which the system call leaves out
    a, b = start(1, pus={0}), start(1, pus={1})
    proc = tmp_path / "proc"
    for process, units in ((a, "0,9"), (b, "1,9")):
        real, made_up = Path(f"/proc/{process.pid}"), proc / str(process.pid)
        for thread in masks(process.pid):
            task = made_up / f"task/{thread}"
            task.mkdir(parents=True)
            for name in ("stat", "schedstat"):
                (task / name).symlink_to(real / f"task/{thread}/{name}")
            (task / "status").write_text(f"Name:\ta\nCpus_allowed_list:\t{units}\n")
        for name in ("stat", "maps", "cgroup", "environ"):
            (made_up / name).symlink_to(real / name)
    driver = driving(a, b, lines=[f"proc {proc}", f"sys {online('0-1')}"])
    # WHEN they change places
    assert driver.move((a.pid, "0", "1"), (b.pid, "1", "0")) == ""
    assert only({1}, a)
    # THEN what they are to get back has it
    assert {originals(driver)[a.pid], originals(driver)[b.pid]} == {"0,9", "1,9"}
    driver.end()
    assert only({0}, a)
    assert only({1}, b)


@pytest.fixture
def cpuset():
    """Function (process, units) -> puts it into a control group of its own that has these, or changes those it has."""
    root = Path("/sys/fs/cgroup/cpuset")
    group = root / f"rankwise-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / "cpuset.mems").write_text((root / "cpuset.mems").read_text())
    except OSError:
        pytest.skip("no cpusets here")

    def put(process, units: set[int]) -> None:
        (group / "cpuset.cpus").write_text(",".join(map(str, sorted(units))))
        (group / "cgroup.procs").write_text(str(process.pid))

    yield put
    for process in (group / "cgroup.procs").read_text().split():
        (root / "cgroup.procs").write_text(process)
    group.rmdir()


def test_a_cpuset_that_grows_is_had_as_before(start, driving, originals, cpuset):
    # GIVEN a rank that has all of its cpuset, which is not the whole node where that has more than two units
    units = sorted(os.sched_getaffinity(0))
    some = set(units[: max(2, len(units) - 1)])
    a = start(2, spin=1)
    cpuset(a, some)
    assert only(some, a)
    driver = driving(a)
    # WHEN it is bound, and the tuner ends
    assert driver.move((a.pid, ",".join(map(str, sorted(some))), "0")) == ""
    assert only({0}, a)
    assert set(originals(driver).values()) == {ALL_UNITS}
    driver.end()
    assert only(some, a)
    # THEN it has less and more with its cpuset
    cpuset(a, {0})
    assert only({0}, a)
    cpuset(a, set(units))
    assert only(set(units), a)


def test_a_stranger_under_a_threads_number_keeps_its_mask(start, driving):
    # GIVEN two ranks of two threads
    a, b = start(1, pus={0}), start(1, pus={1})
    driver = driving(a)
    own, stranger = max(masks(a.pid)), max(masks(b.pid))
    # WHEN a thread of the first gets a mask, THEN it has it
    assert driver.ask(f"mask {a.pid} {own} 1") == "0"
    assert masks(a.pid)[own] == {1}
    # WHEN its number is that of a thread of the second by then, THEN that has what its process has
    assert driver.ask(f"mask {a.pid} {stranger} 0") == str(errno.ESRCH)
    assert masks(b.pid)[stranger] == {1}
    # WHEN it is that of another process, THEN that has what its parent has
    assert driver.ask(f"mask {a.pid} {b.pid} 0") == str(errno.ESRCH)
    assert masks(b.pid)[b.pid] == os.sched_getaffinity(0)
