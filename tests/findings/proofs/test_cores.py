# SPDX-License-Identifier: BSD-3-Clause
"""Programs whose ranks or threads are bound to too few cores, and the same programs with cores enough."""

import os

import pytest
from proof import bound, prove, record

pytestmark = [pytest.mark.mpi, pytest.mark.slow, pytest.mark.alone, pytest.mark.usefixtures("two_cores")]


def test_threads_that_share_a_core_cost_what_a_core_for_each_saves(mpi, defective, tmp_path):
    command = [defective(mpi, "threads"), "defect", "0.4"]

    def run(how, to):
        line = bound(mpi, 1, *command) if how == "defect" else mpi.launch(1, *command)
        return record(line, to, mpi.environment(), timeout_s=30)

    prove(run, tmp_path, runs=2).holds("threads-share-cores")


def test_ranks_that_share_a_core_though_each_was_to_have_its_own(mpi, defective, tmp_path):
    # GIVEN a launcher that binds each rank to a core, and something behind it that binds all to one
    command = [defective(mpi, "load_imbalance"), "mended", "0.6"]
    second = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]

    def run(how, to):
        line = bound(mpi, 2, *(second if how == "defect" else []), *command)
        return record(line, to, mpi.environment(), timeout_s=30)

    prove(run, tmp_path).holds("bound-otherwise")
