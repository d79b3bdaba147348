# SPDX-License-Identifier: BSD-3-Clause
"""What is measured while others use the machine: it is left out, measured again, or known for what it is."""

import contextlib
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from made_samples import Noise, Truth, samples

from rankwise.machine.distrusted import distrusted
from rankwise.machine.file import dumps, loads
from rankwise.machine.machine import Machine
from rankwise.machine.nodes import Node
from rankwise.machine.topology import from_synthetic
from rankwise.measure import launch as launching
from rankwise.measure.distrust import mark_distrusted
from rankwise.measure.fitting.capacity import sweep
from rankwise.measure.fitting.disturbed import TOLERATED, disturbed_points, keep_undisturbed
from rankwise.measure.fitting.fit import fit_channel
from rankwise.measure.fitting.points import collect
from rankwise.measure.machine_file import find, machine
from rankwise.measure.measurement import Measurement
from rankwise.measure.plan import Rank, choose
from rankwise.measure.questions.settled import medians
from rankwise.measure.samples import SCHEMA, Launch
from rankwise.measure.steps import Effort, Steps

CALM = Noise(normal=0.01, tail=0.0, slow_share=0.0, interrupted=0.0)
BUSY = 2 * TOLERATED


def with_others(table: pl.DataFrame, share: float, where: pl.Expr | bool = True) -> pl.DataFrame:
    """Samples around which others used so much of the machine, where it is said."""
    return table.with_columns(
        others=pl.when(pl.lit(where) if where is True else where).then(share).otherwise(0.0)
    )


def row(**known) -> dict:
    plain = {"launch": 0, "pairs": 1, "bytes": 8, "switches": 0, "setting": 0, "rotate_bytes": 0}
    return dict.fromkeys(SCHEMA) | plain | known


def table(*rows: dict) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=SCHEMA)


def test_what_others_used_counts_around_a_point_for_as_long_as_the_kernel_can_tell():
    # GIVEN points of 0.1 s on two cores, during the last ten of which others use one of them
    launch = Launch(channels={1: "package"})
    used = 0.0
    for at in range(30):
        used += 0.1 * (at >= 20)
        assert launch.take(f"@rankwise others 1 {2**at} 0 {0.1 * (at + 1):.1f} 2 {used:.1f} 0.0")
    found = launch.others_by_point()
    # THEN half of the machine there, nothing well before, and a part where the window reaches into both
    assert found[1, 2**25] == pytest.approx(0.5)
    assert found[1, 2**10] == 0
    assert 0.1 < found[1, 2**19] < 0.4


def test_what_the_hypervisor_took_is_what_others_used():
    launch = Launch(channels={1: "package"})
    launch.take("@rankwise others 1 8 0 1.0 4 0.0 2.0")
    assert launch.others_by_point() == {(1, 8): pytest.approx(0.5)}


def test_of_several_machines_that_counts_where_others_used_most():
    launch = Launch(channels={1: "network"})
    launch.take("@rankwise others 1 8 0 1.0 2 0.0 0.0")
    launch.take("@rankwise others 1 8 4 1.0 2 1.0 0.0")
    assert launch.others_by_point() == {(1, 8): pytest.approx(0.5)}


SAMPLE = "sample 1 pingpong 1 0 1 8 32 0 50.9 0 1 1e-6 0 0 0 0 0 0 {}"


def test_a_sample_has_what_others_used_around_it_and_how_long_a_rank_had_no_core():
    launch = Launch(channels={1: "package"})
    launch.take("@rankwise " + SAMPLE.format("0.25"))
    launch.take("@rankwise others 1 8 0 1.0 2 0.5 0.0")
    assert launch.frame().select("waited", "others").row(0) == (0.25, 0.25)
    # THEN where ranks of ours share cores, who waited for one says nothing of others
    launch = Launch(channels={1: "package"}, sharing=True)
    launch.take("@rankwise " + SAMPLE.format("0.25"))
    assert launch.frame()["waited"].to_list() == [None]


