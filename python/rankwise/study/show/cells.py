# SPDX-License-Identifier: BSD-3-Clause
"""Values of a study's tables as text."""

from __future__ import annotations

from rankwise.study.result import Cell, ClaimOutcome, Target


def cell_text(value: Cell) -> str:
    """A value as it is shown: nothing for `None`, numbers without more digits than were kept."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def verdict_text(outcome: ClaimOutcome) -> str:
    """Whether a claim was reproduced, in a word or two; of what a machine file or case was made from, that it was."""
    if outcome.reproduced is None:
        return "cannot be tested"
    reproduced = "reproduced" if outcome.reproduced else "not reproduced"
    if not outcome.calibration:
        return reproduced
    return "calibration" if outcome.reproduced else f"calibration, {reproduced}"


def outcome_text(outcome: ClaimOutcome) -> str:
    """The verdict and its reason: `not reproduced for FT, IS: two share the interface`."""
    if not outcome.why:
        return verdict_text(outcome)
    of_some = outcome.why.startswith("not for ")
    return verdict_text(outcome) + (outcome.why.removeprefix("not") if of_some else f": {outcome.why}")


def target_cells(target: Target) -> list[str]:
    """A target as its statement, what was found, what is asked for, and `met`, `missed` or `not judged`."""
    unit = f" {target.unit}" if target.unit else ""
    found = "-" if target.value is None else f"{target.value:.6g}{unit}"
    outcome = "not judged" if target.met is None else "met" if target.met else "missed"
    return [target.statement, found, f"{target.bound} {target.limit:.6g}{unit}", outcome]
