# SPDX-License-Identifier: BSD-3-Clause
"""The statements of the four papers, and what all studies together found of them."""

from __future__ import annotations

from dataclasses import dataclass

from rankwise.study.result import ClaimOutcome

PAPERS = {
    "N": "G. Narayanaswamy, P. Balaji, W. Feng: Impact of Network Sharing in Multi-core Architectures (2008)",
    "S": "G. Narayanaswamy, P. Balaji, W. Feng: An Analysis of 10-Gigabit Ethernet Protocol Stacks in Multicore "
    "Environments (2007)",
    "C": "L. Chai, Q. Gao, D. K. Panda: Understanding the Impact of Multi-Core Architecture in Cluster Computing: "
    "A Case Study with Intel Dual-Core System (2007)",
    "I": "R. Brightwell, D. Doerfler, K. D. Underwood: A Preliminary Analysis of the InfiniPath and XD1 Network "
    "Interfaces (2006)",
}

# Each claim and the study that tests it, in the order of the papers.
STUDY_OF = {
    "N-even": "network-sharing",
    "N-co": "network-sharing",
    "N-4x4": "network-sharing",
    "N-time": "network-sharing",
    "N-data1": "network-sharing",
    "N-data2": "network-sharing",
    "N-proc": "processor-sharing",
    "N-alloc": "allocation",
    "N-adata": "allocation",
    "N-shape": "allocation",
    "N-pattern": "allocation",
    "S-bw": "core-scan",
    "S-irq": "core-scan",
    "S-cache": "core-scan",
    "S-lat": "core-scan",
    "S-gromacs": "mapping",
    "S-lammps": "mapping",
    "S-maps": "mapping",
    "S-daemon": "",
    "C-lat": "levels",
    "C-bw": "levels",
    "C-dist": "message-distribution",
    "C-even": "message-distribution",
    "C-tab1": "message-distribution",
    "C-cores": "message-distribution",
    "C-namd": "message-distribution",
    "C-hpl": "message-distribution",
    "C-half": "message-distribution",
    "C-cont": "bottleneck",
    "C-two": "bottleneck",
    "C-tile": "data-tiling",
    "C-scale": "scalability",
    "I-caps": "interconnect",
    "I-pp": "interconnect",
    "I-bidi": "interconnect",
    "I-coll": "interconnect",
    "I-rate": "interconnect",
    "I-cpu": "interconnect",
    "I-scale": "interconnect",
    "I-mem": "interconnect",
}
STUDIES = tuple(dict.fromkeys(name for name in STUDY_OF.values() if name))


@dataclass(frozen=True)
class Tally:
    """How many outcomes of one kind there are, and how many are as the paper says; calibrations are among neither."""

    kind: str
    calibrations: int
    reproduced: int
    tested: int
    all: int


def in_order(outcomes: list[ClaimOutcome]) -> list[ClaimOutcome]:
    """Outcomes in the order of the papers' statements; what no study tests is among them, with the reason."""
    found: dict[str, list[ClaimOutcome]] = {claim: [] for claim in STUDY_OF}
    for outcome in outcomes:
        found[outcome.claim].append(outcome)
    found["S-daemon"].append(
        ClaimOutcome(
            "S-daemon",
            "a daemon that picks process-to-core mappings at run time",
            "feature",
            "future work",
            "not in this version",
            "exact count",
            None,
            "an experiment cannot show it",
        )
    )
    return [outcome for each in found.values() for outcome in each]


def tallies(outcomes: list[ClaimOutcome]) -> list[Tally]:
    """By kind of statement, in alphabetical order."""
    kinds = sorted({outcome.kind for outcome in outcomes})
    found = []
    for kind in kinds:
        of_kind = [outcome for outcome in outcomes if outcome.kind == kind]
        tested = [outcome for outcome in of_kind if not outcome.calibration]
        reproduced = sum(bool(outcome.reproduced) for outcome in tested)
        testable = sum(outcome.reproduced is not None for outcome in tested)
        found.append(Tally(kind, len(of_kind) - len(tested), reproduced, testable, len(tested)))
    return found
