# SPDX-License-Identifier: BSD-3-Clause
"""What the MPI programs really call is what is generated without running them, call by call."""

from pathlib import Path

import mpis
import pytest

from rankwise.workloads import Kind, program
from rankwise.workloads.program import CALLS, ROOTED, SENDS

AT_HAND = {mpi.name: mpi for mpi in mpis.installed()}
POINT_TO_POINT = {
    Kind.SEND: "MPI_Send",
    Kind.ISEND: "MPI_Isend",
    Kind.RECV: "MPI_Recv",
    Kind.IRECV: "MPI_Irecv",
    Kind.IRECV_ANY: "MPI_Irecv",
}
QUICK = [
    ("cg", "S", 8, 2),
    ("ft", "S", 8, 2),
    ("mg", "S", 8, 1),
    ("bt", "S", 9, 1),
    ("ep", "S", 3, None),
    ("is", "S", 8, 2),
    ("lu", "S", 8, 1),
    ("sp", "S", 9, 1),
    ("ft", "W", 4, None),
]
BOTH = QUICK[-1:]  # with both libraries in `make test`: what is called does not depend on who answers
FULL = [
    ("cg", "W", 16, None),
    ("mg", "B", 16, None),
    ("ft", "A", 16, None),
    ("mg", "S", 64, 1),
    ("bt", "S", 16, None),
    ("is", "A", 16, None),
    ("lu", "S", 16, None),
    ("sp", "S", 16, None),
]
PATTERNS = [
    ("alltoall", 4, {"order": "linear", "bytes": 100}),
    ("gromacs", 8, {"pme": 2}),
    ("halo", 6, {"points": "27", "size": 8}),
    ("lammps", 4, {"bytes": 30000, "thermo": 1}),
    ("namd", 4, {}),
    ("random", 6, {}),
    ("ring", 3, {"bytes": 1 << 18, "tile": 1 << 16}),
    ("tree", 7, {"shape": "binary"}),
]
CASES = [
    pytest.param(
        library,
        *case,
        id="-".join(map(str, (*case, library))),
        marks=() if case in BOTH or (case in QUICK and library == "openmpi-5.0.11") else pytest.mark.slow,
    )
    for case in QUICK + FULL
    for library in ("mpich-5.0.2", "openmpi-5.0.11")
]


def generated_calls(chosen, rank: int) -> list[str]:
    events = chosen.events(rank)
    columns = (events[name].tolist() for name in ("kind", "peer", "tag", "count", "type_bytes"))
    lines, left = [], 0
    for kind, peer, tag, count, type_bytes in zip(*columns, strict=True):
        if kind in POINT_TO_POINT:
            source = -1 if kind == Kind.IRECV_ANY else peer
            size = f" {count * type_bytes}" if kind in SENDS else ""  # receives have room for more
            lines.append(f"{POINT_TO_POINT[kind]} {source} {tag}{size}")
        elif kind == Kind.WAIT and count == 0:
            lines.append("MPI_Wait")
        elif kind == Kind.WAIT and left != count + 1:
            lines.append(f"MPI_Waitall {count}")
        elif kind in CALLS:
            root = peer if kind in ROOTED else -1
            lines.append(f"{CALLS[Kind(kind)]} {root} {count * type_bytes}")
        left = count if kind == Kind.WAIT else 0
    return lines


@pytest.mark.one_of(3)
@pytest.mark.mpi
@pytest.mark.parametrize(("library", "name", "problem_class", "ranks", "iterations"), CASES)
def test_every_call_of_every_rank_is_the_generated_one(
    workload_program, compiled, tmp_path, library, name, problem_class, ranks, iterations
):
    # GIVEN a library before the MPI library that writes down the calls
    mpi = AT_HAND[library]
    log = compiled(mpi, mpis.TOP / "tests" / "workloads" / "log_calls.c", "-shared", "-fPIC")
    options = ["--class", problem_class, "--compute", "0x", "--check", "ends"]
    options += ["--iterations", str(iterations)] if iterations else []
    # WHEN the program runs
    environment = {"LD_PRELOAD": log, "CALL_LOG": tmp_path / "calls"}
    done = mpi.run(ranks, workload_program(mpi, name), *options, environment=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    # THEN each rank called what its program says, in that order
    chosen = program(name, problem_class, ranks, iterations)
    for rank in range(ranks):
        called = Path(tmp_path, f"calls.{rank}").read_text().splitlines()
        assert called == generated_calls(chosen, rank)


@pytest.mark.one_of(3)
@pytest.mark.mpi
@pytest.mark.parametrize(("name", "ranks", "options"), PATTERNS, ids=[case[0] for case in PATTERNS])
def test_every_call_of_a_pattern_is_the_generated_one(
    workload_program, compiled, tmp_path, name, ranks, options
):
    # GIVEN a library before the MPI library that writes down the calls
    mpi = AT_HAND["mpich-5.0.2"]
    log = compiled(mpi, mpis.TOP / "tests" / "workloads" / "log_calls.c", "-shared", "-fPIC")
    own = [word for option, value in options.items() for word in (f"--{option}", str(value))]
    # WHEN the program runs, and checks all that it receives
    environment = {"LD_PRELOAD": log, "CALL_LOG": tmp_path / "calls"}
    words = ["--compute", "0x", "--iterations", "2", *own]
    done = mpi.run(ranks, workload_program(mpi, name), *words, environment=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "verified=yes" in done.stdout
    # THEN each rank called what its program says, in that order
    chosen = program(name, "", ranks, 2, options)
    for rank in range(ranks):
        assert Path(tmp_path, f"calls.{rank}").read_text().splitlines() == generated_calls(chosen, rank)
