# SPDX-License-Identifier: BSD-3-Clause
"""Is what `rankwise measure` says true on a machine that others use? Injects load, compares with quiet measurements.

    python tests/hostile/disturbed_measurements.py DIRECTORY --quiet 8 --each 20 [--lab NAME] -- mpiexec -n 2

Measures that often without and with each kind of load; what is in the directory already counts, so it may be called
again and again. A number is off if no value of the quiet measurements lies in its interval. Times of messages are
compared at some sizes, as measurements divide sizes into segments differently: from the ends of L, o and G.
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
from pathlib import Path

import numpy as np

from rankwise.machine.distrusted import distrusted
from rankwise.machine.file import Machine, load

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


def _read(directory: Path, kind: str) -> list[Machine]:
    return [load(path) for path in sorted(directory.glob(f"{kind}-*.machine.toml"))]


def compare(directory: Path) -> None:
    """Print, for each kind of load, how many numbers are off, and which most often."""
    quiet = [numbers(machine) for machine in _read(directory, "quiet")]
    names = [name for name in quiet[0] if all(name in each for each in quiet)]
    truth = {name: [each[name][0] for each in quiet] for name in names}
    for kind in _loads():
        machines = _read(directory, kind)
        off: dict[str, int] = {}
        beyond, total, widths, wrong = 0, 0, [], []
        for at, machine in enumerate(machines):
            found = numbers(machine)
            for name in names:
                if name not in found:
                    continue
                value, low, high = found[name]
                others = [v for k, v in enumerate(truth[name]) if kind != "quiet" or k != at]
                middle = statistics.median(others)
                total += 1
                beyond += not low <= middle <= high
                if high < min(others) or low > max(others):
                    off[name] = off.get(name, 0) + 1
                if value > 0 and middle > 0:
                    widths.append((high - low) / value)
                    wrong.append(abs(value / middle - 1))
        disturbed = sum(bool(distrusted(machine)) for machine in machines)
        print(
            f"{kind}: {len(machines)} measured, {disturbed} disturbed; of {total} numbers {sum(off.values())} off "
            f"({sum(off.values()) / max(1, total):.1%}), {beyond / max(1, total):.1%} without the quiet middle; "
            f"median width {statistics.median(widths or [0]):.1%}, values off by {statistics.median(wrong or [0]):.1%} "
            f"(worst {max(wrong or [0]):.0%})"
        )
        for name, count in sorted(off.items(), key=lambda each: -each[1])[:8]:
            print(f"    {name}: {count} of {len(machines)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path)
    parser.add_argument("--quiet", type=int, default=8)
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--budget", default="8s")
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
        for kind, injected in _loads().items():
            path = options.directory / f"{kind}-{at:02}.machine.toml"
            there = list(options.directory.glob(f"{kind}-{at:02}.*machine.toml"))
            if there or at >= (options.each if injected else options.quiet) or time.monotonic() > end:
                continue
            with _running(injected):
                _measure(path, options)
    compare(options.directory)


if __name__ == "__main__":
    main()
