# SPDX-License-Identifier: BSD-3-Clause
"""What ranks are given so that the tuner of their node sees how they get on."""

from __future__ import annotations

from pathlib import Path

from rankwise.tune.installed import installed

PRELOADED = "librankwise_tune.so"


def tune_environment(directory: Path, mpi_library: str | None, flavour: str | None = None) -> dict[str, str]:
    """Variables of the ranks, `LD_PRELOAD` among them.

    Args:
        directory: For the ranks' pages (formats/tune_page.h), in the memory of the node.
        mpi_library: File of the MPI library that they will use, as far as known: for programs that load it late.
        flavour: What its ABI is, where it does not say so itself.

    Raises:
        RankwiseError: The library was not built.
    """
    chosen = {"LD_PRELOAD": str(installed(PRELOADED)), "RANKWISE_TUNE": str(directory.resolve())}
    if mpi_library:
        chosen["RANKWISE_MPI"] = mpi_library
    if flavour:
        chosen["RANKWISE_FLAVOUR"] = flavour
    return chosen
