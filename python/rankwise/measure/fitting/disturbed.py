# SPDX-License-Identifier: BSD-3-Clause
"""Which samples others disturbed: they are left out; where too few remain, their point is disturbed."""

from __future__ import annotations

import polars as pl

from rankwise.measure.fitting.statistics import Median, median, whole_range

# Of all cores' time around a sample, by others. In 28 measurements (MPICH through shared memory, two virtual cores;
# nobody else, builds, bursts of 0.15 s each second, a busy process a core, a memory stream) medians of points lay 0.7 %
# at most from those of a quiet machine while others used less than 12 %, nine of ten within 4 %; 1 % then up to 20 %,
# one of ten 10 % too long; from there on 4 to 9 % where the load lasted.
TOLERATED = 0.1
# Of the sample itself, a rank that could run without a core: so much longer it is.
TOLERATED_WAIT = 0.05
MOST_TAKEN = 0.9  # more is not told apart from all
LEAST = 3  # calm samples of a point; with fewer, all count and the point is disturbed
POINT = ["test", "pairs", "bytes", "setting", "rotate_bytes"]


def calm() -> pl.Expr:
    """Whether others left a sample alone, as far as it is known."""
    return ((pl.col("others") <= TOLERATED) & (pl.col("waited") <= TOLERATED_WAIT)).fill_null(True)


def keep_undisturbed(samples: pl.DataFrame, least: int = LEAST, least_share: float = 0.2) -> pl.DataFrame:
    """Leave out samples that others disturbed, and say where that was not possible.

    Each point (test, pairs, size, setting, buffers) of the samples of one channel is judged by itself. Where `least`
    samples are calm, the others are left out; where fewer are, all are kept, and the point is disturbed. Then samples
    during which the kernel took a rank off its core are left out, unless fewer than `least` or less than `least_share`
    would remain: ranks that share a core, or whose core also serves the network, are interrupted in every sample that
    lasts long enough (above all in tests that compute), and that is then what is measured.

    Returns:
        The samples that are left with two further columns: `interrupted` and `disturbed`, whether they are of a point
        of which such samples had to be kept.
    """
    too_few = ((calm().sum() < least) & (~calm()).any()).over(POINT)
    kept = samples.with_columns(too_few.alias("disturbed")).filter(calm() | too_few)
    quiet = pl.col("switches") == 0
    enough = (quiet.sum() >= pl.max_horizontal(least, least_share * pl.len())).over(POINT)
    few = ~enough & (~quiet).any().over(POINT)
    return kept.with_columns(few.alias("interrupted")).filter(quiet | pl.col("interrupted"))


def disturbed_points(samples: pl.DataFrame) -> set[tuple[str, str, int, int]]:
    """Points of which too few samples are calm: test, channel, number of pairs or ranks, bytes."""
    found: set[tuple[str, str, int, int]] = set()
    for _, of_channel in samples.group_by("channel"):
        kept = keep_undisturbed(of_channel).filter("disturbed")
        found |= set(kept.select("test", "channel", "pairs", "bytes").iter_rows())
    return found


def share_taken(disturbed: pl.DataFrame) -> float:
    """Share of the processors' time that others took around samples of a disturbed point."""
    share = disturbed.select(pl.max_horizontal("others", "waited").mean()).item()
    return min(share or 0.0, MOST_TAKEN)


def taken_from_pairs(kept: pl.DataFrame) -> dict[int, float]:
    """By number of pairs or ranks of which a point was disturbed, share of the processors' time that others took."""
    return {count: share_taken(of) for (count,), of in kept.filter("disturbed").group_by(["pairs"])}


def median_of(kept: pl.DataFrame, column: str) -> Median:
    """Median of a column of `undisturbed` samples; of a disturbed point, its interval is wider (`whole_range`)."""
    values = kept[column].to_numpy()
    return whole_range(values, share_taken(kept)) if kept["disturbed"].any() else median(values)
