# SPDX-License-Identifier: BSD-3-Clause
"""Rankwise's microbenchmarks beside IMB and the OSU Micro-Benchmarks, on the same pair of cores.

Usage: python bench/measure.py [--imb IMB-MPI1] [--osu-latency osu_latency] [--osu-rate osu_mbw_mr]
                               [--rounds N] [--seconds S] [--keep FILE] [-- mpiexec -n 2 -bind-to user:0,1]

The peers are built by the user with the same MPI (Intel's binary of IMB runs with any library of the MPICH ABI); what
is not named is skipped. A round starts each program once, in another order each time, so that what drifts meanwhile
meets all of them. Virtual cores move between physical ones: between launches the cores exchange a cache line, and
launches are grouped by that. A launch between whose ends it changed is left out.

With `--keep` launches are added to a file, and all in it are compared: short runs, while a machine is idle, add up.

Aims: ping-pong to 1 KiB within max(5 %, 15 ns) of IMB's with a source, which Rankwise's has as well (PingPong takes any
source and tag, and is shown beside it); 64 KiB to 1 MiB within 10 % of OSU's; message rate with a window of 160 within
10 % of OSU's at 1 KiB. Launches differ among themselves, so each difference has an interval (bootstrap over launches);
it is too large if all of the interval is.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from rankwise import site_build
from rankwise.measure import site
from rankwise.measure.fitting.statistics import find_modes
from rankwise.measure.samples import Launch

SMALL = (1, 8, 64, 256, 1024)
LARGE = (65536, 262144, 1048576)
RATES = (8, 1024)
WINDOW = 160
SOURCE, ANY = "IMB source", "IMB any"
# What is compared: (kind, size, peer, whether it is aimed at).
WANTED = (
    *(("time", size, SOURCE, True) for size in SMALL),
    *(("time", size, ANY, False) for size in SMALL),
    *(("time", size, "OSU", True) for size in LARGE),
    *(("time", size, SOURCE, False) for size in LARGE),
    *(("rate", size, "OSU rate", size == RATES[-1]) for size in RATES),
    ("rate", RATES[-1], "IMB rate", False),
)
REPLICATES = 2000
_PATIENCE_S = 120


def imb_times(text: str) -> dict[str, dict[int, float]]:
    """Half round trips by table and size of IMB's ping-pongs: bytes, repetitions, microseconds, ..."""
    return {
        SOURCE if name.endswith("SpecificSource") else ANY: {
            int(size): 1e-6 * float(time)
            for size, time in re.findall(r"^\s*(\d+)\s+\d+\s+([\d.]+)\s+[\d.]+", table, re.MULTILINE)
        }
        for name, table in zip(*[iter(re.split(r"# Benchmarking (\w+)", text)[1:])] * 2, strict=True)
    }


def imb_rates(text: str) -> dict[int, float]:
    """Messages a second by size of IMB's Uniband: bytes, repetitions, MB/s, messages/s."""
    rows = re.findall(r"^\s*(\d+)\s+\d+\s+[\d.]+\s+(\d+)\s*$", text, re.MULTILINE)
    return {int(size): float(rate) for size, rate in rows}


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
    """Run all rounds and print a line for each size and regime; 1 if one is surely further off than aimed at."""
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
    parser.add_argument("--seconds", type=float, default=math.inf, help="no further round after this time")
    parser.add_argument("--keep", type=Path, help="add the launches to this file, and compare all in it")
    args = parser.parse_args(own)
    found = bench(args, launcher)
    if args.keep:
        found = kept(args.keep, found)
    return 0 if report(found) else 1


def bench(args: argparse.Namespace, launcher: list[str]) -> list[tuple[str, float, dict]]:
    """All launches: who, the mean time of a cache line before and after, and its numbers by (what, size)."""
    program = site.build(site_build.find_mpicc(launcher[0]))
    cores = sorted(os.sched_getaffinity(0))[:2]
    imb, latency, rate = args.imb, args.osu_latency, args.osu_rate
    window = ["-window_size", str(WINDOW), "-msglog", "10:10"]
    peers = {
        "rankwise": lambda: {"rankwise": _ours(launcher, program, cores)},
        "IMB": imb and (lambda: _imb_times([*launcher, imb, "PingPong", "PingPongSpecificSource", *_LOG])),
        "IMB rate": imb and (lambda: {"IMB rate": _rates(imb_rates, [*launcher, imb, "Uniband", *window])}),
        "OSU": latency and (lambda: {"OSU": _osu_times([*launcher, latency, "-m", "1:1048576"])}),
        "OSU rate": rate
        and (
            lambda: {
                "OSU rate": _rates(osu_rates, [*launcher, rate, "-W", str(WINDOW), "-m", f"1:{RATES[-1]}"])
            }
        ),
    }
    for name, path in (("--imb", imb), ("--osu-latency", latency), ("--osu-rate", rate)):
        if path is None:
            print(f"{name} not given: skipped")
    found = []
    shuffled = random.Random(1)
    start = time.monotonic()
    before = _cache_line(launcher, program, cores)
    for number in range(args.rounds):
        if time.monotonic() - start > args.seconds:
            break
        order = [name for name, run in peers.items() if run]
        shuffled.shuffle(order)
        for name in order:
            tables = peers[name]()
            after = _cache_line(launcher, program, cores)
            if max(before, after) < 1.5 * min(before, after):
                found += [(who, (before * after) ** 0.5, numbers) for who, numbers in tables.items()]
            before = after
        print(f"round {number + 1} of {args.rounds}", file=sys.stderr, flush=True)
    return found


