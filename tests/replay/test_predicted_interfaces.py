# SPDX-License-Identifier: BSD-3-Clause
"""Predictions on machines whose nodes have several interfaces: what passed which, latency of far ones, losses."""

import numpy as np
import pytest
from machines import text
from replaying import schedule_of
from test_counts import counts
from test_switches import messages

from rankwise.explain.losses import losses
from rankwise.machine.file import loads
from rankwise.machine.machine import topology_of
from rankwise.machine.overrides import apply
from rankwise.machine.placement import Placement
from rankwise.replay.predictor import Predictor
from rankwise.replay.switches import Switches
from rankwise.replay.uncertainty import has_intervals, resample
from rankwise.schedule.source import Source

MEASURED = '{ value = 1e-6, low = 0.9e-6, high = 1.3e-6, obtained = "measured" }'
INTERFACES = '[interfaces]\nper = "package"\nat = [0, 1]\nuse = "{}"\n{}\n'
FAR = 'far_s = { value = 1e-6, obtained = "assumed", source = "test" }'


def machine(use="nearest", more=""):
    """Two packages of one core, 1 GB/s for each interface, L = 3 us."""
    plain = text({"L_s": 3e-6}, nic_bytes_per_s=1e9).replace("package:1 core:2", "package:2 core:1")
    return loads(plain.replace('per = "node"', 'per = "interface"') + INTERFACES.format(use, more))


def predictor(where, what=None, **arguments):
    what = what or Source(schedule_of(messages((0, 2), (1, 3))))
    return Predictor.of(what, where, topology_of(where, "."), **arguments)


def spread(of, cores=(0, 1, 0, 1)):
    """Ranks 0 and 1 on node 0, 2 and 3 on node 1."""
    return Placement.explicit(of.topology, [(rank // 2, [core]) for rank, core in enumerate(cores)])


def test_a_prediction_says_what_passed_which_interface():
    of = predictor(machine())
    prediction = of.predict(spread(of))
    assert prediction.makespan_s == pytest.approx(4e-6)
    assert prediction.by_interface["tx"]["bytes"].tolist() == [[1000, 1000], [0, 0]]
    assert prediction.interfaces["tx"]["bytes"].tolist() == [2000, 0]
    assert prediction.interfaces["rx"]["messages"].tolist() == [0, 2]
    assert prediction.busiest_interface_s() == pytest.approx(1e-6)
    assert prediction.not_modelled == ()


def test_ranks_of_block_share_what_nearest_keeps_apart():
    # GIVEN three ranks on node 0 of which the first two have the same interface by `block`
    what = Source(schedule_of(messages((0, 3), (1, 3), ranks=4)))
    of = predictor(machine("block"), what)
    placement = Placement.explicit(of.topology, [(0, [0]), (0, [1]), (0, [1]), (1, [0])])
    block = of.predict(placement).by_interface["tx"]["bytes"]
    assert block[0].tolist() == [2000, 0]
    nearest = predictor(machine(), what).predict(placement).by_interface["tx"]["bytes"]
    assert nearest[0].tolist() == [1000, 1000]
    turned = predictor(apply(machine("block"), ["interfaces.use=round-robin"]), what)
    assert turned.predict(placement).by_interface["tx"]["bytes"][0].tolist() == [1000, 1000]


def test_far_interfaces_add_latency_and_count_as_the_network_s():
    # GIVEN ranks of the second package, and one interface that they use by `block`
    of = predictor(machine("block", FAR))
    near, far = (of.predict(spread(of, cores)) for cores in ((0, 1, 0, 1), (1, 0, 1, 0)))
    assert near.makespan_s == pytest.approx(4e-6)
    assert far.makespan_s == pytest.approx(6e-6)
    assert far.channels == near.channels
    assert far.channels["network"] == (2, 2000)
    # THEN the detour is latency of the network
    lost = {(loss.name, loss.part): loss.lost_s for loss in losses(of, far)}
    assert lost["network", "latency"] == pytest.approx(5e-6)
    assert lost["communication", "all"] == pytest.approx(6e-6)
    assert lost["nic_tx+nic_rx", "all"] == pytest.approx(1e-6)


def test_without_interfaces_there_is_no_detour_either():
    of = predictor(machine("block", FAR), switches=Switches(interfaces=False))
    found = of.predict(spread(of, (1, 0, 1, 0)))
    assert found.makespan_s == pytest.approx(3e-6)
    assert not found.has_several_interfaces


def test_a_measured_detour_is_drawn_from_its_interval():
    where = machine("block", f"far_s = {MEASURED}")
    assert has_intervals(where)
    drawn = [resample(where, np.random.default_rng(seed)).interfaces.far_s.value for seed in range(20)]
    assert min(drawn) < 1e-6 < max(drawn)
    of = predictor(where, draws=8)
    interval = of.predict_with_interval(spread(of, (1, 0, 1, 0))).interval
    assert interval.low_s < 6e-6 < interval.high_s


def test_counts_alone_tell_interfaces_apart_too():
    # GIVEN no trace: 10 messages of 1 MB from each of two ranks of a node to the other node
    what = counts(
        [(0, 2, 10, 10_000_000), (1, 3, 10, 10_000_000)],
        compute=(0.0,) * 4,
        waited=(0.0,) * 4,
        time=(1.0,) * 4,
    )
    source = Source(what, "counts")
    apart = predictor(machine(), source)
    found = apart.predict(spread(apart))
    assert found.by_interface["tx"]["busy_s"][0] == pytest.approx([0.01, 0.01])
    assert found.makespan_s == pytest.approx(0.01)
    one = apart.predict(spread(apart, (0, 0, 0, 0)))
    # THEN ranks of one package take turns only at the interfaces nearest to it
    assert one.by_interface["tx"]["busy_s"][0] == pytest.approx([0.02, 0])
    assert one.makespan_s == pytest.approx(0.02)
    # AND striped, each interface has a half of all
    striped = predictor(apply(machine(), ["interfaces.striped_from=1MB"]), source)
    halves = striped.predict(spread(striped, (0, 0, 0, 0)))
    assert halves.by_interface["tx"]["busy_s"][0] == pytest.approx([0.01, 0.01])
    assert halves.by_interface["rx"]["messages"][1].tolist() == [20, 20]
