# SPDX-License-Identifier: BSD-3-Clause
"""Masks of several units, where a runtime, a cpuset or a failure changes them between two changes."""

import signal

import pytest
import tune_driver
from test_journal import kill_both
from waiting import until


class Masks:
    """Masks of threads on a machine with 64 units (other_machines.cpp)."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()

    def __getitem__(self, thread: int) -> set[int]:
        bits = int.from_bytes((self.folder / str(thread)).read_bytes(), "little")
        return {unit for unit in range(64) if bits >> unit & 1}

    def __setitem__(self, thread: int, units: set[int]) -> None:
        (self.folder / str(thread)).write_bytes(sum(1 << unit for unit in units).to_bytes(8, "little"))

    def give(self, cpuset: set[int]) -> None:
        """Change the cpuset: each thread gets what is in it of what was asked for last, or else all of it."""
        (self.folder / "cpuset").write_bytes(sum(1 << unit for unit in cpuset).to_bytes(8, "little"))
        for path in self.folder.glob("*.asked"):
            bits = int.from_bytes(path.read_bytes(), "little")
            asked = {unit for unit in range(64) if bits >> unit & 1}
            self[int(path.stem)] = asked & cpuset or cpuset

    def lock(self, after: int) -> None:
        """Let so many masks be set, and then none."""
        (self.folder / "locked").write_text(f"{after}\n")

    def unlock(self) -> None:
        """Let all be set."""
        (self.folder / "locked").unlink()


@pytest.fixture
def units(tmp_path, monkeypatch):
    """Masks, those of threads that are not given one being unknown to the tuner."""
    monkeypatch.setenv("SIXTY_FOUR_UNITS", str(tmp_path / "masks"))
    return Masks(tmp_path / "masks")


@pytest.fixture
def online(tmp_path):
    """Function (units) that says that these are online."""
    path = tmp_path / "sys/devices/system/cpu/online"
    path.parent.mkdir(parents=True)

    def write(units: str):
        path.write_text(units + "\n")
        return f"sys {tmp_path / 'sys'}"

    write("0-63")
    return write


@pytest.fixture
def ranks(start, driving, units, online):
    """Function (masks of the ranks) -> a driver, and of each rank its process and its two threads."""

    def begin(*masks: set[int]):
        processes = [start(1) for _ in masks]
        threads = [sorted(tune_driver.masks(process.pid)) for process in processes]
        for mask, of_rank in zip(masks, threads, strict=True):
            for thread in of_rank:
                units[thread] = mask
        driver = driving(*processes, lines=[online("0-63")])
        return driver, [process.pid for process in processes], threads

    return begin


FIRST, SECOND, THIRD = set(range(4)), set(range(4, 8)), set(range(8, 12))


def test_a_thread_that_bound_itself_between_two_changes_gets_back_that_part_of_what_its_rank_had(
    ranks, units
):
    # GIVEN a rank that was moved, and one of its threads that is seen only then, bound to one of the new units
    driver, (a, b, c), ((main, helper), _, _) = ranks(FIRST, SECOND, THIRD)
    (units.folder / str(helper)).unlink()
    assert driver.move((a, "0-3", "4-7"), (b, "4-7", "0-3")) == ""
    units[helper] = {5}
    driver.sample()
    # WHEN the rank is moved on
    assert driver.move((a, "4-7", "8-11"), (c, "8-11", "4-7")) == ""
    assert units[main] == THIRD
    assert units[helper] == {9}
    # THEN it gets the same part of what the rank had at first
    driver.end()
    assert units[main] == FIRST
    assert units[helper] == {1}


def test_a_rank_whose_runtime_bound_its_main_thread_can_be_moved_again(ranks, units):
    # GIVEN a rank that was moved, and bound to one of its new units since
    driver, (a, b, _), ((main, helper), _, _) = ranks(FIRST, SECOND, THIRD)
    assert driver.move((a, "0-3", "4-7"), (b, "4-7", "0-3")) == ""
    units[main] = {6}
    driver.sample()
    # WHEN that unit is exchanged for another one
    assert driver.move((a, "6", "10")) == ""
    assert units[main] == {10}
    # THEN it gets back that part of what it had, and the others get all of it
    driver.end()
    assert units[main] == {2}
    assert units[helper] == FIRST


@pytest.mark.parametrize("ends", ["well", "killed"])
def test_threads_that_are_bound_to_a_unit_each_keep_their_parts(ranks, units, ends):
    # GIVEN ranks of which OpenMP has bound the main thread, too
    driver, (a, b), ((main, helper), (partner, other)) = ranks({0}, {4})
    units[helper], units[other] = {1}, {5}
    driver.sample()
    # WHEN they change places
    assert driver.move((a, "0-1", "4-5"), (b, "4-5", "0-1")) == ""
    # THEN each thread has the unit of its counterpart
    assert [units[thread] for thread in (main, helper, partner, other)] == [{4}, {5}, {0}, {1}]
    # THEN each has at the end what it had
    if ends == "well":
        driver.end()
    else:
        driver.kill()
        until_given_back(driver)
    assert [units[thread] for thread in (main, helper, partner, other)] == [{0}, {1}, {4}, {5}]


@pytest.mark.parametrize("goes_back", [False, True], ids=["both ended before", "one ended since"])
def test_units_of_threads_that_have_ended_are_still_their_jobs(ranks, units, goes_back):
    # GIVEN ranks of two threads on a unit each, whose second threads end, or that of one rank after a move
    driver, (a, b), ((main, helper), (partner, other)) = ranks({0}, {4})
    units[helper], units[other] = {1}, {5}
    driver.sample()
    moves = ((a, "0-1", "4-5"), (b, "4-5", "0-1"))
    if goes_back:
        assert driver.move(*moves) == ""
        moves = ((a, "4-5", "0-1"), (b, "0-1", "4-5"))
    else:
        tune_driver.end_thread(b, other)
    tune_driver.end_thread(a, helper)
    driver.sample()
    # WHEN they change places THEN the threads that are left do, though none has the others' units
    assert driver.move(*moves) == ""
    assert [units[main], units[partner]] == ([{0}, {4}] if goes_back else [{4}, {0}])
    # AND nobody gets units that the job never had
    assert driver.move((a, moves[0][2], "8-9")).endswith("units that its job was not given")


def test_a_rank_goes_to_units_that_it_had_before_its_runtime_bound_it(ranks, units):
    # GIVEN ranks whose threads are bound to fewer units than the launcher gave them, as by OMP_PROC_BIND
    driver, (a, b), ((main, helper), (partner, other)) = ranks(FIRST, SECOND)
    for thread, unit in ((main, 0), (helper, 1), (partner, 4), (other, 5)):
        units[thread] = {unit}
    driver.sample()
    # WHEN they change places with all of it THEN each thread gets its counterpart's
    assert driver.move((a, "0-3", "4-7"), (b, "4-7", "0-3")) == ""
    assert [units[thread] for thread in (main, helper, partner, other)] == [{4}, {5}, {0}, {1}]
    driver.end()
    assert [units[thread] for thread in (main, helper, partner, other)] == [{0}, {1}, {4}, {5}]


@pytest.mark.parametrize("ends", ["well", "killed"])
@pytest.mark.parametrize(("mask", "other", "left"), [({0}, {4}, {4}), ({0, 1}, {4, 5}, {4})])
def test_units_that_a_cpuset_takes_and_gives_again_stay_the_tuners(
    ranks, units, online, ends, mask, other, left
):
    # GIVEN a rank that was moved, whose new units go away, so that the kernel lets it run everywhere
    driver, (a, b), ((main, helper), (partner, _)) = ranks(mask, other)
    there, back = as_list(mask), as_list(other)
    assert driver.move((a, there, back), (b, back, there)) == ""
    online("0-3,6-63")
    units[main] = units[helper] = set(range(64)) - {4, 5}
    driver.sample()
    driver.sample()
    # WHEN they come back, or some of them, and the kernel gives it what it had
    online("0-63" if left == other else "0-4,6-63")
    units[main] = units[helper] = left
    driver.sample()
    driver.sample()
    # THEN it has at the end what it had at first
    if ends == "well":
        driver.end()
    else:
        driver.kill()
        until_given_back(driver)
    assert units[main] == mask
    assert units[helper] == mask
    assert units[partner] == other


def test_a_thread_that_bound_itself_gets_its_part_back_though_a_cpuset_took_the_units_for_a_while(
    ranks, units, online
):
    # GIVEN a rank that was moved, and one of its threads that is seen only then, bound to one of the new units
    driver, (a, b), ((main, helper), _) = ranks(FIRST, SECOND)
    (units.folder / str(helper)).unlink()
    assert driver.move((a, "0-3", "4-7"), (b, "4-7", "0-3")) == ""
    units[helper] = {5}
    driver.sample()
    # WHEN a cpuset takes the new units, and gives them again
    for taken, there in ((SECOND, "0-3,8-63"), (set(), "0-63")):
        online(there)
        units.give(set(range(64)) - taken)
        driver.sample()
        driver.sample()
    assert (units[main], units[helper]) == (SECOND, {5})
    # THEN at the end it has that part of what the rank had at first
    driver.end()
    assert (units[main], units[helper]) == (FIRST, {1})


def test_what_cannot_be_taken_back_is_not_taken_for_somebody_elses(ranks, units):
    # GIVEN a change that cannot be taken back
    driver, (a, b), ((main, _), (partner, _)) = ranks({0}, {4})
    assert driver.move((a, "0", "4"), (b, "4", "0")) == ""
    units.lock(0)
    assert "cannot be given back" in driver.ask("undo")
    # WHEN it is looked at, and taken back later
    driver.sample()
    assert "cannot be given back" in driver.ask("undo")
    driver.sample()
    units.unlock()
    assert driver.ask("undo") == ""
    assert units[main] == {0}
    assert units[partner] == {4}
    # THEN all have at the end what they had at first
    driver.sample()
    driver.end()
    assert units[main] == {0}
    assert units[partner] == {4}


@pytest.mark.parametrize("again", [lambda driver: driver.sample(), lambda driver: driver.ask("undo")])
def test_a_change_that_fails_halfway_is_taken_back_once_that_is_possible(ranks, units, again):
    # GIVEN a change of which the first thread is moved, the second cannot be, and nothing can be taken back
    driver, (a, b), ((main, helper), (partner, _)) = ranks({0}, {4})
    units.lock(1)
    why = driver.move((a, "0", "4"), (b, "4", "0"))
    assert why.endswith("1 threads cannot be moved back: it is tried again")
    assert units[main] == {4}
    assert driver.ask("stuck") == "1"
    # WHEN that is still so when it is looked at next, and no more the time after that
    again(driver)
    assert (units[main], driver.ask("stuck")) == ({4}, "1")
    units.unlock()
    again(driver)
    # THEN it is taken back
    assert (units[main], driver.ask("stuck")) == ({0}, "0")
    # AND the ranks can be moved
    assert driver.move((a, "0", "4"), (b, "4", "0")) == ""
    assert [units[main], units[helper], units[partner]] == [{4}, {4}, {0}]
    driver.end()
    assert [units[main], units[helper], units[partner]] == [{0}, {0}, {4}]


@pytest.mark.parametrize("stuck", [False, True])
def test_ranks_go_back_where_the_interrupts_of_their_change_cannot_be_moved(ranks, units, stuck):
    # GIVEN ranks of two threads each, which perhaps cannot be moved back
    driver, (a, b), of_ranks = ranks({0}, {4})
    if stuck:
        units.lock(4)
    # WHEN they are moved with an interrupt that may not be moved
    why = driver.ask(f"mixed 9 1 {a} 0 4 {b} 4 0")
    # THEN nothing of it is done, or it is said what is left of it
    refused = "interrupt 9 may not be moved: `--irq` allows it"
    assert why == refused + "; 4 threads cannot be moved back: it is tried again" * stuck
    assert driver.ask("stuck") == str(int(stuck))
    moved, back = [[{4}] * 2, [{0}] * 2], [[{0}] * 2, [{4}] * 2]
    assert [[units[thread] for thread in threads] for threads in of_ranks] == (moved if stuck else back)
    if stuck:
        units.unlock()
        assert driver.ask("undo") == ""
        assert [[units[thread] for thread in threads] for threads in of_ranks] == back


def test_a_tuner_killed_with_something_that_it_could_not_take_back_leaves_it_to_its_guard(ranks, units):
    driver, (a, b), ((main, _), _) = ranks({0}, {4})
    units.lock(1)
    assert driver.move((a, "0", "4"), (b, "4", "0")) != ""
    driver.sample()
    units.unlock()
    driver.kill()
    until_given_back(driver)
    assert units[main] == {0}


def as_list(units: set[int]) -> str:
    """As Linux writes them."""
    return ",".join(map(str, sorted(units)))


def until_given_back(driver: tune_driver.Driver) -> None:
    """Wait for the guard."""
    assert until(lambda: not (driver.state / "journal").exists())


def test_another_change_that_fails_does_not_make_it_forget_what_is_stuck(ranks, units):
    # GIVEN a thread that could not be moved back
    driver, (a, b, c), ((main, _), _, (third, _)) = ranks({0}, {4}, {8})
    units.lock(1)
    assert driver.move((a, "0", "4"), (b, "4", "0")) != ""
    # WHEN another change fails before it has moved anything
    assert driver.move((c, "8", "40")).endswith("units that its job was not given")
    # THEN the thread is still moved back once that is possible
    units.unlock()
    driver.sample()
    assert units[main] == {0}
    assert units[third] == {8}


def test_what_two_tuners_left_leads_back_to_what_was_there_at_first(start, driving, units, online):
    # GIVEN a tuner that has moved a rank twice and undone that once, and was killed with its guard
    process, other = start(0), start(0)
    units[process.pid], units[other.pid] = {0}, {4, 8, 12}
    lines = [online("0-63")]
    first = driving(process, other, lines=lines)
    assert first.move((process.pid, "0", "4")) == ""
    assert first.move((process.pid, "4", "8")) == ""
    assert first.ask("undo") == ""
    kill_both(first)
    # GIVEN a second one that could not give it back what it had, moved it all the same, and was killed, too
    units.lock(0)
    second = driving(process, other, state=first.state, lines=lines)
    assert "could not be given back" in second.ask("notes")
    units.unlock()
    assert second.move((process.pid, "4", "12")) == ""
    kill_both(second)
    # WHEN a third one starts THEN the rank has what it had before the first change of the first
    driving(process, other, state=first.state, lines=lines)
    assert units[process.pid] == {0}


@pytest.mark.parametrize("ends", ["well", "killed"])
def test_a_cpuset_that_grows_after_the_end_gives_nobody_what_the_tuner_asked_for(ranks, units, online, ends):
    # GIVEN ranks that changed places, and a cpuset that leaves the first a unit that it had before, too
    driver, (a, b), ((main, _), (partner, _)) = ranks({0, 1}, {1, 2})
    assert driver.move((a, "0", "2"), (b, "2", "0")) == ""
    assert [units[main], units[partner]] == [{1, 2}, {0, 1}]
    online("1,8-63")
    units.give({1, *range(8, 64)})
    assert units[main] == {1}
    driver.sample()
    # WHEN the tuner ends, and the cpuset grows again
    if ends == "well":
        driver.end()
    else:
        driver.kill()
        until_given_back(driver)
    units.give(set(range(64)))
    # THEN the ranks have what they had at first
    assert units[main] == {0, 1}
    assert units[partner] == {1, 2}


def test_a_trial_undone_without_its_units_is_nobody_elses_will(ranks, units, online):
    # GIVEN a change whose units, old and new, a cpuset takes before it is undone
    driver, (a, b), ((main, _), (partner, _)) = ranks({0}, {4})
    assert driver.move((a, "0", "4"), (b, "4", "0")) == ""
    online("8-63")
    units.give(set(range(8, 64)))
    assert driver.ask("undo") == ""
    driver.sample()
    # WHEN they come back
    online("0-63")
    units.give(set(range(64)))
    driver.sample()
    driver.sample()
    # THEN the ranks have at the end what they had at first
    driver.end()
    assert units[main] == {0}
    assert units[partner] == {4}


def test_what_a_thread_began_in_a_trial_goes_back_with_the_rank(ranks, units):
    # GIVEN a rank that was moved, and is on trial somewhere else, where its main thread begins one
    driver, (a, b, c), ((_, worker), _, _) = ranks(FIRST, SECOND, THIRD)
    assert driver.move((a, "0-3", "4-7"), (b, "4-7", "0-3")) == ""
    driver.sample()
    assert driver.move((a, "4-7", "8-11"), (c, "8-11", "4-7")) == ""
    born = tune_driver.begun_by(a, a)
    units[born] = THIRD
    # WHEN somebody gives the main thread alone another mask, which is seen, and the change is undone
    units[a] = {20, 21}
    driver.sample()
    assert driver.ask("undo") == ""
    # THEN both others are where the rank was before the trial
    assert (units[worker], units[born]) == (SECOND, SECOND)
    # AND after the tuner was killed, where it was at first
    driver.kill()
    until_given_back(driver)
    assert (units[worker], units[born], units[a]) == (FIRST, FIRST, {20, 21})


def test_what_a_bound_thread_had_is_known_though_somebody_changed_the_main_thread(ranks, units):
    # GIVEN a rank that was moved, whose main thread begins one that binds itself to a part
    driver, (a, b), _ = ranks(FIRST, SECOND)
    assert driver.move((a, "0-3", "4-7"), (b, "4-7", "0-3")) == ""
    born = tune_driver.begun_by(a, a)
    units[born] = {5}
    # WHEN somebody gives the main thread alone another mask, which is seen, and the tuner is killed
    units[a] = FIRST | SECOND
    driver.sample()
    driver.kill()
    assert until(lambda: not (driver.state / "journal").exists())
    # THEN it has the same part of what the rank had
    assert (units[born], units[a]) == ({1}, FIRST | SECOND)


def test_what_two_tuners_left_leads_back_also_for_what_was_born_in_between(start, driving, units, online):
    # GIVEN a rank that a tuner has moved, and that has begun threads since, one of which bound itself to a part
    process, other = start(0), start(0)
    units[process.pid], units[other.pid] = FIRST, SECOND | THIRD
    lines = [online("0-63")]
    first = driving(process, other, lines=lines)
    assert first.move((process.pid, "0-3", "4-7")) == ""
    born, bound = (tune_driver.begun_by(process.pid, process.pid) for _ in range(2))
    units[born], units[bound] = SECOND, {5}
    kill_both(first)
    # GIVEN a second one that could not give it back what it had, moved it all the same, and was killed, too
    units.lock(0)
    second = driving(process, other, state=first.state, lines=lines)
    assert "could not be given back" in second.ask("notes")
    units.unlock()
    assert second.move((process.pid, "4-7", "8-11")) == ""
    assert (units[process.pid], units[born], units[bound]) == (THIRD, THIRD, {9})
    kill_both(second)
    # WHEN a third one starts THEN they have what the rank had before the first change of the first, or its part
    driving(process, other, state=first.state, lines=lines)
    assert (units[process.pid], units[born], units[bound]) == (FIRST, FIRST, {1})


@pytest.mark.parametrize("is_seen", [False, True], ids=["not seen", "seen"])
def test_a_thread_that_binds_itself_in_a_trial_has_the_same_part_behind_it(ranks, units, is_seen):
    # GIVEN a rank that was moved, is on trial somewhere else, and has threads that bind themselves there
    driver, (a, b, c), ((main, helper), _, _) = ranks(FIRST, SECOND, THIRD)
    assert driver.move((a, "0-3", "4-7"), (b, "4-7", "0-3")) == ""
    driver.sample()
    assert driver.move((a, "4-7", "8-11"), (c, "8-11", "4-7")) == ""
    born = tune_driver.begun_by(a, a)
    units[helper], units[born] = {9}, {10, 11}
    if is_seen:
        driver.sample()
    # WHEN that is undone THEN they have the same part of what the rank had before it
    assert driver.ask("undo") == ""
    assert (units[main], units[helper], units[born]) == (SECOND, {5}, {6, 7})
    # AND where they bind themselves behind it, and the tuner is killed before it looks again, of what was first
    units[born] = {4}
    driver.kill()
    until_given_back(driver)
    assert (units[main], units[helper], units[born]) == (FIRST, {1}, {0})


def test_what_binds_itself_while_its_rank_is_moved_has_that_part_then_and_at_the_end(ranks, units, slow_disk):
    # GIVEN a rank that was moved
    driver, (a, b, c), ((main, _), _, _) = ranks(FIRST, SECOND, THIRD)
    assert driver.move((a, "0-3", "4-7"), (b, "4-7", "0-3")) == ""
    born = []

    def begin(units_of_it: set[int]) -> None:
        born.append(tune_driver.begun_by(a, a))
        units[born[-1]] = units_of_it

    # WHEN it is moved on, and begins threads that bind themselves before it has other units, and behind that
    line = f"move {a} 4-7 8-11 {c} 8-11 4-7"
    assert slow_disk(driver, line, lambda: begin({5}), lambda: begin({10})) == ""
    # THEN the one comes along, and the other stays
    assert (units[main], *(units[thread] for thread in born)) == (THIRD, {9}, {10})
    # AND at the end both have that part of what the rank had at first
    driver.end()
    assert (units[main], *(units[thread] for thread in born)) == (FIRST, {1}, {2})


def test_what_was_being_begun_when_its_rank_was_moved_is_known_when_a_cpuset_takes_the_units(
    ranks, units, online
):
    # GIVEN a rank that was moved twice, and a thread that is listed only then, with the mask of before
    driver, (a, b, c), ((main, _), _, _) = ranks(FIRST, SECOND, THIRD)
    assert driver.move((a, "0-3", "4-7"), (b, "4-7", "0-3")) == ""
    assert driver.move((a, "4-7", "8-11"), (c, "8-11", "4-7")) == ""
    born = tune_driver.begun_by(a, a)
    units[born] = SECOND
    # WHEN a cpuset takes the rank's new units, which is seen, and the tuner ends
    online("0-7,12-63")
    units.give(set(range(64)) - THIRD)
    assert units[born] == SECOND
    driver.sample()
    driver.sample()
    driver.end()
    # THEN the thread has what the rank had at first
    assert (units[main], units[born]) == (FIRST, FIRST)


def test_what_a_thread_began_that_could_not_be_taken_back_is_with_it_though_somebody_changed_that(
    ranks, units
):
    # GIVEN a thread that could not be taken back, and has begun another one
    driver, (a, b), ((main, helper), _) = ranks({0}, {4})
    units.lock(1)
    assert driver.move((a, "0", "4"), (b, "4", "0")).endswith("it is tried again")
    assert units[main] == {4}
    born = tune_driver.begun_by(a, a)
    units[born] = {4}
    # WHEN somebody gives it another mask, and masks can be set again
    units[main] = {20, 21}
    units.unlock()
    driver.sample()
    # THEN the new one is where the rank is
    assert (units[main], units[helper], units[born]) == ({20, 21}, {0}, {0})


@pytest.mark.parametrize("ends", ["well", "killed", "undone"])
@pytest.mark.parametrize("is_seen", [False, True], ids=["not seen", "seen"])
def test_a_program_that_a_thread_executed_has_the_mask_of_that_thread(ranks, units, ends, is_seen):
    # GIVEN ranks that changed places, of which a thread has a unit that the main thread does not have
    driver, (a, b), ((main, helper), (_, other)) = ranks(FIRST, SECOND)
    units[helper], units[other] = {20}, {21}
    driver.sample()
    assert driver.move((a, "0-3,20", "4-7,21"), (b, "4-7,21", "0-3,20")) == ""
    assert (units[main], units[helper]) == (SECOND, {21})
    # WHEN that thread executes a program, and has the main thread's number since
    tune_driver.signal_thread(a, helper, signal.SIGUSR1)
    assert until(lambda: helper not in tune_driver.masks(a) and len(tune_driver.masks(a)) == 2)
    born = max(tune_driver.masks(a))
    units[main] = units[born] = {21}
    if is_seen:
        driver.sample()
    # THEN it gets back what that thread had
    if ends == "well":
        driver.end()
    elif ends == "killed":
        driver.kill()
        until_given_back(driver)
    else:
        assert driver.ask("undo") == ""
    assert (units[main], units[born]) == ({20}, {20})
