# SPDX-License-Identifier: BSD-3-Clause
"""Launchers that only say who they are, for what no test machine has."""

from pathlib import Path

SAYS = {
    "hydra": "HYDRA build details:\n    Version:                                 4.2.1\n    CC: gcc",
    "hydra5": "HYDRA build details:\n    Version:                                 5.0.2\n    CC: gcc",
    "intel": "Intel(R) MPI Library for Linux* OS, Version 2021.16 Build 20250513\nCopyright 2003-2025",
    "openmpi4": "mpirun (Open MPI) 4.1.8\n\nReport bugs to http://www.open-mpi.org/community/help/",
    "debian": "mpiexec (OpenRTE) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/",
    "openmpi5": "mpirun (Open MPI) 5.0.11\n\nReport bugs to https://www.open-mpi.org/community/help/",
    "slurm": "slurm 22.05.8",
    "slurm-wlm": "slurm-wlm 22.05.8",
    "other": "mpiexec version 1.2.3 of somebody else",
}


def fake_launcher(directory: Path, name: str, says: str, does: str = "exit 3") -> str:
    """Write an executable `directory/name` that answers `--version` as a known launcher does."""
    path = directory / name
    directory.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'#!/bin/sh\nif [ "$1" = --version ]; then\n/bin/cat <<"END"\n{SAYS[says]}\nEND\nexit 0\nfi\n{does}\n'
    )
    path.chmod(0o755)
    return str(path)
