# SPDX-License-Identifier: BSD-3-Clause
"""Findings in words, the same in every view."""

from __future__ import annotations

from rankwise.findings.finding import LEAST_S, LEAST_SHARE, Finding
from rankwise.findings.names import NAMES
from rankwise.quantities import seconds_text
from rankwise.report.data import ReportData

_LOW = 0.8
_FEW = 16

# Where a report shows what a finding is told from.
_SHOWN_IN = {
    "ranks": ("load-imbalance", "straggler", "serialised", "too-many-ranks"),
    "waiting": ("late-sender", "late-receiver", "late-collective", "rendezvous", "out-of-phase"),
    "collectives": ("collective-dominates", "collective-algorithm"),
    "distribution": ("small-messages", "far-placement", "order-against-hierarchy", "order-does-not-matter"),
    "map": ("shared-core", "interrupt-core", "bound-otherwise"),
}


def headline(report: ReportData, finding: Finding) -> str:
    """The sentence, and what fixing it saves."""
    if finding.cost_s is None:
        return finding.sentence
    return (
        f"{finding.sentence}; fixing it saves about {seconds_text(finding.cost_s)} of "
        f"{seconds_text(report.program.elapsed_s)}"
    )


def nothing(report: ReportData) -> str:
    """That no finding is shown, from what cost on one is, and what the run loses most to if that is much."""
    if report.summary.mpi_share is None:
        return "nothing to fix was found; calls were not timed, so most costs are not known"
    limit_s = max(LEAST_S, LEAST_SHARE * report.program.elapsed_s)
    said = f"nothing to fix was found; what costs less than {seconds_text(limit_s)} is not named"
    found = report.efficiency
    if found is None or found.parallel >= _LOW:
        return said
    factors = {
        "load balance": found.load_balance,
        "serialisation": found.serialisation,
        "transfer": found.transfer,
    }
    if found.serialisation is None or found.transfer is None:
        factors = {"load balance": found.load_balance, "communication": found.communication}
    known = {name: value for name, value in factors.items() if value is not None}
    lowest = min(known, key=lambda name: known[name])
    return (
        f"{said}. Parallel efficiency is {found.parallel:.2f} all the same: most is lost to {lowest} "
        f"({known[lowest]:.2f})"
    )


def shown_in(finding: Finding) -> str:
    """The section that shows what a finding is told from."""
    return next((place for place, names in _SHOWN_IN.items() if finding.name in names), "use")


def named_in_use(report: ReportData) -> set[int]:
    """Ranks that findings name which are told from what the ranks used; not of one that names many or most ranks."""
    ranks = len(report.use.ranks.rank)
    few = [
        finding.ranks
        for finding in report.findings
        if shown_in(finding) == "use" and len(finding.ranks) <= _FEW and 2 * len(finding.ranks) < ranks
    ]
    return {rank for some in few for rank in some}


def details(finding: Finding) -> list[str]:
    """Evidence, what to do, how sure it is."""
    cost = "estimated" if finding.cost_s is not None else "not estimated"
    return [
        *finding.evidence,
        f"do: {finding.do}",
        f"{finding.confidence} confidence; {cost}: {finding.estimate}; refuted by: {finding.refuted_by}",
    ]


def closing(report: ReportData) -> list[str]:
    """What was looked for where nothing was found, what was not, and where the pages are."""
    found = {finding.name for finding in report.findings}
    without = {each.name for each in report.not_looked_for}
    lines = []
    if found:
        lines.append(
            f"how each is detected: {', '.join(f'`rankwise explain {name}`' for name in sorted(found))}"
        )
    else:
        names = ", ".join(name for name in NAMES if name not in without)
        lines += [nothing(report), f"looked for {names}"]
    by_reason: dict[str, list[str]] = {}
    for each in report.not_looked_for:
        by_reason.setdefault(each.why, []).append(each.name)
    lines += [f"not looked for: {', '.join(names)}: {why}" for why, names in by_reason.items()]
    return lines
