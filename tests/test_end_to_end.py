# SPDX-License-Identifier: BSD-3-Clause
"""Real programs through the command line, from the launch line to the shares of a report."""

import json
import shutil
import subprocess
import sys
from fractions import Fraction

import mpis
import polars as pl
import pytest

pytestmark = pytest.mark.mpi


def one_of_each():
    """One MPICH and one Open MPI with the ABIs of their own."""
    found = {}
    for mpi in mpis.installed():
        found.setdefault(mpi.flavour, mpi)
    return [found[flavour] for flavour in ("mpich", "openmpi") if flavour in found]


@pytest.fixture(params=one_of_each(), ids=lambda mpi: mpi.name)
def either(request):
    return request.param


def rankwise(mpi, *words):
    line = [sys.executable, "-m", "rankwise", *map(str, words)]
    keywords = {"env": mpi.environment(), "capture_output": True, "text": True, "timeout": 120}
    done = subprocess.run(line, stdin=subprocess.DEVNULL, **keywords)
    assert done.returncode == 0, done.stderr
    return done


def test_an_exchange_of_all_with_all_has_the_shares_of_its_placement(either, compiled, tmp_path):
    # GIVEN 16 ranks of which each sends one message to each other one
    recording = tmp_path / "a.rw"
    program = compiled(either, "exchange16.c")
    rankwise(either, "record", "-o", recording, "--", *either.launch(16, program))
    # WHEN they are placed on 4 nodes of 2 sockets with 2 cores
    layout = ("--nodes", "4x4", "--node", "package:2 core:2")
    report = json.loads(rankwise(either, "report", recording, *layout, "--json").stdout)
    # THEN of the 15 partners of a rank 1 is on its socket, 2 are on the other one, 12 on other nodes
    assert shares(report) == [Fraction(1, 15), Fraction(2, 15), Fraction(12, 15)]


def shares(report):
    total = report["distributions"][-1]["distribution"]["total"]
    messages = [channel["messages"] for channel in total["channels"] if channel["messages"]]
    assert sum(messages) == 16 * 15
    return [Fraction(count, sum(messages)) for count in messages]


def test_a_ring_of_23_laps_has_23_messages_a_rank(either, compiled, tmp_path):
    # GIVEN a ring in a directory with a space and letters beyond ASCII, recorded to such a name
    directory = tmp_path / "ü n"
    directory.mkdir()
    program = shutil.copy(compiled(either, "ring.c"), directory / "ring é")
    recording = directory / "ré c.rw"
    # WHEN 5 ranks are recorded
    done = rankwise(either, "record", "-o", recording, "--", *either.launch(5, program))
    # THEN every message is there, from each rank to the next
    assert done.stdout == "23 laps\n"
    assert f"next: rankwise report '{recording}'" in done.stderr
    messages = pl.read_parquet(recording / "tables" / "messages.parquet")
    counted = sorted(messages.select("source", "destination", "messages", "bytes").rows())
    assert counted == [(rank, (rank + 1) % 5, 23, 23_000) for rank in range(5)]
    # AND the recording can be reported
    report = rankwise(either, "report", recording, "--json", "--nodes", "5x1", "--node", "core:1")
    total = json.loads(report.stdout)["distributions"][-1]["distribution"]["total"]
    assert sum(channel["messages"] for channel in total["channels"]) == 5 * 23
