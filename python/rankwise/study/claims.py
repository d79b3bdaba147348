# SPDX-License-Identifier: BSD-3-Clause
"""The statements of the four papers, and what all studies together found of them."""

from __future__ import annotations

from dataclasses import dataclass

from rankwise.study.compared import untested
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


TARGETS: dict[str, float] = {
    "exact": 1.0,
    "definition": 1.0,
    "table": 1.0,
    "pattern": 1.0,
    "ordering": 0.8,
    "number": 0.5,
}
"""Share of the statements of a kind that have to come out; numbers come out within `CLOSE`."""


@dataclass(frozen=True)
class Tally:
    """How many outcomes of one kind there are, and how many are as the paper says.

    Attributes:
        kind: Of the statements.
        reproduced: So many come out of those that were tested.
        tested: Of all but calibrations.
        untested: Cannot be tested here.
        calibrations: What the machine files or cases were made from: these must come out, and count for nothing else.
        wrong_calibrations: So many of them do not come out.
    """

    kind: str
    reproduced: int
    tested: int
    untested: int
    calibrations: int
    wrong_calibrations: int

    @property
    def target(self) -> float | None:
        """Share of the tested ones that has to come out; `None`: there is no target."""
        return TARGETS.get(self.kind)

    @property
    def reached(self) -> float | None:
        """Share of the tested ones that comes out; `None`: none was tested."""
        return self.reproduced / self.tested if self.tested else None

    @property
    def passes(self) -> bool | None:
        """Whether the target is reached and all calibrations come out; `None`: there is no target."""
        if self.target is None:
            return None
        return not self.wrong_calibrations and (self.reached is None or self.reached >= self.target)


def in_order(outcomes: list[ClaimOutcome]) -> list[ClaimOutcome]:
    """Outcomes in the order of the papers' statements; what no study tests is among them, with the reason."""
    found: dict[str, list[ClaimOutcome]] = {claim: [] for claim in STUDY_OF}
    for outcome in outcomes:
        found[outcome.claim].append(outcome)
    found["S-daemon"].append(
        untested(
            "S-daemon",
            "a daemon that picks process-to-core mappings at run time",
            "feature",
            "future work",
            "it is a feature, and no experiment of the paper's",
        )
    )
    return [outcome for each in found.values() for outcome in each]


def tallies(outcomes: list[ClaimOutcome]) -> list[Tally]:
    """By kind of statement: those with a target first, then in alphabetical order."""
    others = sorted({outcome.kind for outcome in outcomes} - TARGETS.keys())
    return [_tally(kind, [each for each in outcomes if each.kind == kind]) for kind in (*TARGETS, *others)]


def _tally(kind: str, outcomes: list[ClaimOutcome]) -> Tally:
    calibrations = [each for each in outcomes if each.calibration]
    others = [each for each in outcomes if not each.calibration]
    tested = [each for each in others if each.reproduced is not None]
    return Tally(
        kind,
        reproduced=sum(bool(each.reproduced) for each in tested),
        tested=len(tested),
        untested=len(others) - len(tested),
        calibrations=len(calibrations),
        wrong_calibrations=sum(not each.reproduced for each in calibrations),
    )
