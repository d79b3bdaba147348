# SPDX-License-Identifier: BSD-3-Clause
"""Is `predict --set nic.capacity=RATE` right? Three programs in labs of five rates beside predictions from one of them.

    python bench/what_if_rate.py DIRECTORY [--until SECONDS] [--mpi mpich]

Measures and records in a lab of 100 mbit, blocked, then runs the programs three times, blocked and cyclic, in labs of
100, 20, 50, 200, 500 mbit and 1 gbit. What is in the directory already counts, so that it may be called again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from rankwise.lab.own_lab import own_lab, own_name
from rankwise.lab.rate import parse_rate
from rankwise.lab.run import place, prepare
from rankwise.lab.up import plan_lab
from rankwise.lab.validation.cases import make_case
from rankwise.lab.validation.measured_run import run_case
from rankwise.lab.validation.session import find_launcher
from rankwise.machine.file import load

NODES, CORES, RUNS, LIMIT_S = 4, 4, 3, 60.0
MEASURED, OTHERS = "100Mbit", ("20Mbit", "50Mbit", "200Mbit", "500Mbit", "1Gbit")
ALLOCATIONS = ("blocked", "cyclic")
# Steps, and the last arguments where they are others: edges of 32 KiB, all-to-all of 16 KiB a pair, computation.
STEPS = {"halo": (40, ("64", "64")), "ft": (8, ()), "mg": (6, ())}


def main() -> None:
    """Run what is missing and time allows, then print what is known."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path)
    parser.add_argument(
        "--until", type=float, default=float("inf"), help="begin nothing after so many seconds"
    )
    parser.add_argument("--mpi", choices=("mpich", "openmpi"), default="mpich")
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + options.until
    for rate in (MEASURED, *OTHERS):
        _run_all(options, rate, end)
    _compare(options.directory)


def _run_all(options: argparse.Namespace, rate: str, end: float) -> None:
    directory = options.directory
    missing = [
        (name, allocation, at)
        for at, name, allocation in itertools.product(range(RUNS), STEPS, ALLOCATIONS)
        if not (directory / f"{name}.{rate}.{allocation}.{at}.json").exists()
    ]
    if not missing or time.monotonic() > end:
        return
    launcher = find_launcher(options.mpi, [])
    with own_lab(plan_lab(own_name("whatif"), NODES, CORES, parse_rate(rate))) as lab:
        if rate == MEASURED and not _machine(directory):
            output = directory / "measured.machine.toml"
            words = ["measure", "--budget", "40s", "--lab", lab.name, "-o", output, "--", launcher.path]
            subprocess.run([sys.executable, "-m", "rankwise", *words], check=False)
        for name, allocation, at in missing:
            if time.monotonic() > end:
                return
            steps, last = STEPS[name]
            case = make_case(name, launcher, directory, [NODES * CORES]).of_steps(steps)
            words = [*case.words[: len(case.words) - len(last)], *last]
            prepared = prepare(lab, words, place(lab, None, allocation), launcher.family)
            traced = rate == MEASURED and allocation == ALLOCATIONS[0]
            recording = directory / (f"{name}.{at}.rw" if traced else "last.rw")
            made = run_case(prepared, dict(case.environment), recording, traced, LIMIT_S)
            found = {"time_s": made.time_s, "invalid": made.invalid}
            (directory / f"{name}.{rate}.{allocation}.{at}.json").write_text(json.dumps(found))


def _machine(directory: Path) -> Path | None:
    """What was measured; of another name if others disturbed it."""
    return next(directory.glob("measured*.machine.toml"), None)


def _predicted(directory: Path, name: str, rate: str) -> dict[str, tuple[float, float, float]]:
    """Of each allocation: time and interval."""
    words = [
        f"{directory}/{name}.0.rw",
        "--machine",
        str(_machine(directory)),
        "--no-losses",
        "--json",
    ]
    words += [word for allocation in ALLOCATIONS for word in ("--allocation", allocation)]
    if rate != MEASURED:
        # What messages get of an interface, as measured, and not its nominal rate, which has headers too.
        nic = next(each for each in load(_machine(directory)).resources if each.kind == "nic_tx")
        capacity = nic.capacity_bytes_per_s.value * parse_rate(rate) / parse_rate(MEASURED)
        words += ["--set", f"nic.capacity={capacity / 1e6:.4f}MB/s"]
    ran = subprocess.run(
        [sys.executable, "-m", "rankwise", "predict", *words], check=True, capture_output=True, text=True
    )
    said = json.loads(ran.stdout)["placements"]
    return {
        allocation: (each["makespan_s"], each["interval"]["low_s"], each["interval"]["high_s"])
        for allocation, each in zip(ALLOCATIONS, said, strict=True)
    }


def _compare(directory: Path) -> None:
    """Print each time beside its prediction; * marks medians of runs of which fewer than two are valid."""
    inside = beside = right = pairs = 0
    for name in STEPS:
        known = {}
        for rate in (*OTHERS[:2], MEASURED, *OTHERS[2:]):
            times = {
                allocation: [
                    json.loads(path.read_text())
                    for path in directory.glob(f"{name}.{rate}.{allocation}.?.json")
                ]
                for allocation in ALLOCATIONS
            }
            if not all(times.values()) or not (directory / f"{name}.0.rw").exists():
                continue
            for allocation, (value, low, high) in _predicted(directory, name, rate).items():
                valid = [each["time_s"] for each in times[allocation] if not each["invalid"]]
                runs = valid if len(valid) > 1 else [each["time_s"] for each in times[allocation]]
                median = statistics.median(runs)
                known[rate, allocation] = (value, min(runs), max(runs), len(valid) > 1)
                if rate != MEASURED:
                    beside += 1
                    inside += low <= median <= high
                print(
                    f"{name:5} {rate:>8} {allocation:8} predicted {value:7.3f} ({low:.3f} to {high:.3f}), run "
                    f"{median:7.3f} ({min(runs):.3f} to {max(runs):.3f}){' ' if len(valid) > 1 else '*'} "
                    f"{value / median - 1:+6.1%} {'' if low <= median <= high else 'outside'}"
                )
        for one, other in itertools.combinations(known, 2):
            (a, a_low, a_high, _), (b, b_low, b_high, _) = known[one], known[other]
            if (one[0] == other[0] or one[1] == other[1]) and (a_high < b_low or b_high < a_low):
                pairs += 1
                in_order = (a < b) == (a_high < b_low)
                right += in_order
                if not in_order:
                    print(f"{name}: wrong order of {' '.join(one)} and {' '.join(other)}")
    print(f"{right} of {pairs} pairs in order, {inside} of {beside} times at other rates in the interval")


if __name__ == "__main__":
    main()