def test_disturbed_samples_are_left_out_where_enough_are_calm():
    calm = [row(test="pingpong", channel="package", others=0.0, value1=1.0) for _ in range(3)]
    busy = [row(test="pingpong", channel="package", others=BUSY, value1=2.0) for _ in range(50)]
    waited = [row(test="pingpong", channel="package", others=0.0, waited=BUSY, value1=9.0)]
    kept = keep_undisturbed(table(*busy, *waited, *calm))
    assert kept["value1"].to_list() == [1.0] * 3
    assert not kept["disturbed"].any()
    assert disturbed_points(table(*busy, *calm)) == set()


def test_a_point_without_calm_samples_is_as_wide_as_its_samples_and_what_others_took():
    values = np.linspace(1.0, 3.0, 101)
    found = {}
    for share in (0.0, BUSY):
        rows = [row(test="window", channel="package", others=share, value1=value) for value in values]
        found[share] = medians(table(*rows), ["channel"], pl.col("value1"))[("package",)]
        assert disturbed_points(table(*rows)) == ({("window", "package", 1, 8)} if share else set())
    assert found[0.0].value == found[BUSY].value == 2.0
    assert found[BUSY].low == pytest.approx(1.05 * (1 - BUSY))
    assert found[BUSY].high == pytest.approx(2.95 / (1 - BUSY))
    assert found[0.0].half_width < found[BUSY].half_width / 4


def test_few_samples_of_which_nothing_is_known_are_not_disturbed():
    assert disturbed_points(table(row(test="peers", channel="same node"))) == set()


def test_rates_of_pairs_that_others_disturbed_are_as_wide_as_their_samples_and_what_others_took():
    rows = [
        row(
            test="share",
            channel="network",
            pairs=1,
            bytes=65536,
            step=1,
            source=0,
            destination=1,
            others=BUSY,
            value1=v,
        )
        for v in np.linspace(1e8, 2e8, 21)
    ]
    rate = sweep(table(*rows), 65536, "value1").rates[1]
    assert rate.low == pytest.approx(1.025e8 * (1 - BUSY))
    assert rate.high == pytest.approx(1.975e8 / (1 - BUSY))


@pytest.mark.parametrize("factor", [1.5, 0.8])
def test_the_truth_lies_in_the_interval_of_what_was_disturbed_half_of_the_time(factor):
    # GIVEN large messages that others made slower, or faster, in some of their samples, in all launches
    truth = Truth(limit=None)
    made = samples(truth, CALM, seed=3)
    large = (pl.col("test") == "pingpong") & (pl.col("bytes") > 4096)
    hit = large & (pl.int_range(pl.len()) % 3 > 0)
    made = made.with_columns(value1=pl.when(hit).then(pl.col("value1") * factor).otherwise(pl.col("value1")))
    calm, wide = (fit_channel(collect(with_others(made, share, large))).segments[-1] for share in (0.0, BUSY))
    # THEN the interval of their G holds it, where that of samples taken for calm does not
    assert not calm.G_s_per_byte.low <= truth.G <= calm.G_s_per_byte.high
    assert wide.G_s_per_byte.low <= truth.G <= wide.G_s_per_byte.high


def test_all_samples_may_be_longer_by_what_others_took():
    # GIVEN ping-pongs all of which others made longer by 15 %, as they took a fifth of the processors
    made = samples(Truth(), CALM, seed=3)
    trips = pl.col("test") == "pingpong"
    longer = made.with_columns(
        value1=pl.when(trips).then(pl.col("value1") * 1.15).otherwise(pl.col("value1"))
    )
    points = collect(with_others(longer, 0.2, trips))
    found = points.median("pingpong", 1)
    # THEN the interval holds what they take undisturbed, and so does that of the fit
    assert found.low <= Truth().pingpong(1) < found.value
    late = fit_channel(points).segments[-1].G_s_per_byte
    assert late.low <= Truth().late_G <= late.high


NODE = Node(count=1, topology="package:1 core:2 pu:1")


def fitted(made: pl.DataFrame) -> Machine:
    built = machine(find(made, {}), "m", NODE, {}, "host-processed", "spin", True)
    return mark_distrusted(built, made)


