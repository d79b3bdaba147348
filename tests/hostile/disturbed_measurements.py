# SPDX-License-Identifier: BSD-3-Clause
"""Is what `rankwise measure` says true on a machine that others use? Injects load, compares with quiet measurements.

    python tests/hostile/disturbed_measurements.py DIRECTORY --quiet 8 --each 20 [--lab NAME] -- mpiexec -n 2

Measures that often without and with each kind of load; what is in the directory already counts, so it may be called
again and again. The truth is the median of the quiet measurements (of the others, for a quiet one), whatever the load;
a number is off if its interval does not hold that. Virtual cores that move between physical ones make all other: a
number is compared with those whose cache lines took as long meanwhile. Times of messages are compared at some sizes, as
measurements divide sizes into segments differently: from the ends of L, o and G.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from rankwise.machine.distrusted import distrusted
from rankwise.machine.file import load
from rankwise.machine.machine import Machine
from rankwise.measure.fitting.disturbed import keep_undisturbed
from rankwise.measure.fitting.statistics import find_modes
from rankwise.measure.outcome import DISTURBED, SUFFIX

SIZES = (1, 64, 1024, 16384, 262144, 1048576)
PERIOD_S, BURST_S = 1.0, 0.15


def _busy(core: int) -> None:
    os.sched_setaffinity(0, {core})
    while True:
        pass


def _bursts(core: int) -> None:
    os.sched_setaffinity(0, {core})
    while True:
        end = time.monotonic() + BURST_S
        while time.monotonic() < end:
            pass
        time.sleep(PERIOD_S - time.monotonic() % PERIOD_S)


def _streaming(core: int) -> None:
    source, target = np.ones(1 << 25), np.zeros(1 << 25)
    while True:
        np.copyto(target, source)


def _loads() -> dict[str, list[tuple[Callable[[int], None], int]]]:
    cores = sorted(os.sched_getaffinity(0))
    return {
        "quiet": [],
        "busy": [(_busy, core) for core in cores],
        "bursts": [(_bursts, core) for core in cores],
        "streaming": [(_streaming, cores[0])],
    }


@contextlib.contextmanager
def _running(load: list[tuple[Callable[[int], None], int]]) -> Iterator[None]:
    processes = [multiprocessing.Process(target=what, args=(core,), daemon=True) for what, core in load]
    for process in processes:
        process.start()
    time.sleep(0.5 if processes else 0)
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _measure(path: Path, options: argparse.Namespace) -> None:
    words = ["--lab", options.lab] if options.lab else []
    command = [
        sys.executable,
        "-m",
        "rankwise",
        "measure",
        "--quick",
        "--budget",
        options.budget,
        "-o",
        path,
        *words,
    ]
    began = time.monotonic()
    ran = subprocess.run([*command, "--", *options.launcher], capture_output=True, text=True, check=False)
    print(f"{path.name}: status {ran.returncode} after {time.monotonic() - began:.0f} s", flush=True)
    if ran.returncode not in (0, 1):
        print(ran.stderr, flush=True)


def numbers(machine: Machine) -> dict[str, tuple[float, float, float]]:
    """By name: value, low, high."""
    found = {}
    for link in machine.link_classes:
        for size in SIZES:
            segment = next(s for s in link.segments if s.up_to_bytes is None or size <= s.up_to_bytes)
            overheads = segment.o_s, segment.o_receive_s or segment.o_s
            parts = [*((each, 1) for each in (segment.L_s, *overheads)), (segment.G_s_per_byte, size - 1)]
            value = sum(each.value * times for each, times in parts)
            low, high = (
                sum(
                    (each.value if getattr(each, end) is None else getattr(each, end)) * times
                    for each, times in parts
                )
                for end in ("low", "high")
            )
            found[f"{link.channel} {size} B"] = (value, low, high)
        first = link.segments[0]
        for key in ("o_s", "o_receive_s", "g_s", "O_s_per_byte"):
            found[f"{link.channel} {key}"] = getattr(first, key)
        found[f"{link.channel} eager_limit_bytes"] = link.eager_limit_bytes
    for resource in machine.resources:
        for key in ("capacity_bytes_per_s", "per_message_s"):
            found[f"{resource.name} {key}"] = getattr(resource, key)
    return {
        name: each if isinstance(each, tuple) else (each.value, each.low, each.high)
        for name, each in found.items()
        if isinstance(each, tuple) or (each is not None and each.low is not None)
    }


# Tests whose samples tell the regime of a number, by the number's last word; of times, those of ping-pongs.
TESTS = {
    "o_s": "send_overhead",
    "O_s_per_byte": "send_overhead",
    "o_receive_s": "receive_overhead",
    "g_s": "stream",
}
MIXED = 0.1  # of samples in the less frequent regime


@dataclass(frozen=True)
class Measurement:
    """What one measurement says.

    Attributes:
        numbers: By name: value, low, high.
        regimes: By name, of the virtual cores while it was timed: `faster`, `slower`, or `None` if it was both.
        marked: Names of those that are marked as disturbed.
    """

    numbers: dict[str, tuple[float, float, float]]
    regimes: dict[str, str | None]
    marked: set[str]


def _read(directory: Path, kind: str) -> list[tuple[Machine, pl.DataFrame]]:
    found = []
    for path in sorted(directory.glob(f"{kind}-*{SUFFIX}")):
        name = path.name.removesuffix(SUFFIX).removesuffix(DISTURBED)
        found.append((load(path), pl.read_parquet(path.with_name(name + ".samples.parquet"))))
    return found


def _measurement(machine: Machine, samples: pl.DataFrame, border: float) -> Measurement:
    marks = distrusted(machine)
    regimes, marked = {}, set()
    found = numbers(machine)
    slower = pl.col("sentinel_s").drop_nulls() > border
    shares = {
        (channel, test): share
        for (channel,), of_channel in samples.group_by("channel")
        for test, share in keep_undisturbed(of_channel).group_by("test").agg(slower.mean()).iter_rows()
    }
    for name in found:
        channel, _, key = name.partition(" ")
        share = shares.get((channel, TESTS.get(key, "pingpong"))) or 0.0
        regimes[name] = "slower" if share >= 1 - MIXED else "faster" if share <= MIXED else None
        if any(
            f"{channel}.{each}" in marks for each in ((key,) if key in TESTS else ("L_s", "G_s_per_byte"))
        ):
            marked.add(name)
    return Measurement(found, regimes, marked)


def compare(directory: Path) -> None:
    """Print, for each kind of load, how many numbers are off, and which most often."""
    read = {kind: _read(directory, kind) for kind in _loads()}
    if len(read["quiet"]) < 2:
        sys.exit(
            "nothing to compare with: the truth is the median of quiet measurements, `--quiet 2` or more"
        )
    lines = [samples["sentinel_s"].drop_nulls().to_numpy() for of in read.values() for _, samples in of]
    border = find_modes(np.concatenate(lines)).border
    known = {kind: [_measurement(*each, border) for each in of] for kind, of in read.items()}
    for kind, measurements in known.items():
        off: dict[str, int] = {}
        unmarked, total, widths, wrong = 0, 0, [], []
        for measured in measurements:
            for name, (value, low, high) in measured.numbers.items():
                regime = measured.regimes[name]
                truth = [
                    other.numbers[name][0]
                    for other in known["quiet"]
                    if other is not measured and other.regimes.get(name, "") == regime
                ]
                if len(truth) < 2 or regime is None:
                    continue
                middle = statistics.median(truth)
                total += 1
                if not low <= middle <= high:
                    off[name] = off.get(name, 0) + 1
                    unmarked += name not in measured.marked
                if value > 0 and middle > 0:
                    widths.append((high - low) / value)
                    wrong.append(abs(value / middle - 1))
        print(
            f"{kind}: {len(measurements)} measured, {sum(bool(each.marked) for each in measurements)} disturbed; "
            f"of {total} numbers {sum(off.values())} off ({sum(off.values()) / max(1, total):.1%}), "
            f"{unmarked} of them not marked; median width {statistics.median(widths or [0]):.1%}, "
            f"values off by {statistics.median(wrong or [0]):.1%} (worst {max(wrong or [0]):.0%})"
        )
        for name, count in sorted(off.items(), key=lambda each: -each[1])[:8]:
            print(f"    {name}: {count} of {len(measurements)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path)
    parser.add_argument("--quiet", type=int, default=8)
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--budget", default="8s")
    parser.add_argument("--kinds", default=",".join(_loads()), help="which of them are measured now")
    parser.add_argument("--lab")
    parser.add_argument(
        "--until", type=float, default=float("inf"), metavar="SECONDS", help="begin none after that"
    )
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = parser.parse_args(sys.argv[1:at])
    options.launcher = sys.argv[at + 1 :]
    options.directory.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + options.until
    for at in range(max(options.each, options.quiet) if options.launcher else 0):
        for kind in options.kinds.split(","):
            injected = _loads()[kind]
            path = options.directory / f"{kind}-{at:02}.machine.toml"
            there = list(options.directory.glob(f"{kind}-{at:02}.*machine.toml"))
            if there or at >= (options.each if injected else options.quiet) or time.monotonic() > end:
                continue
            with _running(injected):
                _measure(path, options)
    compare(options.directory)


if __name__ == "__main__":
    main()
