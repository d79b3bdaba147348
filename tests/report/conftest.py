# SPDX-License-Identifier: BSD-3-Clause
"""Recordings written by hand, whose report is known beforehand."""

import json

import pytest
from raw_writer import ABORTED, Rank, write_recording
from saved_topology import save_topology

from rankwise.recording import Recording
from rankwise.report.build import build
from rankwise.report.placements import Asked, asked_placements


def manifest(command: list[str], ranks: int) -> dict:
    return {
        "schema": "rankwise.recording/1",
        "rankwise": "0.1.0",
        "command": command,
        "directory": "/home/user",
        "host": "n0",
        "ranks": ranks,
        "programs": ["/home/user/app"],
        "launcher": {"kind": "hydra", "vendor": "mpich", "version": None, "path": None},
        "mpi": {"flavour": "mpich", "library": None, "path": None, "reason": "libmpi.so.12 is needed"},
        "trace": False,
        "job": None,
        "start_s": 1.7e9,
        "end_s": 1.7e9 + 2,
        "exit_status": 0,
    }


@pytest.fixture
def record(tmp_path):
    """Function -> a recording of a pairwise exchange of 1 KiB messages on nodes of 2 packages of 2 cores."""

    def make(
        ranks=16,
        command=("mpiexec", "-n", "16", "./app"),
        bound=True,
        per_node=4,
        name="app.rw",
        broken=False,
    ):
        made = []
        for me in range(ranks):
            affinity = (me % per_node,) if bound else tuple(range(4))
            rank = Rank(me, ranks, host=f"n{me // per_node}", affinity=affinity, run_ns=2_000_000_000)
            for step in range(1, ranks):
                rank.send((me + step) % ranks, 1024, ns=1000)
            rank.count("MPI_Wait", ns=(me + 1) * 10_000_000)
            rank.collective("MPI_Allreduce", 8, times=3, ns=1000)
            if broken and me == 3:
                rank.flags = ABORTED
            if broken and me in (5, 6):
                rank.flags, rank.in_call = 0, ("MPI_Recv", 1_500_000_000)
            made.append(rank)
        path = write_recording(tmp_path / name, made)
        for host in {rank.host for rank in made}:
            save_topology(path / "raw" / f"{host}.topology.tar")
        (path / "recording.json").write_text(json.dumps(manifest(list(command), ranks)))
        return path

    return make


@pytest.fixture
def report(record):
    """The report of such a run, with a second placement, on four nodes of four cores."""
    recording = Recording.open(record())
    return build(recording, asked_placements(recording, Asked(nodes="4x4", node="package:2 l3:2 core:1")))
