# SPDX-License-Identifier: BSD-3-Clause
"""What of a launch goes into what lasts as long as it is told to: less, the better it is known from launches before."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from rankwise.machine.channels import NETWORK
from rankwise.measure.fitting.capacity import sweep
from rankwise.measure.fitting.statistics import Median
from rankwise.measure.questions.message_cpu import used_by_waiting
from rankwise.measure.sharing import SHARE_BYTES

WELL_KNOWN = 0.05  # half an interval, relative
ENOUGH = 6  # samples; fewer have no interval of 95 %
KEPT = 0.4  # of its time, for what is well known


@dataclass(frozen=True)
class Shares:
    """Shares of a launch.

    Attributes:
        processor_time: For what ranks use while they wait; only where waiting ranks sleep.
        sweep: For pairs through one interface.
    """

    processor_time: float = 0.14
    sweep: float = 0.35


def shares(samples: pl.DataFrame) -> Shares:
    """The shares of the next launch after these samples."""
    network = samples.filter(pl.col("channel") == NETWORK)
    seen = sweep(network, SHARE_BYTES, "value1")
    first = Shares()
    return Shares(
        processor_time=first.processor_time * _left(used_by_waiting(samples)),
        sweep=first.sweep * _left(seen.capacity if seen else None),
    )


def _left(found: Median | None) -> float:
    known = found is not None and found.count >= ENOUGH and found.half_width <= WELL_KNOWN
    return KEPT if known else 1.0
