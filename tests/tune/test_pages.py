# SPDX-License-Identifier: BSD-3-Clause
"""Pages of real ranks: when they are looked at, and their way back."""

import os
import shutil
import subprocess
import time

import pytest
from tune_page import made_up

# Of a node that this machine need not have.
TWO_NUMA_NODES = "pu 2 2 2 0 1 0"


def test_pages_are_looked_at_some_seconds_after_a_rank_has_begun(start, driving, tmp_path):
    # GIVEN a rank that was given by its number, and one that has a page, as it has just been in MPI_Init
    old, new = start(), start()
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/0.page").write_bytes(made_up(new.pid))
    given = driving(old, lines=[TWO_NUMA_NODES])
    begun = driving(lines=[TWO_NUMA_NODES, f"pages {tmp_path / 'pages'}"])
    # WHEN they are looked at
    (first,) = given.sample()["ranks"]
    (second,) = begun.sample()["ranks"]
    # THEN it is known where the first one's pages are
    assert sum(first["pages_by_numa"]) > 0
    assert second["pages_by_numa"] == []
    # THEN where those of the other are is known some seconds later
    until = time.monotonic() + 20
    while not begun.sample()["ranks"][0]["pages_by_numa"] and time.monotonic() < until:
        time.sleep(0.5)
    assert sum(begun.sample()["ranks"][0]["pages_by_numa"]) > 0


# Of processes whose pages come from a node that is not there: the kernel refuses to send them back.
REFUSED = "process {} has pages that cannot be moved: No such device"


def test_pages_that_went_with_a_rank_go_back_with_it_at_the_end(start, driving, two_pus):
    # GIVEN a rank that was moved with its pages
    process = start(pus={0})
    other = start(pus={1})
    driver = driving(process, other)
    assert driver.ask(f"pages {process.pid} 0 1000 {process.pid} 0 1 {other.pid} 1 0") == "0"
    assert os.sched_getaffinity(process.pid) == {1}
    assert "cannot be moved" not in driver.ask("notes")
    # WHEN what was there before is given back
    driver.ask("restore")
    # THEN both are sent to where they were
    assert os.sched_getaffinity(process.pid) == {0}
    assert REFUSED.format(process.pid) in driver.ask("notes")
    # WHEN it is done again, THEN there is nothing left to do
    driver.ask("restore")
    assert "cannot be moved" not in driver.ask("notes")


@pytest.fixture
def batches(tmp_path, monkeypatch):
    """Function () -> batches of pages that were moved since the last call: how many, to which of two nodes."""
    log = tmp_path / "batches"
    monkeypatch.setenv("TWO_MEMORIES", str(log))

    def read() -> list[list[int]]:
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return [[int(word) for word in line.split(" to ")] for line in lines]

    return read


def test_pages_that_are_tried_go_back_to_where_each_was(start, driving, batches):
    # GIVEN a process with every second page on node 1
    process = start(2)
    driver = driving(process)
    # WHEN its pages are sent there on trial
    driver.ask(f"pages {process.pid} 1 0")
    # THEN those that are not there go
    there = batches()
    assert there and {node for _, node in there} == {1}
    # WHEN that is taken back as the tuner ends
    assert driver.ask("undo") == ""
    driver.ask("restore")
    # THEN only those that were moved go back, each once
    back = batches()
    assert {node for _, node in back} == {0}
    assert sum(pages for pages, _ in back) == sum(pages for pages, _ in there)
    # AND a batch that goes there again goes back again
    driver.ask(f"pages {process.pid} 1 0")
    assert sum(pages for pages, _ in batches()) == sum(pages for pages, _ in there)


MIB = 2**20
BATCH_US, US_PER_PAGE = 20_000, 10  # what a batch may take, and what a page of a slow machine does


@pytest.mark.parametrize("pages", ["64-96", "0-8,72-104"], ids=["none before", "some before"])
def test_behind_a_part_without_pages_a_batch_takes_no_longer(
    start, driver_program, batches, tmp_path, monkeypatch, pages
):
    # GIVEN processes whose memory has no pages for 64 MiB, and many behind them that take their time to move
    there = [[int(mib) * MIB for mib in part.split("-")] for part in pages.split(",")]
    count = sum(last - first for first, last in there) // 4096
    only, numbers = [], []
    for begin in (0x10000000, 0x20000000):
        process = start(pus={0})
        numbers.append(str(process.pid))
        proc = tmp_path / "proc" / str(process.pid)
        proc.mkdir(parents=True)
        shutil.copy(f"/proc/{process.pid}/stat", proc)
        (proc / "maps").write_text(f"{begin:x}-{begin + 112 * MIB:x} rw-p 00000000 00:00 0\n")
        (proc / "numa_maps").write_text(f"{begin:x} default anon={count} N0={count} kernelpagesize_kB=4\n")
        only += [f"{begin + first:x}-{begin + last:x}" for first, last in there]
    monkeypatch.setenv("ONLY_PAGES", ",".join(only))
    monkeypatch.setenv("US_PER_PAGE", str(US_PER_PAGE))
    # WHEN they are moved
    command = [driver_program, "--pages", tmp_path / "proc", "1", *numbers]
    assert subprocess.check_output(command, text=True) == ""
    # THEN no batch takes longer than it may, and all pages are there: every second one of each was
    moved = [pages for pages, _ in batches()]
    assert sum(moved) == count
    assert max(moved) * US_PER_PAGE <= BATCH_US


def test_pages_that_were_moved_to_their_rank_stay(start, driving, batches):
    # GIVEN a process whose pages were moved to where it is
    process = start()
    driver = driving(process)
    driver.ask(f"pages {process.pid} 1 0")
    assert batches()
    # WHEN what was there before is given back, THEN they stay
    driver.ask("restore")
    assert batches() == []


def test_pages_of_a_rank_that_has_ended_are_nobodys(start, driving, two_pus):
    process, other = start(pus={0}), start(pus={1})
    driver = driving(process, other)
    assert driver.ask(f"pages {process.pid} 0 1000 {process.pid} 0 1 {other.pid} 1 0") == "0"
    process.kill()
    process.wait()
    driver.ask("restore")
    assert f"process {process.pid}" not in driver.ask("notes")
