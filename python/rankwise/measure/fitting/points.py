# SPDX-License-Identifier: BSD-3-Clause
"""Samples of one channel as points: for each quantity and size, the timings of each launch, one regime only."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl

from rankwise.measure.fitting.disturbed import keep_undisturbed, share_taken
from rankwise.measure.fitting.launches import Key, LaunchSpread, launch_spread
from rankwise.measure.fitting.regimes import borrow_samples
from rankwise.measure.fitting.segments import RELATIVE_NOISE
from rankwise.measure.fitting.statistics import CONFIDENCE, Median, Modes, find_modes, median, whole_range

# What the values of a test (measure/*.c) mean to the fit.
_VALUE1, _VALUE2, _VALUE3 = pl.col("value1"), pl.col("value2"), pl.col("value3")
QUANTITIES = {
    "pingpong": ("pingpong", _VALUE1),  # half a round trip
    "send_post": ("send_overhead", _VALUE1),  # until the sender's post returned
    "send_busy": ("send_overhead", _VALUE1 + _VALUE3),  # the sender's core, post and wait
    "receive_busy": ("receive_overhead", _VALUE1 + _VALUE3),
    "gap": (
        "stream",
        (_VALUE1 - _VALUE2) / (pl.col("messages") - 1),
    ),  # what a further message of a burst adds
    "eager": ("eager", _VALUE1 / _VALUE2),  # how long a send took, in delays of its receive
}


RESOLVED = 1e-3  # what a few samples that agree by chance are not known better than
_ENDS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)

# Tests that the fit is made from; the others answer questions of their own.
FITTED = ("pingpong", "send_overhead", "receive_overhead", "stream", "eager", "cache_line", "share")


@dataclass
class Points:
    """What was timed on one channel.

    Attributes:
        values: By (quantity, bytes): the timings of each launch.
        disturbed: Those of them that others disturbed in all launches: share of the processors' time that they took.
        interrupted: Share of samples left out because a rank was taken off its core.
        kept_interrupted: Share of samples kept although that was so, because it was so in nearly all of their point.
        other_regime: Share of the rest left out because it was taken in the less frequent regime.
        modes: The two regimes of the cache-line sentinel; one if the samples have none.
        regime: `faster` or `slower`, whichever dominates; empty if there is one only.
    """

    values: dict[Key, dict[int, np.ndarray]] = field(default_factory=dict)
    disturbed: dict[Key, float] = field(default_factory=dict)
    interrupted: float = 0.0
    kept_interrupted: float = 0.0
    other_regime: float = 0.0
    modes: Modes = field(default_factory=lambda: Modes(math.inf, 1.0, 1.0))
    regime: str = ""

    def sizes(self, quantity: str) -> list[int]:
        """Sizes at which a quantity was timed, ascending."""
        return sorted({size for name, size in self.values if name == quantity})

    def median(self, quantity: str, size: int) -> Median:
        """Median of a quantity at one size over launches, with the interval that they leave."""
        key = quantity, size
        launches = self.values[key]
        count = sum(map(len, launches.values()))
        if key in self.disturbed:
            return whole_range(np.concatenate([*launches.values()]), self.disturbed[key])
        value = _of_launches(launches)
        low, high = value * np.quantile(self._drawn[key], _ENDS)
        return Median(value, float(low), float(high), count)

    def relative_error(self, quantity: str, size: int) -> float:
        """How well a median is known beside those of other sizes: half the interval of its samples.

        At least it is what its launches differ by beside those of other sizes, and `RELATIVE_NOISE`.
        Fewer than 6 timings have no such interval: twice their half range then, and at least 5 % for 3 to 5 timings,
        20 % for 2 and 50 % for 1.
        """
        values = np.concatenate([*self.values[quantity, size].values()])
        others = self.disturbed.get((quantity, size))
        found = median(values) if others is None else whole_range(values, others)
        if found.count >= 6:
            own = self.spread.own[quantity].deviation * self.errors[quantity, size]
            return max(found.half_width, own, RELATIVE_NOISE)
        return max(2 * found.half_width, {1: 0.5, 2: 0.2}.get(found.count, 0.05))

    def count(self, quantity: str) -> int:
        """Number of timings of a quantity."""
        return sum(
            len(v)
            for (name, _), launches in self.values.items()
            for v in launches.values()
            if name == quantity
        )

    def medians(self) -> dict[Key, float]:
        """The median of every point: over launches, of the median of each."""
        return {
            key: float(np.median(np.concatenate([*launches.values()])))
            if key in self.disturbed
            else _of_launches(launches)
            for key, launches in self.values.items()
        }

    @cached_property
    def errors(self) -> dict[Key, float]:
        """Standard error of the median of one launch, relative to it: of each point, with its neighbours in size."""
        found = {
            key: float(np.median([_standard_error(v) for v in launches.values()]))
            for key, launches in self.values.items()
        }
        smooth = {}
        for quantity in QUANTITIES:
            sizes = self.sizes(quantity)
            for at, size in enumerate(sizes):
                near = [found[quantity, each] for each in sizes[max(0, at - 1) : at + 2]]
                smooth[quantity, size] = float(np.median(near))
        return smooth

    @cached_property
    def spread(self) -> LaunchSpread:
        """What launches differ by, pooled over what nobody disturbed."""
        return launch_spread(
            {
                key: {launch: float(np.median(v)) for launch, v in launches.items()}
                for key, launches in self.values.items()
                if key not in self.disturbed and key[0] != "eager"  # yes or no
            },
            self.errors,
            {quantity: test for quantity, (test, _) in QUANTITIES.items()},
        )

    @cached_property
    def _drawn(self) -> dict[Key, np.ndarray]:
        return self._draw(1000, np.random.default_rng(1))

    def _draw(self, count: int, random: np.random.Generator) -> dict[Key, np.ndarray]:
        return self.spread.draw(
            {key: list(of) for key, of in self.values.items()}, self.errors, count, random
        )

    def replicates(self, count: int, random: np.random.Generator) -> list[dict[Key, float]]:
        """Replicates of `medians`: what as many other launches would find (`rankwise.measure.fitting.launches`).

        What a disturbed point takes undisturbed may lie wherever its timings do: of these a quantile is drawn, the same
        for all such points of a replicate, as what made one too long made all so. So may each of them be longer by what
        others took (`whole_range`): half of the replicates have a part of that taken off.
        """
        quantiles, parts = random.random(count), np.maximum(0.0, random.uniform(-1.0, 1.0, count))
        drawn = self._draw(count, random)
        medians = self.medians()
        table = {
            key: np.quantile(np.concatenate([*launches.values()]), quantiles)
            * (1 - self.disturbed[key] * parts)
            if key in self.disturbed
            else medians[key] * drawn[key]
            for key, launches in self.values.items()
        }
        return [{key: float(v[b]) for key, v in table.items()} for b in range(count)]


def _standard_error(values: np.ndarray) -> float:
    """Of the median of normal values, from their median absolute deviation; relative, and not below `RESOLVED`."""
    middle = float(np.median(values))
    if middle <= 0 or len(values) < 2:
        return RELATIVE_NOISE
    off = 1.4826 * float(np.median(np.abs(values - middle))) / middle
    return max(math.sqrt(math.pi / 2 / len(values)) * off, RESOLVED)


def _of_launches(launches: dict[int, np.ndarray]) -> float:
    return float(np.median([np.median(v) for v in launches.values()]))


def collect(samples: pl.DataFrame) -> Points:
    """Points of the samples of one channel that the fit is made from: no further tests, no rotating buffers.

    Samples with a sentinel are sorted into two regimes by it, if there are two and they matter to messages. Without
    one, points with two clear modes keep that which dominates over all of them.
    """
    samples = samples.filter(pl.col("test").is_in(FITTED) & (pl.col("rotate_bytes") == 0))
    kept = keep_undisturbed(samples)
    points = Points()
    if len(samples):
        points.interrupted = 1 - len(kept) / len(samples)
        points.kept_interrupted = int(kept["interrupted"].sum()) / len(samples)
    # Whether a send ends before its receive is posted is the same in all regimes.
    is_eager = pl.col("test") == "eager"
    eager, kept = kept.filter(is_eager), kept.filter(~is_eager)
    before = len(kept)
    sentinels = kept["sentinel_s"].drop_nulls().to_numpy()
    points.modes = find_modes(sentinels)
    if points.modes.two:
        kept = _by_sentinel(kept, points)
    elif not len(sentinels):
        kept = _by_values(kept, points)
    points.other_regime = 1 - len(kept) / before if before else 0.0
    kept = pl.concat([kept, eager])
    for quantity, (test, meaning) in QUANTITIES.items():
        timed = (
            kept.filter(pl.col("test") == test)
            .select("launch", "bytes", "disturbed", "others", "waited", meaning.alias("value"))
            .sort("launch")
        )
        for (launch, size), group in timed.group_by(["launch", "bytes"], maintain_order=True):
            points.values.setdefault((quantity, size), {})[launch] = group["value"].to_numpy()
        for (size,), group in timed.filter("disturbed").group_by(["bytes"]):
            points.disturbed[quantity, size] = share_taken(group)
    return points


def _by_sentinel(samples: pl.DataFrame, points: Points) -> pl.DataFrame:
    faster = pl.col("sentinel_s") <= points.modes.border
    parts = {"faster": samples.filter(faster), "slower": samples.filter(~faster)}
    if not _regimes_matter(*parts.values()):
        return samples
    # The regime that tells of the most points: one may have lasted longer, but through few of them.
    covered = {
        name: (len(part.group_by("test", "bytes").len().filter(pl.col("len") >= 3)), len(part))
        for name, part in parts.items()
    }
    points.regime = max(covered, key=covered.__getitem__)
    own = parts.pop(points.regime)
    # Points that were only timed in the other regime say more than none: without them there might be no fit.
    (other,) = parts.values()
    return pl.concat([own, borrow_samples(own, other)])


def _regimes_matter(faster: pl.DataFrame, slower: pl.DataFrame) -> bool:
    """Whether the ping-pong differs by more than a tenth between the regimes at any size that both have."""
    sides = []
    for part in (faster, slower):
        trips = part.filter(pl.col("test") == "pingpong")
        sides.append(
            trips.group_by("bytes").agg(pl.col("value1").median().alias("median"), pl.len()).sort("bytes")
        )
    both = (
        sides[0]
        .join(sides[1], on="bytes", maintain_order="left")
        .filter((pl.col("len") >= 3) & (pl.col("len_right") >= 3))
    )
    if both.is_empty():
        return True
    ratio = (both["median_right"] / both["median"]).to_numpy()
    return bool(np.median(ratio[: max(3, len(ratio) // 2)]) > 1.1)


def _by_values(samples: pl.DataFrame, points: Points) -> pl.DataFrame:
    groups = [group for _, group in samples.group_by(["test", "pairs", "bytes"], maintain_order=True)]
    found = [find_modes(group["value1"].to_numpy()) for group in groups]
    two = [(len(group), modes) for group, modes in zip(groups, found, strict=True) if modes.two]
    if not two:
        return samples
    faster = sum(count * modes.faster for count, modes in two) >= sum(count for count, _ in two) / 2
    points.regime = "faster" if faster else "slower"
    inside = pl.col("value1")
    return pl.concat(
        group.filter(inside <= modes.border if faster else inside > modes.border) if modes.two else group
        for group, modes in zip(groups, found, strict=True)
    )
