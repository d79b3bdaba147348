# SPDX-License-Identifier: BSD-3-Clause
"""From ranks that stream through memory and caches together to Resources of a machine file."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import polars as pl

from rankwise.machine.channels import NETWORK
from rankwise.machine.curve import Curve
from rankwise.machine.estimate import Estimate
from rankwise.machine.machine import LinkClass, Resource
from rankwise.measure.fitting import capacity
from rankwise.measure.fitting.capacity import Sweep
from rankwise.measure.fitting.disturbed import taken_from_pairs
from rankwise.measure.fitting.fit import measured
from rankwise.measure.fitting.statistics import Median
from rankwise.measure.questions.memory import PREFIX, SIZES
from rankwise.measure.questions.settled import keep_settled, per

# Narrowest first: a rank's own part of the memory is what it waits for.
_PER = {"numa_node": "numa", "package": "package", "node": "node"}
# A cache gives its ranks this many times what memory gives them: else it was not what held them up.
_ABOVE_MEMORY = 1.5
_COPY_PASSES = 2.0
_COPY_SOURCE = "what streams is counted as read and as written, and a copy does both"


def memory(samples: pl.DataFrame, links: Sequence[LinkClass]) -> list[Resource]:
    """The memory of the narrowest domain whose ranks streamed through more than caches hold.

    Args:
        samples: Of all tests and launches.
        links: Of the same machine.

    Returns:
        Nothing where no two ranks shared a memory or where one alone was never seen.
    """
    found = _sweeps(samples, max(SIZES))
    for kind, name in _PER.items():
        if kind in found:
            return [_resource(found[kind], name, links)]
    return []


def caches(samples: pl.DataFrame, links: Sequence[LinkClass]) -> list[Resource]:
    """The shared caches whose capacity was reached, from the largest working set that they seem to hold.

    How large a cache is, is not asked: its ranks get more from it than from memory as long as it holds what they use,
    and hold each other up only if they share it.

    Args:
        samples: Of all tests and launches.
        links: Of the same machine.
    """
    from_memory = _sweeps(samples, max(SIZES))
    found: dict[str, Resource] = {}
    for size in sorted(SIZES)[:-1]:
        for kind, swept in _sweeps(samples, size).items():
            memory_swept = from_memory.get(kind)
            if kind in _PER or swept.capacity is None or memory_swept is None:
                continue
            if swept.capacity.value > _ABOVE_MEMORY * memory_swept.most:
                found[kind] = Resource(
                    name=kind,
                    kind="cache",
                    discipline="sharing",
                    per=kind,
                    capacity_bytes_per_s=_estimate(swept.capacity),
                    passes=_passes(swept.rates[1], links),
                )
    return [found[kind] for kind in sorted(found)]


def _sweeps(samples: pl.DataFrame, size: int) -> dict[str, Sweep]:
    """By kind of domain what 1, 2, ... of its ranks got together from working sets of a size."""
    rows = samples.filter((pl.col("test") == "memory") & (pl.col("bytes") == size))
    found: dict[str, Sweep] = {}
    for (channel,), group in keep_settled(rows, ["channel", "pairs"]).group_by(
        ["channel"], maintain_order=True
    ):
        group = group.filter(pl.col("value1") > 0)
        totals = {k: some["value1"].to_numpy() for (k,), some in group.sort("pairs").group_by(["pairs"])}
        swept = capacity.fit(dict(sorted(totals.items())), taken_from_pairs(group))
        if swept and 1 in swept.rates and len(swept.rates) > 1:
            found.update(dict.fromkeys(str(channel).removeprefix(PREFIX).split("+"), swept))
    return found


def _resource(swept: Sweep, name: str, links: Sequence[LinkClass]) -> Resource:
    resource = Resource(
        name="memory",
        kind="memory",
        discipline="sharing",
        per=name,
        per_core_bytes_per_s=_estimate(swept.rates[1]),
        slowdown=slowdown(swept),
        passes=_passes(swept.rates[1], links),
    )
    if swept.capacity is None:
        return resource
    limited = msgspec.structs.replace(resource, capacity_bytes_per_s=_estimate(swept.capacity))
    # What the curve gives its last core may lie above the level of all points that were flat.
    return resource if limited.contradiction() else limited


def slowdown(swept: Sweep) -> Curve:
    """How much longer one of 1, 2, ... cores takes: a straight line between counts that were run, never falling."""
    ran = sorted(swept.rates)
    alone = swept.rates[1].value
    each = {k: per(k * alone, swept.rates[k]) for k in ran}
    counts = np.arange(1, max(ran) + 1)

    def line(end: str) -> np.ndarray:
        along = np.interp(counts, ran, [getattr(each[k], end) for k in ran])
        along[0] = 1.0
        return np.maximum.accumulate(np.maximum(along, 1.0))

    values, low, high = line("value"), line("low"), line("high")
    return Curve(
        values=values.tolist(),
        obtained="measured",
        low=np.minimum(low, values).tolist(),
        high=np.maximum(high, values).tolist(),
        samples=min(rate.count for rate in swept.rates.values()),
    )


def _passes(alone: Median, links: Sequence[LinkClass]) -> Estimate:
    """How often a copied byte goes through the memory: at most so often that one copy has its ping-pong's bandwidth."""
    least = [s.G_s_per_byte.value for link in links if link.channel != NETWORK for s in link.segments]
    seen = min((alone.value * G for G in least if G > 0), default=_COPY_PASSES)
    if seen >= _COPY_PASSES:
        return Estimate(_COPY_PASSES, "assumed", source=_COPY_SOURCE)
    return Estimate(
        float(f"{seen:.4e}"),
        "assumed",
        source="ping-pong, whose buffers stay in caches, moves more than one core streams",
    )


def _estimate(found: Median) -> Estimate:
    return measured(found.value, found.low, found.high, found.count)
