# SPDX-License-Identifier: BSD-3-Clause
"""A lab whose first node has a queue that is too short: TCP sends again what it drops, and that is told."""

import subprocess
import sys

import mpis
import pytest
from pyroute2 import IPRoute

from rankwise.findings.catalogue import findings_of
from rankwise.lab.network import DATA_INTERFACE, inside_network_of
from rankwise.lab.own_lab import own_lab
from rankwise.lab.rate import parse_rate
from rankwise.lab.up import plan_lab
from rankwise.recording import Recording

pytestmark = [
    pytest.mark.root,
    pytest.mark.mpi,
    pytest.mark.slow,
    pytest.mark.alone,  # on a loaded machine TCP takes late packets for lost ones
    mpis.only(mpis.runs_in_a_lab, quick=("mpich-5.0.2", "openmpi-5.0.11")),
    pytest.mark.usefixtures("two_cores"),
]
QUEUE = {"rate": "50mbit", "burst": 8 << 10, "limit": 12 << 10}


@pytest.fixture
def lab(lab_allowed):
    """Two nodes of one core."""
    with own_lab(plan_lab("proof", 2, 1, parse_rate("100mbit"))) as lab:
        yield lab


def shorten_queue(pid):
    """Have a node's interface drop packets that come faster than half its rate (tc-tbf)."""
    with inside_network_of(pid), IPRoute() as netlink:
        (index,) = netlink.link_lookup(ifname=DATA_INTERFACE)
        netlink.tc("replace", "tbf", index, **QUEUE)


def test_packets_that_a_short_queue_drops_are_told_as_sent_again(lab, mpi, defective, tmp_path):
    # GIVEN messages one way, from a node that loses no packets and then from one that does
    program = defective(mpi, "one_way")
    told = []
    for how in ("mended", "defect"):
        if how == "defect":
            shorten_queue(lab.nodes[0].pid)
        to = tmp_path / f"{how}.rw"
        words = ["lab", "run", "--name", lab.name, "--record", str(to), "--", str(program), how]
        done = subprocess.run(
            [sys.executable, "-m", "rankwise", *words], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        told.append([each for each in findings_of(Recording.open(to))[0] if each.name == "tcp-retransmits"])
    # THEN nothing is told of the first, and of the second that this node sent again
    whole, lossy = told
    assert whole == []
    assert lossy[0].sentence.startswith(f"TCP of {lab.nodes[0].host} sent")
    assert "fast retransmits" in lossy[0].sentence
