# SPDX-License-Identifier: BSD-3-Clause
"""Interrupts for the network by core and message (claim S-irq), recorded in a lab that receives on one core."""

import json
import os

import mpis
import pytest
from interrupts.by_core import count

from rankwise.recording import Recording
from rankwise.report.build import build

pytestmark = [
    pytest.mark.root,
    pytest.mark.mpi,
    mpis.only(mpis.runs_in_a_lab, quick=("mpich-5.0.2",)),
    pytest.mark.skipif(
        len(os.sched_getaffinity(0)) < 2, reason="needs two PUs: on one, no core is beside the interrupt core"
    ),
]
LAPS = 3000


@pytest.mark.parametrize("core", [0, 1])
def test_interrupts_come_to_the_core_that_receives(line, mpi, compiled, tmp_path, core):
    # GIVEN a lab whose nodes receive on one core, and a token that two of them pass on
    up = line("up", "--nodes", 2, "--cores", 2, "--rate", "1gbit", "--irq-core", core)
    if "steering" in up.stderr:
        pytest.skip(up.stderr)
    assert up.returncode == 0, up.stderr
    pu = line.state()["nodes"][0]["cores"][core]
    counted = tmp_path / "run.json"
    options = ("-n", 2, "--allocation", "cyclic", "--record", tmp_path / "ring.rw", "-o", counted)
    done = line("run", *options, "--", compiled(mpi, "ring.c"), LAPS)
    assert done.returncode == 0, done.stderr
    recording = Recording.open(tmp_path / "ring.rw")
    found = count(recording, pu, 1000)
    # THEN each message crossed, each packet came to that core, and more than 99 % of the interrupts for packets
    assert found.messages == 2 * LAPS
    received = sum(each["rx_packets"] for each in json.loads(counted.read_text())["interfaces"])
    assert found.packets[pu] >= received * 0.9 >= 2 * LAPS * 0.9
    total = sum(found.interrupts.values())
    assert found.interrupts[pu] > 0.99 * total
    # AND there is about one a message: a core that is at it already needs none
    assert 0.3 * 2 * LAPS < found.interrupts[pu] < 1.5 * received
    # AND the report has what each core of the machine took in, once
    assert sum(use.packets for use in build(recording).use.cores if use.pu == pu) == pytest.approx(
        found.packets[pu], rel=0.1
    )
