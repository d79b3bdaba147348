# SPDX-License-Identifier: BSD-3-Clause
"""The list of findings, one a file, and what of it a recording has."""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, cast

from rankwise.errors import RankwiseError
from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import Finding, NotLookedFor
from rankwise.findings.names import NAMES, OF_CORES
from rankwise.recording import Recording


class Defect(Protocol):
    """What a file of `defects/` has.

    Attributes:
        NAME: Of the finding.
        PAGE: What it is, what to do, how it is detected, when it is shown, its cost, when it is wrong; for `rankwise
            explain`.
    """

    NAME: str
    PAGE: str

    def find(self, evidence: Evidence) -> list[Finding]:
        """What of it the recording has; raises RankwiseError where that cannot be told, and why."""


def _defect(name: str) -> Defect:
    return cast(Defect, import_module(f"rankwise.findings.defects.{name.replace('-', '_')}"))


DEFECTS = tuple(map(_defect, NAMES))


def findings_of(evidence: Evidence | Recording) -> tuple[list[Finding], list[NotLookedFor]]:
    """What is wrong, what costs most first and what has no cost last; and what was not looked for.

    Whatever fails in one of them is said as the reason why it was not looked for.
    """
    if isinstance(evidence, Recording):
        evidence = Evidence(evidence)
    found: list[Finding] = []
    not_looked_for = []
    for defect in DEFECTS:
        try:
            found += defect.find(evidence)
        except RankwiseError as error:
            why = f"{error.message}; {error.hint}" if error.hint else error.message
            not_looked_for.append(NotLookedFor(defect.NAME, why))
        except Exception as error:
            not_looked_for.append(NotLookedFor(defect.NAME, f"it failed: {type(error).__name__}: {error}"))

    def rank(each: Finding) -> tuple[bool, bool, float]:
        # Where its cost is not known, waiting for a core may be what is behind the others; not so in a lab.
        first = each.cost_s is None and each.name in OF_CORES and not evidence.in_lab
        return not first, each.cost_s is None, -(each.cost_s or 0.0)

    found.sort(key=rank)
    return found, not_looked_for
