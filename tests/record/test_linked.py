# SPDX-License-Identifier: BSD-3-Clause
"""Programs that the recorder is linked into, where nothing can be preloaded."""

import re
import subprocess
import sys
from pathlib import Path

import mpis
import pytest
import raw_reader

from rankwise import site_build
from rankwise.cli import main
from rankwise.launchers.detect import mpi_of
from rankwise.record.link import _FLAGS, linkable, linked_sources

pytestmark = [
    pytest.mark.mpi,
    # Open MPI 4 has no sessions, so the recorder cannot be compiled with its header; the standard ABI comes as a shared
    # library only.
    mpis.only(lambda mpi: (mpi.family != "openmpi" or mpi.version >= (5,)) and mpi.flavour != "standard_abi"),
]
DEBIAN = Path("/usr/lib/x86_64-linux-gnu")


@pytest.fixture
def compiler(mpi, monkeypatch):
    """The compiler wrapper of an MPI that the recorder can be linked with."""
    # The wheels' wrappers name the compiler they were built with, which is not installed here.
    for name in ("MPICH_CC", "OMPI_CC"):
        monkeypatch.setenv(name, "cc")
    if not mpi.name.startswith("debian"):
        monkeypatch.setenv("LD_LIBRARY_PATH", str(mpi.mpicc.parent.parent / "lib"))
    return mpi.mpicc


@pytest.fixture
def recorder_object(compiler, monkeypatch, tmp_path_factory):
    """The object to link with, compiled for this MPI."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    return linkable(compiler)


def check_ring(mpi, program, directory) -> None:
    """It does what it does without us, and with a directory it is recorded."""
    assert mpi.run(3, program).stdout == "23 laps\n"
    done = mpi.run(3, program, environment={"RANKWISE_DIR": str(directory)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "23 laps\n", "")
    threads = raw_reader.read(directory)
    assert [thread.sent for thread in threads] == [{((rank + 1) % 3, "MPI_Send"): 23} for rank in range(3)]
    assert all(thread.has("finalized") for thread in threads)


def test_what_differs_between_libraries_is_compiled_with_each_header(compiler, tmp_path):
    # GIVEN the headers that the build makes
    calls = site_build.source_room("formats") / "mpi_calls.txt"
    room = site_build.source_room("record")
    made = subprocess.run(
        [sys.executable, room / "generate.py", calls], capture_output=True, text=True, check=True
    )
    (tmp_path / "calls_generated.h").write_text(made.stdout)
    (tmp_path / "linked_calls.h").write_text("#define RW_LINKED_CALLS(X) X(Init)\n")
    # WHEN the sources with parts for one library are looked at by its compiler, THEN it has nothing to say
    sources = [room / name for name in ("process/abi.c", "linked.c", "lifetime/world.c")]
    command = [compiler, *_FLAGS, "-Wall", "-Werror", "-fsyntax-only", f"-I{tmp_path}", f"-I{room}", *sources]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_one_recorder_is_linked_and_nothing_that_stands_in_place_of_it():
    # THEN the object has one function by which the program attaches, of the recorder's: two could not be linked
    attach = re.compile(r"^(const char \*)?rankwise_record_attach\(", re.MULTILINE)
    files = linked_sources(site_build.source_room("record"))
    assert [path.name for path in files if attach.search(path.read_text())] == ["attach.c"]


@pytest.mark.slow
def test_a_program_linked_with_the_recorder_needs_no_preloading(
    mpi, recorder_object, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("RANKWISE_MPICC", str(mpi.mpicc))
    assert main(["record", "--link"]) == 0
    assert capsys.readouterr().out == f"{recorder_object}\n"
    program = mpi.compile("ring.c", tmp_path / "ring", str(recorder_object))
    check_ring(mpi, program, tmp_path)


@pytest.mark.slow
@mpis.only(lambda mpi: mpi.name == "debian-mpich")
def test_a_program_that_mpi_is_linked_into_is_recorded(mpi, recorder_object, tmp_path):
    # GIVEN Debian's static MPICH
    archive = DEBIAN / "libmpich.a"
    if not archive.exists():
        pytest.skip("this MPI has no static library here")
    needed = [f"-l{name}" for name in ("ucp", "ucs", "uct", "hwloc", "rt", "pthread", "dl", "m")]
    shared = [next(DEBIAN.glob(f"lib{name}.so.*")) for name in ("pmix", "fabric")]
    program = tmp_path / "ring"
    subprocess.run(
        ["cc", "-I/usr/include/x86_64-linux-gnu/mpich", mpis.PROGRAMS / "ring.c", recorder_object, archive]
        + [*shared, *needed, "-o", program],
        check=True,
    )
    # THEN it is known as such, though stripped, and recorded
    subprocess.run(["strip", program], check=True)
    assert mpi_of(str(program)).reason == f"the recorder is linked into `{program}`"
    check_ring(mpi, program, tmp_path)
