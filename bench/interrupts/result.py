# SPDX-License-Identifier: BSD-3-Clause
"""What the experiment found: medians over its repetitions, and what a message costs the interrupt core."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from interrupts.by_core import ByCore
from rankwise.measure.fitting.statistics import Median, median

# Who is on the core that does the receiving node's protocol work, by that core's number in its node.
CONFIGURATIONS = ("computing rank", "receiver")
SIZES = (8, 512, 1024, 8192, 65536, 262144)
RECORDED = (8, 1024, 65536)  # once with each core, for what each core took in
# Costs come from these alone: a message's from the small ones, a byte's from the large one.
SMALL, LARGE = (8, 1024), 65536
# The others test what is predicted with them.
NOT_FITTED = tuple(size for size in SIZES if size not in (*SMALL, LARGE))


@dataclass(frozen=True)
class Scan:
    """One launch: for each size what `ranks.py` says."""

    configuration: str
    rows: list[dict]


@dataclass(frozen=True)
class Cost:
    """Time of the interrupt core: of a message, and of each of its bytes."""

    per_message_s: float
    per_byte_s: float

    def of(self, size_bytes: float) -> float:
        """Of a message of that size."""
        return self.per_message_s + self.per_byte_s * size_bytes


@dataclass
class Result:
    """All of it.

    `shared` says whether ranks 1 and 3 share a processor; `predicted` is the part of its speed that the computing
    rank keeps, by size and configuration; `by_core` is what recorded launches say.
    """

    scans: list[Scan] = field(default_factory=list)
    shared: bool = True
    cost: Cost = field(default_factory=lambda: Cost(0.0, 0.0))
    predicted: dict[int, dict[str, float]] = field(default_factory=dict)
    by_core: list[ByCore] = field(default_factory=list)

    def by_configuration(self) -> list[list[list[dict]]]:
        """Rows of the launches with each core."""
        return [[scan.rows for scan in self.scans if scan.configuration == each] for each in CONFIGURATIONS]

    def found(self, configuration: str, size: int, key: str, sender: int | None = None) -> Median:
        """Median over the scans."""
        return median(np.array(_values(self.scans, configuration, size, key, sender)))


def _values(scans: list[Scan], configuration: str, size: int, key: str, sender: int | None) -> list[float]:
    rows = [
        row
        for scan in scans
        if scan.configuration == configuration
        for row in scan.rows
        if row["size_bytes"] == size
    ]
    return [row[key] if sender is None else row[key][sender] for row in rows]


def costs(scans: list[Scan]) -> Cost:
    """From the part of its speed beside the interrupt core that the computing rank loses on it."""

    def of(size: int) -> float:
        on, beside = (np.median(_values(scans, each, size, "kept_share", None)) for each in CONFIGURATIONS)
        rate = np.median(_values(scans, CONFIGURATIONS[0], size, "messages_per_s", None))
        return max(float(1 - on / beside), 0.0) / float(rate)

    small, at = sum(map(of, SMALL)) / len(SMALL), sum(SMALL) / len(SMALL)
    per_byte = max(of(LARGE) - small, 0.0) / (LARGE - at)
    return Cost(max(small - per_byte * at, 0.0), per_byte)
