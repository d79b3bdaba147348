# SPDX-License-Identifier: BSD-3-Clause
"""Decisions of tuners in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankwise.quantities import counted
from rankwise.tune.decisions import Decision, Gain

_MOST_RANKS = 8
_MOST_MOVES = 6


def outcome_text(counts: Mapping[str, int], acts: bool) -> str:
    """How many changes were proposed, and what became of them.

    Args:
        counts: Decisions by what became of them, at least one.
        acts: The tuner was to carry them out.
    """
    count = sum(counts.values())
    if not acts:
        return f"nothing was changed: {counted(count, 'proposal')} in a dry run"
    became = ", ".join(f"{number} {what}" for what, number in counts.items())
    return f"{counted(count, 'change')} proposed: {became}"


def change_text(decision: Decision) -> str:
    """What is changed: `ranks 0 and 3: to cores 3 and 0`."""
    change = decision.change
    if change is None:
        return _ranks(decision.ranks)
    parts = []
    if change.moves:
        named = len(decision.ranks) == len(change.moves) and min(decision.ranks, default=-1) >= 0
        names = (
            [f"rank {rank}" for rank in decision.ranks]
            if named
            else [f"process {m.pid}" for m in change.moves]
        )
        moves = [
            f"{name} from PU {move.source} to {move.to}"
            for name, move in zip(names, change.moves, strict=True)
        ]
        more = len(moves) - _MOST_MOVES
        parts.append(", ".join(moves[:_MOST_MOVES]) + (f" and {more} more" if more > 0 else ""))
    parts += [f"pages of process {each.pid} to NUMA node {each.to_numa}" for each in change.pages]
    parts += [f"interrupt {each.number} to PU {each.to}" for each in change.interrupts]
    return ", ".join(parts) or _ranks(decision.ranks)


def _ranks(ranks: Sequence[int]) -> str:
    known = [str(rank) for rank in ranks if rank >= 0]
    if not known:
        return "ranks that are not named"
    more = f" and {len(known) - _MOST_RANKS} more" if len(known) > _MOST_RANKS else ""
    return f"rank{'s' * (len(known) > 1)} {', '.join(known[:_MOST_RANKS])}{more}"


def percent(part: float) -> str:
    """A part of a whole: `3.2 %`."""
    return f"{100 * part:.3g} %"


def gain_text(gain: Gain) -> str:
    """What a change gained, with its interval: `35 % (31 % to 39 %)`."""
    if gain.low is None or gain.high is None:
        return percent(gain.value)
    return f"{percent(gain.value)} ({percent(gain.low)} to {percent(gain.high)})"


def gains_text(estimated: float | None, measured: Gain | None) -> str:
    """Estimated and measured gain; empty where neither is known."""
    parts = []
    if estimated:
        parts.append(f"estimated {percent(estimated)}")
    if measured is not None:
        parts.append(f"measured {gain_text(measured)}")
    return ", ".join(parts)
