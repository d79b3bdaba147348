# SPDX-License-Identifier: BSD-3-Clause
"""The fit gives back the parameters that samples were made from."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_samples import Noise, Truth, samples

from rankwise.errors import RankwiseError
from rankwise.measure.fitting.fit import USELESS_ERROR, _not_steeper, _Parameters, fit_channel
from rankwise.measure.fitting.points import collect
from rankwise.measure.samples import SCHEMA


def near(estimate, truth, relative):
    return estimate.value == pytest.approx(truth, rel=relative)


def test_parameters_come_back_from_bimodal_samples_with_a_protocol_switch():
    # GIVEN 30 % of samples in a regime three times slower, 10 % interrupted, a protocol switch at 8 KiB
    truth = Truth()
    points = collect(samples(truth, Noise(), seed=23))
    # WHEN fitted
    fit = fit_channel(points)
    # THEN the regime was told apart
    assert points.regime == "faster"
    assert points.other_regime == pytest.approx(0.3, abs=0.02)
    assert points.interrupted == pytest.approx(0.1, abs=0.01)
    # THEN the switch is found, and each parameter within 3 % (L, a difference: 5 %)
    assert fit.eager_limit.value == 8192
    assert fit.eager_limit.low <= 8192 <= fit.eager_limit.high < 12288
    eager, late = fit.segments
    assert eager.up_to_bytes == 8192
    assert near(eager.L_s, truth.L, 0.05)
    assert near(eager.o_s, truth.o, 0.03)
    assert near(eager.o_receive_s, truth.o_receive, 0.03)
    assert near(eager.g_s, truth.g, 0.03)
    assert near(eager.G_s_per_byte, truth.G, 0.03)
    assert near(eager.O_s_per_byte, truth.O, 0.03)
    assert near(late.G_s_per_byte, truth.late_G, 0.03)
    assert near(late.L_s, truth.late_L, 0.1)
    assert fit.worst_error < 0.05


def test_overheads_that_were_always_interrupted_still_give_the_channel():
    # GIVEN a lab: the kernel's network takes the core of every computation, ping-pongs sleep and are left alone
    truth = Truth()
    table = samples(truth, Noise(slow_share=0.0, interrupted=0.0), seed=5)
    always = pl.col("test").is_in(["send_overhead", "receive_overhead"])
    points = collect(table.with_columns(switches=pl.when(always).then(1).otherwise(pl.col("switches"))))
    # THEN both overheads come back, and the share of samples that were kept so is known
    eager = fit_channel(points).segments[0]
    assert near(eager.o_s, truth.o, 0.03)
    assert near(eager.o_receive_s, truth.o_receive, 0.03)
    assert points.interrupted == 0
    assert points.kept_interrupted == pytest.approx(table.select(always.mean()).item())


def test_one_size_beyond_the_eager_limit_takes_the_bandwidth_of_those_before():
    # GIVEN a slow network on which time for one larger message was left
    truth = Truth(G=8e-8, limit=49152, late_L=5e-6, late_G=8e-8)
    sizes = [2**k for k in range(16)] + [65536]
    table = samples(truth, Noise(slow_share=0.0), seed=3, sizes=sizes)
    late = fit_channel(collect(table)).segments[-1]
    # THEN longer ones are not free
    assert near(late.G_s_per_byte, truth.G, 0.05)
    assert late.G_s_per_byte.obtained == "assumed"
    assert late.L_s.value + 65535 * late.G_s_per_byte.value == pytest.approx(truth.pingpong(65536), rel=0.02)


def test_messages_beyond_the_last_size_are_not_free():
    # GIVEN a machine whose other programs take the cores from 1 MiB on: what is timed then are their time slices
    truth = Truth()
    table = samples(truth, Noise(slow_share=0.0), seed=4)
    sliced = (pl.col("test") == "pingpong") & (pl.col("bytes") >= 1 << 20)
    table = table.with_columns(value1=pl.when(sliced).then(6e-3).otherwise("value1"))
    last = fit_channel(collect(table)).segments[-1]
    # THEN the sizes beyond take the bandwidth of those before, and it is said that this is assumed
    assert near(last.G_s_per_byte, truth.late_G, 0.1)
    assert last.G_s_per_byte.obtained == "assumed" and "did not grow" in last.G_s_per_byte.source


def test_sizes_that_no_line_is_near_are_not_called_measured():
    # GIVEN large messages of which every second takes ten times as long
    truth = Truth()
    table = samples(truth, Noise(slow_share=0.0), seed=4)
    sizes = [size for size in sorted(table["bytes"].unique()) if size > 8192]
    jumping = (pl.col("test") == "pingpong") & pl.col("bytes").is_in(sizes[::2])
    table = table.with_columns(value1=pl.when(jumping).then(pl.col("value1") * 10).otherwise("value1"))
    fit = fit_channel(collect(table), replicates=20)
    # THEN what depends on their line is assumed and says why, and what does not is measured as ever
    assert fit.worst_error > USELESS_ERROR
    eager, late = fit.segments[0], [part for part in fit.segments if part.G_s_per_byte.obtained == "assumed"]
    assert late and all("not measured well" in part.L_s.source for part in late)
    assert (eager.L_s.obtained, eager.G_s_per_byte.obtained) == ("measured", "measured")


@pytest.mark.parametrize("seed", range(4))
def test_drift_from_point_to_point_makes_no_segments(seed):
    # GIVEN one line, whose points were each repeated at once: they are 10 % apart, but each well known
    truth = Truth(limit=None)
    noise = Noise(normal=0.002, tail=0.0, slow_share=0.0, interrupted=0.0)
    table = samples(truth, noise, seed=seed, launches=1)
    random = np.random.default_rng(seed)
    drift = {size: random.normal(1, 0.1) for size in sorted(table["bytes"].unique())}
    factor = pl.col("bytes").replace_strict(drift, return_dtype=pl.Float64)
    drifting = pl.when(pl.col("test") == "pingpong").then(pl.col("value1") * factor).otherwise("value1")
    # WHEN fitted, THEN it is not cut into the six segments that follow every turn
    fit = fit_channel(collect(table.with_columns(value1=drifting)), replicates=20)
    assert len(fit.segments) <= 3
    assert near(fit.segments[-1].G_s_per_byte, truth.G, 0.1)


@pytest.mark.slow
def test_intervals_hold_the_truth():
    # GIVEN 12 machines, without the slower regime's influence
    truth = Truth()
    held = []
    for seed in range(12):
        fit = fit_channel(
            collect(samples(truth, Noise(tail=0.0, interrupted=0.0), seed=seed, each=15)), replicates=100
        )
        eager = fit.segments[0]
        for estimate, value in (
            (eager.o_s, truth.o),
            (eager.o_receive_s, truth.o_receive),
            (eager.g_s, truth.g),
        ):
            held.append(estimate.low <= value <= estimate.high)
    # THEN at least 85 % of the 95 % intervals do (36 draws; the bootstrap of few launches is a little narrow)
    assert np.mean(held) >= 0.85


@settings(max_examples=12, deadline=None)
@given(
    L=st.floats(2e-7, 1e-4),
    o=st.floats(0.05, 1.0),
    o_receive=st.floats(0.05, 1.0),
    bandwidth=st.floats(1e7, 2e10),
    limit=st.sampled_from([None, 512, 4096, 16384]),
    sentinel=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_machine_comes_back(L, o, o_receive, bandwidth, limit, sentinel, seed):
    # GIVEN a machine between fast shared memory and slow Ethernet, bimodal with or without a sentinel
    truth = Truth(
        L=L, o=o * L, o_receive=o_receive * L, g=L, G=1 / bandwidth, O=0.5 / bandwidth, limit=limit,
        late_L=3 * L + 2 * (limit or 1) / bandwidth, late_G=0.5 / bandwidth,
    )  # fmt: skip
    points = collect(samples(truth, Noise(sentinel=sentinel, interrupted=0.0), seed, launches=2, each=21))
    # WHEN fitted
    fit = fit_channel(points, replicates=10)
    # THEN the eager limit is exact, and the times of all sizes agree within 8 %
    found = fit.eager_limit
    assert (found.value if found.obtained == "measured" else None) == limit
    for size in (1, 64, 1000, 5000, 100_000, 2_000_000):
        used = next(s for s in fit.segments if s.up_to_bytes is None or size <= s.up_to_bytes)
        predicted = (
            used.L_s.value + used.o_s.value + used.o_receive_s.value + (size - 1) * used.G_s_per_byte.value
        )
        assert predicted == pytest.approx(truth.pingpong(size), rel=0.08)
    assert near(fit.segments[0].o_s, truth.o, 0.08)
    assert near(fit.segments[0].o_receive_s, truth.o_receive, 0.08)


def test_few_points_still_give_a_line():
    fit = fit_channel(collect(samples(Truth(limit=None), Noise(), 3, each=9, sizes=[1, 1024, 65536])))
    assert len(fit.segments) == 1
    assert fit.eager_limit.obtained == "assumed"
    assert near(fit.segments[0].G_s_per_byte, 4e-10, 0.05)


def test_the_slower_regime_is_fitted_where_it_dominates():
    points = collect(samples(Truth(), Noise(slow_share=0.8), seed=1))
    assert points.regime == "slower"
    assert near(fit_channel(points).segments[0].o_s, 3 * Truth().o, 0.05)


def test_ranks_that_are_always_interrupted_keep_their_samples():
    # GIVEN ranks that share a core
    table = samples(Truth(), Noise(interrupted=1.0), 1, each=9)
    assert collect(table).interrupted == 0


def test_too_little_is_said():
    table = samples(Truth(), Noise(), 1, each=9).filter(pl.col("test") != "pingpong")
    with pytest.raises(RankwiseError, match="too few points"):
        fit_channel(collect(table))


def test_overheads_longer_than_the_way_are_bounded_by_it():
    # GIVEN a library that sleeps while it waits, so that a receive takes ten times as long as a message's way
    truth = Truth(limit=None)
    table = samples(truth, Noise(slow_share=0, interrupted=0), 1, each=9).with_columns(
        pl.when(pl.col("test") == "receive_overhead")
        .then(10 * truth.pingpong(1))
        .otherwise("value3")
        .alias("value3")
    )
    # THEN the parameters still give the ping-pong's time, and the receiver's part is said to be no measured number
    fit = fit_channel(collect(table))
    first = fit.segments[0]
    assert first.o_receive_s.obtained == "assumed"
    assert "longer than the way" in first.o_receive_s.source
    assert first.L_s.value + first.o_s.value + first.o_receive_s.value == pytest.approx(
        truth.pingpong(1), rel=0.05
    )
    assert fit.worst_error < 0.05


def test_regimes_that_do_not_matter_to_messages_lose_nothing():
    # GIVEN cache lines in two regimes, and messages that are as fast in both
    points = collect(samples(Truth(), Noise(slow=1.0), seed=1))
    assert points.modes.two
    assert points.regime == ""
    assert points.other_regime == 0


def test_the_regime_that_tells_of_all_points_is_taken_though_the_other_lasted_longer():
    # GIVEN one fast launch of everything, and two slow ones that were only half as far
    fast = samples(Truth(), Noise(slow_share=0, interrupted=0), 1, launches=1, each=9)
    slow = samples(Truth(), Noise(slow_share=1, interrupted=0), 2, launches=2, each=20)
    slow = slow.filter(pl.col("test").is_in(["pingpong", "stream"]))
    points = collect(pl.concat([fast, slow]))
    assert points.regime == "faster"
    assert near(fit_channel(points).segments[0].o_receive_s, Truth().o_receive, 0.05)


@pytest.mark.parametrize(
    "lacking", [["send_overhead"], ["receive_overhead"], ["send_overhead", "receive_overhead"]]
)
@pytest.mark.parametrize("sizes", [[1], [1, 1024], [1, 64, 1024, 65536, 262144]])
def test_what_was_not_timed_is_assumed_and_the_rest_still_measured(lacking, sizes):
    # GIVEN a launch that ended before it came to the overheads, or to more than one size
    truth = Truth(limit=None)
    table = samples(truth, Noise(slow_share=0.0), seed=2, sizes=sizes).filter(~pl.col("test").is_in(lacking))
    fit = fit_channel(collect(table), replicates=20)
    eager = fit.segments[0]
    # THEN the curve is that of the ping-pong
    total = eager.L_s.value + eager.o_s.value + eager.o_receive_s.value
    assert total == pytest.approx(truth.pingpong(1), rel=0.05)
    assert eager.L_s.obtained == "measured"
    # THEN what was not timed says so
    assert eager.o_s.obtained == ("assumed" if "send_overhead" in lacking else "measured")
    if "receive_overhead" in lacking:
        assert eager.o_receive_s.obtained == "assumed"
    assert eager.G_s_per_byte.obtained == ("assumed" if len(sizes) == 1 else "measured")


def test_the_error_on_sizes_that_were_left_out_is_told():
    fit = fit_channel(collect(samples(Truth(), Noise(), seed=7)), replicates=10)
    assert 0 <= fit.held_out_error < 0.05
    few = fit_channel(collect(samples(Truth(limit=None), Noise(), 3, sizes=[1, 1024, 65536])), replicates=10)
    assert few.held_out_error is None or few.held_out_error < 0.2


def test_a_slope_that_no_sample_contradicts_still_has_an_interval():
    # GIVEN messages whose time does not grow with their size, and no noise at all
    truth = Truth(G=0.0, limit=None)
    points = collect(samples(truth, Noise(0.0, 0.0, 1.0, 0.0, interrupted=0.0), seed=1))
    # THEN what the errors of the points would hide is not excluded
    for segment in fit_channel(points).segments:
        slope = segment.G_s_per_byte
        if slope.obtained == "measured":
            assert slope.low <= slope.value < slope.high
            assert slope.high < 1e-6


def test_noise_of_short_messages_is_no_price_of_their_bytes():
    # GIVEN ping-pongs of ranks that sleep, whose times of short messages lie by chance as if bytes cost 30 times more
    sizes = [2**k for k in range(23)]
    rows = []
    random = np.random.default_rng(3)
    for size in sizes:
        way = 90e-6 + 1.5e-10 * size + (5e-9 * size if size <= 8192 else 40e-6)
        values = way * random.uniform(0.6, 1.4, size=5)
        rows += [
            {"test": "pingpong", "channel": "package", "bytes": size, "messages": 1, "value1": value}
            | {"launch": launch % 3, "switches": 0, "rotate_bytes": 0}
            for launch, value in enumerate(values)
        ]
    table = pl.DataFrame([dict.fromkeys(SCHEMA) | row for row in rows], schema=SCHEMA)
    # WHEN fitted
    segments = fit_channel(collect(table)).segments
    # THEN no segment's bytes cost many times those of the largest messages without being sure of it
    last = segments[-1].G_s_per_byte
    assert last.value == pytest.approx(1.5e-10, rel=0.3)
    for segment in segments[:-1]:
        slope = segment.G_s_per_byte
        assert slope.value <= last.value or (slope.low or 0.0) > last.value


@pytest.mark.parametrize(
    ("slopes", "lows", "as_larger"),
    [
        ([3e-9, 5e-9, 1.5e-10], [0.0, 0.0, 1.4e-10], {1: 2, 0: 2}),  # held against slopes that stay
        ([3e-10, 0.0, 1.5e-10], [0.0, 0.0, 1.4e-10], {0: 2}),  # flat by noise tells nothing of others
        ([3e-9, 1.5e-10], [2e-9, 1.4e-10], {}),  # surely steeper
        ([3e-9, 1.5e-10], [0.0, 0.0], {}),  # none is known
        ([3e-9], [0.0], {}),
    ],
)
def test_slopes_that_noise_leaves_open_are_those_of_the_next_larger_messages_that_tell_theirs(
    slopes, lows, as_larger
):
    best = _Parameters(0.0, 0.0, 0.0, 0.0, 0.0, [(1e-6, slope) for slope in slopes], [], set())
    assert _not_steeper(best, [(low, 1e-8) for low in lows]) == as_larger
