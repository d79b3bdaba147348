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
        gap_s: By interval, how much of it was outside MPI.
        off_core_s: By interval, how much of that certainly was without a core, as far as it was measured.
        unmeasured_s: By interval, how much of the time outside MPI was not measured.
    """

    interval: np.ndarray
    length_s: np.ndarray
    wait_s: np.ndarray
    gap_s: np.ndarray
    off_core_s: np.ndarray
    unmeasured_s: np.ndarray

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
        each_gap_s = columns["gap_ticks"] * seconds_per_tick
        measured = columns["gap_cpu_ns"] >= 0
        off_core_s = np.where(measured, np.clip(each_gap_s - columns["gap_cpu_ns"] * 1e-9, 0.0, None), 0.0)

        def by_interval(column: np.ndarray) -> np.ndarray:
            found: np.ndarray = np.bincount(interval, weights=column, minlength=count)
            return found

        gap_s, unmeasured_s = by_interval(each_gap_s), by_interval(np.where(measured, 0.0, each_gap_s))
        length_s = gap_s + by_interval(columns["duration_ticks"]) * seconds_per_tick
        waited_s = np.append(columns["runqueue_wait_ns"][sample] * 1e-9, 0.0)
        tail_s = max(time_s - length_s.sum(), 0.0)
        for each in (length_s, gap_s, unmeasured_s):
            each[-1] += tail_s
        waited_s[-1] = max(wait_s - waited_s.sum(), 0.0)
        waited_s = np.minimum(waited_s, length_s)
        return cls(interval, length_s, waited_s, gap_s, by_interval(off_core_s), unmeasured_s)

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

    def outside_bounds_s(self, within_s: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """By interval, how much of the waiting was outside MPI: the least and the most.

        Args:
            within_s: By interval, how much of it was in calls; by default, what was not outside MPI.
        """
        within_s = self.length_s - self.gap_s if within_s is None else np.minimum(within_s, self.length_s)
        least = np.clip(self.wait_s - within_s, 0.0, None)
        return least, np.clip(np.minimum(self.wait_s, self.length_s - within_s), least, None)

    def outside_s(self, wanted_s: float | None = None, within_s: np.ndarray | None = None) -> np.ndarray:
        """By interval, how much of the waiting was outside MPI, as far as that can be told.

        It is what gaps that were measured had no core for, and of the others what is as likely there as in MPI.

        Args:
            wanted_s: Of all intervals together, where that is known better.
            within_s: As of `outside_bounds_s`.
        """
        least, most = self.outside_bounds_s(within_s)
        unknown_s = self.length_s - self.gap_s + self.unmeasured_s
        rest_s = np.clip(self.wait_s - self.off_core_s, 0.0, None)
        likely_s = rest_s * np.divide(
            self.unmeasured_s, unknown_s, out=np.zeros_like(unknown_s), where=unknown_s > 0
        )
        found: np.ndarray = np.clip(self.off_core_s + likely_s, least, most)
        if wanted_s is None:
            return found
        towards = least if found.sum() > wanted_s else most
        span_s = float((towards - found).sum())
        part = (wanted_s - float(found.sum())) / span_s if span_s else 0.0
        found += (towards - found) * min(max(part, 0.0), 1.0)
        return found
