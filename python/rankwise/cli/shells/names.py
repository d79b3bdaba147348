# SPDX-License-Identifier: BSD-3-Clause
"""Names that commands take: findings, studies, workloads, and what to do with a tuner.

Studies and workloads are listed here once more: the scripts are also made while Rankwise is built, when neither its
compiled part nor another package is there.
"""

from __future__ import annotations

from rankwise.findings.names import NAMES as FINDINGS

STUDIES = (
    "allocation",
    "archer2",
    "bottleneck",
    "claims",
    "collectives",
    "core-scan",
    "dahu",
    "data-tiling",
    "interconnect",
    "levels",
    "mapping",
    "message-distribution",
    "network-sharing",
    "processor-sharing",
    "scalability",
)
WORKLOADS = (
    *("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp"),
    *("alltoall", "gromacs", "halo", "hpl", "lammps", "namd", "random", "ring", "tree"),
)
BY_COMMAND: dict[str, tuple[str, ...]] = {
    "explain": FINDINGS,
    "study": STUDIES,
    "workloads": WORKLOADS,
    "tune": ("status", "stop", "show"),
}
"""What the first word of a command can be."""
