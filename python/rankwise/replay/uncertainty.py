# SPDX-License-Identifier: BSD-3-Clause
"""How sure a prediction is: replays with the machine's numbers drawn from their confidence intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TypeVar

import msgspec
import numpy as np

from rankwise.machine.channels import NETWORK
from rankwise.machine.estimate import Estimate
from rankwise.machine.interfaces import Interfaces
from rankwise.machine.machine import Machine, Resource, Segment
from rankwise.machine.network import Dragonfly, FatTree, Torus
from rankwise.replay.recorded_run import RecordedRun

_Numbers = TypeVar("_Numbers", Segment, Resource, FatTree | Torus | Dragonfly, Interfaces)
SEGMENT_KEYS = ("L_s", "o_s", "o_receive_s", "g_s", "G_s_per_byte", "O_s_per_byte")
RESOURCE_KEYS = (
    "capacity_bytes_per_s",
    "per_message_s",
    "per_core_bytes_per_s",
    "passes",
    "far_factor",
)
# A recording is one run, another run of the same takes another time, and the model is off by another part at another
# placement. In labs of 16 ranks the error of the recorded run alone held 68 of 112 measured times (MPICH, 14 cases),
# with this 99.
RUN_TO_RUN = 1.10


@dataclass(frozen=True)
class Interval:
    """An interval of predicted times: from the machine's numbers, and by how much the model is known to be off.

    Attributes:
        low_s: Lower end.
        high_s: Upper end.
        numbers_low_s: Lower end of what comes of the numbers alone.
        numbers_high_s: Its upper end.
        confidence: Level of the machine file's intervals, which is that of the drawn times between these two.
        replays: How many were drawn; 0: no number has an interval.
        model_error: Replayed over recorded less 1 of the recorded run, by which the interval is wider on both sides;
            `None` if that is not known.
    """

    low_s: float
    high_s: float
    numbers_low_s: float
    numbers_high_s: float
    confidence: float
    replays: int
    model_error: float | None = None


def has_intervals(machine: Machine) -> bool:
    """Whether any number of the machine has an interval to draw from."""
    estimates = [
        getattr(segment, key)
        for link in machine.link_classes
        for segment in link.segments
        for key in SEGMENT_KEYS
    ]
    estimates += [link.connect_s for link in machine.link_classes]
    estimates += [getattr(resource, key) for resource in machine.resources for key in RESOURCE_KEYS]
    estimates.append(machine.network.hop_s if machine.network else None)
    estimates.append(machine.interfaces.far_s if machine.interfaces else None)
    curves = [resource.slowdown for resource in machine.resources]
    return any(each is not None and each.low is not None for each in [*estimates, *curves])


def resample(machine: Machine, rng: np.random.Generator) -> Machine:
    """The machine with all measured numbers drawn anew.

    Each is drawn from two halves of normal distributions that meet at its value, each as wide as its side of the
    interval says, and cut off at 0. All segments of a link class are drawn alike for a parameter: what
    made one of them too large made all so. Numbers that were not measured have no interval and stay.
    """
    quantile = NormalDist().inv_cdf((1 + machine.confidence) / 2)
    links, met = [], {}
    for link in machine.link_classes:
        draws = dict(zip(SEGMENT_KEYS, rng.standard_normal(len(SEGMENT_KEYS)), strict=True))
        segments = [_draw(segment, draws, quantile) for segment in link.segments]
        connect_s = link.connect_s
        if connect_s is not None:  # without it, other numbers are drawn as if there were none
            # One measurement says it of all channels inside a node.
            between = link.channel == NETWORK
            if between not in met:
                met[between] = float(rng.standard_normal()) / quantile
            connect_s = _move(connect_s, met[between])
        links.append(msgspec.structs.replace(link, segments=segments, connect_s=connect_s))
    # Both directions of an interface come from one measurement.
    draws = dict(zip(RESOURCE_KEYS, rng.standard_normal(len(RESOURCE_KEYS)), strict=True))
    curve = float(rng.standard_normal())
    resources = [_with_curve(_draw(each, draws, quantile), curve / quantile) for each in machine.resources]
    network = machine.network
    if network is not None:
        network = _draw(network, {"hop_s": float(rng.standard_normal())}, quantile)
    several = machine.interfaces
    if several is not None and several.far_s is not None:
        several = _draw(several, {"far_s": float(rng.standard_normal())}, quantile)
    return msgspec.structs.replace(
        machine, link_classes=links, resources=resources, network=network, interfaces=several
    )


def interval_of(
    times_s: np.ndarray, predicted_s: float, confidence: float, run: RecordedRun | None = None
) -> Interval:
    """Central quantiles of the drawn times, widened to hold the prediction itself and the error of the recorded run.

    By `RUN_TO_RUN` more, as that error is known from one run only.

    The prediction is not moved: program, library and model are the same at other placements, but by how much and in
    which direction they make the prediction wrong there is not known.
    """
    ends = (
        np.quantile(times_s, [(1 - confidence) / 2, (1 + confidence) / 2]) if len(times_s) else [predicted_s]
    )
    low, high = min(float(ends[0]), predicted_s), max(float(ends[-1]), predicted_s)
    factor = run.factor * RUN_TO_RUN if run else 1.0
    error = run.error if run else None
    return Interval(low / factor, high * factor, low, high, confidence, len(times_s), error)


def anchored_interval(
    times_s: np.ndarray, predicted_s: float, confidence: float, run: RecordedRun, as_recorded: bool
) -> Interval:
    """What is left open of a time that is anchored at a recorded run: by the machine's numbers, and by the anchor.

    They are independent, so the half widths of their logarithms add up by their squares (GUM, JCGM 100:2008, 5.1.2).

    Args:
        times_s: Drawn, of this placement, each anchored at its own replay of the run.
        predicted_s: Anchored.
        confidence: Of the drawn times that lie between the ends, and of the runs.
        run: Where it is anchored.
        as_recorded: Whether the ranks are where they were recorded.
    """
    numbers = interval_of(times_s, predicted_s, confidence)
    anchor = NormalDist().inv_cdf((1 + confidence) / 2) * run.spread(as_recorded)
    down, up = (
        math.hypot(math.log(predicted_s / numbers.low_s), anchor),
        math.hypot(math.log(numbers.high_s / predicted_s), anchor),
    )
    return replace(
        numbers,
        low_s=predicted_s * math.exp(-down),
        high_s=predicted_s * math.exp(up),
        model_error=run.error,
    )


def _draw(what: _Numbers, draws: dict[str, float], quantile: float) -> _Numbers:
    changed = {key: _move(getattr(what, key), draw / quantile) for key, draw in draws.items()}
    return msgspec.structs.replace(what, **changed)


def _with_curve(resource: Resource, draw: float) -> Resource:
    if resource.slowdown is None:
        return resource
    return msgspec.structs.replace(resource, slowdown=resource.slowdown.drawn(draw))


def _move(estimate: Estimate | None, by: float) -> Estimate | None:
    if estimate is None or estimate.low is None or estimate.high is None:
        return estimate
    side = estimate.high - estimate.value if by > 0 else estimate.value - estimate.low
    # A capacity of 0 would be no machine; a thousandth of its value is as good as none.
    value = max(estimate.value + by * side, 1e-3 * estimate.value)
    return Estimate(value, "assumed", source="drawn from its interval")
