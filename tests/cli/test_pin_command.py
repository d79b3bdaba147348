# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise pin`: a rank binds itself and becomes its program."""

import os
import subprocess
import sys

import pytest

from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology, from_synthetic
from rankwise.placement.file import save

pytestmark = pytest.mark.skipif(not {0, 1} <= os.sched_getaffinity(0), reason="needs PUs 0 and 1")
NODE = "package:1 core:2"
SAY = "import os; print(sorted(os.sched_getaffinity(0)))"


@pytest.fixture
def pin(tmp_path):
    """Function (variables, words) -> how it ended; rank 0 is on core 1, rank 1 on both cores, rank 2 on core 0."""
    topology = Topology.of(from_synthetic(NODE), 2)
    save(Placement.explicit(topology, [(0, [1]), (1, [0, 1]), (1, [0])]), tmp_path / "p.json")

    def run(variables, *words):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PMI", "OMPI_", "SLURM_", "FLUX_"))}
        command = [sys.executable, "-m", "rankwise", "pin", "-p", "p.json", "--node", NODE]
        return subprocess.run(
            [*command, "--", *words],
            env=kept | variables,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=60,
        )

    return run


@pytest.mark.parametrize(
    ("variables", "pus"),
    [
        ({"SLURM_PROCID": "0"}, "[1]"),
        ({"FLUX_TASK_RANK": "1"}, "[0, 1]"),
        ({"PMI_RANK": "2", "SLURM_PROCID": "0"}, "[0]"),
    ],
)
def test_the_program_runs_on_the_cores_of_its_rank(pin, variables, pus):
    done = pin(variables, sys.executable, "-c", SAY)
    assert (done.stdout.strip(), done.stderr, done.returncode) == (pus, "", 0)


@pytest.mark.parametrize(
    ("variables", "words", "sentence", "status"),
    [
        ({}, ["true"], "no launcher says which rank this is", 125),
        ({"PMI_RANK": "3"}, ["true"], "this is rank 3 (`PMI_RANK`), the placement has 3 ranks", 125),
        ({"PMI_RANK": "0"}, [], "no program to start", 125),
        ({"PMI_RANK": "0"}, ["./nothing"], "`./nothing` cannot be started: no such file or directory", 127),
    ],
)
def test_what_cannot_be_is_said(pin, variables, words, sentence, status):
    done = pin(variables, *words)
    assert sentence in done.stderr and done.returncode == status
