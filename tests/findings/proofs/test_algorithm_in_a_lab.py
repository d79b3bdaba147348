# SPDX-License-Identifier: BSD-3-Clause
"""Eight nodes that add up one after the other, as a setting asks; what the library does by itself saves the cost."""

import os
import subprocess
import sys
from statistics import median

import mpis
import pytest
from proof import WITHIN

from rankwise.findings.catalogue import findings_of
from rankwise.lab.own_lab import own_lab
from rankwise.lab.rate import parse_rate
from rankwise.lab.up import plan_lab
from rankwise.recording import Recording

NODES, RATE, RUNS = 8, "100mbit", 3
LINEAR = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", "OMPI_MCA_coll_tuned_allreduce_algorithm": "1"}
pytestmark = [
    pytest.mark.root,
    pytest.mark.mpi,
    pytest.mark.slow,
    pytest.mark.alone,
    mpis.only(lambda mpi: mpi.family == "openmpi" and mpis.runs_in_a_lab(mpi), quick=("openmpi-5.0.11",)),
]


@pytest.fixture
def lab(lab_allowed):
    """Eight nodes of one core."""
    with own_lab(plan_lab("proof", NODES, 1, parse_rate(RATE))) as lab:
        yield lab


def test_the_setting_costs_what_the_librarys_own_choice_saves(lab, mpi, defective, tmp_path):
    program = defective(mpi, "collective_algorithm")
    costs, time_s = [], {"linear": [], "own": []}
    for number in range(RUNS):
        for how, set_to in (("linear", LINEAR), ("own", {})):
            to = tmp_path / f"{how}{number}.rw"
            line = [sys.executable, "-m", "rankwise", "lab", "run", "--name", lab.name, "--record", str(to)]
            line += ["--trace", "--exact-times", "--", str(program)]
            environment = os.environ | set_to
            done = subprocess.run(line, capture_output=True, text=True, timeout=60, env=environment)
            assert done.returncode == 0, done.stderr
            recording = Recording.open(to)
            time_s[how].append(recording.ranks["time_s"].max())
            told = [each for each in findings_of(recording)[0] if each.name == "collective-algorithm"]
            # THEN it is told where the setting asks for it, and only there
            assert len(told) == (how == "linear")
            costs += [each.cost_s for each in told]
            assert all(
                "OMPI_MCA_coll_tuned_allreduce_algorithm=1 asks for it" in each.sentence for each in told
            )
    saved_s = median(time_s["linear"]) - median(time_s["own"])
    assert abs(median(costs) - saved_s) <= WITHIN * saved_s, (costs, time_s)
