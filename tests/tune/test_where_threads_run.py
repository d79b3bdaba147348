# SPDX-License-Identifier: BSD-3-Clause
"""Threads that the kernel moves: where they have run is told by looks between two samples."""

import os
import time

import pytest


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
            time.sleep(0.1)
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
    # WHEN it is bound to another one, and looked for, as often as looks are allowed
    os.sched_setaffinity(before["tid"], {1})
    for _ in range(3):
        time.sleep(0.1)
        driver.ask("units")
    # THEN nothing was read of it until the sample: all it ran meanwhile is on the new one
    run_on = dict(driver.sample()["ranks"][0]["threads"][1]["run_on"])
    assert run_on[0] == pytest.approx(before["run"])
