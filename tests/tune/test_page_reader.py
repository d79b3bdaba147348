# SPDX-License-Identifier: BSD-3-Clause
"""Ranks' pages (formats/tune_page.h) as a tuner reads them: which are taken, and what is known by them."""

import os

import pytest
from tune_page import made_up


@pytest.fixture
def pages(tmp_path):
    directory = tmp_path / "pages"
    directory.mkdir()
    return directory


def ranks_of(driver, kind="sample"):
    return {rank["progress"]["rank"]: rank for rank in driver.sample(kind)["ranks"] if rank["progress"]}


def test_pages_are_found_as_they_come(start, driving, pages):
    # GIVEN a tuner at work
    a, b = start(), start()
    driver = driving(lines=[f"pages {pages}"])
    assert ranks_of(driver) == {}
    # WHEN ranks prepare their pages, one in a directory of its own
    (pages / "0.page").write_bytes(made_up(a.pid, 0, peers=[1]))
    (pages / "job").mkdir()
    path = pages / "job" / "1.page"
    path.write_bytes(made_up(b.pid, 1, magic=0))
    # THEN it sees what is whole
    found = ranks_of(driver)
    assert found.keys() == {0}
    assert found[0]["progress"]["peers"] == [[1, 3, 300]]
    assert found[0]["group"].startswith(("session.", "mpiexec"))
    # AND the other once it is
    path.write_bytes(made_up(b.pid, 1, mpi=2 * 10**9, wait=10**9))
    found = ranks_of(driver)
    assert found.keys() == {0, 1}
    assert (found[1]["progress"]["mpi"], found[1]["progress"]["wait"]) == (2.0, 1.0)
    # AND a light sample has progress alone
    assert ranks_of(driver, "light")[1]["threads"] == []


def test_times_never_go_back(start, driving, pages):
    a = start()
    path = pages / "0.page"
    path.write_bytes(made_up(a.pid, mpi=5 * 10**9, wait=3 * 10**9))
    driver = driving(lines=[f"pages {pages}"])
    assert ranks_of(driver)[0]["progress"]["mpi"] == 5.0
    with path.open("r+b") as file:
        file.write(made_up(a.pid, mpi=4 * 10**9, wait=10**9))
    assert ranks_of(driver)[0]["progress"]["mpi"] == 5.0
    assert ranks_of(driver)[0]["progress"]["wait"] == 3.0


def test_pages_that_are_cut_short_end_nothing(start, driving, pages):
    a = start()
    path = pages / "0.page"
    path.write_bytes(made_up(a.pid))
    driver = driving(lines=[f"pages {pages}"])
    assert ranks_of(driver).keys() == {0}
    os.truncate(path, 100)
    assert ranks_of(driver, "light") == {}
    assert "damaged" in driver.ask("notes")


def test_what_is_no_page_of_its_process_is_refused(start, driving, pages, tmp_path):
    # GIVEN pages of a process that is gone, of another's start, a link, a pipe, too short, and of another user
    a = start()
    (pages / "gone.page").write_bytes(made_up(a.pid, start=1))
    (tmp_path / "elsewhere").write_bytes(made_up(a.pid))
    (pages / "link.page").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(pages / "pipe.page")
    (pages / "short.page").write_bytes(made_up(a.pid)[:-1])
    if os.geteuid() == 0:
        (pages / "theirs.page").write_bytes(made_up(a.pid))
        os.chown(pages / "theirs.page", 12345, 12345)
    # WHEN they are looked for THEN none is one
    driver = driving(lines=[f"pages {pages}"])
    assert driver.sample()["ranks"] == []


