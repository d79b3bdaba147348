# SPDX-License-Identifier: BSD-3-Clause
"""Two regimes of virtual cores that split the samples between them still give one curve."""

from types import SimpleNamespace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_samples import Noise, Truth, samples

from rankwise.machine.estimate import Estimate
from rankwise.machine.machine import LinkClass
from rankwise.measure.declared import declared_limit, differs, narrow_eager_limits
from rankwise.measure.fitting.fit import fit_channel
from rankwise.measure.fitting.points import collect
from rankwise.measure.fitting.regimes import borrow_samples

TRUTH = Truth(limit=None)


def table(seed=4):
    return samples(TRUTH, Noise(interrupted=0.0), seed=seed)


def test_points_of_the_other_regime_are_scaled_by_what_their_neighbours_differ():
    # GIVEN sizes 32 and 64 in the slower regime only, which is three times slower
    of_seed = table().filter(pl.col("test") == "pingpong")
    slow = pl.col("sentinel_s") > 60e-9
    own = of_seed.filter(~slow & ~pl.col("bytes").is_in([32, 64]))
    lent = borrow_samples(own, of_seed.filter(slow))
    assert sorted(lent["bytes"].unique()) == [32, 64]
    medians = dict(lent.group_by("bytes").agg(pl.col("value1").median()).iter_rows())
    assert medians[32] == pytest.approx(TRUTH.pingpong(32), rel=0.1)
    # THEN nothing is borrowed where nothing lacks, and all where there is nothing to compare with
    assert borrow_samples(of_seed, of_seed).is_empty()
    alone = borrow_samples(of_seed.clear(), of_seed)
    assert alone["value1"].sort().equals(of_seed["value1"].sort())


@settings(max_examples=10, deadline=None)
@given(st.data())
def test_any_split_of_sizes_and_tests_over_regimes_gives_a_fit_near_one_of_them(data):
    # GIVEN each point timed in one regime only, or in both
    made = table()
    fast = pl.col("sentinel_s") <= 60e-9
    kept = []
    for _, group in made.group_by(["test", "bytes"], maintain_order=True):
        which = data.draw(st.sampled_from([fast, ~fast, pl.lit(True)]))
        kept.append(group.filter(which))
    # THEN there is a fit, whose time of a byte is that of one regime or between them
    fit = fit_channel(collect(pl.concat(kept)), replicates=5)
    eager = fit.segments[0]
    total = eager.L_s.value + eager.o_s.value + eager.o_receive_s.value
    assert 0.3 * TRUTH.pingpong(1) < total < 10 * TRUTH.pingpong(1)


def test_declared_eager_limits_are_compared_with_those_found():
    said = {"btl_vader_eager_limit": 4096, "btl_tcp_eager_limit": 65536, "MPIR_CVAR_CTXID_EAGER_SIZE": 2}
    assert declared_limit(said, "package") == ("btl_vader_eager_limit", 4096)
    assert declared_limit(said, "network") == ("btl_tcp_eager_limit", 65536)
    assert declared_limit({"MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD": -1}, "network") is None
    assert differs(256, 4096)
    assert differs(0, 4096)
    assert not differs(4000, 4096)


def limited(value, high, channel="network"):
    """A link class whose eager limit is known to be between two sizes."""
    found = Estimate(value, "measured", low=value, high=high, samples=5)
    whole = [SimpleNamespace(up_to_bytes=None)]
    return LinkClass(channel, "host-processed", "in-call", True, whole, eager_limit_bytes=found)


def test_an_eager_limit_between_two_sizes_is_the_declared_one_if_that_is_there():
    said = {"btl_tcp_eager_limit": 65536, "btl_vader_eager_limit": 4096}
    # GIVEN a network on which 32 KiB went at once and 64 KiB, with its header too large by that, did not
    # AND a channel inside nodes with another limit than is declared
    network, inside = narrow_eager_limits([limited(32768.0, 65535.0), limited(256.0, 511.0, "package")], said)
    # THEN what experiments leave open is taken from the library, and nothing else
    assert network.eager_limit_bytes.value == 65535.0
    # AND it does not pass for a measured number
    assert network.eager_limit_bytes.obtained == "published"
    assert "between 32768 and 65535 bytes" in network.eager_limit_bytes.source
    assert inside.eager_limit_bytes.value == 256.0
    # AND a limit that is declared inside is taken as it is
    assert (
        narrow_eager_limits([limited(32768.0, 65535.0)], {"btl_tcp_eager_limit": 50000})[
            0
        ].eager_limit_bytes.value
        == 50000.0
    )
    assert narrow_eager_limits([limited(32768.0, 65535.0)], {})[0].eager_limit_bytes.value == 32768.0
