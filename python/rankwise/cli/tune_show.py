# SPDX-License-Identifier: BSD-3-Clause
"""What tuners did and say of themselves, as text of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from rankwise.quantities import bytes_text, counted, seconds_text
from rankwise.tune.decisions import Decision, Gain
from rankwise.tune.document import Status, Tuner

WIDTH = 80
_MOST_RANKS = 8
_MOST_MOVES = 6


def outcome(tuner: Tuner, act: bool) -> str:
    """How many changes were proposed, and what became of them, in one sentence."""
    count = len(tuner.decisions)
    if not count:
        return "nothing was to be gained: no change was proposed"
    if not act:
        return f"nothing was changed: {counted(count, 'proposal')} in a dry run"
    became = ", ".join(f"{number} {what}" for what, number in tuner.counts.items())
    return f"{counted(count, 'change')} proposed: {became}"


def best_of(tuner: Tuner) -> Decision | None:
    """The decision that gained most, or would: one that was kept, else one that was proposed."""
    kept = [each for each in tuner.decisions if each.became == "kept"]
    if kept:
        return max(kept, key=lambda each: each.measured.value if each.measured else 0.0)
    open_ones = [each for each in tuner.decisions if each.became == "proposed"]
    return max(open_ones, key=lambda each: each.estimated_gain or 0.0, default=None)


def decision_line(decision: Decision) -> str:
    """A decision in one line."""
    gains = []
    if decision.estimated_gain:
        gains.append(f"estimated {_percent(decision.estimated_gain)}")
    if decision.measured is not None:
        gains.append(f"measured {_measured(decision.measured)}")
    return f"{decision.became}: {change_text(decision)}{': ' if gains else ''}{', '.join(gains)}"


def tuner_text(tuner: Tuner, act: bool = True) -> str:
    """All decisions of a tuner."""
    lines = [outcome(tuner, act)]
    for decision in tuner.decisions:
        lines += ["", *_decision_lines(decision)]
    return "\n".join(lines)


def status_text(tuners: Sequence[Tuner]) -> str:
    """What tuners say of themselves."""
    parts = []
    for tuner in tuners:
        if tuner.status is not None:
            parts.append("\n".join(_status_lines(tuner.status, tuner)))
    return "\n\n".join(parts)


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
            f"{name} from CPU {move.source} to {move.to}"
            for name, move in zip(names, change.moves, strict=True)
        ]
        more = len(moves) - _MOST_MOVES
        parts.append(", ".join(moves[:_MOST_MOVES]) + (f" and {more} more" if more > 0 else ""))
    parts += [f"pages of process {each.pid} to NUMA node {each.to_numa}" for each in change.pages]
    parts += [f"interrupt {each.number} to CPU {each.to}" for each in change.interrupts]
    return ", ".join(parts) or _ranks(decision.ranks)


def _decision_lines(decision: Decision) -> Iterator[str]:
    yield f"{seconds_text(decision.at_s):>9}  {decision.became}"
    rows = [("seen", decision.seen), ("change", change_text(decision))]
    if decision.estimated_gain:
        rows.append(("estimated", _percent(decision.estimated_gain)))
    if decision.applied_s is not None:
        rows.append(("done", f"at {seconds_text(decision.applied_s)}"))
    if decision.measured is not None:
        rows.append(("measured", _measured(decision.measured)))
    if decision.why:
        rows.append((decision.became, decision.why))
    for name, text in rows:
        if text:
            yield from _wrapped(name, text)


def _wrapped(name: str, text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=f"{'':11}{name + ':':<11}", subsequent_indent=" " * 22)


def _status_lines(status: Status, tuner: Tuner) -> Iterator[str]:
    what = "daemon" if status.daemon else "tuner"
    acts = "acts" if status.act else "says what it would do, changes nothing"
    yield f"{what} {status.pid}: up {seconds_text(status.up_s)}, {acts}"
    yield f"  ranks      {status.ranks} in {counted(len(status.groups), 'group')}"
    for group in status.groups:
        rate = f", {group.rate_per_s:.4g} {group.rate_of} a second" if group.rate_per_s is not None else ""
        yield f"    {group.name[:40]}: {counted(group.ranks, 'rank')}{rate}"
    names = ("proposed", "kept", "undone", "refused", "failed")
    yield "  changes    " + ", ".join(f"{status.counts.get(name, 0)} {name}" for name in names)
    yield f"  own cost   {seconds_text(status.cpu_s)} of a processor, {bytes_text(status.rss_bytes)}"
    yield from textwrap.wrap(
        status.costs_from, WIDTH, initial_indent="  costs from ", subsequent_indent=" " * 13
    )
    if status.stands_back:
        yield from textwrap.wrap(
            status.stands_back, WIDTH, initial_indent="  stands back ", subsequent_indent=" " * 14
        )
    for decision in tuner.decisions[-3:]:
        yield from textwrap.wrap(
            decision_line(decision), WIDTH, initial_indent="  ", subsequent_indent=" " * 4
        )
    if tuner.socket:
        yield f"  socket     {Path(tuner.socket)}"


def _ranks(ranks: Sequence[int]) -> str:
    known = [str(rank) for rank in ranks if rank >= 0]
    if not known:
        return "ranks that are not named"
    more = f" and {len(known) - _MOST_RANKS} more" if len(known) > _MOST_RANKS else ""
    return f"rank{'s' * (len(known) > 1)} {', '.join(known[:_MOST_RANKS])}{more}"


def _percent(part: float) -> str:
    return f"{100 * part:.3g} %"


def _measured(gain: Gain) -> str:
    if gain.low is None or gain.high is None:
        return _percent(gain.value)
    return f"{_percent(gain.value)} ({_percent(gain.low)} to {_percent(gain.high)})"
