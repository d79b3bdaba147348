# SPDX-License-Identifier: BSD-3-Clause
"""A machine crosses to the core once, however much is replayed on it; a placement once a replay."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from machines import machine
from reference import Op
from replaying import schedule_of

from rankwise import _core
from rankwise.explain.explanation import explain
from rankwise.machine.estimate import Estimate
from rankwise.machine.placement import Placement
from rankwise.replay.predictor import Predictor
from rankwise.schedule.source import Source

LINK = {"L_s": 1e-6, "o_s": 1e-7, "g_s": 1e-7, "G_s_per_byte": 1e-10}
RING = [[Op("send", 8, (r + 1) % 4), Op("recv", 8, (r - 1) % 4, requires=[0])] for r in range(4)]


@pytest.fixture
def made(monkeypatch):
    """How many objects of the core were made of each of these types."""
    counts = dict.fromkeys(("Machine", "LinkClass", "Placement"), 0)

    def counting(name):
        make = getattr(_core.machine, name)

        def count(*args, **more):
            counts[name] += 1
            return make(*args, **more)

        return count

    for name in counts:
        monkeypatch.setattr(_core.machine, name, counting(name))
    return counts


def test_a_hundred_placements_take_one_machine(made):
    # GIVEN a hundred placements
    predictor = Predictor.of(Source(schedule_of(RING)), machine(LINK, LINK, nic_bytes_per_s=1e9))
    rng = np.random.default_rng(1)
    orders = [rng.permutation(8)[:4] for _ in range(100)]
    placements = [
        Placement.explicit(predictor.topology, [(int(k) // 2, [int(k) % 2]) for k in order])
        for order in orders
    ]
    # WHEN they are replayed one by one and together, estimated and explained
    for each in placements:
        predictor.predict(each)
    predictor.makespans_s(placements)
    predictor.estimates_s(placements)
    explain(predictor, placements[0])
    # THEN the machine has crossed once, and each placement with each replay
    links = len(predictor.machine.link_classes)
    assert made == {"Machine": 1, "LinkClass": links, "Placement": 301}


def test_draws_take_a_machine_each(made):
    # GIVEN a machine of which one number has an interval, and five draws
    given = machine(LINK, LINK)
    connect = Estimate(1e-6, "measured", 5e-7, 2e-6)
    links = [msgspec.structs.replace(link, connect_s=connect) for link in given.link_classes]
    given = msgspec.structs.replace(given, link_classes=links)
    drawn = Predictor.of(Source(schedule_of(RING)), given, draws=5)
    placement = Placement.explicit(drawn.topology, [(0, [0]), (0, [1]), (1, [0]), (1, [1])])
    # WHEN there are several predictions THEN they share the machines
    for _ in range(3):
        drawn.predict_with_interval(placement)
    assert made["Machine"] == 1 + len(drawn.drawn) == 6
