# SPDX-License-Identifier: BSD-3-Clause
"""What the library that ranks have preloaded under the tuner adds to an MPI call: calls that do nearly nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import record_overhead

from tune import faults  # makes tests/ importable

mpis = record_overhead.mpis
assert faults

PAIRS = 15
# Loops of bench/record_overhead.c. The library counts all of these calls but those that only ask.
LOOPS = {
    "iprobe": "`MPI_Iprobe`, which only asks",
    "send_proc_null": "`MPI_Send` to `MPI_PROC_NULL`",
    "allreduce_self": "`MPI_Allreduce` on `MPI_COMM_SELF`",
    "message_to_self": "`MPI_Irecv`, `MPI_Send` to itself, `MPI_Wait`",
    "window_32_self": "32 `MPI_Irecv`, 32 `MPI_Isend` to itself, `MPI_Waitall`",
}


@dataclass
class CallCost:
    """Of one MPI, in nanoseconds a call: a pair of runs, without the library and with it, gives one number.

    Attributes:
        mpi: Its name.
        without: By loop, of each pair, what a call takes without the library.
        added: How much more with it.
    """

    mpi: str
    without: dict[str, list[float]] = field(default_factory=dict)
    added: dict[str, list[float]] = field(default_factory=dict)


def measure(directory: Path, say: Callable[[str], None]) -> list[CallCost]:
    """The newest MPICH and the newest Open MPI at hand."""
    newest: dict[str, mpis.Mpi] = {}
    for mpi in sorted(mpis.installed(), key=lambda mpi: mpi.version):
        if mpis.has_its_own_launcher(mpi):
            newest[mpi.family] = mpi
    found = []
    for mpi in newest.values():
        program = mpi.compile(Path(record_overhead.__file__).with_suffix(".c"), directory / mpi.name)
        cost = CallCost(mpi.name)
        for pair in range(PAIRS):
            order = ("without", "tuned") if pair % 2 else ("tuned", "without")
            runs = {variant: record_overhead.run_once(mpi, program, variant, 1) for variant in order}
            for loop in LOOPS:
                # The 10th percentile of the batches: others on this machine make batches longer, never shorter.
                without, tuned = (runs[variant][loop][1] for variant in ("without", "tuned"))
                cost.without.setdefault(loop, []).append(without)
                cost.added.setdefault(loop, []).append(tuned - without)
        say(f"  {mpi.name}: {PAIRS} pairs")
        found.append(cost)
    return found
