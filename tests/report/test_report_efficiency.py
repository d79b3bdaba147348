# SPDX-License-Identifier: BSD-3-Clause
"""Efficiencies of recordings: in each view, of a real run, and as TALP's JSON."""

import json
import re
import subprocess
import sys

import mpis
import pytest

from rankwise.cli import main
from rankwise.recording import Recording
from rankwise.report.build import build
from rankwise.report.html import render as render_html
from rankwise.report.text import render as render_text

ONE = [mpi for mpi in mpis.installed() if mpi.name == "mpich-5.0.2"]
TURNS = """
#include <mpi.h>
static volatile double sum;
int main(int argc, char **argv) {
    int rank, size, token = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int lap = 0; lap < 8; lap++) {
        if (lap > 0 || rank > 0)
            MPI_Recv(&token, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < 2000000; i++)
            sum += i;
        if (lap < 7 || rank < size - 1)
            MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
"""


def test_without_a_trace_there_are_load_balance_and_communication(record):
    # GIVEN 16 ranks of 2 s, of which each computes what it is not in MPI
    recording = Recording.open(record())
    report = build(recording)
    found, useful = report.efficiency, recording.ranks["compute_s"]
    assert found.load_balance == pytest.approx(useful.mean() / useful.max())
    assert found.communication == pytest.approx(useful.max() / report.program.elapsed_s)
    assert found.parallel == pytest.approx(found.load_balance * found.communication)
    # THEN each view has them, and says what the others take
    for page in (render_text(report, verbose=True), render_html(report)):
        assert "load balance" in page and f"{found.load_balance:.2f}" in page
        assert "rankwise record --trace" in " ".join(re.sub("<[^>]+>", "", page).split())


def test_talps_json_is_written_and_shown(record, capsys, tmp_path):
    path, target = record(), tmp_path / "run.json"
    assert main(["report", str(path), "--talp", str(target), "--json"]) == 0
    written = json.loads(target.read_text())
    found = json.loads(capsys.readouterr().out)["efficiency"]
    assert written["resources"] == {"numCpus": 16, "numNodes": 4, "numMpiRanks": 16}
    assert written["Application"]["Global"]["mpiLoadBalance"] == pytest.approx(found["load_balance"])
    # AND what is there already stays
    assert main(["report", str(path), "--talp", str(target)]) == 1
    assert "--force" in capsys.readouterr().err
    # AND such a file is shown
    assert main(["report", str(target)]) == 0
    assert f"load balance               {found['load_balance']:.2f}" in capsys.readouterr().out


@pytest.mark.mpi
@pytest.mark.parametrize("mpi", ONE, ids=lambda mpi: mpi.name)
def test_a_token_that_goes_round_is_serialised(mpi, tmp_path):
    # GIVEN a ring of 3 ranks, of which one at a time has the token and computes
    source = tmp_path / "turns.c"
    source.write_text(TURNS)
    program, path = mpi.compile(source, tmp_path / "turns", "-O1"), tmp_path / "turns.rw"
    words = [sys.executable, "-m", "rankwise", "record", "--trace", "-o", path, "--", *mpi.launch(3, program)]
    subprocess.run(words, env=mpi.environment(), check=True)
    found = build(Recording.open(path)).efficiency
    # THEN a third is what serialisation leaves, however loaded the machine is
    assert found.load_balance * found.serialisation == pytest.approx(1 / 3, rel=0.1)
    assert found.communication == pytest.approx(found.serialisation * found.transfer)
