# SPDX-License-Identifier: BSD-3-Clause
"""The recorder as one object file, for programs that MPI is linked into, where nothing can be preloaded.

Compiled with the site's own `mpicc` for exactly the MPI at hand and kept in the cache of `rankwise.site_build`. An
object, not an archive: of an archive a linker takes only what somebody asks for, and Fortran programs ask for no MPI_X.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rankwise import site_build
from rankwise.errors import RankwiseError
from rankwise.scratch import scratch

OBJECT = "rankwise_record.o"
# What finds and stands before a shared library, and what stands behind it in place of a recorder.
_NOT_LINKED = ("shim", "placement", "tune")
_FLAGS = ("-std=gnu11", "-O2", "-D_GNU_SOURCE", "-DRW_LINKED_IN", "-fPIC")


def linked_sources(room: Path) -> list[Path]:
    """The recorder's source files, those that are linked into a program."""
    return [path for path in sorted(room.rglob("*.c")) if path.parent.name not in _NOT_LINKED]


def linkable(mpicc: Path) -> Path:
    """The object file to link a program with, made now or taken from the cache.

    Args:
        mpicc: The compiler wrapper of the program's MPI.

    Raises:
        RankwiseError: The recorder cannot be compiled with it.
    """
    toolchain = site_build.probe(mpicc)
    room = site_build.source_room("record")
    linked = linked_sources(room)
    home = site_build.cached_directory(toolchain, _FLAGS, [*linked, *room.glob("*.py")], [room])
    target = home / OBJECT
    if target.exists():
        return target
    try:
        home.mkdir(parents=True, exist_ok=True)
        with scratch("build", home) as directory:
            os.replace(_build(mpicc, linked, directory), target)
    except OSError as error:
        raise RankwiseError(
            f"`{home}` cannot be written: {error.strerror or error}",
            "set XDG_CACHE_HOME to a directory that you may write",
        ) from error
    return target


def _build(mpicc: Path, sources: list[Path], directory: Path) -> Path:
    # formats/ is included as ../formats, and the generated headers are found beside.
    calls = site_build.source_room("formats") / "mpi_calls.txt"
    generator = site_build.source_room("record") / "generate.py"
    made = _run([sys.executable, str(generator), str(calls)], "make the list of MPI functions")
    (directory / "calls_generated.h").write_text(made.stdout)
    names = [line.split("\t")[0].removeprefix("MPI_") for line in calls.read_text().splitlines()]
    present = [name for name in names if name not in _missing(mpicc, names, directory)]
    entries = " ".join(f"X({name})" for name in present)
    (directory / "linked_calls.h").write_text(f"#define RW_LINKED_CALLS(X) {entries}\n")

    def compile_one(source: Path) -> str:
        output = directory / f"{source.parent.name}_{source.stem}.o"
        command = [
            str(mpicc),
            *_FLAGS,
            f"-I{directory}",
            f"-I{generator.parent}",
            "-c",
            str(source),
            "-o",
            str(output),
        ]
        _run(command, f"compile `{source.name}`")
        return str(output)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, sources))
    joined = directory / OBJECT
    _run(["ld", "-r", *objects, "-o", str(joined)], "join the recorder's objects")
    _run(["objcopy", "--localize-hidden", str(joined)], "hide the recorder's own names")
    return joined


def _missing(mpicc: Path, names: list[str], directory: Path) -> set[str]:
    """Functions that the library lacks, by what a linker says of a program that names them all."""
    probe = directory / "all.c"
    declared = "".join(f"void PMPI_{name}(void);\n" for name in names)
    table = ", ".join(f"PMPI_{name}" for name in names)
    probe.write_text(
        f"{declared}void (*all[])(void) = {{{table}}};\nint main(void) {{ return all[0] == 0; }}\n"
    )
    done = subprocess.run(
        [str(mpicc), "-w", str(probe), "-o", str(directory / "all")],
        capture_output=True,
        text=True,
        env=os.environ | {"LC_ALL": "C"},
        timeout=300,
        check=False,
    )
    if done.returncode == 0:
        return set()
    missing = set(re.findall(r"\bPMPI_(\w+)", done.stderr))
    if not missing or "Init" in missing:
        said = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RankwiseError(f"`{mpicc}` does not link an MPI program", site_build.MODULE_HINT, causes=(said,))
    return missing


def _run(command: list[str], what: str) -> subprocess.CompletedProcess[str]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RankwiseError(f"`{command[0]}` does not run: {error}", site_build.MODULE_HINT) from error
    if done.returncode != 0:
        lines = done.stderr.splitlines()
        said = next((line for line in lines if " error: " in line), lines[-1] if lines else "no message")
        raise RankwiseError(
            f"`{command[0]}` could not {what}", site_build.MODULE_HINT, causes=(said.strip(),)
        )
    return done
