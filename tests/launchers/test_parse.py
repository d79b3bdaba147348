# SPDX-License-Identifier: BSD-3-Clause
"""Launch lines as users type them: who launches, how many ranks, where the program starts."""

import os

import pytest
from fake_launchers import fake_launcher

from rankwise.errors import RankwiseError
from rankwise.launchers import parse


@pytest.fixture
def launcher(tmp_path):
    return lambda name, says: fake_launcher(tmp_path / says, name, says)


@pytest.mark.parametrize(
    ("name", "says", "kind", "version", "vendor"),
    [
        ("mpiexec", "hydra", "hydra", "4.2.1", "MPICH"),
        ("mpirun", "intel", "hydra", "2021.16", "Intel MPI"),
        ("mpirun", "openmpi4", "orterun", "4.1.8", "Open MPI"),
        ("mpiexec.openmpi", "debian", "orterun", "4.1.4", "Open MPI"),
        ("mpirun-5.0", "openmpi5", "prterun", "5.0.11", "Open MPI"),
        ("srun", "slurm", "srun", "22.05.8", "Slurm"),
        ("srun", "slurm-wlm", "srun", "22.05.8", "Slurm"),
        ("mpiexec", "other", "none", None, ""),
    ],
)
def test_a_launcher_is_known_by_what_it_says(launcher, name, says, kind, version, vendor):
    line = parse([launcher(name, says), "-n", "2", "/bin/true"])
    assert (line.launcher.kind, line.launcher.version, line.launcher.vendor) == (kind, version, vendor)


def test_a_launcher_replaced_at_the_same_place_is_asked_again(tmp_path):
    # GIVEN an mpiexec that was MPICH's, as with `module switch` or update-alternatives
    path = fake_launcher(tmp_path, "mpiexec", "hydra")
    assert parse([path, "/bin/true"]).launcher.kind == "hydra"
    # WHEN another one takes its place
    fake_launcher(tmp_path, "mpiexec", "openmpi5")
    os.utime(path, ns=(1, 1))
    # THEN it is what it is now
    assert parse([path, "/bin/true"]).launcher.kind == "prterun"


HYDRA_LINES = [
    ("-n 16 /bin/true a -n 3", 16, "/bin/true", ["a", "-n", "3"]),
    ("-np 4 -ppn 2 -hosts a,b -genv A 1 -env B 2 /bin/true", 4, "/bin/true", []),
    ("--np=4 -bind-to core -l /bin/true", 4, "/bin/true", []),
    ("-NP 4 /bin/true", 4, "/bin/true", []),
    ("-f hosts -n 4 no-such-program x", 4, "no-such-program", ["x"]),
    ("-unheard-of some value -n 4 /bin/true", 4, "/bin/true", []),
    ("-unheard-flag -n 4 /bin/true", 4, "/bin/true", []),
    ("-genvall /bin/true", None, "/bin/true", []),
    ("-configfile lines", None, None, []),
    ("-n 4", 4, None, []),
]
OPENMPI_LINES = [
    ("-np 4 --mca btl tcp,self -x A=1 -x B /bin/true --mca x", 4, "/bin/true", ["--mca", "x"]),
    ("--oversubscribe -c 4 --map-by ppr:2:node:pe=2 /bin/true", 4, "/bin/true", []),
    ("--bind-to none -n 4 -- /bin/true -q", 4, "/bin/true", ["-q"]),
    ("-H a:2,b:2 -wdir /tmp /bin/true", None, "/bin/true", []),
    ("-q -d --tag-output -np 4 -rf ranks /bin/true", 4, "/bin/true", []),
]
SLURM_LINES = [
    ("-n16 /bin/true -n 2", 16, "/bin/true", ["-n", "2"]),
    ("-N 2 --ntasks-per-node=4 --cpu-bind=cores /bin/true", 8, "/bin/true", []),
    ("--ntasks 3 -lv -c 2 --mpi=pmi2 /bin/true", 3, "/bin/true", []),
    ("-N2 /bin/true", 2, "/bin/true", []),
    ("--exclusive -K1 -n 4 --export ALL,A=1 /bin/true", 4, "/bin/true", []),
]


@pytest.mark.parametrize(
    ("says", "words", "ranks", "program", "arguments"),
    [("hydra", *case) for case in HYDRA_LINES]
    + [(says, *case) for says in ("openmpi4", "openmpi5") for case in OPENMPI_LINES]
    + [("slurm", *case) for case in SLURM_LINES],
)
def test_ranks_and_program_are_found(launcher, monkeypatch, says, words, ranks, program, arguments):
    monkeypatch.delenv("SLURM_NTASKS", raising=False)
    word = launcher("srun" if says == "slurm" else "mpiexec", says)
    # WHEN the line is understood
    line = parse([word, *words.split()])
    # THEN ranks, program and arguments are right, and nothing of the line is lost
    assert (line.ranks, line.program, list(line.segments[0].arguments)) == (ranks, program, arguments)
    assert line.words() == [word, *words.split()]


def test_the_ranks_of_an_mpmd_line_are_added(launcher):
    words = ["-n", "2", "/bin/true", "a", ":", "-n", "3", "/bin/echo", "b", ":", "-np", "1", "/bin/cat"]
    line = parse([launcher("mpiexec", "hydra"), *words])
    assert line.ranks == 6
    assert [segment.program for segment in line.segments] == ["/bin/true", "/bin/echo", "/bin/cat"]
    assert line.words()[1:] == words


def test_srun_takes_the_number_of_tasks_of_its_allocation(launcher, monkeypatch):
    monkeypatch.setenv("SLURM_NTASKS", "48")
    assert parse([launcher("srun", "slurm"), "/bin/true"]).ranks == 48


def test_a_command_without_launcher_is_one_program():
    line = parse(["./app", "-n", "4", ":", "x"])
    assert (line.launcher.kind, line.program, line.ranks) == ("none", "./app", None)
    assert line.words() == ["./app", "-n", "4", ":", "x"]


def test_an_empty_line_is_refused():
    with pytest.raises(RankwiseError, match="the launch line is empty"):
        parse([])
