# SPDX-License-Identifier: BSD-3-Clause
"""A lab whose nodes receive on one core: the finding names that core and the swap, which gains what was estimated."""

import ctypes
import socket
import struct
import subprocess
import sys
from statistics import median

import mpis
import pytest
from proof import WITHIN

from rankwise.findings.catalogue import findings_of
from rankwise.lab.network import DATA_INTERFACE, inside_network_of, send_single_frames
from rankwise.lab.own_lab import own_lab
from rankwise.lab.rate import parse_rate
from rankwise.lab.up import plan_lab
from rankwise.machine.placement import Placement
from rankwise.placement import file
from rankwise.recording import Recording

pytestmark = [
    pytest.mark.root,
    pytest.mark.mpi,
    pytest.mark.slow,
    pytest.mark.alone,
    mpis.only(mpis.runs_in_a_lab, quick=("mpich-5.0.2", "openmpi-5.0.11")),
    pytest.mark.usefixtures("two_cores"),
]
# (node, core) of each rank: rank 0 on the core that receives, and swapped with rank 1.
SPOTS = {"defect": [(0, 0), (0, 1), (1, 1)], "mended": [(0, 1), (0, 0), (1, 1)]}
FILTERS, RATE, RUNS = 220, "4mbit", 3
_LOAD, _DIVIDE, _RETURN, _MOST, _IP, _ATTACH_FILTER = 0x00, 0x34, 0x06, 4096, 0x0800, 26


def costly_packets(pid):
    """Sockets with filters (linux/filter.h) that each packet which a node receives goes through and none comes out of.

    That makes a packet cost milliseconds where it is received and nowhere else, as no firewall should.
    """
    code = [(_LOAD, 0x7FFFFFFF), (_DIVIDE, 3)] * (_MOST // 2 - 1) + [(_LOAD, 0), (_RETURN, 0)]
    content = ctypes.create_string_buffer(
        b"".join(struct.pack("=HBBI", op, 0, 0, value) for op, value in code)
    )
    with inside_network_of(pid):
        made = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) for _ in range(FILTERS)]
    for each in made:
        each.setsockopt(
            socket.SOL_SOCKET, _ATTACH_FILTER, struct.pack("HP", len(code), ctypes.addressof(content))
        )
        each.bind((DATA_INTERFACE, _IP))
    return made


@pytest.fixture
def lab(lab_allowed):
    """Two nodes that receive on their core 0, where each packet of the first one costs milliseconds."""
    with own_lab(plan_lab("proof", 2, 2, parse_rate(RATE), irq_core=0)) as lab:
        if lab.receive_steering != "on":
            pytest.skip(lab.receive_steering)
        assert not any(send_single_frames(node.pid) for node in lab.nodes)
        packets = costly_packets(lab.nodes[0].pid)
        yield lab
        for each in packets:
            each.close()


def test_the_swap_gains_what_was_estimated(lab, mpi, defective, tmp_path):
    # GIVEN a rank that computes where its node receives, while the next one waits
    program = defective(mpi, "interrupt_core")
    # WHEN it runs so, and with these two ranks swapped
    costs, solo_s = [], {"defect": [], "mended": []}
    for number in range(RUNS):
        for how, spots in SPOTS.items():
            placement, to = tmp_path / f"{how}.placement.json", tmp_path / f"{how}{number}.rw"
            file.save(Placement.explicit(lab.topology(), [(node, [core]) for node, core in spots]), placement)
            line = [
                sys.executable,
                "-m",
                "rankwise",
                "lab",
                "run",
                "--name",
                lab.name,
                "-f",
                "--record",
                str(to),
            ]
            line += ["--placement", str(placement), "--", str(program)]
            done = subprocess.run(line, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stderr
            recording = Recording.open(to)
            told = [each for each in findings_of(recording)[0] if each.name == "interrupt-core"]
            rank = recording.ranks.filter(rank=0).row(0, named=True)
            # Rank 2 and the lab's switch have to run on some core of this machine, too: no cluster has that waiting.
            solo_s[how].append(rank["time_s"] - rank["runqueue_wait_s"])
            # THEN the finding names that core and the swap, and nothing when it is done
            assert [each.ranks for each in told] == ([[0, 1]] if how == "defect" else [])
            for each in told:
                assert f"computes on PU {lab.nodes[0].cores[0]} of" in each.sentence
                costs.append(each.cost_s)
    saved_s = median(solo_s["defect"]) - median(solo_s["mended"])
    assert abs(median(costs) - saved_s) <= WITHIN * saved_s, (costs, solo_s)
