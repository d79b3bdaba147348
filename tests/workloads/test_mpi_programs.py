# SPDX-License-Identifier: BSD-3-Clause
"""The MPI programs on every MPI at hand: their data arrive, wrong data are noticed, bad options are answered."""

import re

import mpis
import pytest

from rankwise.workloads import workload

NAMES = ("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp")
QUICK = ("cg", "is", "bt")  # at every number of ranks in `make test`
TWO = ("mpich-5.0.2", "openmpi-5.0.11")
LINE = re.compile(
    r"(?P<name>\w+) class=(?P<class>\w) ranks=(?P<ranks>\d+) grid=(?P<grid>[\dx]+) iterations=(?P<iterations>\d+) "
    r"compute=(?P<compute>\S+) time_s=(?P<time>[\d.]+) computation_s=(?P<computation>[\d.]+) verified=(?P<verified>\w+)"
)
AT_HAND = {mpi.name: mpi for mpi in mpis.installed()}


def run(mpi, program, ranks, *options, environment=None):
    done = mpi.run(ranks, program, *options, environment=environment, timeout=240)
    return done, LINE.fullmatch(done.stdout.strip())


@pytest.mark.one_of(3)
@pytest.mark.mpi
@pytest.mark.parametrize("name", NAMES)
def test_data_arrive_on_every_mpi(mpi, workload_program, name):
    done, line = run(mpi, workload_program(mpi, name), 4, "--iterations", "2")
    assert (done.returncode, line and line["verified"]) == (0, "yes"), done.stderr
    assert line["grid"] == "x".join(map(str, workload(name).grid("S", 4)))


@pytest.mark.one_of(2)
@pytest.mark.mpi
@pytest.mark.parametrize(
    ("library", "name", "ranks"),
    [
        # Sixteen ranks of MPICH take long on two cores.
        pytest.param(
            library,
            name,
            ranks,
            marks=() if name in QUICK and (library, ranks) != (TWO[0], 16) else pytest.mark.slow,
        )
        for library in TWO
        for name in NAMES
        for ranks in ((1, 4, 9, 16) if name in ("bt", "sp") else (1, 2, 8, 16))
    ],
)
def test_data_arrive_at_every_number_of_ranks(workload_program, library, name, ranks):
    mpi = AT_HAND[library]
    done, line = run(mpi, workload_program(mpi, name), ranks, "--iterations", "1")
    assert (done.returncode, line["verified"], line["ranks"]) == (0, "yes", str(ranks)), done.stderr


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("name", NAMES)
def test_class_w_runs_all_its_iterations_on_every_mpi(mpi, workload_program, name, ranks):
    if name in ("bt", "sp"):
        ranks = int(ranks**0.5) ** 2
    done, line = run(mpi, workload_program(mpi, name), ranks, "--class", "W")
    assert (done.returncode, line["verified"]) == (0, "yes"), done.stderr
    assert int(line["iterations"]) == workload(name).iterations("W")


@pytest.mark.one_of(3)
@pytest.mark.mpi
@pytest.mark.parametrize("name", [name for name in NAMES if name != "ep"])
@pytest.mark.parametrize("library", TWO)
def test_one_wrong_bit_is_noticed_by_its_receiver_and_by_rank_0(workload_program, compiled, library, name):
    # GIVEN a library before the MPI library that turns one bit of what rank 1 sends
    mpi = AT_HAND[library]
    corrupt = compiled(mpi, mpis.TOP / "tests" / "workloads" / "corrupt.c", "-shared", "-fPIC")
    # WHEN the workload runs
    program = workload_program(mpi, name)
    done, line = run(mpi, program, 4, "--iterations", "2", environment={"LD_PRELOAD": corrupt})
    # THEN the receiver says what came wrong, rank 0 does not call it verified, and the job fails
    assert done.returncode != 0
    assert re.search(r"^error: rank \d: .* holds other data than was sent", done.stderr, re.MULTILINE)
    assert "verified=no" in done.stdout


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("ranks", "options", "status", "sentence"),
    [
        (3, [], 1, "error: cg of class S runs on a power of two of ranks, as 2 or 4, not on `3`"),
        (1, ["--class", "Q"], 1, "error: cg has the classes SWABCD, not `Q`"),
        (1, ["--class", "BB"], 2, "error: `BB` is not a value of `--class`"),
        (1, ["--clas", "B"], 2, "error: cg has no option `--clas`"),
        (1, ["--compute"], 2, "error: `--compute` needs a value"),
        (1, ["--compute", "5"], 2, "error: `5` is not a value of `--compute`"),
        (1, ["--compute", "-1x"], 2, "error: `-1x` is not a value of `--compute`"),
        (1, ["--compute", "nanx"], 2, "error: `nanx` is not a value of `--compute`"),
        (1, ["--iterations", "0"], 2, "error: `0` is not a value of `--iterations`"),
        (
            1,
            ["--working-set", "9000000000000"],
            2,
            "error: `9000000000000` is not a value of `--working-set`",
        ),
    ],
)
def test_what_does_not_fit_is_answered_once_before_anything_runs(
    workload_program, ranks, options, status, sentence
):
    mpi = AT_HAND["mpich-5.0.2"]
    done, _ = run(mpi, workload_program(mpi, "cg"), ranks, *options)
    assert done.returncode == status
    assert done.stderr.count("error:") == 1
    assert done.stderr.startswith(sentence + "\n\nhint: ")


@pytest.mark.mpi
def test_help_is_printed_once_and_says_that_the_arithmetic_is_not_the_originals(workload_program):
    mpi = AT_HAND["mpich-5.0.2"]
    done = mpi.run(2, workload_program(mpi, "mg"), "--help")
    assert done.returncode == 0
    assert done.stdout.count("usage:") == 1
    assert "not the original's arithmetic" in done.stdout


@pytest.mark.mpi
def test_computation_takes_the_seconds_asked_for(workload_program):
    # GIVEN one rank, so that nothing else of this job uses the core
    mpi = AT_HAND["mpich-5.0.2"]
    asked_s = 0.2
    done, line = run(mpi, workload_program(mpi, "ft"), 1, "--compute", "200ms")
    # THEN the work cannot take much less than it was calibrated to; noise may stretch it
    assert done.returncode == 0
    assert float(line["computation"]) > 0.5 * asked_s
    assert float(line["time"]) >= float(line["computation"])


@pytest.mark.mpi
def test_a_factor_of_zero_computes_nothing(workload_program):
    mpi = AT_HAND["mpich-5.0.2"]
    _, line = run(mpi, workload_program(mpi, "mg"), 1, "--compute", "0x")
    assert float(line["computation"]) == 0
