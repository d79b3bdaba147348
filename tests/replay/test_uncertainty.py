# SPDX-License-Identifier: BSD-3-Clause
"""Intervals of predictions: what is drawn, and what comes of it in a case with a known answer."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from rankwise import _core
from rankwise.machine.estimate import Estimate
from rankwise.machine.machine import LinkClass, Machine, Resource, Segment
from rankwise.machine.nodes import Node
from rankwise.machine.topology import Topology, from_synthetic
from rankwise.placement.simple import allocate
from rankwise.replay.predictor import Predictor
from rankwise.replay.recorded_run import RecordedRun
from rankwise.replay.uncertainty import RUN_TO_RUN, interval_of, resample
from rankwise.schedule.source import Source

NOTHING = Estimate(0.0, "assumed", source="none")


def machine(latency):
    segment = Segment(latency, NOTHING, NOTHING, NOTHING, NOTHING)
    link = LinkClass("network", "offloaded", "independent", True, [segment])
    inside = LinkClass("package", "offloaded", "independent", True, [segment])
    capacity = Estimate(1e6, "measured", 0.5e6, 2e6)
    nic = Resource("tx", "nic_tx", "fifo", "node", capacity_bytes_per_s=capacity)
    node = Node(2, topology="package:1 core:1")
    return Machine("rankwise.machine/1", "two", node, [link, inside], [nic])


def test_measured_numbers_are_drawn_from_both_sides_of_their_interval():
    # GIVEN a latency of 10 us, from 9 to 14
    given = machine(Estimate(10e-6, "measured", 9e-6, 14e-6))
    rng = np.random.default_rng(1)
    drawn = [resample(given, rng).link_classes[0].segments[0].L_s.value for _ in range(4000)]
    # THEN each end is a quantile of the halves: 2.5 % of the draws are beyond it
    assert np.quantile(drawn, [0.025, 0.5, 0.975]) == pytest.approx([9e-6, 10e-6, 14e-6], rel=0.03)
    assert min(drawn) > 0


def test_first_contact_is_drawn_once_for_all_channels_inside_a_node():
    # GIVEN two channels inside a node and the network, whose first messages were measured within a factor of two
    connect = Estimate(10e-6, "measured", 5e-6, 20e-6)
    given = machine(Estimate(10e-6, "published", source="a paper"))
    network, inside = (msgspec.structs.replace(link, connect_s=connect) for link in given.link_classes)
    core = msgspec.structs.replace(inside, channel="core")
    given = msgspec.structs.replace(given, link_classes=[network, inside, core])
    # WHEN they are drawn
    links = resample(given, np.random.default_rng(1)).link_classes
    # THEN those inside the node, which one measurement tells, are the same
    assert links[1].connect_s == links[2].connect_s != connect
    assert links[0].connect_s != links[1].connect_s


def test_numbers_without_an_interval_stay_and_the_machine_is_not_changed():
    given = machine(Estimate(10e-6, "published", source="a paper"))
    drawn = resample(given, np.random.default_rng(1))
    assert drawn.link_classes == given.link_classes
    assert drawn.resources != given.resources
    assert given == machine(Estimate(10e-6, "published", source="a paper"))


def test_the_interval_holds_the_prediction_and_the_central_draws():
    times = np.arange(1.0, 1002.0)
    found = interval_of(times, 500.0, 0.9)
    assert (found.low_s, found.high_s, found.replays) == (pytest.approx(51.0), pytest.approx(951.0), 1001)
    assert interval_of(times, 2000.0, 0.9).high_s == 2000.0
    assert interval_of(times, 0.5, 0.9).low_s == 0.5


PING = "num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\nrecv 1b from 0\n}\n"


def predictor(given, **keywords):
    schedule = _core.schedule.Schedule.read_goal(PING, "ping")
    return Predictor.of(Source(schedule), given, **keywords)


def test_the_interval_of_one_message_is_that_of_its_latency():
    # GIVEN a message that takes nothing but the latency (and 1 us on the interface)
    given = machine(Estimate(10e-3, "measured", 9e-3, 14e-3))
    topology = Topology.of(from_synthetic("package:1 core:1"), 2)
    placement, _ = allocate(2, 2, 1, topology.nodes[0])
    prediction = predictor(given, draws=400).predict_with_interval(placement)
    # THEN so does its interval
    assert prediction.makespan_s == pytest.approx(10e-3, rel=1e-3)
    assert prediction.interval.low_s == pytest.approx(9e-3, rel=0.05)
    assert prediction.interval.high_s == pytest.approx(14e-3, rel=0.05)
    assert (prediction.interval.confidence, prediction.interval.replays) == (0.95, 400)


def recorded(seconds, predicted_s):
    return RecordedRun(seconds, predicted_s, np.array([seconds]), np.array([predicted_s]))


@pytest.mark.parametrize(("recorded_s", "error"), [(8e-3, 0.25), (12.5e-3, -0.2)])
def test_the_error_of_the_recorded_run_widens_the_interval_on_both_sides_and_moves_nothing(recorded_s, error):
    # GIVEN a run that was predicted 10 ms, and took 8 or 12.5 ms: 1.25 times as fast or as slow
    run = recorded(recorded_s, 10e-3)
    assert run.error == pytest.approx(error)
    placement, _ = allocate(2, 2, 1, from_synthetic("package:1 core:1"))
    known = predictor(machine(Estimate(10e-3, "measured", 9e-3, 14e-3)), draws=20)
    without = known.predict_with_interval(placement)
    known = replace(known, run=run)
    widened = known.predict_with_interval(placement)
    # THEN the interval of the numbers is still told, and the whole is 1.25 times further out, and what runs differ by
    assert widened.makespan_s == without.makespan_s
    numbers = (widened.interval.numbers_low_s, widened.interval.numbers_high_s)
    assert numbers == (without.interval.low_s, without.interval.high_s)
    assert (widened.interval.low_s, widened.interval.high_s) == pytest.approx(
        (numbers[0] / 1.25 / RUN_TO_RUN, numbers[1] * 1.25 * RUN_TO_RUN)
    )
    assert (without.interval.model_error, widened.interval.model_error) == (None, run.error)


def test_a_machine_without_intervals_has_that_of_the_recorded_run():
    published = Estimate(10e-3, "published", source="a paper")
    given = msgspec.structs.replace(machine(published), resources=[])
    placement, _ = allocate(2, 2, 1, from_synthetic("package:1 core:1"))
    for draws, count in ((20, 0), (0, None)):
        known = replace(predictor(given, draws=draws), run=recorded(8e-3, 10e-3))
        interval = known.predict_with_interval(placement).interval
        assert (interval and interval.replays) == count
    known = replace(predictor(given, draws=20), run=recorded(8e-3, 10e-3))
    prediction = known.predict_with_interval(placement)
    assert prediction.interval.low_s == pytest.approx(prediction.makespan_s / 1.25 / RUN_TO_RUN)


def test_the_same_seed_gives_the_same_interval_and_no_draws_none():
    given = machine(Estimate(10e-3, "measured", 9e-3, 14e-3))
    placement, _ = allocate(2, 2, 1, from_synthetic("package:1 core:1"))
    first, again, other = (
        predictor(given, draws=10, seed=seed).predict_with_interval(placement).interval for seed in (1, 1, 2)
    )
    assert first == again != other
    assert predictor(given).predict_with_interval(placement).interval is None
