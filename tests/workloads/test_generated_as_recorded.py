# SPDX-License-Identifier: BSD-3-Clause
"""A generated recording beside one of the program as it really ran: the same calls, messages and communicators."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import mpis
import numpy as np
import polars as pl
import pytest

from rankwise.generated import ideal
from rankwise.generated.recording import Ran, generate
from rankwise.machine.machine import topology_of
from rankwise.machine.placement import Placement
from rankwise.recording import Recording
from rankwise.workloads import program

AT_HAND = {mpi.name: mpi for mpi in mpis.installed()}
CASES = [
    pytest.param(*case, id=case[0], marks=() if case[0] in ("bt", "is", "gromacs") else pytest.mark.slow)
    for case in (
        ("bt", "S", 4, 2, {}),
        ("sp", "S", 4, 2, {}),
        ("cg", "S", 4, 2, {}),
        ("ft", "S", 64, 1, {}),
        ("is", "S", 4, 2, {}),
        ("lu", "S", 4, 2, {}),
        ("halo", "", 6, 2, {"points": "27"}),
        ("gromacs", "", 8, 10, {"pme": 2}),
    )
]
OF_CALLS = (
    "kind",
    "comm",
    "send_peer",
    "send_tag",
    "send_bytes",
    "posted_peer",
    "posted_tag",
    "request",
    "root",
)
OF_CALLS += ("flags", "datatype_bytes", "bytes", "bytes2")
OF_COMPLETIONS = [f"completion_{what}" for what in ("is_receive", "peer", "tag", "bytes")]
MADE_BY_RUNNING = (
    "MPI_Init",
    "MPI_Init_thread",
    "MPI_Comm_rank",
    "MPI_Comm_size",
    "MPI_Wtime",
    "MPI_Get_count",
)


def counts(table: pl.DataFrame, *keys: str) -> Counter:
    """Messages and bytes, or calls, by these columns."""
    found = Counter()
    summed = [name for name in ("messages", "count", "bytes") if name in table.columns and name not in keys]
    for row in table.iter_rows(named=True):
        for name in summed:
            found[(*(row[key] for key in keys), name)] += row[name] or 0
    return +found


@pytest.mark.one_of(3)
@pytest.mark.mpi
@pytest.mark.parametrize(("name", "problem_class", "ranks", "iterations", "options"), CASES)
def test_it_is_as_if_the_program_had_been_recorded(
    workload_program, tmp_path, name, problem_class, ranks, iterations, options
):
    # GIVEN a recording of the program, and one that was generated
    mpi = AT_HAND["mpich-5.0.2"]
    words = ["--compute", "0x", "--check", "ends", "--iterations", str(iterations)]
    words += ["--class", problem_class] if problem_class else []
    words += [word for option, value in options.items() for word in (f"--{option}", str(value))]
    line = mpi.launch(ranks, workload_program(mpi, name), *words)
    record = [sys.executable, "-m", "rankwise", "record", "--trace", "--exact-times"]
    subprocess.run(
        [*record, "-o", str(tmp_path / "run.rw"), "--", *line], env=mpi.environment(), check=True, timeout=600
    )
    chosen = program(name, problem_class, ranks, iterations, options)
    machine = ideal.machine(ranks)
    topology = topology_of(machine, Path("."))
    placement = Placement.explicit(topology, [(0, [rank]) for rank in range(ranks)])
    generate(chosen, Ran(machine, topology, placement), tmp_path / "made.rw", [])
    ran, made = Recording.open(tmp_path / "run.rw"), Recording.open(tmp_path / "made.rw")
    # THEN tables are the same
    of_message = ("source", "destination", "call", "bytes_up_to")
    assert counts(made.messages, *of_message) == counts(ran.messages, *of_message)
    assert counts(made.received, *of_message) == counts(ran.received, *of_message)
    assert made.communicators.sort("communicator").equals(ran.communicators.sort("communicator"))
    of_collective = ("rank", "call", "communicator", "root", "bytes", "bytes_total")
    assert counts(made.collectives, *of_collective) == counts(ran.collectives, *of_collective)
    calls = [each.calls.filter(~pl.col("call").is_in(MADE_BY_RUNNING)) for each in (made, ran)]
    assert counts(calls[0], "rank", "call") == counts(calls[1], "rank", "call")
    # AND so is every rank's trace, call by call, but for what a run does besides: asking for its rank, the time, ...
    for rank in range(ranks):
        found, wanted = made.events(rank), ran.events(rank)
        kept = np.isin(wanted["kind"], found["kind"])
        for column in OF_CALLS:
            assert np.array_equal(found[column], wanted[column][kept]), (rank, column)
        for column in OF_COMPLETIONS:
            assert np.array_equal(found[column], wanted[column]), (rank, column)
        ended = [np.diff(each["completion_offsets"]) for each in (found, wanted)]
        assert np.array_equal(ended[0], ended[1][kept])
        assert np.array_equal(found["sizes"], wanted["sizes"])
