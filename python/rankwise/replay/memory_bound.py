# SPDX-License-Identifier: BSD-3-Clause
"""How much of a program's computation waits for memory, as people write it."""

from __future__ import annotations

import re

import numpy as np

from rankwise.errors import RankwiseError
from rankwise.machine.machine import Machine


def check_memory(machine: Machine) -> None:
    """Check that a machine file describes a memory that computation can wait for.

    Raises:
        RankwiseError: It does not.
    """
    if not any(resource.per_core_bytes_per_s is not None for resource in machine.resources):
        raise RankwiseError(
            f"machine `{machine.name}` has no memory that computation could wait for",
            'describe one: a resource of kind "memory" with `per_core_bytes_per_s` (formats/machine.md)',
        )


def memory_bound(text: str, ranks: int) -> np.ndarray:
    """The part of each rank's computation that waits for memory, from `0.3`, or `0.3,4-7=0.9,0=0`.

    Args:
        text: A part for all ranks, and parts of single ranks or ranges of them, separated by commas; later ones win.
        ranks: Of the program.

    Raises:
        RankwiseError: It is not written like that, a part is not between 0 and 1, or there is no such rank.
    """
    out = np.zeros(ranks)
    for each in text.split(","):
        match = re.fullmatch(r"\s*(?:([0-9]+)(?:-([0-9]+))?=)?([0-9]*\.?[0-9]+)\s*", each)
        if not match or not 0 <= float(match[3]) <= 1:
            raise RankwiseError(
                f"`{each}` is not the part of computation that waits for memory, from 0 to 1",
                "for example `--memory-bound 0.3`, or `--memory-bound 0.3,4-7=0.9` with another for ranks 4 to 7",
            )
        first = int(match[1] or 0)
        last = int(match[2] or match[1] or ranks - 1)
        if last >= ranks or first > last:
            raise RankwiseError(
                f"`{each}` names ranks that the program does not have", f"it has ranks 0 to {ranks - 1}"
            )
        out[first : last + 1] = float(match[3])
    return out
