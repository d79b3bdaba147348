# SPDX-License-Identifier: BSD-3-Clause
"""How long a workload's computation takes on a machine, from the machine's rates and the arrays it goes through."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rankwise.machine.estimate import Estimate
from rankwise.machine.machine import Machine, Resource
from rankwise.study.platforms import Platform
from rankwise.study.request import Request

SUSTAINED = 0.2
"""Share of a core's rate that compiled loops reach in its caches: assumed, the same for all programs and machines."""

MULTIPLIES = ("hpl",)
"""Workloads whose operations are nearly all in products of matrices."""

MULTIPLYING = 0.8
"""Share of a core's rate that products of matrices reach: assumed, likewise."""

USUAL_OPERATIONS_PER_S = 1e9
"""That compiled loops do on a core of a machine file that does not say its rate: assumed."""

MEMORY_BYTES_PER_OPERATION: dict[str, float] = {
    "bt": 0.9,
    "cg": 6.0,
    "ep": 0.0,
    "ft": 2.0,
    "is": 30.0,
    "lu": 0.5,
    "mg": 1.7,
    "sp": 3.8,
}
"""Bytes to and from memory for each operation that the benchmark counts: those of the arrays that its loops go
through once, by the operations on their elements. CG: 8 bytes of a matrix element and 4 of its column for two
operations. IS: of a key 4 bytes, read three times and written twice, and a counter read and written, for one key
ranked. MG: 58 operations and a dozen passes over 8 bytes for each point of the finest grid and those under it. FT:
18 passes over 16 bytes of a point for 140 operations. SP, BT and LU: some 420, 390 and 135 passes over 8 bytes of a
point for the 881, 3479 and 1985 operations that are published for it. Of SP and BT 140 of these are of the right-
hand side (five numbers of the solution, five of the result, six derived ones, in eight loops); each of the three
solves of BT writes and reads 25 numbers of a point besides (the blocks that elimination leaves behind), each of SP
15, and reads 20 of them again. EP stays in caches. HPL's updates read and write 8 bytes of the matrix for 160
operations, which is left out here: computations between whose parts a rank looks for messages cannot be slowed
(formats/loggops.md M1). Counted in the loops of the MPI version 3 and in NAS-95-020, not measured."""

HPL_BYTES_PER_OPERATION = 0.1
"""Of HPL's updates in blocks of 80 columns: 8 bytes read and 8 written for 160 operations; for runs without lookahead,
none of whose computations looks for messages."""

OPERATIONS_IN_CACHES: dict[str, float] = {"is": 7.0}
"""Floating-point operations that take as long in caches as one that the benchmark counts. IS counts keys: about 20
instructions of its three loops (a key's bucket counted, the key moved to it, its place counted), where a
floating-point operation of a loop comes with a load or store and the loop's own, 3 in all."""


@dataclass(frozen=True)
class Cost:
    """Of a program's computation on a core that is alone at its memory.

    Attributes:
        seconds_per_operation: Of the operations that the program counts.
        memory_bound: Part of that time that waits for memory, 0 to 1.
    """

    seconds_per_operation: float
    memory_bound: float

    @property
    def operations_per_s(self) -> float:
        """Rate of a core that is alone at its memory."""
        return 1.0 / self.seconds_per_operation


def cost_of(workload: str, machine: Machine, bytes_per_operation: float | None = None) -> Cost:
    """What an operation of a workload takes: in caches at a share of the core's rate, and what memory adds.

    Args:
        workload: Its name.
        machine: Whose `operations_per_s` of the cores and `per_core_bytes_per_s` of the memory are taken.
        bytes_per_operation: To and from memory; those of `MEMORY_BYTES_PER_OPERATION`, or none, if `None`.
    """
    rate = _rate(machine)
    in_caches = 1.0 / (rate.value * SUSTAINED if rate else USUAL_OPERATIONS_PER_S)
    in_caches *= OPERATIONS_IN_CACHES.get(workload, 1.0)
    if workload in MULTIPLIES:
        in_caches *= SUSTAINED / MULTIPLYING
    size = (
        MEMORY_BYTES_PER_OPERATION.get(workload, 0.0) if bytes_per_operation is None else bytes_per_operation
    )
    per_core = _per_core(machine)
    in_memory = size / per_core.value if per_core else 0.0
    return Cost(in_caches + in_memory, in_memory / (in_caches + in_memory))


def multiplication_s(machine: Machine) -> float:
    """Seconds of a multiplication and an addition in a product of matrices, which libraries do near a core's rate."""
    return 2.0 * cost_of(MULTIPLIES[0], machine).seconds_per_operation


def computation_notes(request: Request, on: Iterable[Platform]) -> list[str]:
    """What predicted computation rests on, a sentence for each machine; none where times are measured."""
    if request.mode != "machine":
        return []
    return [f"Computation on {platform.name}: {_said(platform.machine)}." for platform in on]


def _said(machine: Machine) -> str:
    rate, per_core = _rate(machine), _per_core(machine)
    if rate:
        words = (
            f"loops do {100 * SUSTAINED:.0f} % (assumed) of the {rate.value / 1e9:g} Gflop/s ({rate.obtained}) that a"
            " core does at most"
        )
    else:
        words = (
            f"loops are assumed to do {USUAL_OPERATIONS_PER_S / 1e9:g} Gflop/s on a core, because the machine file has"
            " no `operations_per_s`"
        )
    if per_core:
        return f"{words}; one core alone moves {per_core.value / 1e9:g} GB/s ({per_core.obtained})"
    return f"{words}; memory adds nothing, because the machine file has no `per_core_bytes_per_s`"


def _rate(machine: Machine) -> Estimate | None:
    core = _of_kind(machine, "core")
    return core.operations_per_s if core else None


def _per_core(machine: Machine) -> Estimate | None:
    memory = _of_kind(machine, "memory")
    return memory.per_core_bytes_per_s if memory else None


def _of_kind(machine: Machine, kind: str) -> Resource | None:
    return next((resource for resource in machine.resources if resource.kind == kind), None)