def kept(path: Path, found: list[tuple[str, float, dict]]) -> list[tuple[str, float, dict]]:
    """All launches of a file, to which those that were found are added, a line each."""
    with path.open("a+", encoding="utf-8") as file:
        for who, line, numbers in found:
            table = [[what, size, value] for (what, size), value in numbers.items()]
            file.write(json.dumps([who, line, table]) + "\n")
        file.seek(0)
        rows = [json.loads(line) for line in file]
    return [(who, line, {(what, size): value for what, size, value in table}) for who, line, table in rows]


def interval(ours: list[float], theirs: list[float]) -> tuple[float, float]:
    """95 % interval of the ratio of two medians: launches are drawn anew, those of each side for themselves."""
    drawn = np.random.default_rng(1)
    medians = [np.median(drawn.choice(side, (REPLICATES, len(side))), axis=1) for side in (ours, theirs)]
    low, high = np.percentile(medians[0] / medians[1], [2.5, 97.5])
    return float(low), float(high)


def report(found: list[tuple[str, float, dict]]) -> bool:
    """Print medians by regime; whether none is surely further off than is aimed at."""
    modes = find_modes(np.array([line for _, line, _ in found]))
    fine = True
    for regime, inside in (("near", lambda x: x <= modes.border), ("far", lambda x: x > modes.border)):
        of_regime = [(name, numbers) for name, line, numbers in found if inside(line)]
        if not of_regime:
            continue
        print(f"\nregime {regime}: {len(of_regime)} launches")
        print(f"{'':5}{'bytes':>9}{'rankwise':>12}{'peer':>12}  {'':12}{'off':>8}   95 % interval")
        for what, size, peer, aimed in WANTED:
            ours, theirs = (
                [n[what, size] for who, n in of_regime if who == name and (what, size) in n]
                for name in ("rankwise", peer)
            )
            if not ours or not theirs:
                continue
            a, b = float(np.median(ours)), float(np.median(theirs))
            low, high = interval(ours, theirs)
            mark = verdict(what, size, a, b, low, high) if aimed else ""
            fine &= mark != TOO_FAR
            shown = [f"{x * 1e6:.3f} us" if what == "time" else f"{x / 1e6:.2f} M/s" for x in (a, b)]
            off, low, high = (100 * (x - 1) for x in (a / b, low, high))
            line = f"{what:5}{size:9}{shown[0]:>12}{shown[1]:>12}  {peer:12}{off:+6.1f} %  {low:+5.0f} .. {high:+.0f} %"
            print(f"{line:75}{mark}".rstrip())
    return fine


TOO_FAR, UNSURE = "  too far off", "  unsure"


def verdict(what: str, size: int, ours: float, theirs: float, low: float, high: float) -> str:
    """What is said of a difference whose ratio lies between `low` and `high`; nothing where it is as aimed at."""
    if close_enough(what, size, ours, theirs):
        return ""
    nearest = min(max(1.0, low), high)
    return UNSURE if close_enough(what, size, nearest * theirs, theirs) else TOO_FAR


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
        _step("pingpong", cores, (*SMALL, *LARGE), budget_s=0.08, precision=0.01),
        _step("window", cores, RATES, budget_s=0.08, precision=0.01, messages=WINDOW),
    ]
    frame = _launch(launcher, program, steps).frame()
    found = {}
    for (test, size), group in frame.group_by(["test", "bytes"]):
        time = float(np.median(group["value1"].to_numpy()))
        found["time" if test == "pingpong" else "rate", size] = time if test == "pingpong" else 1 / time
    return found


_LOG = ["-msglog", "0:20"]


def _imb_times(command: list) -> dict[str, dict]:
    tables = imb_times(_said(command))
    return {who: {("time", size): time for size, time in table.items()} for who, table in tables.items()}


def _osu_times(command: list) -> dict:
    return {("time", size): time for size, time in osu_times(_said(command)).items()}


def _rates(read, command: list) -> dict:
    return {("rate", size): rate for size, rate in read(_said(command)).items()}


if __name__ == "__main__":
    sys.exit(main())
