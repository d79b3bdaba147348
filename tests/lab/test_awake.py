# SPDX-License-Identifier: BSD-3-Clause
"""Ranks of a lab sleep between looks for messages; an experiment can keep one awake."""

import os
import subprocess
import sys

from rankwise.lab.launch import preload_list

LOOKS = 3000
PROGRAM = f"""
import ctypes, resource

here = ctypes.CDLL(None)

def slept():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    for _ in range({LOOKS}):
        here.sched_yield()
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before

asleep = slept()
here.rankwise_lab_keep_awake(1)
awake = slept()
here.rankwise_lab_keep_awake(0)
print(asleep, awake, slept())
"""


def test_a_rank_that_is_kept_awake_does_not_sleep():
    # GIVEN a process that gives up its core 3000 times, as one of Open MPI that waits
    environment = os.environ | {"LD_PRELOAD": preload_list()}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    asleep, awake, again = map(int, done.stdout.split())
    # THEN it sleeps after every sixth time, unless it is kept awake
    assert all(LOOKS // 7 < times < LOOKS // 5 for times in (asleep, again))
    assert awake < 50
