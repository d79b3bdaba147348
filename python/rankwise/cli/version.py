# SPDX-License-Identifier: BSD-3-Clause
"""What `--version` prints: the version on the first line, then what this copy was built of."""

from __future__ import annotations

import argparse
from typing import Any

import rankwise

_ABIS = {"mpich": "MPICH", "openmpi": "Open MPI", "standard_abi": "the MPI standard"}


class PrintVersion(argparse.Action):
    """The option: prints, and leaves the process as `--help` does."""

    def __init__(self, option_strings: list[str], dest: str, **keywords: Any):
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, **keywords)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print the lines, and leave."""
        print("\n".join(lines()))
        parser.exit()


def lines() -> list[str]:
    """The lines; only the first if the build did not say what it was of, as where sources are used without one."""
    first = f"rankwise {rankwise.__version__}"
    try:
        from rankwise._built import COMMIT, COMPILER, HWLOC, MPI_HEADERS, NANOBIND, PYTHON, STABLE_ABI
    except ImportError:
        return [first]
    python = f"{PYTHON} or newer (stable ABI)" if STABLE_ABI else f"{PYTHON} (not the stable ABI)"
    headers = ", ".join(f"{_ABIS[abi]} (headers: {version})" for abi, version in MPI_HEADERS.items())
    return [
        first,
        f"commit: {COMMIT or 'unknown'}",
        f"compiler: {COMPILER}",
        f"Python: {python}, nanobind {NANOBIND}",
        f"hwloc: {f'API {HWLOC}' if HWLOC else 'none inside, that of the node is used'}",
        f"MPI ABIs: {headers or 'none'}",
    ]
