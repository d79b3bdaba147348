# SPDX-License-Identifier: BSD-3-Clause
"""What tuners did and say of themselves, as text of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from rankwise.quantities import bytes_text, counted, seconds_text
from rankwise.tune.decisions import Decision
from rankwise.tune.document import Limits, Status, Tuner
from rankwise.tune.words import change_text, gain_text, gains_text, outcome_text, percent

WIDTH = 80
# A tuner compares two looks at a rank that was there already, a second apart.
OBSERVED_S = 2.0


def outcome(tuner: Tuner) -> str:
    """How many changes were proposed and what became of them, or why there were none, in one sentence."""
    said = outcome_text(tuner.counts, tuner.acts is not False) if tuner.decisions else _nothing(tuner)
    early = f"the tuner ended early: {tuner.ended_early}" if tuner.ended_early else ""
    return "; ".join(filter(None, (early, tuner.left, said)))


def _nothing(tuner: Tuner) -> str:
    """Why no change was proposed, as far as events say it."""
    if not tuner.ranks_seen:
        return "no rank was seen: no process initialised MPI with Rankwise's library in it; see `rankwise doctor`"
    if tuner.stood_back:
        return f"no change was proposed: {tuner.stood_back}"
    if tuner.said:
        return f"no change was proposed: {tuner.said}"
    if tuner.seen_s < OBSERVED_S:
        return f"no change was proposed: ranks were seen for {seconds_text(tuner.seen_s)}, too short to tell"
    return "nothing was to be gained: no change was proposed"


def best_of(tuner: Tuner) -> Decision | None:
    """The decision that gained most, or would: one that was kept, else one that was proposed."""
    kept = [each for each in tuner.decisions if each.became == "kept"]
    if kept:
        return max(kept, key=lambda each: each.measured.value if each.measured else 0.0)
    open_ones = [each for each in tuner.decisions if each.became == "proposed"]
    return max(open_ones, key=lambda each: each.estimated_gain or 0.0, default=None)


def decision_line(decision: Decision) -> str:
    """A decision in one line."""
    gains = gains_text(decision.estimated_gain, decision.measured)
    return f"{decision.became}: {change_text(decision)}{': ' if gains else ''}{gains}"


def proposal_line(decision: Decision) -> str:
    """A decision in one line, and why where nothing came of it yet."""
    why = f", because {decision.seen}" if decision.became == "proposed" and decision.seen else ""
    return decision_line(decision) + why


def tuner_text(tuner: Tuner, with_host: bool = False) -> str:
    """All decisions of a tuner."""
    of_host = f"{tuner.host}: " if with_host and tuner.host is not None else ""
    lines = textwrap.wrap(of_host + outcome(tuner), WIDTH)
    if tuner.damaged_lines:
        lines.append(f"{counted(tuner.damaged_lines, 'line')} of its events cannot be read, and are left out")
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


def _decision_lines(decision: Decision) -> Iterator[str]:
    yield f"{seconds_text(decision.at_s):>9}  {decision.became}"
    rows = [("seen", decision.seen), ("change", change_text(decision))]
    if decision.estimated_gain:
        rows.append(("estimated", percent(decision.estimated_gain)))
    if decision.applied_s is not None:
        rows.append(("done", f"at {seconds_text(decision.applied_s)}"))
    if decision.measured is not None:
        rows.append(("measured", gain_text(decision.measured)))
    if decision.why:
        rows.append((decision.became, decision.why))
    for name, text in rows:
        if text:
            yield from _wrapped(name, text)


def _wrapped(name: str, text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=f"{'':11}{name + ':':<11}", subsequent_indent=" " * 22)


def _limit_lines(limits: Limits) -> Iterator[str]:
    known = []
    if limits.clock is not None:
        known.append(f"clock up to {percent(limits.clock)} of the highest")
    if limits.throttled is not None:
        known.append(f"held back by heat {limits.throttled} times")
    known += [f"{zone} up to {watts:.0f} W" for zone, watts in limits.power_w.items()]
    known += [f"not known: {each}" for each in limits.unknown]
    yield from textwrap.wrap(
        "; ".join(known), WIDTH, initial_indent="  limits     ", subsequent_indent=" " * 13
    )


def _status_lines(status: Status, tuner: Tuner) -> Iterator[str]:
    what = "daemon" if status.daemon else "tuner"
    acts = "acts" if status.act else "says what it would do, changes nothing"
    yield f"{what} {status.pid}: up {seconds_text(status.up_s)}, {acts}"
    yield f"  ranks      {status.ranks} in {counted(len(status.groups), 'group')}"
    for group in status.groups:
        rate = f", {group.rate_per_s:.4g} {group.rate_of} a second" if group.rate_per_s is not None else ""
        yield f"    {group.name[:56]}: {counted(group.ranks, 'rank')}{rate}"
        faults, moved = counted(group.major_faults, "page"), counted(group.migrations, "time")
        yield f"      threads got {faults} from a disk, and were seen to change cores {moved}"
    names = ("proposed", "kept", "undone", "refused", "failed")
    yield "  changes    " + ", ".join(f"{status.counts.get(name, 0)} {name}" for name in names)
    yield f"  own cost   {seconds_text(status.cpu_s)} of a processor, {bytes_text(status.rss_bytes)}"
    yield from textwrap.wrap(
        f"of messages: {status.costs_from}", WIDTH, initial_indent="  costs      ", subsequent_indent=" " * 13
    )
    if status.limits is not None:
        yield from _limit_lines(status.limits)
        for queue in status.limits.queues:
            yield from textwrap.wrap(queue, WIDTH, initial_indent="  network    ", subsequent_indent=" " * 13)
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
