# SPDX-License-Identifier: BSD-3-Clause
"""A workload as a schedule for the replay, and so as GOAL text."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.workloads.program import KERNELS, Program

TERMS = 9  # 1, m, n, k, mn, mk, nk, mnk, mmn


def schedule(
    program: Program,
    operations_per_s: float,
    library: str = "mpich",
    computation: float = 1.0,
    kernels: Mapping[str, np.ndarray] | None = None,
    start_s: np.ndarray | None = None,
) -> _core.schedule.Schedule:
    """What each rank does, as operations and what they wait for.

    A blocking call holds up what follows it, a nonblocking one what follows its wait (a send, until it has begun).
    Collectives are expanded into the messages `library` sends for them by default; combining received data takes no
    time.

    Args:
        program: The workload.
        operations_per_s: Floating-point operations a second of a core.
        library: `mpich` or `openmpi`.
        computation: Share of the original's operations that are done (`--compute` of the program); of kernels with a
            cost of their own, this share of the cost.
        kernels: Cost of a call of each kernel named, in seconds: the terms that are multiplied by 1, m, n, k, mn, mk,
            nk, mnk and mmn and summed; shape (9,), or (ranks, 9) where ranks differ. Below 0 is 0. Kernels that are not
            named take their operations.
        start_s: When each rank's program begins; at 0 if `None`.

    Returns:
        `_core.schedule.Schedule`; its `write_goal()` is GOAL text.

    Raises:
        RankwiseError: There is no such kernel, or its terms have another shape.
    """
    return _core.workloads.schedule(
        program.name,
        program.problem_class,
        program.iterations,
        program.options,
        program.ranks,
        library=library,
        seconds_per_operation=computation / operations_per_s,
        kernels={
            name: (_terms(name, terms, program.ranks) * computation).tolist()
            for name, terms in (kernels or {}).items()
        },
        start=[] if start_s is None else start_s.tolist(),
    )


def _terms(name: str, terms: np.ndarray, ranks: int) -> np.ndarray:
    if name not in KERNELS:
        raise RankwiseError(f"there is no kernel `{name}`", f"the kernels are {', '.join(KERNELS)}")
    table = np.atleast_2d(np.asarray(terms, dtype=np.float64))
    if table.shape not in {(1, TERMS), (ranks, TERMS)}:
        raise RankwiseError(
            f"the terms of `{name}` have the shape `{table.shape}`",
            f"they have {TERMS}, or {ranks} x {TERMS}",
        )
    return table
