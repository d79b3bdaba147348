# SPDX-License-Identifier: BSD-3-Clause
"""Whole programs, recorded while Open MPI's monitoring component counts below them: both say the same of every pair."""

import re
import shutil
import subprocess
import sys
from collections import Counter

import mpis
import pytest
from rankwise._core import collectives

from rankwise.recording import Recording

pytestmark = pytest.mark.mpi

KINDS = {"E": False, "I": True}  # external: sent by the program; internal: beneath collectives


def monitoring(name):
    """The Open MPI of this name, which has the component."""
    library = mpis.named(name)
    info = subprocess.run([library.mpiexec.parent / "ompi_info"], capture_output=True, text=True)
    assert "pml: monitoring" in info.stdout
    return library


def run(library, directory, ranks, *command):
    """(by pair and kind: messages and bytes) as the recorder and as the component have them, and the calls."""
    line = library.launch(ranks, *command)
    settings = {"enable": 2, "enable_output": 3, "filename": directory / "counts"}
    line[1:1] = [
        word for key, value in settings.items() for word in ("--mca", f"pml_monitoring_{key}", str(value))
    ]
    record = [sys.executable, "-m", "rankwise", "record", "-o", directory / "run.rw", "--", *line]
    subprocess.run(
        list(map(str, record)), env=library.environment(), capture_output=True, timeout=240, check=True
    )
    component = Counter()
    for file in directory.glob("counts*.prof"):
        pattern = r"^([EI])\t(\d+)\t(\d+)\t(\d+) bytes\t(\d+) msgs"
        for kind, source, destination, sent, messages in re.findall(pattern, file.read_text(), re.MULTILINE):
            key = (int(source), int(destination), KINDS[kind])
            component[(*key, "messages")] += int(messages)
            component[(*key, "bytes")] += int(sent)
    recording = Recording.open(directory / "run.rw")
    recorded = Counter()
    for row in recording.messages.iter_rows(named=True):
        for what in ("messages", "bytes"):
            recorded[row["source"], row["destination"], row["collective"], what] += row[what]
    calls = dict(recording.calls.filter(rank=0).select("call", "count").rows())
    return +recorded, +component, calls


def making_a_communicator(ranks):
    """What Open MPI sends to agree on a new communicator's number: three times four bytes to all and back."""
    sent = Counter()
    algorithm = collectives.select(
        "openmpi", "allreduce", size=ranks, bytes=4, element_bytes=4, nonblocking=True
    )
    for rank in range(ranks):
        for kind, peer, _, size, _ in collectives.steps(
            "allreduce", algorithm, rank=rank, size=ranks, bytes=4, element_bytes=4
        ):
            if kind == 0:
                sent[rank, peer, True, "messages"] += 3
                sent[rank, peer, True, "bytes"] += 3 * size
    return sent


@pytest.mark.parametrize(
    "ranks", [3, pytest.param(8, marks=pytest.mark.slow), pytest.param(16, marks=pytest.mark.slow)]
)
def test_lammps_sends_what_open_mpi_counts_and_makes_its_communicator(tmp_path, ranks):
    # GIVEN Debian's LAMMPS, which is linked with its Open MPI
    library = monitoring("debian-openmpi")
    if not shutil.which("lmp"):
        pytest.skip("LAMMPS is not installed; run `bash tests/install_debian_packages.sh`")
    # WHEN it is recorded and monitored at once
    melt = mpis.PROGRAMS / "melt.lammps"
    recorded, component, calls = run(
        library, tmp_path, ranks, "lmp", "-in", melt, "-log", "none", "-screen", "none"
    )
    # THEN every pair has the same messages and bytes, but for those with which the library makes a communicator
    assert calls["MPI_Cart_create"] == 1 and calls["MPI_Send"] > 200
    assert component == recorded + making_a_communicator(ranks)


@pytest.mark.parametrize("name", ["openmpi-5.0.11", "debian-openmpi"])
def test_point_to_point_messages_of_both_open_mpis_are_what_they_count(compiled, tmp_path, name):
    library = monitoring(name)
    recorded, component, _ = run(library, tmp_path, 5, compiled(library, "ring.c"), 23)
    assert component == recorded and sum(recorded.values()) == 5 * (23 + 23 * 1000)


@pytest.mark.parametrize("name", ["openmpi-5.0.11", "debian-openmpi"])
@pytest.mark.parametrize("ranks", [5, pytest.param(8, marks=pytest.mark.slow)])
def test_blocks_of_unequal_lengths_are_sent_as_long_as_they_are(compiled, tmp_path, name, ranks):
    # GIVEN allgatherv and reduce_scatter with a block of another length for each rank, some empty
    library = monitoring(name)
    # WHEN they are recorded and monitored at once
    recorded, component, _ = run(library, tmp_path, ranks, compiled(library, "unequal.c"))
    # THEN each pair has the same bytes, though each rank's recording has its own length and the sum only
    assert component == recorded
