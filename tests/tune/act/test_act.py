# SPDX-License-Identifier: BSD-3-Clause
"""Moving ranks: all their threads or none, nobody else's, and back again."""

import contextlib
import json
import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest
import tune_driver
from tune_driver import masks, only
from waiting import until

pytestmark = pytest.mark.usefixtures("two_pus")


def test_two_ranks_change_places_with_all_their_threads(start, driving):
    # GIVEN two ranks of four threads, each on a unit of its own
    a, b = start(3, spin=1, pus={0}), start(3, pus={1})
    driver = driving(a, b)
    # WHEN they change places
    assert driver.move((a.pid, "0", "1"), (b.pid, "1", "0")) == ""
    # THEN all threads have
    assert only({1}, a)
    assert only({0}, b)
    # AND after the end have what they had
    driver.end()
    assert only({0}, a)
    assert only({1}, b)
    assert not (driver.state / "journal").exists()


def test_each_thread_keeps_the_shape_of_its_own_mask(start, driving):
    # GIVEN a rank whose threads are bound apart
    a = start(2, pus={0, 1})
    first, second, third = sorted(masks(a.pid))
    os.sched_setaffinity(second, {0})
    os.sched_setaffinity(third, {1})
    driver = driving(a)
    # WHEN its units are exchanged with one another
    assert driver.move((a.pid, "0", "1")) == ""
    # THEN the n-th became the n-th in each mask
    assert masks(a.pid) == {first: {0, 1}, second: {1}, third: {0}}
    driver.end()
    assert masks(a.pid) == {first: {0, 1}, second: {0}, third: {1}}


def test_a_rank_that_was_not_bound_is_bound_and_freed(start, driving):
    a = start(2)
    driver = driving(a)
    assert driver.move((a.pid, "0-1", "1")) == ""
    assert only({1}, a)
    assert driver.move((a.pid, "1", "0-1")) == ""
    assert only({0, 1}, a)


def test_a_change_that_is_taken_back_gives_each_thread_what_it_had_before_it(start, driving):
    # GIVEN a rank that is not bound, with two threads that have chosen a unit each
    a = start(2)
    first, second, third = sorted(masks(a.pid))
    os.sched_setaffinity(second, {0})
    os.sched_setaffinity(third, {1})
    before = masks(a.pid)
    driver = driving(a)
    # WHEN it is bound, and that is taken back
    assert driver.move((a.pid, "0-1", "1")) == ""
    assert only({1}, a)
    assert driver.ask("undo") == ""
    # THEN
    assert masks(a.pid) == before
    # AND after another change and the end, too
    assert driver.move((a.pid, "0-1", "1")) == ""
    driver.end()
    assert masks(a.pid) == before


def test_what_cannot_be_taken_back_keeps_nothing_else_from_it(start, driving):
    # GIVEN two ranks that have changed places, one of which ends, while a thread of the other gets another mask
    a, b = start(2, pus={0}), start(2, pus={1})
    driver = driving(a, b)
    assert driver.move((a.pid, "0", "1"), (b.pid, "1", "0")) == ""
    b.kill()
    b.wait()
    thread = max(masks(a.pid))
    os.sched_setaffinity(thread, {0, 1})
    # WHEN the change is taken back
    assert driver.ask("undo") == ""
    # THEN the others of it are where they were, and that one keeps what it was given
    assert {mask for tid, mask in masks(a.pid).items() if tid != thread} == {frozenset({0})}
    assert masks(a.pid)[thread] == {0, 1}


def test_threads_that_are_born_meanwhile_come_along(start, driving):
    # GIVEN ranks that begin and end threads all the time
    a, b = start(1, born=1, pus={0}), start(1, born=1, pus={1})
    driver = driving(a, b)
    for _ in range(20):
        # WHEN they change places, and back
        assert driver.move((a.pid, "0", "1"), (b.pid, "1", "0")) == ""
        assert only({1}, a)
        assert only({0}, b)
        assert driver.move((a.pid, "1", "0"), (b.pid, "0", "1")) == ""
        assert only({0}, a)
    assert driver.move((a.pid, "0", "1"), (b.pid, "1", "0")) == ""
    driver.end()
    # THEN at the end those have their process' mask that were born under the other
    assert until(lambda: only({0}, a) and only({1}, b))


