# SPDX-License-Identifier: BSD-3-Clause
"""Waiting for a core, taken off the time inside MPI and outside: known of each rank, not of each call."""

from __future__ import annotations

from dataclasses import dataclass

from rankwise.recording import Recording


@dataclass(frozen=True)
class CoreParts:
    """A rank's time in four parts that make the whole; all `None` if one is not known.

    Attributes:
        wait_s: It waited for a core.
        mpi_s: Inside MPI on a core, at least.
        compute_s: Outside of MPI on a core, at least.
        unattributed_s: On a core, inside MPI or outside.
    """

    wait_s: float | None = None
    mpi_s: float | None = None
    compute_s: float | None = None
    unattributed_s: float | None = None

    @classmethod
    def of(cls, time_s: float, mpi_s: float | None, wait_s: float | None) -> CoreParts:
        """Of a rank that was inside MPI for `mpi_s` of `time_s`, and waited for a core for `wait_s`, somewhere."""
        if wait_s is None:
            return cls()
        wait_s = min(wait_s, time_s)
        if mpi_s is None:
            return cls(wait_s)
        mpi_s = min(mpi_s, time_s)
        mpi_least_s, compute_least_s = max(mpi_s - wait_s, 0.0), max(time_s - mpi_s - wait_s, 0.0)
        rest_s = max(time_s - wait_s - mpi_least_s - compute_least_s, 0.0)
        return cls(wait_s, mpi_least_s, compute_least_s, rest_s)


def core_parts(recording: Recording) -> list[CoreParts]:
    """By rank, in the order of the table `ranks`."""
    rows = recording.ranks.select("time_s", "mpi_s", "runqueue_wait_s").iter_rows()
    return [CoreParts.of(*row) for row in rows]
