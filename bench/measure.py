# SPDX-License-Identifier: BSD-3-Clause
"""Rankwise's microbenchmarks beside IMB and the OSU Micro-Benchmarks, on the same pair of cores.

Usage: python bench/measure.py [--imb IMB-MPI1] [--osu-latency osu_latency] [--osu-rate osu_mbw_mr] [--rounds N]
                               [-- mpiexec -n 2 -bind-to user:0,1]

The peers are built by the user with the same MPI; what is not named is skipped. A round starts each program once, in
another order each time, so that what drifts meanwhile meets all of them. Virtual cores move between physical ones:
before and after each launch the cores exchange a cache line, and launches are grouped by that. A launch between whose
ends it changed is left out.

Aims: ping-pong to 1 KiB within max(5 %, 15 ns) of IMB's, 64 KiB to 1 MiB within 10 % of OSU's; message rate with a
window of 160 within 10 % of OSU's at 1 KiB.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from rankwise import site_build
from rankwise.measure import site
from rankwise.measure.samples import Launch
from rankwise.measure.statistics import find_modes

SMALL = (1, 8, 64, 256, 1024)
LARGE = (65536, 262144, 1048576)
RATES = (8, 1024)
WINDOW = 160
_PATIENCE_S = 120


def imb_times(text: str) -> dict[int, float]:
    """Half round trips by size of IMB's table of PingPong: bytes, repetitions, microseconds, ..."""
    rows = re.findall(r"^\s*(\d+)\s+\d+\s+([\d.]+)\s+[\d.]+", text, re.MULTILINE)
    return {int(size): 1e-6 * float(time) for size, time in rows}


def osu_times(text: str) -> dict[int, float]:
    """Half round trips by size of osu_latency: bytes, microseconds."""
    rows = re.findall(r"^(\d+)\s+([\d.]+)\s*$", text, re.MULTILINE)
    return {int(size): 1e-6 * float(time) for size, time in rows}


def osu_rates(text: str) -> dict[int, float]:
    """Messages a second by size of osu_mbw_mr: bytes, MB/s, messages/s."""
    rows = re.findall(r"^(\d+)\s+[\d.]+\s+([\d.]+)\s*$", text, re.MULTILINE)
    return {int(size): float(rate) for size, rate in rows}


def close_enough(what: str, size: int, ours: float, theirs: float) -> bool:
    """Whether a number of ours is as close to a peer's as is aimed at."""
    if what == "rate" or size >= LARGE[0]:
        return abs(ours / theirs - 1) <= 0.10
    return abs(ours - theirs) <= max(0.05 * theirs, 15e-9)


def main() -> int:
    """Run all rounds and print a line for each size and regime; 1 if one is further off than aimed at."""
    own, launcher = sys.argv[1:], ["mpiexec", "-n", "2"]
    if "--" in own:
        own, launcher = own[: own.index("--")], own[own.index("--") + 1 :]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--imb", type=Path)
    parser.add_argument("--osu-latency", type=Path)
    parser.add_argument("--osu-rate", type=Path)
    parser.add_argument("--rounds", type=int, default=11)
    args = parser.parse_args(own)
    found = bench(args, launcher)
    return 0 if report(found) else 1


def bench(args: argparse.Namespace, launcher: list[str]) -> list[tuple[str, float, dict]]:
    """All launches: who, the mean time of a cache line before and after, and its numbers by (what, size)."""
    program = site.build(site_build.find_mpicc(launcher[0]))
    cores = sorted(os.sched_getaffinity(0))[:2]
    peers = {
        "rankwise": lambda: _ours(launcher, program, cores),
        "IMB": args.imb and (lambda: _times(imb_times, _said([*launcher, args.imb, "PingPong"]))),
        "OSU": args.osu_latency
        and (lambda: _times(osu_times, _said([*launcher, args.osu_latency, "-m", "1:1048576"]))),
        "OSU rate": args.osu_rate
        and (lambda: _rates(_said([*launcher, args.osu_rate, "-W", str(WINDOW), "-m", "1:65536"]))),
    }
    for name, path in (
        ("--imb", args.imb),
        ("--osu-latency", args.osu_latency),
        ("--osu-rate", args.osu_rate),
    ):
        if path is None:
            print(f"{name} not given: skipped")
    found = []
    shuffled = random.Random(1)
    for number in range(args.rounds):
        order = [name for name, run in peers.items() if run]
        shuffled.shuffle(order)
        for name in order:
            before = _cache_line(launcher, program, cores)
            numbers = peers[name]()
            after = _cache_line(launcher, program, cores)
            if max(before, after) < 1.5 * min(before, after):
                found.append((name, (before * after) ** 0.5, numbers))
        print(f"round {number + 1} of {args.rounds}", file=sys.stderr, flush=True)
    return found