def test_a_rank_that_ended_takes_the_whole_change_back(start, driving):
    # GIVEN a change of two ranks
    a, b = start(2, pus={0}), start(2, pus={1})
    driver = driving(a, b)
    # WHEN the second ends before it
    b.kill()
    b.wait()
    # THEN the first is where it was
    assert driver.move((a.pid, "0", "1"), (b.pid, "1", "0")) == f"process {b.pid} ended"
    assert only({0}, a)


def test_no_process_that_was_not_given_is_touched(start, driving):
    a, other = start(1, pus={0}), start(1, pus={1})
    driver = driving(a)
    assert driver.move((other.pid, "1", "0")) == f"process {other.pid} is none of the ranks"
    assert only({1}, other)


def test_ranks_stay_on_what_their_job_was_given(start, driving):
    a = start(1, pus={0})
    driver = driving(a)
    assert "was not given" in driver.move((a.pid, "0", "1"))
    assert "was not given" in driver.move((a.pid, "0", "1024"))
    assert only({0}, a)


def test_what_a_rank_had_that_ended_is_its_jobs_until_the_last_ends(start, driving):
    # GIVEN two ranks, of which one ends
    a, b = start(1, pus={0}), start(1, pus={1})
    driver = driving(a, b)
    b.kill()
    b.wait()
    driver.sample()
    # THEN the other one may go where it was, also after several looks, and goes back
    driver.sample()
    assert driver.move((a.pid, "0", "1")) == ""
    assert only({1}, a)
    driver.end()
    assert only({0}, a)


def test_what_would_change_nothing_is_said(start, driving):
    a, b = start(1, pus={0}), start(1, pus={1})
    driver = driving(a, b)
    assert driver.move((a.pid, "0", "0")) == "no thread has a mask that would become another one"


def test_a_rank_that_somebody_else_moved_is_left_alone(start, driving):
    # GIVEN a rank that was moved
    a, b = start(2, pus={0}), start(2, pus={1})
    driver = driving(a, b)
    assert driver.move((a.pid, "0", "1"), (b.pid, "1", "0")) == ""
    # WHEN another process gives one of its threads another mask
    thread = max(masks(a.pid))
    os.sched_setaffinity(thread, {0, 1})
    # THEN no change of it is made, nor of its partner
    why = driver.move((a.pid, "1", "0"), (b.pid, "0", "1"))
    assert why == f"the mask of process {a.pid} was changed by another process"
    assert only({0}, b)
    # AND at the end that mask stays, and the others are given back
    driver.end()
    assert masks(a.pid)[thread] == {0, 1}
    assert {mask for tid, mask in masks(a.pid).items() if tid != thread} == {frozenset({0})}
    assert only({1}, b)


@pytest.mark.parametrize("is_seen", [True, False])
def test_a_mask_that_is_set_before_the_first_move_stays(start, driving, is_seen):
    # GIVEN ranks that are not bound, and such as are
    a, b = start(2, pus={0, 1}), start(2, pus={0, 1})
    c, d = start(pus={0}), start(pus={1})
    driver = driving(a, b, c, d)
    # WHEN their user binds one of each before a change that was decided on
    for thread in masks(a.pid):
        os.sched_setaffinity(thread, {1})
    os.sched_setaffinity(c.pid, {1})
    if is_seen:
        driver.sample()
    # THEN neither is made
    changed = "the mask of process {} was changed by another process"
    assert driver.move((b.pid, "0-1", "1"), (a.pid, "0-1", "0")) == changed.format(a.pid)
    assert driver.move((c.pid, "0", "1"), (d.pid, "1", "0")) == changed.format(c.pid)
    assert only({1}, a)
    assert only({0, 1}, b)
    assert only({1}, c)
    assert only({1}, d)


@pytest.mark.parametrize("thread", ["main", "another"])
def test_threads_that_are_bound_one_by_one_before_the_first_move_stay(start, driving, thread):
    # GIVEN a rank that is not bound
    a = start(2, pus={0, 1})
    driver = driving(a)
    # WHEN its runtime binds a thread before it is moved
    bound = min(masks(a.pid)) if thread == "main" else max(masks(a.pid))
    os.sched_setaffinity(bound, {0})
    before = masks(a.pid)
    # THEN it is not moved, though most of them have what they had
    assert "was changed by another process" in driver.move((a.pid, "0-1", "1"))
    assert masks(a.pid) == before


