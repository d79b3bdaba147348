# SPDX-License-Identifier: BSD-3-Clause
"""Programs that are run where something is short."""

from pathlib import Path

import mpis


def launch_line(directory: Path, source: str, ranks: int) -> tuple[mpis.Mpi, list[str]]:
    """An MPI, and the line that starts a program of this source with it."""
    mpi = mpis.first("mpich")
    (directory / "returns.c").write_text(source)
    program = mpi.compile(directory / "returns.c", directory / "returns")
    return mpi, [*mpi.launch(ranks), str(program)]
