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
class Errors:
    """What predictions were off by when the runs were kept, and pairs in the wrong order."""

    median: float
    worst: float
    plain_median: float  # of plain replays, which are not anchored at the recorded run
    wrong: int = 0


THEN = {
    "mpich.ft.16.20mbit": Errors(0.003, 0.013, 0.011, wrong=1),
    "mpich.mg.16.20mbit": Errors(0.048, 0.056, 0.045),
    "openmpi.ft.16.20mbit": Errors(0.035, 0.041, 0.073, wrong=1),
}
# What a model that is changed may be worse by; of pairs one, where any was wrong then.
MARGIN, PAIRS = 0.02, 1


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


@pytest.mark.parametrize("name", THEN)
def test_predictions_hold_against_runs_that_were_kept(predictions, name):
    found, then = agreement([compared(name, predictions(name))]), THEN[name]
    assert found.times == 5
    assert found.median_error <= then.median + MARGIN, found
    assert abs(found.worst_error) <= then.worst + MARGIN, found
    assert found.pairs - found.ordered <= (then.wrong and then.wrong + PAIRS), found
    # AND intervals hold what was measured
    assert found.covered == found.to_cover == 4, found


@pytest.mark.parametrize("name", THEN)
def test_replays_that_are_not_anchored_hold_against_runs_that_were_kept(predictions, name):
    found = agreement([compared(name, predictions(name), plain=True)])
    assert found.median_error <= THEN[name].plain_median + MARGIN, found


@pytest.mark.one_of(4)
@pytest.mark.parametrize(
    ("name", "key", "factor"),
    [
        *((name, "capacity_bytes_per_s", factor) for name in THEN for factor in (0.8, 1.5)),
        ("mpich.mg.16.20mbit", "L_s", 5),
        ("mpich.mg.16.20mbit", "G_s_per_byte", 2),
    ],
)
def test_times_of_a_machine_with_a_wrong_number_are_wrong(predictions, name, key, factor):
    found, then = agreement([compared(name, predictions(name, key, factor))]), THEN[name]
    assert found.median_error > then.median + MARGIN, found
    assert abs(found.worst_error) > then.worst + MARGIN, found


@pytest.mark.one_of(2)
@pytest.mark.parametrize("name", THEN)
@pytest.mark.parametrize("factor", [0.8, 1.5])
def test_so_are_those_of_replays_that_are_not_anchored(predictions, name, factor):
    found = agreement([compared(name, predictions(name, "capacity_bytes_per_s", factor), plain=True)])
    assert found.median_error > THEN[name].plain_median + MARGIN, found