def test_a_rank_that_executes_another_program_stays_the_same(start, driving):
    a, b = start(3, pus={0}), start(1, pus={1})
    driver = driving(a, b)
    assert driver.move((a.pid, "0", "1"), (b.pid, "1", "0")) == ""
    a.send_signal(signal.SIGUSR1)
    assert a.stdout.readline() == "ready\n"
    driver.sample()
    assert only({1}, a)
    assert driver.move((a.pid, "1", "0"), (b.pid, "0", "1")) == ""
    assert only({0}, a)
    assert driver.move((a.pid, "0", "1"), (b.pid, "1", "0")) == ""
    driver.end()
    assert only({0}, a)


def test_interrupts_need_permission(start, driving):
    driver = driving(start())
    assert "may not be moved" in driver.ask("irq 1 0")


@pytest.fixture
def proc_with_interrupt(tmp_path):
    """A tree in place of /proc with interrupt 9 on units 0 and 1."""
    proc = tmp_path / "proc"
    (proc / "irq/9").mkdir(parents=True)
    (proc / "irq/9/smp_affinity_list").write_text("0-1\n")
    return proc


def test_an_interrupt_is_moved_and_given_back(driving, proc_with_interrupt):
    # GIVEN permission
    affinity = proc_with_interrupt / "irq/9/smp_affinity_list"
    driver = driving(lines=[f"proc {proc_with_interrupt}", "irq 1"])
    # WHEN
    assert driver.ask("irq 9 1") == ""
    # THEN
    assert affinity.read_text() == "1\n"
    # AND what is taken back is this change, not all
    assert driver.ask("irq 9 0") == ""
    assert driver.ask("undo") == ""
    assert affinity.read_text() == "1\n"
    driver.end()
    assert affinity.read_text() == "0-1\n"


def test_an_interrupt_that_somebody_else_moved_is_left_alone(driving, proc_with_interrupt):
    affinity = proc_with_interrupt / "irq/9/smp_affinity_list"
    driver = driving(lines=[f"proc {proc_with_interrupt}", "irq 1"])
    assert driver.ask("irq 9 1") == ""
    affinity.write_text("0\n")
    assert "changed by another" in driver.ask("irq 9 1")
    driver.end()
    assert affinity.read_text() == "0\n"


def test_pages_of_ranks_only_are_moved(start, driving):
    a = start()
    driver = driving(a)
    # WHEN they are to go to the node that has them, THEN there is nothing to move
    assert driver.ask(f"pages {a.pid} 0") == "0"
    assert "none of the ranks" in driver.ask(f"pages {os.getpid()} 0")


def test_pages_go_in_batches_and_a_node_that_is_not_there_is_said(start, driving):
    # GIVEN a node of memory that is not there, which all pages are elsewhere than
    a = start()
    driver = driving(a)
    assert driver.ask(f"pages {a.pid} 1000") == "0"
    # THEN why they cannot go there is said
    assert f"process {a.pid} has pages that cannot be moved: No such device" in driver.ask("notes")


