# SPDX-License-Identifier: BSD-3-Clause
"""Waiting for a core, as far as it was recorded: of a rank as a whole, in a trace of each 10 ms, of no single call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.recording.layouts import EVENT_SCHED


@dataclass(frozen=True)
class CoreWaits:
    """A rank's waiting for a core, between the samples of its trace.

    Attributes:
        interval: By event, between which samples it ended.
        length_s: By interval, its length.
        wait_s: By interval, how much of that the rank waited for a core.
    """

    interval: np.ndarray
    length_s: np.ndarray
    wait_s: np.ndarray

    @classmethod
    def of(
        cls, columns: dict[str, np.ndarray], seconds_per_tick: float, time_s: float, wait_s: float
    ) -> CoreWaits:
        """From a rank's events.

        Args:
            columns: As `ThreadRecord.events()` gives them.
            seconds_per_tick: Of the host's counter.
            time_s: From MPI_Init to MPI_Finalize.
            wait_s: How much of that the rank waited for a core. What samples do not have is put behind the last.
        """
        sample = columns["kind"] == EVENT_SCHED
        interval = np.cumsum(sample) - sample
        count = int(sample.sum()) + 1
        ticks = columns["gap_ticks"] + columns["duration_ticks"]
        length_s = np.bincount(interval, weights=ticks, minlength=count) * seconds_per_tick
        waited_s = np.append(columns["runqueue_wait_ns"][sample] * 1e-9, 0.0)
        length_s[-1] += max(time_s - length_s.sum(), 0.0)
        waited_s[-1] = max(wait_s - waited_s.sum(), 0.0)
        return cls(interval, length_s, np.minimum(waited_s, length_s))

    def inside(self, interval: np.ndarray, part_s: np.ndarray) -> tuple[float, float]:
        """How much of the waiting can be within parts of the intervals: at least what finds no room outside of them.

        Args:
            interval: By part, the interval it is in.
            part_s: By part, its length.

        Returns:
            The least and the most, in seconds.
        """
        within_s = np.bincount(interval, weights=part_s, minlength=len(self.length_s))
        within_s = np.minimum(within_s, self.length_s)
        least = np.clip(self.wait_s - (self.length_s - within_s), 0.0, None)
        return float(least.sum()), float(np.minimum(self.wait_s, within_s).sum())
