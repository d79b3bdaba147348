# SPDX-License-Identifier: BSD-3-Clause
"""The MPI library that a script will load."""

import pytest
from fake_launchers import fake_launcher

from rankwise.launchers import parse
from rankwise.launchers.library import expected_library


@pytest.fixture
def prefix(tmp_path, monkeypatch):
    """Function: an installation with these libraries, and a launcher if it says something."""
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)

    def make(name, *libraries, says=None):
        (tmp_path / name / "lib").mkdir(parents=True)
        (tmp_path / name / "bin").mkdir()
        for library in libraries:
            (tmp_path / name / "lib" / library).touch()
        if says:
            fake_launcher(tmp_path / name / "bin", "mpiexec", says)
        (tmp_path / name / "bin" / "python3").touch()
        return tmp_path / name

    return make


def expected(launcher, program, flavour=None):
    line = parse([str(launcher / "bin" / "mpiexec"), "-n", "2", str(program)])
    return expected_library(line, [str(program)], flavour)


def test_the_library_of_the_programs_environment_goes_first(prefix):
    launcher = prefix("mpi", "libmpi.so.12", says="hydra")
    environment = prefix("environment", "libmpi.so.12")
    assert expected(launcher, environment / "bin" / "python3") == str(environment / "lib" / "libmpi.so.12")


def test_a_library_of_the_other_mpi_is_not_taken(prefix):
    launcher = prefix("mpi", "libmpi.so.40", says="openmpi5")
    environment = prefix("environment", "libmpi.so.12")
    assert expected(launcher, environment / "bin" / "python3") == str(launcher / "lib" / "libmpi.so.40")


def test_the_abi_that_the_user_says_counts_more_than_the_launcher(prefix):
    launcher = prefix("mpi", "libmpi.so.12", "libmpi_abi.so.1", says="hydra")
    found = expected(launcher, launcher / "bin" / "python3", flavour="standard_abi")
    assert found == str(launcher / "lib" / "libmpi_abi.so.1")


def test_a_launcher_of_any_mpi_takes_what_the_environment_loads(prefix, monkeypatch, tmp_path):
    modules = prefix("modules", "libmpi.so.40")
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/nowhere:{modules}/lib")
    monkeypatch.setenv("PATH", str(tmp_path))
    srun = fake_launcher(tmp_path, "srun", "slurm")
    line = parse([srun, "-n", "2", str(tmp_path / "python3")])
    assert expected_library(line, [str(tmp_path / "python3")], None) == str(modules / "lib" / "libmpi.so.40")


def test_the_real_launchers_lead_to_their_library(mpi):
    line = parse(mpi.launch(1, "/usr/bin/env"))
    found = expected_library(line, ["/usr/bin/env"], mpi.flavour)
    assert found is not None
    if not mpi.name.startswith("debian"):
        assert found.startswith(str(mpi.mpiexec.parent.parent))
