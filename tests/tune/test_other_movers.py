# SPDX-License-Identifier: BSD-3-Clause
"""Others that move processes: they are seen before anything is changed, whenever they come."""

import json
import shutil
import subprocess
import sys
import time

import pytest
import simulated_nodes
from proc_stat import stat_line
from tune_page import made_up

LOOKS_S = 10  # how often samples look for other movers (tune/observe/observer.hpp)
HAS_DLB = (
    "import mmap, sys, time\n"
    "with open(sys.argv[1]) as file: kept = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)\n"
    "print('ready', flush=True); time.sleep(600)"
)


@pytest.fixture
def processes(tmp_path):
    """Function (number, name) -> the directory of a process that is made up."""

    def add(number: int, name: str):
        directory = tmp_path / "proc" / str(number)
        directory.mkdir(parents=True)
        (directory / "comm").write_text(f"{name}\n")
        return directory

    add(1, "init")
    return add


@pytest.fixture
def looking(processes, driving, tmp_path):
    """Function () -> a Driver that has looked at these processes once."""
    return lambda: driving(lines=[f"proc {tmp_path / 'proc'}", f"sys {tmp_path / 'sys'}"])


def movers_now(driver):
    """Those that are there, as they are looked for before a change."""
    return json.loads(driver.ask("movers"))["movers"]


def test_a_mover_that_has_just_come_is_seen_before_a_change(processes, looking):
    # GIVEN a tuner that has looked, and a shell that was there then
    shell = processes(600, "bash")
    driver = looking()
    assert movers_now(driver) == []
    # WHEN numad is started, and the shell executes irqbalance
    numad = processes(700, "numad")
    (shell / "comm").write_text("irqbalance\n")
    # THEN both are seen
    assert movers_now(driver) == ["irqbalance", "numad"]
    # AND one that has ended is not, though nobody has waited for it yet
    (numad / "stat").write_text(stat_line(700, name="numad", state="Z"))
    assert movers_now(driver) == ["irqbalance"]
    # AND one is of which only the main thread has ended
    (numad / "stat").write_text(stat_line(700, name="numad", state="Z", threads=2))
    assert movers_now(driver) == ["irqbalance", "numad"]
    (numad / "stat").write_text(stat_line(700, name="numad"))
    assert movers_now(driver) == ["irqbalance", "numad"]
    # AND one that has gone is not, nor who has its number now
    shutil.rmtree(numad)
    processes(700, "bash")
    assert movers_now(driver) == ["irqbalance"]


def test_among_thousands_of_processes_a_mover_is_seen_within_seconds(processes, looking):
    # GIVEN a node of many processes
    for number in range(1000, 3000):
        processes(number, "worker")
    driver = looking()
    # WHEN numad comes, and nothing is to be changed
    processes(700, "numad")
    began = time.monotonic()
    while "numad" not in driver.sample()["movers"]:
        # THEN it is seen when it is looked for the next time: that is as soon as among few
        assert time.monotonic() < began + LOOKS_S + 2
        time.sleep(0.2)


@pytest.fixture
def with_dlb(tmp_path):
    """A process that has DLB's library in its memory."""
    library = tmp_path / "libdlb_mpi.so"
    library.write_bytes(bytes(4096))
    process = subprocess.Popen([sys.executable, "-c", HAS_DLB, library], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.communicate()


def test_dlb_is_known_of_a_rank_that_has_just_come(with_dlb, start, driving, tmp_path):
    # GIVEN a tuner that has looked when there were no ranks
    pages = tmp_path / "pages"
    pages.mkdir()
    driver = driving(lines=[f"pages {pages}"])
    assert driver.sample()["ranks"] == []
    # WHEN a rank comes that DLB is part of, and one without it
    (pages / "0.page").write_bytes(made_up(with_dlb.pid, 0))
    (pages / "1.page").write_bytes(made_up(start().pid, 1))
    # THEN that is known when they are seen first
    found = driver.sample()["ranks"]
    assert {rank["pid"]: rank["has_dlb"] for rank in found}[with_dlb.pid] is True
    assert [rank["has_dlb"] for rank in found].count(False) == 1


def test_a_mover_that_comes_in_a_trial_ends_it():
    # GIVEN a swap that gains, whose trial is between two looks for other movers
    program = simulated_nodes.built()
    scenario = (
        "node packages 1 cores 4\npolicy act 1\njob a pus 0,1,2,3 compute 0.01,0.01,0.01,0.004\n"
        "at 0 irq 0 0.4\nat 1 start a\nuntil 9\n"
    )
    alone = simulated_nodes.simulate(program, scenario)
    assert len(alone.of("kept")) == 1
    # WHEN numad comes at any moment until the swap is kept
    refused, undone = [], []
    at, end = 2.0, alone.of("kept")[0]["at_s"]
    while at < end:
        outcome = simulated_nodes.simulate(program, scenario.replace("until", f"at {at} mover numad\nuntil"))
        # THEN nothing is moved beside it, and the swap is not kept
        assert outcome.violations == [], at
        assert outcome.of("kept") == [], at
        why = [event["why"] for event in outcome.of("refused", "undone")]
        assert why == ["numad has begun to move processes or pages"], at
        refused += outcome.of("refused")
        undone += outcome.of("undone")
        at += 0.2
    # THEN before it was tried, or before it would have been kept
    assert refused and undone
