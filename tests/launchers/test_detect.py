# SPDX-License-Identifier: BSD-3-Clause
"""Which MPI a program is linked with, before it runs."""

import os
import subprocess

import pytest
from fake_launchers import fake_launcher

from rankwise.errors import RankwiseError
from rankwise.launchers import check_family, mpi_of, parse
from rankwise.launchers.detect import find_program


@pytest.fixture
def linked(tmp_path):
    """Function: an executable linked with an empty library of that name, or with `flags`."""

    def link(soname=None, source="int main(void) { return 0; }", flags=(), name="app"):
        libraries = []
        if soname:
            (tmp_path / "empty.c").write_text("int MPI_Init(int *c, char ***v) { return 0; }\n")
            command = ["cc", "-shared", "-fPIC", "empty.c", "-o", soname, f"-Wl,-soname,{soname}"]
            subprocess.run(command, check=True, cwd=tmp_path)
            libraries = [soname, "-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed"]
        (tmp_path / "app.c").write_text(source + "\n")
        subprocess.run(
            ["cc", "app.c", "-Wl,--no-as-needed", *libraries, *flags, "-o", name], check=True, cwd=tmp_path
        )
        return str(tmp_path / name)

    return link


def test_programs_of_the_real_libraries_are_recognised(mpi, compiled):
    found = mpi_of(str(compiled(mpi, "ring.c")))
    assert found.flavour == mpi.flavour
    assert found.path and found.path.startswith("/")


@pytest.mark.parametrize(
    ("soname", "flavour"),
    [
        ("libmpi.so.12", "mpich"),
        ("libmpich.so.12", "mpich"),
        ("libmpi_cray.so.12", "mpich"),
        ("libmpi_gnu_123.so.12", "mpich"),
        ("libmpi.so.40", "openmpi"),
        ("libmpi_abi.so.0", "standard_abi"),
    ],
)
def test_the_name_of_the_library_tells_the_abi(linked, soname, flavour):
    path = linked(soname)
    found = mpi_of(path)
    assert (found.flavour, found.library) == (flavour, soname)
    assert found.path == path.replace("/app", f"/{soname}")


@pytest.mark.parametrize(
    "soname", ["libmpi.so.20", "libmpi.so.1", "libmpi.so.0", "libmpi.so", "libmpi.so.80"]
)
def test_an_mpi_of_unknown_abi_is_refused_by_name(linked, soname):
    path = linked(soname)
    with pytest.raises(RankwiseError) as error:
        mpi_of(path)
    assert error.value.message == f"`{path}` is linked with `{soname}`, an MPI whose ABI is not known"
    assert (error.value.status, "libmpi.so.12" in error.value.hint) == (125, True)


def test_a_library_that_is_missing_still_tells_by_its_name(linked, tmp_path):
    path = linked("libmpi_gnu_123.so.12")
    (tmp_path / "libmpi_gnu_123.so.12").unlink()
    found = mpi_of(path)
    assert (found.flavour, found.path) == ("mpich", None)


def test_fortran_and_cxx_bindings_are_not_taken_for_the_library(linked):
    assert (
        mpi_of(
            linked("libmpi_mpifh.so.40", source="#include <stdlib.h>\nint main(void) { return system(0); }")
        ).flavour
        is None
    )


def test_open_mpi_1_is_not_taken_for_mpich_though_it_has_the_name(linked, tmp_path):
    command = [
        "cc",
        "-shared",
        "-fPIC",
        "-x",
        "c",
        "/dev/null",
        "-o",
        "libopen-rte.so.12",
        "-Wl,-soname,libopen-rte.so.12",
    ]
    subprocess.run(command, check=True, cwd=tmp_path)
    with pytest.raises(RankwiseError, match="an MPI whose ABI is not known"):
        mpi_of(linked("libmpi.so.12", flags=["libopen-rte.so.12"]))


@pytest.mark.parametrize("flags", [(), ("-static",)], ids=["dynamic", "static"])
@pytest.mark.parametrize("strip", [False, True])
def test_mpi_linked_into_the_program_itself_is_refused(linked, flags, strip):
    source = """
        #include <stdio.h>
        int MPI_Init(int *c, char ***v) { puts("MPI_Init"); return 0; }
        int main(void) { return MPI_Init(0, 0); }
    """
    path = linked(source=source, flags=[*flags, "-rdynamic"])
    if strip:
        subprocess.run(["strip", path], check=True)
    with pytest.raises(RankwiseError) as error:
        mpi_of(path, "./app")
    assert error.value.message == "`./app` is statically linked with MPI; it cannot be recorded by preloading"
    assert error.value.status == 125


def test_a_program_without_mpi_is_refused(linked):
    with pytest.raises(RankwiseError, match="does not use MPI"):
        mpi_of(linked())


@pytest.mark.parametrize("starter", ["dlopen(0, 0)", "execv(0, 0)", "system(0)"])
def test_a_program_that_may_load_or_start_another_is_undecided(linked, starter):
    headers = "#include <dlfcn.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
    found = mpi_of(linked(source=f"{headers}int main(void) {{ {starter}; return 0; }}", flags=["-w"]))
    assert found.flavour is None


def test_a_script_is_undecided(tmp_path):
    path = tmp_path / "lmp"
    path.write_text("#!/usr/bin/env python3\n")
    assert mpi_of(str(path)).flavour is None


@pytest.mark.parametrize(
    ("says", "soname", "vendor", "names"),
    [
        ("hydra", "libmpi.so.40", "MPICH", "Open MPI"),
        ("openmpi5", "libmpi.so.12", "Open MPI", "the MPICH ABI"),
    ],
)
def test_a_launcher_of_another_mpi_is_refused(linked, tmp_path, says, soname, vendor, names):
    # GIVEN a program of one MPI and the launcher of another
    path, launcher = linked(soname), fake_launcher(tmp_path, "mpiexec", says)
    with pytest.raises(RankwiseError) as error:
        check_family(parse([launcher, "-n", "4", path]), mpi_of(path))
    # THEN the error says what would have happened
    expected = (
        f"`{path}` is linked with {names}, but `{launcher}` is {vendor}'s: it would run as 4 times one rank"
    )
    assert error.value.message == expected
    assert error.value.status == 125


def test_srun_starts_programs_of_any_mpi(linked, tmp_path):
    path, launcher = linked("libmpi.so.40"), fake_launcher(tmp_path, "srun", "slurm")
    check_family(parse([launcher, "-n", "4", path]), mpi_of(path))


def test_a_program_that_is_not_there_is_127_and_one_that_cannot_run_126(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_text("x")
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "tool").chmod(0o755)
    for name, message, status in (
        ("./gone", "there is no program `./gone`", 127),
        ("gone", "there is no program `gone`", 127),
        ("./data", "`./data` is not executable", 126),
        ("/", "`/` is a directory, not a program", 126),
    ):
        with pytest.raises(RankwiseError) as error:
            find_program(name)
        assert (error.value.message, error.value.status) == (message, status)
    assert find_program("./tool") == "./tool"
    assert find_program("tool") == "tool"
    assert find_program("./tool", directory=str(tmp_path)) == f"{tmp_path}/./tool"


def test_a_program_whose_loader_does_not_answer_is_undecided(linked, monkeypatch):
    program = linked()

    def wait(*words, **keywords):
        raise subprocess.TimeoutExpired(words, keywords["timeout"])

    monkeypatch.setattr(subprocess, "run", wait)
    assert mpi_of(program).flavour is None


def test_a_program_that_may_be_executed_but_not_read_is_undecided(linked, monkeypatch):
    program = linked()
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.R_OK)
    assert mpi_of(program).flavour is None
