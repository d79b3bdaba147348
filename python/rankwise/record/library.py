# SPDX-License-Identifier: BSD-3-Clause
"""The library that is preloaded into the ranks, and what it is told."""

from __future__ import annotations

from pathlib import Path

import rankwise
from rankwise.errors import RankwiseError

PRELOADED = "librankwise_record.so"
BINDING = "librankwise_binding.so"


def library_directory() -> Path:
    """Where the recorder's shared libraries are.

    Raises:
        RankwiseError: They were not built.
    """
    for place in rankwise.__path__:
        directory = Path(place) / "_lib"
        if (directory / PRELOADED).exists():
            return directory
    hint = "install it again where it was built, for example `pip install --force-reinstall rankwise`"
    raise RankwiseError(
        f"this installation of Rankwise lacks its recorder, `{PRELOADED}`", hint=hint, status=125
    )


def variables(
    directory: Path, trace: bool, mpi_library: str | None, flavour: str | None = None
) -> dict[str, str]:
    """Environment variables that make a rank record.

    Args:
        directory: The recording's directory.
        trace: Keep every call in program order too.
        mpi_library: File of the MPI library that the program will use, as far as known. Without it nothing is
            recorded of a program that loads MPI after it has started.
        flavour: The MPI where the user says it; it counts where the library does not say itself what it is.
    """
    chosen = {"LD_PRELOAD": str(library_directory() / PRELOADED), "RANKWISE_DIR": str(directory.resolve())}
    if trace:
        chosen["RANKWISE_TRACE"] = "1"
    if mpi_library:
        chosen["RANKWISE_MPI"] = mpi_library
    if flavour:
        chosen["RANKWISE_FLAVOUR"] = flavour
    return chosen
