# SPDX-License-Identifier: BSD-3-Clause
"""Processor time of `rankwise report`, text and page, beside that of Python alone and of importing polars.

Usage: bench/report.py [--rounds 11] [REC.rw ...]

Without recordings, two are made of MG, which does not run: class S on 2 ranks, class A on 256. `made` is a report whose
data is not kept yet, of a recording whose tables are there; `kept` is every one after that, also the first after
`rankwise record`. In each round every command comes once, so that what else the machine does meets all of them. Times
are user + system of the whole process.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

MADE = {"small": ("S", 2), "large": ("A", 256)}


def rankwise(*words: object) -> list[str]:
    """A command line of Rankwise."""
    return [sys.executable, "-m", "rankwise", *map(str, words)]


def used_s(command: list[str], cache: Path) -> float:
    """What a command takes of a processor."""
    begun = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"XDG_CACHE_HOME": str(cache)},
    )
    _, status, used = os.wait4(begun.pid, 0)
    begun.returncode = os.waitstatus_to_exitcode(status)
    if begun.returncode:
        raise SystemExit(f"`{' '.join(command)}` failed with status {begun.returncode}")
    return used.ru_utime + used.ru_stime


def recordings(named: list[str], directory: Path) -> dict[str, Path]:
    """Those named, or those made here, by what to call them."""
    if named:
        return {Path(each).stem: Path(each) for each in named}
    for name, (problem_class, ranks) in MADE.items():
        words = ("workloads", "mg", "--class", problem_class, "--ranks", ranks, "--trace")
        subprocess.run(
            rankwise(*words, "--output", directory / f"{name}.rw", "--quiet"),
            check=True,
            stdout=subprocess.DEVNULL,
        )
    return {name: directory / f"{name}.rw" for name in MADE}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("recordings", metavar="REC.rw", nargs="*")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        commands = {
            "python -c pass": ([sys.executable, "-c", "pass"], False),
            "import polars": ([sys.executable, "-c", "import polars"], False),
        }
        for name, path in recordings(args.recordings, directory).items():
            command = rankwise("report", path, "--force", "--output", directory / f"{name}.html")
            commands |= {f"report {name}, made": (command, True), f"report {name}, kept": (command, False)}
        times: dict[str, list[float]] = {name: [] for name in commands}
        for round_ in range(args.rounds + 1):
            for name, (command, anew) in commands.items():
                if anew:
                    shutil.rmtree(directory / "rankwise" / "reports", ignore_errors=True)
                taken_s = used_s(command, directory)
                if round_:  # the first makes tables, and compiles templates
                    times[name].append(taken_s)
        print(f"{'':24}  median  lowest highest, s")
        for name, taken in times.items():
            row = (statistics.median(taken), min(taken), max(taken))
            print(f"{name:24} {' '.join(f'{each:7.3f}' for each in row)}")


if __name__ == "__main__":
    main()