def test_numbers_are_marked_where_their_points_were_disturbed_and_nowhere_else():
    made = samples(Truth(), CALM, seed=1)
    assert distrusted(fitted(with_others(made, 0.0))) == []
    # GIVEN bursts that were disturbed
    bursts = fitted(with_others(made, BUSY, pl.col("test") == "stream"))
    assert distrusted(bursts) == ["package.g_s"]
    # GIVEN a ping-pong beyond the eager limit that was: the latency and the bytes of its segment, no other
    late = fitted(with_others(made, BUSY, (pl.col("test") == "pingpong") & (pl.col("bytes") == 65536)))
    assert set(distrusted(late)) == {"package.L_s", "package.G_s_per_byte"}
    first, *_, last = late.link_class("package").segments
    assert not first.L_s.disturbed and last.L_s.disturbed
    # THEN the file has the mark
    assert loads(dumps(late)) == late


def test_steps_are_of_the_points_that_are_wanted():
    steps = Steps(only={("pingpong", "package", 1, 8)})
    pair = SimpleNamespace(source=SimpleNamespace(rank=0, pu=0), destination=SimpleNamespace(rank=1, pu=1))
    steps.add("pingpong", "package", [pair], (1, 8, 64), budget_s=1.0)
    steps.add("stream", "package", [pair], (8,), budget_s=1.0)
    assert [words.partition(":")[0] for words in steps.arguments] == ["pingpong"]
    assert "sizes=8:" in steps.arguments[0] and steps.seconds == 1.0


class Fake:
    """A machine whose ranks always take a second, and which others use until a launch."""

    waiting = "spin"

    def __init__(self, until: int, clock):
        self.until, self.clock, self.asked = until, clock, []

    def command(self, arguments):
        return contextlib.nullcontext(arguments)

    def environment(self):
        return None

    def run(self, arguments, launch, *_):
        self.asked.append(arguments)
        at = 0
        for number, words in enumerate(arguments, 1):
            test = words.partition(":")[0]
            pairs = words.partition("pairs=")[2] or words.partition("ranks=")[2]
            count = len(pairs.partition(":")[0].split(","))
            for size in words.partition("sizes=")[2].partition(":")[0].split(","):
                at += 1
                for _ in range(3):
                    launch.take(
                        f"@rankwise sample {number} {test} {count} 0 1 {size} 1 0 -1 0 1 1e-6 0 0 0 0 0 0 0.0"
                    )
                busy = at * (len(self.asked) <= self.until)
                launch.take(f"@rankwise others {number} {size} 0 {at} 2 {busy} 0.0")
        launch.take("@rankwise end 1.0")
        self.clock[0] += 1.0


@pytest.fixture
def measured(monkeypatch):
    """Function: a session of a budget of 4 s on a machine that others use until that launch."""

    def run(until):
        clock = [0.0]
        fake = Fake(until, clock)
        monkeypatch.setattr(launching, "run", fake.run)
        monkeypatch.setattr("rankwise.measure.measurement.time.monotonic", lambda: clock[0])
        fake.description = "fake"
        node = from_synthetic("package:1 core:2 pu:1")
        effort = Effort(4.0, 2, 0.01, (1, 8), (1,), (1,), (), 0.1, 2, 0.25, True)
        session = Measurement(fake, effort, began=0.0)
        session.plan = choose([Rank(k, "n", (k,), (k,)) for k in (0, 1)], {"n": node}, lambda a, b: False)
        session.measure()
        return session, fake, clock[0]

    return run


def test_what_others_disturbed_is_measured_again_and_nothing_else_is(measured):
    # GIVEN a machine that nobody else uses, THEN nothing is measured again
    assert measured(0)[0].again == 0
    # GIVEN one that others leave after the launches that were planned
    session, fake, _ = measured(2)
    assert (session.made, session.again) == (2, 1)
    assert disturbed_points(session.samples()) == set()
    # GIVEN one that others leave before the last, THEN that has it all
    assert measured(1)[0].again == 0


def test_measuring_again_ends_when_as_long_again_is_over(measured):
    session, fake, ended = measured(1000)
    assert session.again >= 1
    assert ended <= 2 * 4.0
    assert disturbed_points(session.samples())
