# SPDX-License-Identifier: BSD-3-Clause
"""Predictions against valid runs that were made once and are kept (`validated/`, by keep_runs.py).

16 ranks of MPICH 5.0.2 and Open MPI 5.0.11 in labs of four nodes at 20mbit, on a machine with two processors. Nothing
is measured here, so a busy machine changes nothing. MPICH's machine file was measured again after the runs.
"""

import functools
from dataclasses import dataclass

import keep_runs
import msgspec
import numpy as np
import pytest

from rankwise.lab.validation.statistics import Compared, agreement
from rankwise.machine.estimate import Estimate
from rankwise.measure.fitting.statistics import median


@dataclass(frozen=True)
class Limits:
    """What predictions may be off by, 2 points more than when the runs were kept, and pairs in the wrong order.

    One pair more than then, where any was.
    """

    median: float
    worst: float
    plain_median: float  # of plain replays, which are not anchored at the recorded run
    wrong: int = 0


LIMITS = {
    "mpich.ft.16.20mbit": Limits(0.023, 0.033, 0.031, wrong=2),
    "mpich.mg.16.20mbit": Limits(0.07, 0.079, 0.065),
    "openmpi.ft.16.20mbit": Limits(0.055, 0.061, 0.093, wrong=2),
}


@pytest.fixture(scope="module")
def predictions(tmp_path_factory):
    """Function (name of a case, what is wrong with the machine) -> the prediction of each placement."""
    source = functools.cache(lambda name: keep_runs.source_of(name, tmp_path_factory.mktemp("kept")))

    @functools.cache
    def predict(name, key=None, factor=1.0):
        machine = scaled(keep_runs.machine_of(name), key, factor) if key else None
        return keep_runs.predictions(name, source(name), machine)

    return predict


def scaled(machine, key, factor):
    """The machine with one number of its network or interfaces times something."""

    def changed(each):
        known = getattr(each, key, None)
        if known is None:
            return each
        estimate = Estimate(factor * known.value, "assumed", source="a test")
        return msgspec.structs.replace(each, **{key: estimate})

    links = [
        msgspec.structs.replace(changed(link), segments=[changed(each) for each in link.segments])
        if link.channel == "network"
        else link
        for link in machine.link_classes
    ]
    resources = [changed(each) for each in machine.resources]
    return msgspec.structs.replace(machine, link_classes=links, resources=resources)


def compared(name, predicted, plain=False):
    """Predicted times beside those of the runs."""
    found = []
    for key, kept in keep_runs.placements(name).items():
        each = predicted[key].plain if plain else predicted[key]
        interval = each.interval
        run = median(np.array(kept.times_s))
        found.append(Compared(run, each.makespan_s, interval.low_s, interval.high_s, key == "blocked"))
    return found


def holds(found, limits):
    """Whether predictions agree with runs as they did when these were kept, but for some points."""
    return (
        found.pairs - found.ordered <= limits.wrong
        and found.median_error <= limits.median
        and abs(found.worst_error) <= limits.worst
    )


@pytest.mark.parametrize("name", LIMITS)
def test_predictions_hold_against_runs_that_were_kept(predictions, name):
    found = agreement([compared(name, predictions(name))])
    assert found.times == 5
    assert holds(found, LIMITS[name]), found
    # AND intervals hold what was measured
    assert found.covered == found.to_cover > 0, found


@pytest.mark.parametrize("name", LIMITS)
def test_replays_that_are_not_anchored_hold_against_runs_that_were_kept(predictions, name):
    found = agreement([compared(name, predictions(name), plain=True)])
    assert found.median_error <= LIMITS[name].plain_median, found


@pytest.mark.parametrize(
    ("name", "key", "factor"),
    [
        *((name, "capacity_bytes_per_s", factor) for name in LIMITS for factor in (0.8, 1.5)),
        ("mpich.mg.16.20mbit", "L_s", 5),
        ("mpich.mg.16.20mbit", "G_s_per_byte", 2),
    ],
)
def test_a_wrong_number_of_the_machine_is_noticed(predictions, name, key, factor):
    found = agreement([compared(name, predictions(name, key, factor))])
    assert not holds(found, LIMITS[name])
