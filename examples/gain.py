# SPDX-License-Identifier: BSD-3-Clause
"""What a placement gained in a lab beside what was predicted: gain.py TRACE MACHINE PLACEMENT DIRECTORY.

TRACE is the recording that the placement was made from, DIRECTORY holds recordings of runs as before (`before-*.rw`),
blocked (`blocked-*.rw`) and with the placement (`placed-*.rw`), made in turn.
"""

import sys
from pathlib import Path

import numpy as np

from rankwise.machine.file import load as load_machine
from rankwise.machine.machine import topology_of
from rankwise.measure.fitting.statistics import CONFIDENCE, Median, median
from rankwise.placement.file import load as load_placement
from rankwise.recording.recording import Recording
from rankwise.replay.predictor import Predictor
from rankwise.run.timed_run import time_of
from rankwise.schedule.source import load as load_source

DRAWS = 40


def main(trace: str, machine_file: str, placement_file: str, directory: str) -> None:
    """Print the table."""
    files = {name: sorted(Path(directory).glob(f"{name}-*.rw")) for name in ("before", "blocked", "placed")}
    runs = {name: np.array([time_of(path) for path in paths]) for name, paths in files.items()}
    source, machine = load_source(trace), load_machine(machine_file)
    predictor = Predictor.of(source, machine, topology_of(machine, Path(machine_file).parent), draws=DRAWS)
    placements = {
        "before": source.recorded,
        "blocked": Recording.open(files["blocked"][0]).placement,
        "placed": load_placement(placement_file),
    }
    predicted = {name: predictor.predict_with_interval(each) for name, each in placements.items()}
    drawn = {name: predictor.drawn_s(each) for name, each in placements.items()}
    # Of fewer than six runs no interval of 95 % exists.
    count = len(runs["before"])
    spread = "their range" if count < 6 else f"{CONFIDENCE:.0%}"
    measured = f"median of {count} runs ({spread})" if count > 1 else "one run"
    print(f"{'':16}{measured:>32}{'predicted (interval)':>30}")
    for name, label in (("before", "as recorded"), ("blocked", "blocked"), ("placed", "as placed")):
        interval = predicted[name].interval
        guess = Median(predicted[name].makespan_s, interval.low_s, interval.high_s, DRAWS)
        print(f"{label:16}{_seconds(median(runs[name])):>32}{_seconds(guess):>30}")
    # Runs made one after the other met the same disturbances, and draws are of one machine: gains are taken of pairs.
    for name, label in (("before", "gained"), ("blocked", "gained, blocked")):
        ratio = predicted["placed"].makespan_s / predicted[name].makespan_s
        found = predictor.interval_of(drawn["placed"] / drawn[name], ratio)
        guess = Median(1 - ratio, 1 - found.high_s, 1 - found.low_s, DRAWS)
        print(f"{label:16}{_percent(median(1 - runs['placed'] / runs[name])):>32}{_percent(guess):>30}")


def _seconds(value: Median) -> str:
    return f"{value.value:.2f} s" + (f" ({value.low:.2f} to {value.high:.2f})" if value.count > 1 else "")


def _percent(value: Median) -> str:
    return f"{value.value:.0%}" + (f" ({value.low:.0%} to {value.high:.0%})" if value.count > 1 else "")


if __name__ == "__main__":
    main(*sys.argv[1:])
