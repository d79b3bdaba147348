# SPDX-License-Identifier: BSD-3-Clause
"""A recorded run of a workload holds exactly the messages that are generated without running it."""

import subprocess
import sys
from collections import Counter

import mpis
import polars as pl
import pytest

from rankwise import _core
from rankwise.recording import Recording
from rankwise.workloads import decompose, generate

AT_HAND = {mpi.name: mpi for mpi in mpis.installed()}
QUICK = [("cg", "S", 4), ("ft", "S", 4), ("mg", "S", 8), ("bt", "S", 4), ("is", "S", 8), ("lu", "S", 4)]
FULL = [(name, "B", 16) for name in ("bt", "cg", "ft", "is", "lu", "mg", "sp")]
FULL += [("mg", "S", 64), ("ft", "W", 64), ("is", "S", 64), ("ep", "S", 5)]
LIBRARIES = ("mpich-5.0.2", "openmpi-5.0.11")
# In `make test`, each with one library, in turn.
CASES = [
    pytest.param(
        library,
        *case,
        id="-".join(map(str, (*case, library))),
        marks=() if case in QUICK and QUICK.index(case) % 2 == at else pytest.mark.slow,
    )
    for case in QUICK + FULL
    for at, library in enumerate(LIBRARIES)
]


def binned(communication) -> tuple[Counter, Counter]:
    """Messages and bytes by (source, destination, upper end of the recording's size range)."""
    messages, volume = Counter(), Counter()
    columns = (communication.source, communication.destination, communication.bytes, communication.messages)
    for source, destination, size, count in zip(*(column.tolist() for column in columns), strict=True):
        row = source, destination, _core.trace.size_bin_upper(_core.trace.size_bin(size))
        messages[row] += count
        volume[row] += count * size
    return messages, volume


def recorded(table: pl.DataFrame) -> tuple[Counter, Counter]:
    messages, volume = Counter(), Counter()
    for row in table.iter_rows(named=True):
        key = row["source"], row["destination"], row["bytes_up_to"]
        messages[key] += row["messages"]
        volume[key] += row["bytes"]
    return messages, volume


@pytest.mark.one_of(2)
@pytest.mark.mpi
@pytest.mark.parametrize(("library", "name", "problem_class", "ranks"), CASES)
def test_the_recorded_messages_are_the_generated_ones(
    workload_program, tmp_path, library, name, problem_class, ranks
):
    # GIVEN a recording of the workload
    mpi = AT_HAND[library]
    options = ["--class", problem_class, "--compute", "0x", "--check", "ends"]
    line = mpi.launch(ranks, workload_program(mpi, name), *options)
    # In a process of its own: recordings are collected in a fork, which threads of what is loaded here would hold up.
    record = [sys.executable, "-m", "rankwise", "record", "-o", str(tmp_path / "run.rw"), "--", *line]
    subprocess.run(record, env=mpi.environment(), check=True, timeout=600)
    found = Recording.open(tmp_path / "run.rw")
    assert found.world_size == ranks
    # THEN point-to-point messages are, by pair and size range, those that were counted
    counted = generate(name, problem_class, ranks)
    assert recorded(found.messages.filter(~pl.col("collective"))) == binned(counted)
    # AND so are, on the receivers' side, those that arrived
    assert recorded(found.received) == binned(counted)
    # AND with the collectives decomposed as the library chooses, all of them
    of_library = found.messages.filter(~pl.col("call").is_in(("MPI_Comm_split", "MPI_Comm_dup")))
    assert recorded(of_library) == binned(decompose(counted, mpi.family))
