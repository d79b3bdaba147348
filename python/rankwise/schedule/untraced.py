# SPDX-License-Identifier: BSD-3-Clause
"""What a recording without trace says of a program: how many messages, and how long each rank computes alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from rankwise.errors import RankwiseError
from rankwise.machine.placement import Placement
from rankwise.recording.completeness import Gap, check_usable
from rankwise.recording.recording import Recording


@dataclass(frozen=True)
class UntracedRun:
    """What a recording without trace has.

    Attributes:
        ranks: Of MPI_COMM_WORLD.
        computation_s: Of each rank, what it computes alone on a core: in the middle (geometric mean) of the two below.
        computation_low_s: The least that it can be: time outside MPI, less as much waiting as over all; ranks
            that wait in MPI give way more often than ranks that compute.
        computation_high_s: The most: all time outside MPI, or on a core.
        source: Of each row of the matrix; rows are of one pair, call and size range.
        destination: The same.
        count: Messages of each row.
        total: Their bytes.
    """

    ranks: int
    computation_s: np.ndarray
    source: np.ndarray
    destination: np.ndarray
    count: np.ndarray
    total: np.ndarray
    computation_low_s: np.ndarray
    computation_high_s: np.ndarray
    operations: int = 0

    @classmethod
    def of(cls, messages: pl.DataFrame, ranks: pl.DataFrame) -> UntracedRun:
        """From the tables `messages` and `ranks` of a recording; messages to processes of other jobs are left out."""
        rows = messages.filter(pl.col("messages") > 0).drop_nulls(["source", "destination"])
        ordered = ranks.sort("rank")
        compute, time = (ordered[name].to_numpy() for name in ("compute_s", "time_s"))
        waited = ordered["runqueue_wait_s"].fill_null(0.0).to_numpy()
        on_core_s = np.clip(time - waited, 0.0, None)
        low = compute * np.clip(on_core_s / np.maximum(time, 1e-12), 0.0, 1.0)
        high = np.maximum(low, np.minimum(compute, on_core_s))
        names = ("source", "destination", "messages", "bytes")
        source, destination, count, total = (rows[name].to_numpy().astype(np.int64) for name in names)
        return cls(len(ordered), np.sqrt(low * high), source, destination, count, total, low, high)

    @property
    def computation_factor(self) -> float:
        """How many times longer the ranks may compute than the least they can: 1 where none waited for a core."""
        low = self.computation_low_s.sum()
        return float(self.computation_high_s.sum() / low) if low > 0 else 1.0

    @property
    def messages(self) -> int:
        """How many there are."""
        return int(self.count.sum())

    @property
    def bytes(self) -> int:
        """Of all messages."""
        return int(self.total.sum())


def of_recording(path: Path) -> tuple[UntracedRun, Placement | None, dict[str, int], list[Gap]]:
    """What a recording without trace has, where its ranks ran, what is left out of it, and what of the run is missing.

    Raises:
        RankwiseError: It cannot be read, ranks are missing, or their calls were only counted.
    """
    recording = Recording.open(path)
    missing = check_usable(path, recording.context)
    ranks = recording.ranks
    if ranks["compute_s"].has_nulls():
        raise RankwiseError(
            f"`{path}` has neither a trace nor how long calls took: nothing says how long the program computes",
            "record it with its trace: `rankwise record --trace -- ...`",
        )
    messages = recording.messages
    unknown = pl.col("source").is_null() | pl.col("destination").is_null()
    outside = int(messages.filter(unknown)["messages"].sum())
    omitted = {"messages to processes that the program started or joined": outside} if outside else {}
    return UntracedRun.of(messages, ranks), recording.placement, omitted, missing
