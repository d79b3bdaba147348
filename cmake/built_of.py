# SPDX-License-Identifier: BSD-3-Clause
"""Write the Python module that says what a copy of Rankwise was built of: `rankwise --version` prints it.

Usage: built_of.py DESTINATION MPI_HEADERS VERSION COMPILER NANOBIND STABLE_ABI

STABLE_ABI is the oldest Python whose stable ABI is used, as `3.12`; empty if it is not. The commit is that of the
checkout; a source distribution has it in its version, if it is not that of a release.
"""

import ctypes
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
VERSIONS = {
    "mpich": r'define MPICH_VERSION +"([^"]+)"',
    "openmpi": r"define OMPI_(?:MAJOR|MINOR|RELEASE)_VERSION +(\d+)",
    "standard_abi": r"define MPI_ABI_(?:SUB)?VERSION +(\d+)",
}


def commit(version: str) -> str:
    """The commit, with `+dirty` if files were changed since; of a source distribution what its version says of it."""
    try:
        git = ["git", "-C", TOP]
        run = {"capture_output": True, "text": True, "check": True}
        if Path(subprocess.run([*git, "rev-parse", "--show-toplevel"], **run).stdout.strip()) == TOP:
            described = ["describe", "--always", "--dirty=+dirty", "--abbrev=12", "--exclude=*"]
            return subprocess.run([*git, *described], **run).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        pass
    local = re.search(r"\+g([0-9a-f]+)(\.d\d+)?", version)
    return local[1] + ("+dirty" if local[2] else "") if local else ""


def hwloc(library: Path) -> str:
    """The API version of the hwloc that is installed with Rankwise; empty if none is."""
    if not library.exists():
        return ""
    try:
        version = ctypes.CDLL(str(library)).hwloc_get_api_version()
    except OSError:  # built for another machine
        return "of another machine"
    return f"{version >> 16}.{version >> 8 & 255}"


def headers(directory: Path) -> dict[str, str]:
    """The version of the header files that the recorder of each ABI was compiled with."""
    found = {}
    for abi, pattern in VERSIONS.items():
        header = directory / abi / "mpi.h"
        if header.exists():
            found[abi] = ".".join(re.findall(pattern, header.read_text(errors="replace"))) or "?"
    return found


def main() -> None:
    """Write the module."""
    destination, mpi_headers, version, compiler, nanobind, stable_abi = sys.argv[1:]
    values = {
        "VERSION": version,
        "COMMIT": commit(version),
        "COMPILER": compiler,
        "NANOBIND": nanobind,
        "PYTHON": stable_abi or "{}.{}".format(*sys.version_info),
        "STABLE_ABI": bool(stable_abi),
        "HWLOC": hwloc(Path(mpi_headers, "hwloc", "libhwloc.so.15")),
        "MPI_HEADERS": headers(Path(mpi_headers)),
    }
    lines = ['"""What this copy of Rankwise was built of: written by cmake/built_of.py."""', ""]
    Path(destination).write_text(
        "\n".join(lines + [f"{name} = {value!r}" for name, value in values.items()]) + "\n"
    )


if __name__ == "__main__":
    main()
