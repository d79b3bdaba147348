# SPDX-License-Identifier: BSD-3-Clause
"""
Predictions against runs that were made once and are kept (`validated/`, by keep_runs.py).

16 ranks of MPICH 5.0.2 and Open MPI 5.0.11 in labs of four nodes on a silent machine with two processors. The schedule
is that of the traced run, the machine file the one that was frozen before the runs. Nothing is measured here, so a
busy machine changes nothing.
"""

import json
import lzma
from pathlib import Path

import msgspec
import numpy as np
import pytest

from rankwise.lab.validation.statistics import Compared, agreement
from rankwise.machine.file import Estimate, load
from rankwise.measure.statistics import median
from rankwise.placement.placement import Placement
from rankwise.replay.layout import topology_of
from rankwise.replay.predict import Predictor
from rankwise.replay.source import load as load_source
from rankwise.replay.switches import Switches

KEPT = Path(__file__).with_name("validated")
# Median and worst error that a model may have: some points more than when the runs were kept (8 and 11 %, 2 and 6 %, 3
# and 6 %, 6 and 9 %).
LIMITS = {
    "mpich.cg.16.150mbit": (0.13, 0.17),
    "mpich.lj.16.150mbit": (0.07, 0.12),
    "mpich.lj.16.500mbit": (0.07, 0.11),
    "openmpi.mg.16.150mbit": (0.09, 0.12),
}
LEAST_ORDERED = 0.9  # of the pairs that the runs tell apart


@pytest.fixture(scope="module")
def schedules(tmp_path_factory):
    directory = tmp_path_factory.mktemp("kept")
    found = {}
    for name in LIMITS:
        path = directory / f"{name}.goal.bin"
        path.write_bytes(lzma.decompress((KEPT / f"{name}.goal.xz").read_bytes()))
        found[name] = load_source(path).schedule
    return found


def scaled(machine, key, factor):
    """The machine with one number of its network, or of its cores, times something."""

    def changed(each):
        known = getattr(each, key, None)
        if known is None:
            return each
        return msgspec.structs.replace(
            each, **{key: Estimate(factor * known.value, "assumed", source="a test")}
        )

    links = [
        msgspec.structs.replace(link, segments=[changed(each) for each in link.segments])
        if link.channel == "network"
        else link
        for link in machine.link_classes
    ]
    resources = [changed(each) for each in machine.resources]
    return msgspec.structs.replace(machine, link_classes=links, resources=resources)


def agreement_of(name, schedule, switches=None, scale=None):
    """How predictions of all placements agree with the runs."""
    machine = load(KEPT / f"{name}.machine.toml")
    if scale:
        machine = scaled(machine, *scale)
    topology = topology_of(machine, KEPT)
    predictor = Predictor(schedule, machine, topology, switches=switches)
    compared = []
    for each in json.loads((KEPT / f"{name}.json").read_text()).values():
        cores = [(node, (core,)) for node, core in zip(each["node"], each["core"], strict=True)]
        predicted_s = predictor.makespan_s(Placement.explicit(topology, cores))
        compared.append(Compared(median(np.array(each["times_s"])), *[predicted_s] * 3))
    return agreement([compared])


def holds(name, found):
    median_error, worst_error = LIMITS[name]
    ordered = found.ordered >= LEAST_ORDERED * found.pairs
    return ordered and found.median_error <= median_error and abs(found.worst_error) <= worst_error


@pytest.mark.parametrize("name", LIMITS)
def test_predictions_hold_against_runs_that_were_kept(schedules, name):
    found = agreement_of(name, schedules[name])
    assert found.pairs >= 12 and found.times == 8
    assert holds(name, found), found


@pytest.mark.parametrize("name", LIMITS)
def test_a_model_without_shared_cores_is_noticed(schedules, name):
    assert not holds(name, agreement_of(name, schedules[name], Switches(core_sharing=False)))


@pytest.mark.parametrize(
    ("name", "key", "factor"),
    [
        ("mpich.cg.16.150mbit", "o_s", 4),
        ("mpich.cg.16.150mbit", "look_s", 0.5),
        ("mpich.cg.16.150mbit", "look_s", 2),
        ("mpich.cg.16.150mbit", "capacity_bytes_per_s", 2),
        ("mpich.lj.16.150mbit", "O_s_per_byte", 2),
        ("mpich.lj.16.150mbit", "capacity_bytes_per_s", 0.7),
        ("mpich.lj.16.500mbit", "O_s_per_byte", 0.5),
        ("mpich.lj.16.500mbit", "waiting_share", 3),
        ("openmpi.mg.16.150mbit", "O_s_per_byte", 0.5),
        ("openmpi.mg.16.150mbit", "look_s", 0.5),
        ("openmpi.mg.16.150mbit", "waiting_share", 3),
    ],
)
def test_a_wrong_number_of_the_machine_is_noticed(schedules, name, key, factor):
    assert not holds(name, agreement_of(name, schedules[name], scale=(key, factor)))
