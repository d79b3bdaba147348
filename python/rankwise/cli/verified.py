# SPDX-License-Identifier: BSD-3-Clause
"""What is said of where the ranks of a placed run were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankwise.quantities import counted
from rankwise.run.binding import text_of

if TYPE_CHECKING:
    from rankwise.launchers.execute import Ended
    from rankwise.run.binding import Verification

RENUMBERED = (
    "the launcher cannot deal ranks in this order, so they were renumbered as MPI started "
    "(docs/place-and-run.md)"
)


def verified(
    found: Verification, name: str, ended: Ended, quiet: bool, renumbered: bool = False
) -> list[str]:
    """Lines about a run.

    Args:
        found: Where its ranks were.
        name: The placement, as the user named it.
        ended: How it ended.
        quiet: Say only what is wrong.
        renumbered: The ranks were to renumber themselves.
    """
    astray, unknown, ranks = found.astray, found.unknown, found.ranks
    if astray:
        first = astray[0]
        more = f"; so do {len(astray) - 1} more ranks" if len(astray) > 2 else ""
        more = "; so does 1 more rank" if len(astray) == 2 else more
        wanted, got = (f"{_pus(bound.pus)} of `{bound.host}`" for bound in (first.wanted, first.got))
        return [f"rank {first.rank} should run on {wanted}, but runs on {got}{more}"]
    if len(unknown) == ranks and ended.status:
        return []  # The launcher has said why it started none.
    if len(unknown) == ranks:
        if renumbered:  # A rank that was not has said so, and why.
            return [
                "where the ranks ran could not be verified: none was renumbered, or hosts do not share this directory"
            ]
        why = "no rank said where it is; is the working directory the same on all hosts?"
        return [f"where the ranks ran could not be verified: {why}"]
    if unknown:
        count = f"{len(unknown)} of {ranks} ranks" if len(unknown) > 1 else f"rank {unknown[0]}"
        return [f"where {count} ran could not be verified; the others ran as `{name}` says"]
    where = f"{found.hosts} hosts" if found.hosts > 1 else "1 host"
    return [] if quiet else [f"verified: {counted(ranks, 'rank')} on {where} ran as {name} says"]


def _pus(pus: frozenset[int]) -> str:
    """`PU 3`, `PUs 0-3,8`."""
    return f"PU {text_of(pus)}" if len(pus) == 1 else f"PUs {text_of(pus)}"