def report(found: list[tuple[str, float, dict]]) -> bool:
    """Print medians by regime; whether all are as close as is aimed at."""
    modes = find_modes(np.array([line for _, line, _ in found]))
    fine = True
    for regime, inside in (("near", lambda x: x <= modes.border), ("far", lambda x: x > modes.border)):
        of_regime = [(name, numbers) for name, line, numbers in found if inside(line)]
        if not of_regime:
            continue
        print(f"\nregime {regime}: {len(of_regime)} launches")
        print(f"{'':8}{'bytes':>9}{'rankwise':>14}{'peer':>14}{'':>10}{'off':>8}")
        wanted = [("time", s, "IMB") for s in SMALL] + [("time", s, "OSU") for s in LARGE]
        for what, size, peer in [*wanted, *(("rate", s, "OSU rate") for s in RATES)]:
            ours, theirs = (
                [n[what, size] for who, n in of_regime if who == name and (what, size) in n]
                for name in ("rankwise", peer)
            )
            if not ours or not theirs:
                continue
            a, b = float(np.median(ours)), float(np.median(theirs))
            good = close_enough(what, size, a, b)
            fine &= good or what == "rate" and size != 1024
            shown = [f"{x * 1e6:.3f} us" if what == "time" else f"{x / 1e6:.2f} M/s" for x in (a, b)]
            mark = "" if good else "  further off than aimed at"
            print(f"{what:8}{size:9}{shown[0]:>14}{shown[1]:>14}{peer:>10}{100 * (a / b - 1):7.1f} %{mark}")
    return fine


def _said(command: list) -> str:
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=_PATIENCE_S, check=False
    )
    if done.returncode:
        sys.exit(f"{command[-1]} failed: {done.stderr.strip()[-300:]}")
    return done.stdout


def _launch(launcher: list[str], program: Path, steps: list[str]) -> Launch:
    launch = Launch(channels=dict.fromkeys(range(1, len(steps) + 1), "pair"))
    for line in _said([*launcher, program, *steps]).splitlines():
        launch.take(line)
    return launch


def _step(test: str, cores: list[int], sizes: tuple[int, ...], **numbers: float) -> str:
    pair = f"pairs=0-1:cores={cores[0]}-{cores[1]}:sizes={','.join(map(str, sizes))}"
    return ":".join([test, pair, *(f"{key}={value:g}" for key, value in numbers.items())])


def _cache_line(launcher: list[str], program: Path, cores: list[int]) -> float:
    frame = _launch(
        launcher, program, [_step("cache_line", cores, (0,), budget_s=0.05, precision=0.02)]
    ).frame()
    return float(np.median(frame["value1"].to_numpy()))


def _ours(launcher: list[str], program: Path, cores: list[int]) -> dict:
    steps = [
        _step("pingpong", cores, (*SMALL, *LARGE), budget_s=0.25, precision=0.005),
        _step("window", cores, RATES, budget_s=0.25, precision=0.005, messages=WINDOW),
    ]
    frame = _launch(launcher, program, steps).frame()
    found = {}
    for (test, size), group in frame.group_by(["test", "bytes"]):
        time = float(np.median(group["value1"].to_numpy()))
        found["time" if test == "pingpong" else "rate", size] = time if test == "pingpong" else 1 / time
    return found


def _times(read, text: str) -> dict:
    return {("time", size): time for size, time in read(text).items()}


def _rates(text: str) -> dict:
    return {("rate", size): rate for size, rate in osu_rates(text).items()}


if __name__ == "__main__":
    sys.exit(main())
