# SPDX-License-Identifier: BSD-3-Clause
"""The coarse estimate for recordings without trace, on counts whose times can be written down."""

import numpy as np
import polars as pl
import pytest
from machines import machine

from rankwise.explain.losses import losses
from rankwise.machine.machine import topology_of
from rankwise.machine.placement import Placement
from rankwise.placement.simple import allocate
from rankwise.replay.predictor import Predictor
from rankwise.replay.switches import Switches
from rankwise.schedule.source import Source
from rankwise.schedule.untraced import UntracedRun

NETWORK = {"L_s": 10e-6, "o_s": 1e-6, "G_s_per_byte": 1e-9}


def counts(rows, compute=(1e-3, 2e-3), waited=(0.0, 0.0), time=(1.0, 1.0)):
    messages = pl.DataFrame(rows, schema=["source", "destination", "messages", "bytes"], orient="row")
    ranks = pl.DataFrame(
        {
            "rank": range(len(compute)),
            "time_s": time,
            "compute_s": compute,
            "runqueue_wait_s": pl.Series(waited, dtype=pl.Float64),
        }
    )
    return UntracedRun.of(messages, ranks)


def predict(what, where, nodes=2, each=1, **switches):
    topology = topology_of(where, ".")
    predictor = Predictor.of(Source(what, "counts"), where, topology, switches=Switches(**switches))
    return predictor, predictor.predict(allocate(what.ranks, nodes, each, topology.nodes[0], "blocked")[0])


def test_computation_overheads_and_the_larger_direction():
    # GIVEN 100 messages of 1001 bytes to rank 1, 50 back
    what = counts([(0, 1, 100, 100100), (1, 0, 50, 50050)])
    _, prediction = predict(what, machine(NETWORK))
    overhead, wire = 150e-6, 100 * (10e-6 + 1000e-9)
    assert prediction.parts_s["overhead"] == pytest.approx([overhead, overhead])
    assert prediction.waiting_s == pytest.approx([wire, wire])
    assert prediction.finish_s == pytest.approx([1e-3 + overhead + wire, 2e-3 + overhead + wire])
    assert prediction.makespan_s == prediction.finish_s[1]
    assert prediction.channels["network"] == (150, 150150)


def test_messages_to_processes_of_other_jobs_are_left_out():
    what = counts([(0, 1, 100, 100100), (0, None, 7, 70), (None, 1, 3, 30)])
    assert (what.messages, what.bytes) == (100, 100100)


def test_inside_a_node_nothing_crosses_the_network():
    what = counts([(0, 1, 100, 100100)])
    _, prediction = predict(what, machine(NETWORK, {"L_s": 1e-6}), nodes=1, each=2)
    assert prediction.channels == {"self": (0, 0), "node": (100, 100100), "network": (0, 0)}
    assert prediction.interfaces["tx"]["bytes"].tolist() == [0]
    assert prediction.makespan_s == pytest.approx(2e-3 + 100e-6)


def test_no_rank_ends_before_its_interface():
    what = counts([(0, 1, 1, 10**9)])
    _, prediction = predict(what, machine({}, nic_bytes_per_s=1e9))
    assert prediction.finish_s == pytest.approx([1.0, 1.0])
    assert prediction.interfaces["rx"]["busy_s"] == pytest.approx([0.0, 1.0])
    _, prediction = predict(what, machine({}, nic_bytes_per_s=1e9), interfaces=False)
    assert prediction.makespan_s == pytest.approx(2e-3)


def test_ranks_on_one_core_share_it():
    what, where = counts([]), machine(nodes=1)
    topology = topology_of(where, ".")
    both = Placement.explicit(topology, [(0, [0]), (0, [0])])
    source = Source(what, "counts")
    assert Predictor.of(source, where, topology).predict(both).finish_s == pytest.approx([2e-3, 4e-3])
    alone = Predictor.of(source, where, topology, switches=Switches(core_sharing=False))
    assert alone.makespan_s(both) == pytest.approx(2e-3)


def test_time_in_the_run_queue_is_no_computation():
    what = counts([], compute=(0.5, 0.5), waited=(0.4, None), time=(1.0, 1.0))
    assert what.computation_low_s == pytest.approx([0.5 * 0.6, 0.5])
    assert what.computation_high_s == pytest.approx([0.5, 0.5])
    assert what.computation_s == pytest.approx([0.15**0.5, 0.5])


def test_what_is_not_known_of_computation_on_shared_cores_is_the_interval():
    # GIVEN two ranks that take turns on one core: each computes 1 s undisturbed, and gives way in MPI for 9 s
    what = counts([], compute=(1.0, 1.0), waited=(8.0, 8.0), time=(10.0, 10.0))
    where = machine(nodes=2)
    predictor, _ = predict(what, where)
    placement = allocate(2, 2, 1, predictor.topology.nodes[0], "blocked")[0]
    prediction = predictor.predict_with_interval(placement)
    assert (prediction.interval.low_s, prediction.interval.high_s) == pytest.approx((0.2, 1.0))
    assert prediction.interval.low_s < prediction.makespan_s < prediction.interval.high_s
    # AND where nobody waited there is nothing to say
    alone, _ = predict(counts([]), where)
    assert alone.predict_with_interval(placement).interval is None


def test_losses_are_found_the_same_way():
    predictor, prediction = predict(counts([(0, 1, 100, 100100)]), machine(NETWORK))
    lost = {(loss.name, loss.part): loss.lost_s for loss in losses(predictor, prediction)}
    assert lost["network", "latency"] == pytest.approx(1e-3)
    assert lost["communication", "all"] == pytest.approx(prediction.makespan_s - 2e-3)


def test_sizes_choose_their_segment_and_nothing_is_lost():
    rng = np.random.default_rng(1)
    rows = [(int(a), int(b), 3, 30) for a, b in rng.integers(0, 8, (50, 2)) if a != b]
    what = counts(rows, compute=(0.0,) * 8, waited=(0.0,) * 8, time=(1.0,) * 8)
    _, prediction = predict(what, machine(NETWORK), nodes=4, each=2)
    assert sum(messages for messages, _ in prediction.channels.values()) == 3 * len(rows) == what.messages
    assert sum(total for _, total in prediction.channels.values()) == 30 * len(rows) == what.bytes
