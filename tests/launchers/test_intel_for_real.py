# SPDX-License-Identifier: BSD-3-Clause
"""The line that is written for Intel MPI, with its own launcher and two emulated hosts."""

import os
import subprocess

import mpis
import pytest

from rankwise.launchers import forms
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology, from_synthetic

PREFIX = mpis.TOP / ".mpi" / "intel"
pytestmark = [
    pytest.mark.mpi,
    pytest.mark.slow,
    pytest.mark.skipif(not {0, 1} <= os.sched_getaffinity(0), reason="needs PUs 0 and 1"),
]
# Stands in for ssh: runs the command here, under the host's name.
AGENT = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1; shift
SEEN_HOST=$host exec sh -c "$*"
"""
SAY = """#!/bin/sh
echo "$PMI_RANK $SEEN_HOST $(taskset -pc $$ | sed 's/.*: //')"
"""


@pytest.mark.parametrize(
    "seats",
    [[(0, 1), (1, 1), (1, 0), (0, 0)], [(0, 1), (1, 0), (0, 0), (1, 1)]],
    ids=["one list for all nodes", "argument sets"],
)
def test_the_written_line_puts_each_rank_on_its_host_and_core(tmp_path, seats):
    launcher = PREFIX / "bin" / "mpiexec.hydra"
    if not launcher.exists():
        pytest.skip("not installed: `bash tests/install_mpis.sh .venv/bin intel`")
    for name, text in (("agent", AGENT), ("app", SAY)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    # GIVEN a placement on two hosts, whose orders of cores are the same or not
    topology = Topology.of(from_synthetic("package:1 core:2"), 2)
    placement = Placement.explicit(topology, [(node, [core]) for node, core in seats], ["hostA", "hostB"])
    form = forms.form("intel", placement, topology.nodes, tmp_path / "p")
    for suffix, text in form.files.items():
        (tmp_path / f"p{suffix}").write_text(text)
    # WHEN the line is run
    through = f"{launcher} -bootstrap ssh -bootstrap-exec {tmp_path / 'agent'}"
    environment = mpis.installed()[0].environment() | {"I_MPI_ROOT": str(PREFIX), "I_MPI_FABRICS": "shm"}
    done = subprocess.run(
        ["sh", "-c", form.line.replace("mpirun", through, 1)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        cwd=tmp_path,
    )
    # THEN each rank is on its host and core
    expected = [f"{rank} {('hostA', 'hostB')[node]} {core}" for rank, (node, core) in enumerate(seats)]
    assert sorted(done.stdout.splitlines()) == expected, done.stderr
