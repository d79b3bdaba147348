# SPDX-License-Identifier: BSD-3-Clause
"""Threads that the kernel moves: where they have run is told by looks between two samples."""

import os
import time
from pathlib import Path

import pytest


def unit_of(tid: int) -> int:
    """Where a thread runs, or has run last."""
    return int(Path(f"/proc/{tid}/stat").read_text().rpartition(")")[2].split()[36])


def let_run(tid: int) -> None:
    """Wait until a thread has run some time: on a busy machine it gets a processor late."""

    def run_ns():
        return int(Path(f"/proc/{tid}/schedstat").read_text().split()[0])

    begun_ns, until = run_ns(), time.monotonic() + 10
    while run_ns() < begun_ns + 1e8 and time.monotonic() < until:
        time.sleep(0.01)


def test_a_thread_that_changes_cores_is_seen_to(start, driving, two_pus):
    # GIVEN a thread that spins on one unit
    driver = driving(start(1, spin=1, pus={0}))

    def spinning():
        return driver.sample()["ranks"][0]["threads"][1]

    before = spinning()
    # WHEN it is put on the other and back
    for pu in (1, 0):
        os.sched_setaffinity(before["tid"], {pu})
        until = time.monotonic() + 10
        while spinning()["pu"] != pu and time.monotonic() < until:
            time.sleep(0.01)
    # THEN that was seen twice
    assert spinning()["migrations"] - before["migrations"] == 2


def test_what_a_thread_ran_counts_for_the_units_that_it_was_seen_on(start, driving, two_pus):
    # GIVEN a thread that spins and may use both units, and was always seen on one
    process = start(1, spin=1, pus={0})
    driver = driving(process)
    thread = driver.sample()["ranks"][0]["threads"][1]
    assert thread["run_on"] == []
    os.sched_setaffinity(thread["tid"], {0, 1})
    begun = driver.sample()["ranks"][0]["threads"][1]
    # WHEN it is on one unit for three times as long as on the other, looked at between two samples
    for pu, looks in ((1, 3), (0, 9)):
        os.sched_setaffinity(thread["tid"], {pu})
        for _ in range(looks):
            let_run(thread["tid"])
            driver.ask("units")
    # AND may use both when it is sampled again
    os.sched_setaffinity(thread["tid"], {0, 1})
    ended = driver.sample()["ranks"][0]["threads"][1]
    # THEN all that it ran is told apart
    run_on = dict(ended["run_on"])
    assert sum(run_on.values()) == pytest.approx(ended["run"])
    before = dict(begun["run_on"]) or {begun["pu"]: begun["run"]}
    on = [run_on[pu] - before.get(pu, 0) for pu in (0, 1)]
    assert sum(on) == pytest.approx(ended["run"] - begun["run"])
    assert 0.1 < on[1] / sum(on) < 0.5
    # THEN threads that never changed units are told by one
    assert ended["run"] > 0 and driver.sample()["ranks"][0]["threads"][0]["run_on"] == []


def test_a_bound_thread_is_not_looked_at(start, driving, two_pus):
    # GIVEN a thread that is bound to one unit
    driver = driving(start(1, spin=1, pus={0}))
    before = driver.sample()["ranks"][0]["threads"][1]
    # WHEN it is bound to another one and back, and looked for meanwhile
    os.sched_setaffinity(before["tid"], {1})
    for _ in range(3):
        time.sleep(0.1)
        driver.ask("units")
    os.sched_setaffinity(before["tid"], {0})
    until = time.monotonic() + 10
    while unit_of(before["tid"]) != 0 and time.monotonic() < until:
        time.sleep(0.01)
    # THEN nothing was read of it meanwhile: as far as is known it was always there
    ended = driver.sample()["ranks"][0]["threads"][1]
    assert (ended["run_on"], ended["migrations"]) == ([], before["migrations"])


def test_where_threads_ran_is_forgotten_when_nobody_looks_any_more(start, driving, two_pus):
    # GIVEN a thread that was seen on two units
    process = start(1, spin=1, pus={0})
    driver = driving(process)
    thread = driver.sample()["ranks"][0]["threads"][1]
    os.sched_setaffinity(thread["tid"], {0, 1})
    driver.sample()

    def look_on(pu):
        os.sched_setaffinity(thread["tid"], {pu})
        let_run(thread["tid"])
        driver.ask("units")
        os.sched_setaffinity(thread["tid"], {0, 1})

    for pu in (1, 0, 1):
        look_on(pu)
    seen = driver.sample()["ranks"][0]["threads"][1]
    assert sorted(pu for pu, _ in seen["run_on"]) == [0, 1]
    # WHEN it is read often, and nobody looks THEN it is no part of samples any more
    for _ in range(62):
        last = driver.sample()["ranks"][0]["threads"][1]
    assert last["run_on"] == []
    # THEN looks later begin anew, with all that was run before on the unit of then
    for pu in (0, 1, 0):
        look_on(pu)
    again = driver.sample()["ranks"][0]["threads"][1]
    assert again["run_on_number"] == last["run_on_number"] == seen["run_on_number"] + 1
    assert again["run_on"][0][1] >= last["run"] and sum(run for _, run in again["run_on"]) == pytest.approx(
        again["run"]
    )
