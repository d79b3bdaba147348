# SPDX-License-Identifier: BSD-3-Clause
"""What a placement gained in a lab beside what was predicted: gain.py TRACE MACHINE PLACEMENT DIRECTORY.

TRACE is the recording that the placement was made from, DIRECTORY holds recordings of runs as before (`before-*.rw`)
and with the placement (`placed-*.rw`), made in turn.
"""

import sys
from pathlib import Path

import numpy as np

from rankwise.lab.validation.measured_run import time_of
from rankwise.machine.file import load as load_machine
from rankwise.measure.statistics import CONFIDENCE, Median, median
from rankwise.placement.file import load as load_placement
from rankwise.replay.layout import topology_of
from rankwise.replay.predict import Predictor
from rankwise.replay.source import load as load_source
from rankwise.replay.uncertainty import interval_of, resampled

DRAWS = 40


def main(trace: str, machine_file: str, placement_file: str, directory: str) -> None:
    """Print the table."""
    before, placed = (
        np.array([time_of(path) for path in sorted(Path(directory).glob(f"{name}-*.rw"))])
        for name in ("before", "placed")
    )
    source, machine = load_source(trace), load_machine(machine_file)
    topology = topology_of(machine, Path(machine_file).parent)
    placements = source.recorded, load_placement(placement_file)
    predicted = Predictor(source.schedule, machine, topology, draws=DRAWS)
    both = [predicted.predict_with_interval(placement) for placement in placements]
    # Of fewer than six runs no interval of 95 % exists.
    spread = "their range" if len(before) < 6 else f"{CONFIDENCE:.0%}"
    measured, guessed = f"median of {len(before)} runs ({spread})", f"predicted ({machine.confidence:.0%})"
    print(f"{'':14}{measured:>34}{guessed:>30}")
    for name, runs, prediction in zip(("as recorded", "as placed"), (before, placed), both, strict=True):
        guess = (prediction.makespan_s, prediction.interval.low_s, prediction.interval.high_s)
        print(f"{name:14}{_seconds(median(runs)):>34}{_seconds(Median(*guess, DRAWS)):>30}")
    # Runs made one after the other met the same disturbances, and draws are of one machine: gains are taken of pairs.
    measured_gain = median(1 - placed / before)
    value = 1 - both[1].makespan_s / both[0].makespan_s
    rng = np.random.default_rng(1)
    drawn = [Predictor(source.schedule, resampled(machine, rng), topology) for _ in range(DRAWS)]
    gains = np.array([1 - each.makespan_s(placements[1]) / each.makespan_s(placements[0]) for each in drawn])
    interval = interval_of(gains, value, machine.confidence)
    predicted_gain = Median(value, interval.low_s, interval.high_s, DRAWS)
    print(f"{'time gained':14}{_percent(measured_gain):>34}{_percent(predicted_gain):>30}")


def _seconds(value: Median) -> str:
    return f"{value.value:.2f} s ({value.low:.2f} to {value.high:.2f})"


def _percent(value: Median) -> str:
    return f"{value.value:.0%} ({value.low:.0%} to {value.high:.0%})"


if __name__ == "__main__":
    main(*sys.argv[1:])