def test_ranges_with_pages_elsewhere(driver_program, tmp_path):
    # GIVEN ranges that are here, elsewhere, of large pages, and of which hardly a page is there
    # AND bound to nodes with and without node 0, preferring them, spread, and of a page too large for a batch
    text = """1000-3000 rw-p 00000000 00:00 0
10000-20000 rw-p 00000000 00:00 0
200000-600000 rw-p 00000000 00:00 0
600000-602000 rw-p 00000000 00:00 0
610000-612000 rw-p 00000000 00:00 0
620000-622000 rw-p 00000000 00:00 0
630000-632000 rw-p 00000000 00:00 0
640000-642000 rw-p 00000000 00:00 0
40000000-80000000 rw-p 00000000 00:00 0
700000000000-7f0000000000 rw-p 00000000 00:00 0
--
1000 default anon=2 dirty=2 N0=2 kernelpagesize_kB=4
10000 default anon=5 N0=1 N1=4 kernelpagesize_kB=4
200000 default anon=2 N1=2 kernelpagesize_kB=2048
600000 bind:1 anon=2 N1=2 kernelpagesize_kB=4
610000 bind=static:0-1 anon=2 N1=2 kernelpagesize_kB=4
620000 prefer (many):1 anon=2 N1=2 kernelpagesize_kB=4
630000 prefer:0 anon=2 N1=2 kernelpagesize_kB=4
640000 interleave:0-1 anon=2 N0=1 N1=1 kernelpagesize_kB=4
40000000 default anon=1 N1=1 kernelpagesize_kB=1048576
700000000000 default anon=9 N1=9 kernelpagesize_kB=4
"""
    (tmp_path / "maps").write_text(text)
    # WHEN those elsewhere than on node 0 are looked for
    done = subprocess.run(
        [driver_program, "--read", "elsewhere", tmp_path / "maps"],
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    # THEN those that are worth a look are found
    assert json.loads(done.stdout) == [
        [0x10000, 0x10000, 4096],
        [0x200000, 0x400000, 2 << 20],
        [0x610000, 0x2000, 4096],
        [0x630000, 0x2000, 4096],
    ]


def test_a_full_disk_stops_a_change_before_it_begins(start, driving, small_state):
    # GIVEN a state directory in which nothing can be written any more
    a, b = start(2, pus={0}), start(2, pus={1})
    driver = driving(a, b, state=small_state)
    with contextlib.suppress(OSError):
        (small_state / "filler").write_bytes(bytes(1 << 16))
    # WHEN changes go on until the journal is full
    answers = set()
    for _ in range(200):
        answers.add(driver.move((a.pid, "0", "1"), (b.pid, "1", "0")))
        answers.add(driver.move((a.pid, "1", "0"), (b.pid, "0", "1")))
    # THEN the first that cannot be written is not made, and all is given back
    assert "the journal cannot be written" in answers
    driver.end()
    assert only({0}, a)
    assert only({1}, b)


def test_a_mask_that_is_changed_while_the_journal_is_written_stays(start, driving, slow_disk):
    # GIVEN a change of two ranks
    a, b = start(2, pus={0}), start(2, pus={1})
    driver = driving(a, b)
    thread = max(masks(b.pid))
    # WHEN a thread of the second is bound by its runtime while the journal is written
    why = slow_disk(driver, f"move {a.pid} 0 1 {b.pid} 1 0", lambda: os.sched_setaffinity(thread, {0, 1}))
    # THEN nothing is changed, and it keeps what it was given
    assert why == f"the mask of process {b.pid} was changed by another process"
    assert only({0}, a)
    assert masks(b.pid)[thread] == {0, 1}
    assert {mask for tid, mask in masks(b.pid).items() if tid != thread} == {frozenset({1})}
    driver.end()
    assert masks(b.pid)[thread] == {0, 1}


def test_a_rank_that_ends_while_the_journal_is_written_takes_the_change_back(start, driving, slow_disk):
    a, b = start(2, pus={0}), start(2, pus={1})
    driver = driving(a, b)

    def end() -> None:
        b.kill()
        b.wait()

    assert slow_disk(driver, f"move {a.pid} 0 1 {b.pid} 1 0", end) == f"process {b.pid} ended"
    assert only({0}, a)


def test_a_thread_that_had_the_mask_already_keeps_it(start, driving):
    # GIVEN a rank that is not bound, with a thread that is
    a = start(2)
    helper = max(masks(a.pid))
    os.sched_setaffinity(helper, {1})
    driver = driving(a)
    # WHEN the rank is bound to the same unit, and given back what it had
    assert driver.move((a.pid, "0-1", "1")) == ""
    assert only({1}, a)
    driver.end()
    # THEN the thread is where it was
    assert masks(a.pid)[helper] == {1}
    assert masks(a.pid)[a.pid] == {0, 1}


def test_a_rank_can_be_moved_again_after_somebody_changed_it(start, driving):
    # GIVEN a rank that was moved, and given other masks from outside
    a, b = start(1, pus={0}), start(1, pus={1})
    driver = driving(a, b)
    assert driver.move((a.pid, "0", "1"), (b.pid, "1", "0")) == ""
    for thread in masks(a.pid):
        os.sched_setaffinity(thread, {0, 1})
    # WHEN the tuner has seen it
    driver.sample()
    # THEN the rank can be moved from there
    assert driver.move((a.pid, "0-1", "0"), (b.pid, "0", "1")) == ""
    assert only({0}, a)
    # AND gets at the end what it was given
    driver.end()
    assert only({0, 1}, a)
    assert only({1}, b)


def test_a_core_that_was_offline_for_a_while_does_not_unbind_a_rank(start, driving, tmp_path):
    # GIVEN a rank that was moved from unit 0 to unit 1
    sys = tmp_path / "sys"
    online = sys / "devices/system/cpu/online"
    online.parent.mkdir(parents=True)
    online.write_text("0-1\n")
    a, b = start(1, pus={0}), start(1, pus={1})
    driver = driving(a, b, lines=[f"sys {sys}"])
    assert driver.move((a.pid, "0", "1"), (b.pid, "1", "0")) == ""
    # WHEN the kernel lets it run everywhere, as unit 1 goes offline, which comes back later
    online.write_text("0\n")
    for thread in masks(a.pid):
        os.sched_setaffinity(thread, {0, 1})
    driver.sample()
    online.write_text("0-1\n")
    driver.kill()
    # THEN it gets back what it had at first
    assert until(lambda: only({0}, a) and only({1}, b))


def test_a_tuner_without_descriptors_forgets_no_rank(start, driver_program, tmp_path):
    # GIVEN a rank that was moved by a tuner that may open few files
    few = tmp_path / "few"
    few.write_text(f'#!/bin/sh\nulimit -n 48\nexec {driver_program} "$@"\n')
    few.chmod(0o755)
    a, b = start(2, pus={0}), start(2, pus={1})
    with tune_driver.Driver(tmp_path, [f"pid {a.pid}", f"pid {b.pid}"], few) as driver:
        driver.sample()
        assert driver.move((a.pid, "0", "1"), (b.pid, "1", "0")) == ""
        # WHEN for a while it can open none
        limits = resource.prlimit(driver.process.pid, resource.RLIMIT_NOFILE, (3, 48))
        assert driver.sample()["ranks"] == []
        resource.prlimit(driver.process.pid, resource.RLIMIT_NOFILE, limits)
        # THEN it gives the ranks back all the same
        driver.end()
        assert only({0}, a)
        assert only({1}, b)


def test_an_interrupt_that_does_not_go_where_it_should_is_said(driving, proc_with_interrupt):
    # GIVEN one that takes what is written to it and goes elsewhere
    elsewhere = Path("/proc/self/oom_adj")  # 1 becomes 58 thousandths, and these 0
    if not elsewhere.exists() or elsewhere.read_text() != "0\n":
        pytest.skip("the kernel has no such file here")
    managed = proc_with_interrupt / "irq/10/smp_affinity_list"
    managed.parent.mkdir()
    managed.symlink_to(elsewhere)
    driver = driving(lines=[f"proc {proc_with_interrupt}", "irq 1"])
    # WHEN it is moved with another
    why = driver.ask("irq 9 1 10 1")
    # THEN neither is
    assert why.startswith("interrupt 10 cannot be moved")
    assert (proc_with_interrupt / "irq/9/smp_affinity_list").read_text() == "0-1\n"


@pytest.mark.parametrize(
    ("lines", "files", "units"),
    [
        # the group's own; of the nearest above it that has the controller; beside version 1
        ("0::/job/step", {"job/step/cpuset.cpus.effective": "2", "cpuset.cpus.effective": "0-7"}, "2"),
        ("0::/job/step/task", {"job/cpuset.cpus.effective": "2-3", "cpuset.cpus.effective": "0-7"}, "2-3"),
        ("0::/job/step", {"unified/job/cpuset.cpus.effective": "4"}, "4"),
        # version 1, alone and mounted with another controller; paths of outside a container
        ("5:cpuset:/job", {"cpuset/job/cpuset.effective_cpus": "5"}, "5"),
        ("5:cpu,cpuset:/job", {"cpuset/job/cpuset.effective_cpus": "5"}, "5"),
        ("5:cpuset:/docker/1234\n0::/", {"cpuset/cpuset.effective_cpus": "1,6"}, "1,6"),
        ("5:memory:/job", {"cpuset/job/cpuset.effective_cpus": "5"}, "0-7"),
    ],
)
def test_a_cpuset_is_that_of_the_nearest_group(driving, tmp_path, lines, files, units):
    # GIVEN control groups as they are made by others
    proc, sys = tmp_path / "proc", tmp_path / "sys"
    (proc / "12").mkdir(parents=True)
    (proc / "12/cgroup").write_text(lines + "\n")
    for name, text in files.items() | {("../../devices/system/cpu/online", "0-7")}:
        file = Path(os.path.normpath(sys / "fs/cgroup" / name))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    # THEN
    assert driving(lines=[f"proc {proc}", f"sys {sys}"]).ask("usable 12") == units
