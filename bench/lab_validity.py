# SPDX-License-Identifier: BSD-3-Clause
"""How far a lab's time is from a cluster's, for a program whose time there is known: lab_validity.py.

Runs bench/lab_exchange.c on 16 ranks with interfaces of 80 mbit, and 2, 4 and 8 times as slow beside 2, 4 and 8 times
as much computing. What its steps take on a cluster is known: the computing of all ranks that share a processor here,
and what the messages take by themselves, a * slower + b, which runs without computing say. Beside the error are the
numbers by which a run is valid or not.

Needs `mpiexec` and `mpicc` of one MPI on PATH, and a machine with nothing else to do; two and a half minutes.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from rankwise.lab.own_lab import own_lab, own_name
from rankwise.lab.run import place, prepare, running
from rankwise.lab.up import plan_lab

NODES, CORES, RUN_S = 4, 4, 1.0
RATE, SLOWER = 10e6, (1, 2, 4, 8)
PAYLOAD_BYTES, HEADER_BYTES = 1448, 66
# Bytes to the partner, and microseconds of computing of a rank before them.
CASES = {2_000: (0, 1_000), 20_000: (0, 100, 250, 1_000, 4_000), 60_000: (0, 500, 4_000)}
ALL = [(sent, compute_us) for sent, computing in CASES.items() for compute_us in computing]


def main() -> None:
    """Run all, then print a row a run, those with the least lateness first."""
    found = {case: [] for case in ALL}
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "lab_exchange"
        source = Path(__file__).with_name("lab_exchange.c")
        subprocess.run(["mpicc", "-O2", "-o", program, source], check=True)
        for slower in SLOWER:
            with own_lab(plan_lab(own_name("validity"), NODES, CORES, RATE / slower)) as lab:
                for case in ALL:
                    found[case].append(_run(slower, *case, lab, program))
    rows = []
    for (sent, compute_us), runs in found.items():
        slope_s, rest_s = _line([step_s for step_s, _, _ in found[sent, 0]])
        if not compute_us:
            print(f"{sent:6} bytes alone: {1e3 * slope_s:.2f} ms * slower + {1e3 * rest_s:.2f} ms")
            continue
        for slower, (step_s, computing_s, used) in zip(SLOWER, runs, strict=True):
            error = step_s / (computing_s + slope_s * slower + rest_s) - 1
            rows.append((used.late_share, error, slower, sent, compute_us, step_s, used))
    print("   us  bytes slower    step  error   late waited busy protocols sleeps")
    for _, error, slower, sent, compute_us, step_s, used in sorted(rows, key=lambda row: row[0]):
        print(
            f"{compute_us:5} {sent:6} {slower:6} {1e3 * step_s:7.2f} {error:+6.1%}  {used.late_share:5.1%} "
            f"{used.waited_share:6.1%} {used.busy_share:4.0%} {used.protocol_share:9.0%} {used.sleeps_per_s:6.0f}"
        )


def _line(steps_s: list[float]) -> tuple[float, float]:
    """Slope and the rest of a step's time over `SLOWER`, by least squares of relative errors."""
    slower = np.array(SLOWER, float)
    columns = np.stack([slower, np.ones(len(slower))], 1) / np.array(steps_s)[:, None]
    (slope_s, rest_s), *_ = np.linalg.lstsq(columns, np.ones(len(slower)), rcond=None)
    return slope_s, rest_s


def _run(slower: int, sent: int, compute_us: int, lab, program: Path):
    """Seconds of a step, of them what a processor's ranks compute, and what processors and sleeps did."""
    ranks = NODES * CORES
    wire = sent + HEADER_BYTES * math.ceil(sent / PAYLOAD_BYTES)
    processors = len({pu for node in lab.nodes for pu in node.cores})
    computing_s = slower * ranks / processors * compute_us * 1e-6
    steps = max(4, int(RUN_S / (computing_s + slower * CORES * wire / RATE + 1e-3)))
    words = [str(program), *map(str, (steps, compute_us * slower, sent))]
    # What rank 0 prints comes on our standard output, which the run has.
    with tempfile.TemporaryFile() as output:
        kept = os.dup(1)
        try:
            sys.stdout.flush()
            os.dup2(output.fileno(), 1)
            with running(prepare(lab, words, place(lab, ranks, "blocked"))) as result:
                used = result.usage()
        finally:
            os.dup2(kept, 1)
            os.close(kept)
        output.seek(0)
        return float(output.read()) / steps, computing_s, used


if __name__ == "__main__":
    main()
