# SPDX-License-Identifier: BSD-3-Clause
"""Comparisons that studies make: figures beside the paper's, orders, and the sentences for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from rankwise.study.result import ClaimOutcome, How

CLOSE = 0.2
"""A number is reproduced if it is within this share of the paper's."""

SLOWER = 0.001
"""Share from which on a time is longer, and a program slower."""

EQUAL = 0.05
"""Times that differ by no more than this share are "equal", "the same" or "comparable"."""


def number(
    claim: str,
    statement: str,
    paper: float,
    ours: float,
    show: Callable[[float], str],
    how: How,
    why: str = "",
    calibration: bool = False,
) -> ClaimOutcome:
    """A number of the paper beside ours.

    Args:
        claim: Its identifier.
        statement: What it is of.
        paper: The paper's.
        ours: Ours.
        show: Both as text.
        how: How ours was got.
        why: What has to be known of it; said whether or not it is reproduced.
        calibration: Whether the machine file was made from the paper's figure.
    """
    close = abs(ours - paper) <= CLOSE * abs(paper)
    return ClaimOutcome(claim, statement, "number", show(paper), show(ours), how, close, why, calibration)


def exact(
    claim: str,
    statement: str,
    paper: Mapping[str, float],
    ours: Mapping[str, float],
    within: float,
    show: Callable[[float], str],
    how: How = "exact count",
    why: str = "",
) -> ClaimOutcome:
    """Figures of the paper, by name, that must be ours up to how they are rounded."""
    wrong = [name for name, value in paper.items() if abs(ours[name] - value) > within]
    said = why or (f"differs for {', '.join(wrong)}" if wrong else "")
    return ClaimOutcome(
        claim, statement, "exact", listed(paper, show), listed(ours, show), how, not wrong, said
    )


def untested(
    claim: str, statement: str, kind: str, paper: str, why: str, how: How = "predicted"
) -> ClaimOutcome:
    """A statement that cannot be tested here, and why."""
    return ClaimOutcome(claim, statement, kind, paper, "not tested", how, None, why)


def given(outcome: ClaimOutcome) -> ClaimOutcome:
    """The same, of what the machine file or the case was made from: it must come out, and is counted apart."""
    return msgspec.structs.replace(outcome, calibration=True)


def counted(outcome: ClaimOutcome) -> ClaimOutcome:
    """The same as exact: its directions are of figures that are counted."""
    return msgspec.structs.replace(outcome, kind="exact")


def beyond(outcome: ClaimOutcome) -> ClaimOutcome:
    """The same as a number: one that is only said to be passed, as in `> 2 x`."""
    return msgspec.structs.replace(outcome, kind="number")


def noted(outcome: ClaimOutcome, why: str) -> ClaimOutcome:
    """The same with what has to be known of it, however it came out."""
    return msgspec.structs.replace(outcome, why="; ".join(filter(None, [outcome.why, why])))


def listed(values: Mapping[str, float], show: Callable[[float], str]) -> str:
    """Names with values: `CG 1.2, FT 3`."""
    return ", ".join(f"{name} {show(value)}" for name, value in values.items())


def holds(
    claim: str, statement: str, paper: str, ours: str, how: How, what: Mapping[str, bool], why: str = ""
) -> ClaimOutcome:
    """An order or a direction of the paper: whether it holds for each of its programs.

    Args:
        claim: Its identifier.
        statement: What it says.
        paper: Its words.
        ours: What was found.
        how: How.
        what: Whether it holds, by program.
        why: What the model lacks where it does not.
    """
    wrong = [name for name, right in what.items() if not right]
    said = f"not for {', '.join(wrong)}" if wrong else ""
    said = f"{said}: {why}" if said and why else said or ""
    return ClaimOutcome(claim, statement, "ordering", paper, ours, how, not wrong, said)


def percent_more(ratio: float) -> str:
    """A ratio as `+27 %`."""
    change = round(100 * (ratio - 1), 1) + 0.0  # no -0.0
    return f"{change:+.1f} %"


def percent(share: float) -> str:
    """A share as `27 %`."""
    return f"{100 * share:.1f} %"


def about_equal(ratio: float) -> bool:
    """Whether two times are about the same."""
    return abs(ratio - 1) <= EQUAL


def joined(names: Sequence[str]) -> str:
    """`CG, FT and IS`."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
