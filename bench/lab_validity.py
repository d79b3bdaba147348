# SPDX-License-Identifier: BSD-3-Clause
"""What a lab adds to a program whose time is known without running it: lab_validity.py RATE...

Prints a row a run of bench/lab_exchange.c on 16 ranks: how far the lab's time is from the known one, and the numbers
by which a run is valid or not. Needs `mpiexec` and `mpicc` of one MPI on PATH, and a machine with nothing else to do;
half a minute a rate.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rankwise.lab.own_lab import own_lab, own_name
from rankwise.lab.rate import parse_rate
from rankwise.lab.run import place, prepare, running
from rankwise.lab.up import plan_lab

NODES, CORES, RUN_S = 4, 4, 2.0
PAYLOAD_BYTES, HEADER_BYTES = 1448, 66
# Microseconds of computing, bytes to the partner, part by which neighbours compute longer and shorter in turn.
CASES = (
    (0, 2_000, 0.0),
    (0, 20_000, 0.0),
    (0, 200_000, 0.0),
    (200, 2_000, 0.0),
    (500, 20_000, 0.0),
    (2_000, 20_000, 0.0),
    (2_000, 20_000, 0.5),
    (20_000, 200_000, 0.0),
)


def main(rates: list[str]) -> None:
    """Print the rows of these interface rates."""
    print("rate      us    bytes  spread  error  late  waited  busy  protocols")
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "lab_exchange"
        source = Path(__file__).with_name("lab_exchange.c")
        subprocess.run(["mpicc", "-O2", "-o", program, source], check=True)
        for rate in rates:
            with own_lab(plan_lab(own_name("validity"), NODES, CORES, parse_rate(rate))) as lab:
                for case in CASES:
                    _print(rate, *case, lab, program)


def _print(rate: str, compute_us: int, sent: int, spread: float, lab, program: Path) -> None:
    """One run: a processor's ranks compute one after the other, a node's messages pass one after the other."""
    ranks = NODES * CORES
    wire = sent + HEADER_BYTES * math.ceil(sent / PAYLOAD_BYTES)
    processors = len({pu for node in lab.nodes for pu in node.cores})
    step_s = ranks / processors * compute_us * 1e-6 + CORES * wire / parse_rate(rate)
    steps = max(5, int(RUN_S / step_s))
    words = [str(program), *map(str, (steps, compute_us, sent, spread))]
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
        time_s = float(output.read())
    shares = (
        f"{used.late_share:5.1%} {used.waited_share:6.1%} {used.busy_share:5.0%} {used.protocol_share:6.0%}"
    )
    print(
        f"{rate:8} {compute_us:6} {sent:7} {spread:6} {time_s / (steps * step_s) - 1:+7.1%} {shares}",
        flush=True,
    )


if __name__ == "__main__":
    main(sys.argv[1:] or ["20mbit", "50mbit", "150mbit"])
