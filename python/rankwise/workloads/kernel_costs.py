# SPDX-License-Identifier: BSD-3-Clause
"""What computing kernels cost on a machine's cores: `NAME.kernels.toml`. Contract: formats/kernels.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from rankwise import regular_files
from rankwise.errors import RankwiseError
from rankwise.workloads.program import KERNELS, Kind

SCHEMA: Final = "rankwise.kernels/1"
TERM_NAMES: Final = ("one", "m", "n", "k", "mn", "mk", "nk", "mnk", "mmn")
_MOST_BYTES = 1 << 20


class Kernel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The cost of one call.

    Attributes:
        terms: Seconds, by what they are multiplied with (`TERM_NAMES`).
        source: Where they are from, or that they are assumed.
    """

    terms: dict[str, float]
    source: str


class Speeds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much longer kernels take on the cores of each node (row) and package (column)."""

    kernels: list[str]
    source: str
    factors: list[list[float]]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: str
    name: str
    kernels: dict[str, Kernel]
    speeds: Speeds | None = None


@dataclass(frozen=True)
class KernelCosts:
    """What kernels cost.

    Attributes:
        name: Of the machine.
        kernels: By name.
        speeds: Of its packages, where they differ.
    """

    name: str
    kernels: dict[str, Kernel]
    speeds: Speeds | None

    def terms(self, node: np.ndarray, package: np.ndarray) -> dict[str, np.ndarray]:
        """Terms of each kernel as `rankwise.workloads.schedule` takes them.

        Args:
            node: Of each rank.
            package: Of each rank, in its node.
        """
        out = {
            name: np.array([kernel.terms.get(term, 0.0) for term in TERM_NAMES])
            for name, kernel in self.kernels.items()
        }
        if self.speeds is None:
            return out
        factors = np.ones((max(len(self.speeds.factors), int(node.max()) + 1), int(package.max()) + 1))
        for row, given in enumerate(self.speeds.factors):
            factors[row, : len(given)] = given[: factors.shape[1]]
        for name in self.speeds.kernels:
            out[name] = factors[node, package][:, None] * out[name]
        return out


def costed(
    events: dict[str, np.ndarray], terms: dict[str, np.ndarray], rank: int, operations_per_s: float
) -> dict[str, np.ndarray]:
    """A rank's events with the operations of kernels as many as take the kernels' time at this rate.

    Args:
        events: As of `Program.events`.
        terms: As of `KernelCosts.terms`; kernels that are not there keep their operations.
        rank: The rank.
        operations_per_s: Floating-point operations a second of a core.
    """
    operations = events["operations"].copy()
    for name, table in terms.items():
        at = np.flatnonzero((events["kind"] == Kind.KERNEL) & (events["peer"] == KERNELS.index(name)))
        m, n, k = (events[size][at].astype(np.float64) for size in "mnk")
        sizes = np.stack([np.ones(len(at)), m, n, k, m * n, m * k, n * k, m * n * k, m * m * n], 1)
        own = table if table.ndim == 1 else table[rank]
        operations[at] = events["count"][at] * np.maximum(sizes @ own, 0.0) * operations_per_s
    return events | {"operations": operations}


def load(path: Path) -> KernelCosts:
    """Read a file of kernel costs.

    Raises:
        RankwiseError: It cannot be read, or is not one.
    """
    try:
        text = regular_files.read_text(path, "utf-8-sig", _MOST_BYTES)
        read = msgspec.toml.decode(text, type=_File)
    except OSError as error:
        raise RankwiseError(
            f"`{path}` cannot be read: {(error.strerror or str(error)).lower()}",
            "name a file of kernel costs",
        ) from None
    except (UnicodeDecodeError, msgspec.DecodeError) as error:
        raise RankwiseError(
            f"`{path}` is not a file of kernel costs: {error}", "see formats/kernels.md"
        ) from None
    unknown = [
        name for name in (*read.kernels, *(read.speeds.kernels if read.speeds else ())) if name not in KERNELS
    ]
    terms = [term for kernel in read.kernels.values() for term in kernel.terms if term not in TERM_NAMES]
    if read.schema != SCHEMA or unknown or terms:
        what = (
            f"schema `{read.schema}`"
            if read.schema != SCHEMA
            else f"no kernel or term `{(unknown + terms)[0]}`"
        )
        raise RankwiseError(f"`{path}` has {what}", f"{SCHEMA}: formats/kernels.md")
    return KernelCosts(read.name, read.kernels, read.speeds)
