# SPDX-License-Identifier: BSD-3-Clause
"""Compile the C programs that travel as source with the site's own `mpicc`, once for each MPI library.

The result is kept under `$XDG_CACHE_HOME/rankwise/programs/` (default `~/.cache`), in a directory whose name is a hash
of the library's soname and version, the compiler wrapper, the flags and the sources: a new module environment or an
upgrade of Rankwise compiles again, everything else starts at once.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rankwise.cache_home import cache_home
from rankwise.errors import RankwiseError
from rankwise.scratch import scratch

CFLAGS = ("-std=c11", "-O2", "-D_GNU_SOURCE")
MODULE_HINT = "load your MPI module first, for example `module load openmpi`, or set RANKWISE_MPICC"

# Neither call needs MPI_Init (MPI 4.1, section 11.4.1), so this also runs where MPI jobs may not.
PROBE = r"""
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
int main(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    Dl_info found = {0};
    MPI_Get_library_version(version, &length);
    dladdr(dlsym(RTLD_DEFAULT, "MPI_Init"), &found);
    printf("%s\n%s\n", found.dli_fname, version);
    return 0;
}
"""


@dataclass(frozen=True)
class Toolchain:
    """A compiler wrapper and the MPI library that its programs load.

    Attributes:
        mpicc: The compiler wrapper.
        soname: File name of the library, such as `libmpi.so.40`.
        version: First line of `MPI_Get_library_version`, tabs and repeated spaces made one space.
    """

    mpicc: Path
    soname: str
    version: str


def find_mpicc(launcher: str | None = None) -> Path:
    """Find the compiler wrapper that belongs to a launcher.

    Order: `RANKWISE_MPICC`; the wrapper beside the launcher (`mpiexec.mpich` goes with `mpicc.mpich`, symbolic links
    are followed step by step); `mpicc` on `PATH`.

    Args:
        launcher: First word of the launcher line, such as `mpiexec`; `None` if there is none.

    Returns:
        Its absolute path, which is part of what programs are kept under.

    Raises:
        RankwiseError: There is no such wrapper.
    """
    chosen = os.environ.get("RANKWISE_MPICC")
    if chosen:
        found = shutil.which(chosen)
        if found is None:
            raise RankwiseError(f"RANKWISE_MPICC is `{chosen}`, which is not a program", MODULE_HINT)
        return Path(found).absolute()
    for candidate in _beside(launcher):
        if os.access(candidate, os.X_OK):
            return candidate.absolute()
    found = shutil.which("mpicc")
    if found is None:
        raise RankwiseError(
            "no `mpicc` on PATH, so the programs that travel as source cannot be built", MODULE_HINT
        )
    return Path(found).absolute()


def probe(mpicc: Path) -> Toolchain:
    """Compile and run a few lines to learn which MPI library `mpicc` links to (about 0.1 s).

    Raises:
        RankwiseError: The wrapper does not compile, or what it compiled does not start.
    """
    with scratch("probe") as directory:
        source = Path(directory, "probe.c")
        source.write_text(PROBE)
        program = Path(directory, "probe")
        _compile(mpicc, [source], program, (), ("-ldl",))
        try:
            ran = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RankwiseError(
                f"a program compiled by `{mpicc}` does not run: {error}", MODULE_HINT
            ) from error
    lines = ran.stdout.splitlines()
    if ran.returncode != 0 or len(lines) < 2:
        said = (ran.stderr.strip().splitlines() or ["no message"])[-1]
        raise RankwiseError(f"a program compiled by `{mpicc}` does not run", MODULE_HINT, causes=(said,))
    return Toolchain(mpicc, os.path.basename(lines[0]), re.sub(r"\s+", " ", lines[1]).strip())


def source_room(room: str) -> Path:
    """Directory of a room that travels as source (`measure`, `workloads`, `formats`, `machines`).

    A checkout's own directory goes before the installed copy, so that an edit is compiled without a new install.
    """
    package = Path(__file__).resolve().parent
    for candidate in (package.parent.parent / room, package / "_source" / room, *_installed(room)):
        if candidate.is_dir():
            return candidate
    raise RankwiseError(
        f"this copy of Rankwise has no `{room}` sources", "install it again: `pip install rankwise`"
    )


def build_program(
    name: str,
    room: str,
    sources: Iterable[str] | None = None,
    *,
    toolchain: Toolchain,
    include_rooms: Iterable[str] = (),
    flags: Iterable[str] = (),
) -> Path:
    """Compile one program of a room, or take it from the cache.

    Args:
        name: Name of the program.
        room: Room the sources are in.
        sources: File names inside the room; all `.c` files below it if not given.
        toolchain: What `probe` returned.
        include_rooms: Further rooms whose headers it includes.
        flags: Further compiler flags, such as `-DCLASS_A`.

    Returns:
        Path of the executable. All hosts that run it must see it, so the cache should be on a shared file system.

    Raises:
        RankwiseError: The compiler's first error, or a cache directory that cannot be written.
    """
    directory = source_room(room)
    files = [directory / s for s in sources] if sources is not None else sorted(directory.rglob("*.c"))
    rooms = [directory, *(source_room(r) for r in include_rooms)]
    flags = tuple(flags)
    home = cached_directory(toolchain, flags, files, rooms)
    program = home / name
    if os.access(program, os.X_OK):
        return program
    try:
        home.mkdir(parents=True, exist_ok=True)
        with scratch("build", home) as directory:
            fresh = directory / name
            _compile(toolchain.mpicc, files, fresh, (*flags, *(f"-I{r}" for r in rooms)), ("-lm", "-ldl"))
            os.replace(fresh, program)
    except OSError as error:
        raise RankwiseError(
            f"`{home}` cannot be written: {error.strerror or error}",
            "set XDG_CACHE_HOME to a directory that you may write and all nodes see",
        ) from error
    return program


def programs_home() -> Path:
    """Where compiled programs are kept; all nodes must see it."""
    return cache_home() / "programs"


def cached_directory(
    toolchain: Toolchain, flags: tuple[str, ...], files: list[Path], rooms: list[Path]
) -> Path:
    """Where what is compiled of these sources, and the headers of these rooms, is kept for this MPI."""
    digest = hashlib.sha256()
    for word in (toolchain.soname, toolchain.version, str(toolchain.mpicc), *CFLAGS, *flags):
        digest.update(word.encode() + b"\0")
    for path in [*files, *sorted(h for r in rooms for h in r.rglob("*.h"))]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return programs_home() / f"{toolchain.soname}-{digest.hexdigest()[:16]}"


def _compile(
    mpicc: Path, sources: list[Path], program: Path, flags: tuple[str, ...], libraries: tuple[str, ...]
) -> None:
    command = [str(mpicc), *CFLAGS, *flags, "-o", str(program), *map(str, sources), *libraries]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RankwiseError(f"`{mpicc}` does not run: {error}", MODULE_HINT) from error
    if done.returncode != 0:
        lines = done.stderr.splitlines()
        said = next((line for line in lines if " error: " in line), lines[-1] if lines else "no message")
        raise RankwiseError(
            f"`{mpicc}` could not compile `{program.name}`", MODULE_HINT, causes=(said.strip(),)
        )


def _beside(launcher: str | None) -> list[Path]:
    """Wrappers next to the launcher, next to what it links to, and so on to the end of the links."""
    found = shutil.which(launcher) if launcher else None
    candidates: list[Path] = []
    path = Path(found) if found else None
    for _ in range(16):
        if path is None:
            break
        start = re.match(r"(mpiexec|mpirun|orterun|prterun|hydra)(.*)", path.name)
        if start:
            suffix = start[2].replace(".hydra", "").replace(".gforker", "")
            # `/usr/bin/mpiexec` says nothing about the library where Debian's alternatives choose it.
            if suffix or not path.is_symlink():
                candidates.append(path.parent / f"mpicc{suffix}")
        path = path.parent / os.readlink(path) if path.is_symlink() else None
    return candidates


def _installed(room: str) -> list[Path]:
    import rankwise

    return [Path(p) / "_source" / room for p in rankwise.__path__]
