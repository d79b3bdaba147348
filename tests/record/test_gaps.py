# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that compute and wait in turn on one core: what each has computed is in the trace."""

import os
import statistics

import mpis
import pytest

from rankwise.schedule.source import load

pytestmark = pytest.mark.mpi

RANKS, STEPS, WORK_US = 4, 60, 2000
# Ranks take turns, so that gaps last up to RANKS times what was worked: twice is far from that, and from noise.
NEAR = 2
MPICH = [mpi for mpi in mpis.installed() if mpi.name == "mpich-5.0.2"]


@pytest.mark.parametrize("mpi", MPICH, ids=lambda mpi: mpi.name)
def test_ranks_on_one_core_are_replayed_with_what_they_worked(mpi, record, tmp_path):
    program = mpi.compile("sharing.c", tmp_path / "sharing")
    core = min(os.sched_getaffinity(0))
    recorded = record(mpi, RANKS, program, STEPS, WORK_US, core, trace=True)
    for thread in recorded.threads:
        steps = [event for event in thread.events() if event["call"] == "MPI_Barrier"]
        measured = [event["gap_cpu_ns"] for event in steps if event["gap_cpu_ns"] is not None]
        # THEN the processor time of most gaps was measured, though they lasted longer
        assert len(measured) > STEPS / 2
        assert 1 / NEAR < statistics.median(measured) / (WORK_US * 1000) < NEAR
    # AND that is how long the replay computes
    source = load(tmp_path, None)
    computed = [
        sum(int(line.split("calc ")[1]) for line in block.splitlines() if ": calc " in line)
        for block in source.schedule.write_goal().split("rank ")[1:]
    ]
    assert len(computed) >= RANKS
    for each in computed[-RANKS:]:
        assert 1 / NEAR < each / (STEPS * WORK_US * 1000) < NEAR