def test_a_directory_that_others_may_write_in_has_no_pages(start, driving, pages):
    # GIVEN pages in directories that others may write in, that are another user's, and that are neither
    process = start()
    for name, mode in (("open", 0o777), ("group", 0o775), ("own", 0o755)):
        (pages / name).mkdir()
        (pages / name).chmod(mode)
        (pages / name / "0.page").write_bytes(made_up(process.pid, {"open": 1, "group": 2, "own": 0}[name]))
    (pages / "0.page").write_bytes(made_up(process.pid, 3, 4))
    pages.chmod(0o1777)
    # WHEN they are looked for THEN it is the last one's page that is taken
    driver = driving(lines=[f"pages {pages}"])
    assert ranks_of(driver).keys() == {0}
    if os.geteuid() == 0:
        other = start()
        (pages / "theirs").mkdir()
        (pages / "theirs/1.page").write_bytes(made_up(other.pid, 1))
        os.chown(pages / "theirs", 12345, 12345)
        assert ranks_of(driver).keys() == {0}


def test_one_user_leaves_others_room_for_pages(start, driving, pages):
    # GIVEN a user with more names of pages, and more directories, than one may have
    if os.geteuid() != 0:
        pytest.skip("only root can make another user's directories")
    pages.chmod(0o1777)
    for number in range(1100):
        (pages / f"a{number}").mkdir()
        os.chown(pages / f"a{number}", 12345, 12345)
    for number in range(2100):
        (pages / f"a0/{number}.page").touch()
    # WHEN another one has a page THEN it is found
    process = start()
    (pages / "b").mkdir()
    (pages / "b/0.page").write_bytes(made_up(process.pid))
    driver = driving(lines=[f"pages {pages}"])
    assert ranks_of(driver).keys() == {0}


def test_a_page_that_was_made_anew_takes_the_place_of_the_first(start, driving, pages):
    # GIVEN a rank whose process executes another program, which makes a page of the same name
    process = start()
    (pages / "0.page").write_bytes(made_up(process.pid, calls=5))
    driver = driving(lines=[f"pages {pages}"])
    assert ranks_of(driver)[0]["progress"]["calls"] == 5
    (pages / "new").write_bytes(made_up(process.pid, calls=1))
    (pages / "new").rename(pages / "0.page")
    # THEN what it says is that of the second
    assert ranks_of(driver)[0]["progress"]["calls"] == 1


def test_jobs_of_one_launcher_are_told_apart_by_their_number_of_ranks(start, driving, pages):
    a, b = start(), start()
    (pages / "a.page").write_bytes(made_up(a.pid, 0, 2))
    (pages / "b.page").write_bytes(made_up(b.pid, 1, 3))
    found = ranks_of(driving(lines=[f"pages {pages}"]))
    assert found[0]["group"] != found[1]["group"]
    assert f"/user-{os.geteuid()}/ranks-2" in found[0]["group"]


def test_a_process_that_is_no_rank_changes_places_with_none(start, driving, pages):
    # GIVEN a rank, and a helper of its job that never calls MPI, both given by their numbers
    rank, helper = start(), start()
    (pages / "0.page").write_bytes(made_up(rank.pid, 0, 2))
    driver = driving(rank, helper, lines=[f"pages {pages}"])
    # THEN they are of different groups
    groups = {each["pid"]: each["group"] for each in driver.sample()["ranks"]}
    assert groups[rank.pid].startswith(groups[helper.pid].split("/cgroup")[0] + "/ranks-2")
    # WHEN the helper says that it is a rank, THEN it is one of them
    (pages / "1.page").write_bytes(made_up(helper.pid, 1, 2))
    groups = {each["pid"]: each["group"] for each in driver.sample()["ranks"]}
    assert groups[rank.pid] == groups[helper.pid]


def test_of_a_directory_of_pages_only_processes_that_were_given_are_taken(start, driving, pages):
    # GIVEN two ranks with pages, of which one was named
    a, b = start(), start()
    (pages / "0.page").write_bytes(made_up(a.pid, 0, 2))
    (pages / "1.page").write_bytes(made_up(b.pid, 1, 2))
    # WHEN they are looked at
    (found,) = driving(lines=[f"pid {a.pid}", f"pages {pages}"]).sample()["ranks"]
    # THEN there is the one only, with its progress
    assert (found["pid"], found["progress"]["rank"]) == (a.pid, 0)
