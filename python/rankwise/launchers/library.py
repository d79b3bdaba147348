# SPDX-License-Identifier: BSD-3-Clause
"""Which MPI library a run will load, where the program does not say so itself (Python and other scripts)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence

from rankwise.launchers.line import LaunchLine

# By ABI, the likelier name first.
_NAMES = {
    "mpich": ("libmpi.so.12", "libmpich.so.12", "libmpi_cray.so.12"),
    "openmpi": ("libmpi.so.40",),
    "standard_abi": ("libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi_abi.so"),
}
_CACHED = re.compile(r"^\s*(\S+) \(.*\) => (\S+)$", re.MULTILINE)


def expected_library(line: LaunchLine, programs: Sequence[str], flavour: str | None) -> str | None:
    """The MPI library that programs of this line will most likely load.

    Looked for beside the program (a virtual environment with an MPI from PyPI), beside the launcher, on
    LD_LIBRARY_PATH and in the loader's cache, in this order.

    Args:
        line: The launch line; a launcher of one MPI leaves that one only.
        programs: Files of the programs.
        flavour: The ABI, if the user says so.

    Returns:
        Path of the file; `None` if there is none.
    """
    wanted = flavour or line.launcher.family
    names = _NAMES[wanted] if wanted else [name for each in _NAMES.values() for name in each]
    for directory in _directories([*programs, *_launcher_paths(line)]):
        for name in names:
            path = os.path.join(directory, name)
            if os.path.exists(path):
                return os.path.abspath(path)
    cached = _loader_cache()
    return next((cached[name] for name in names if name in cached), None)


def _launcher_paths(line: LaunchLine) -> list[str]:
    path = line.launcher.path or shutil.which("mpiexec")
    return [path, os.path.realpath(path)] if path else []


def _directories(executables: Iterable[str]) -> Iterator[str]:
    for executable in executables:
        prefix = os.path.dirname(os.path.dirname(os.path.abspath(executable)))
        yield os.path.join(prefix, "lib")
        yield os.path.join(prefix, "lib64")
    yield from (each for each in os.environ.get("LD_LIBRARY_PATH", "").split(":") if each)


def _loader_cache() -> dict[str, str]:
    ldconfig = shutil.which("ldconfig", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if ldconfig is None:
        return {}
    done = subprocess.run(
        [ldconfig, "-p"], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    return {name: path for name, path in reversed(_CACHED.findall(done.stdout))}
