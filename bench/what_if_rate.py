# SPDX-License-Identifier: BSD-3-Clause
"""Is `predict --set nic.capacity=RATE` right? Programs in labs of several rates beside predictions from one of them.

    python bench/what_if_rate.py DIRECTORY [--rates 20mbit,50mbit,...] [--until SECONDS] [--mpi mpich]

Measures and records in a lab of 100 mbit, blocked, then runs the programs three times, blocked and cyclic, in labs of
100 mbit and of each other rate. What is in the directory already counts, so that it may be called again: then the runs
are made too during which others used more than 5 % of the machine.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

from accuracy.cases import make_case
from accuracy.validation import find_launcher

from rankwise.lab.own_lab import own_lab, own_name
from rankwise.lab.rate import parse_rate
from rankwise.lab.run import place, prepare
from rankwise.lab.up import plan_lab
from rankwise.lab.validation.measured_run import run_case
from rankwise.machine.file import load

NODES, CORES, RUNS, LIMIT_S, MOST_OTHERS = 4, 4, 3, 60.0, 0.05
MEASURED, OTHERS = "100mbit", "20mbit,50mbit,30mbit,10mbit,200mbit,500mbit,1gbit"
ALLOCATIONS = ("blocked", "cyclic")
# Steps, for about a second at the measured rate, and the last arguments where they are others: edges of 32 KiB,
# all-to-all of 16 KiB a pair, computation.
STEPS = {"halo": (40, ("64", "64")), "ft": (10, ()), "mg": (6, ())}


def main() -> None:
    """Run what is missing and time allows, then print what is known."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path)
    parser.add_argument(
        "--until", type=float, default=float("inf"), help="begin nothing after so many seconds"
    )
    parser.add_argument(
        "--rates", type=lambda text: text.split(","), default=OTHERS, help=f"default {OTHERS}"
    )
    parser.add_argument("--mpi", choices=("mpich", "openmpi"), default="mpich")
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + options.until
    for rate in (MEASURED, *options.rates):
        _run_all(options, rate, end)
    _compare(options.directory, options.rates)


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
            words = ["measure", "--budget", "90s", "--lab", lab.name, "-o", output, "--", launcher.path]
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
            if made.others > MOST_OTHERS:
                continue
            found = {"time_s": made.time_s, "invalid": made.invalid}
            (directory / f"{name}.{rate}.{allocation}.{at}.json").write_text(json.dumps(found))


def _machine(directory: Path) -> Path | None:
    """What was measured; of another name if others disturbed it."""
    return next(directory.glob("measured*.machine.toml"), None)


def _runs(directory: Path, name: str, rate: str, allocation: str) -> list[dict]:
    return [
        json.loads(path.read_text()) | {"recording": path.with_name(f"{name}.{path.name.split('.')[-2]}.rw")}
        for path in sorted(directory.glob(f"{name}.{rate}.{allocation}.?.json"))
    ]


def _predicted(directory: Path, name: str, rate: str) -> dict[str, tuple[float, float, float]]:
    """Of each allocation: time and interval, from the first recorded run that is valid, or else the first."""
    recorded = _runs(directory, name, MEASURED, ALLOCATIONS[0])
    recording = min(recorded, key=lambda run: bool(run["invalid"]))["recording"]
    words = [recording, "--machine", _machine(directory), "--no-losses", "--json"]
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


def _compare(directory: Path, rates: list[str]) -> None:
    """Print each time beside its prediction, then sums; * marks medians with fewer than two valid runs, in no sum."""
    errors, inside, pairs = defaultdict(list), Counter(), defaultdict(list)
    for name in STEPS:
        known = {}
        for rate in sorted({MEASURED, *rates}, key=parse_rate):
            if not all(_runs(directory, name, each, a) for each in (rate, MEASURED) for a in ALLOCATIONS):
                continue
            for allocation, (value, low, high) in _predicted(directory, name, rate).items():
                runs = _runs(directory, name, rate, allocation)
                valid = [each for each in runs if not each["invalid"]]
                counts = len(valid) > 1
                times = [each["time_s"] for each in (valid if counts else runs)]
                median = statistics.median(times)
                is_inside = low <= median <= high
                if counts:
                    known[rate, allocation] = value, min(times), max(times)
                    errors[rate, name].append(value / median - 1)
                    inside[rate, name] += is_inside
                print(
                    f"{name:5} {rate:>8} {allocation:8} predicted {value:7.3f} ({low:.3f} to {high:.3f}), run "
                    f"{median:7.3f} ({min(times):.3f} to {max(times):.3f}){' ' if counts else '*'} "
                    f"{value / median - 1:+6.1%} {'' if is_inside else 'outside'}"
                )
        for one, other in itertools.combinations(known, 2):
            (a, a_low, a_high), (b, b_low, b_high) = known[one], known[other]
            if (one[0] == other[0] or one[1] == other[1]) and (a_high < b_low or b_high < a_low):
                of = one[0] if one[0] == other[0] else "of rates"
                pairs[of].append((a < b) == (a_high < b_low))
                if not pairs[of][-1]:
                    print(f"{name}: wrong order of {' '.join(one)} and {' '.join(other)}")
    for rate, name in errors:
        found = errors[rate, name]
        print(
            f"{rate:>8} {name:5} {inside[rate, name]} of {len(found)} inside,",
            *(f"{each:+.1%}" for each in found),
        )
    for of, found in pairs.items():
        print(f"pairs {of}: {sum(found)} of {len(found)} in order")


if __name__ == "__main__":
    main()
