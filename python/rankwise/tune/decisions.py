# SPDX-License-Identifier: BSD-3-Clause
"""What a tuner decided: events of one change put together, from the proposal to what became of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from rankwise.tune.events import Change, Event

Became = Literal["proposed", "refused", "failed", "being measured", "kept", "undone"]
_ENDS = ("refused", "failed", "kept", "undone")


class Gain(msgspec.Struct, frozen=True):
    """What a change gained, as a part of the time before it, with its interval at 95 %."""

    value: float
    low: float | None
    high: float | None


class Decision(msgspec.Struct, frozen=True):
    """One change.

    Attributes:
        at_s: Seconds after the tuner began.
        ended_s: When it was kept, undone or refused; `None` while it is not.
        monotonic_s: CLOCK_MONOTONIC of the proposal.
        group: Ranks that may change places.
        ranks: World ranks that it concerns.
        seen: Why it was proposed.
        change: What was to be changed.
        estimated_gain: Part of the time that an iteration takes.
        applied_s: When it was carried out, `None` if it was not.
        measured: What it gained, `None` where it was not measured.
        became: What became of it; `proposed` where the tuner was not to act.
        why: The reason for that.
    """

    at_s: float
    ended_s: float | None
    monotonic_s: float
    group: str | None
    ranks: list[int]
    seen: str | None
    change: Change | None
    estimated_gain: float | None
    applied_s: float | None
    measured: Gain | None
    became: Became
    why: str | None


def decisions_of(events: Iterable[Event], began: float | None = None) -> list[Decision]:
    """Decisions in the order in which they began; a tuner tries one change of a group at a time.

    A mapping that is known to suit what ranks do now is applied without a new proposal.

    Args:
        events: What the tuner wrote.
        began: When it began, in CLOCK_MONOTONIC; `None`: with the first of the events.
    """
    found: list[Decision] = []
    open_of: dict[str | None, int] = {}
    for event in events:
        began = event.monotonic_s if began is None else began
        at_s = event.monotonic_s - began
        if event.what == "proposed" or (event.what == "applied" and event.group not in open_of):
            open_of[event.group] = len(found)
            found.append(_begun(event, at_s))
        at = open_of.get(event.group)
        if at is None:
            continue
        found[at] = _continued(found[at], event, at_s)
        if _ends(event):
            del open_of[event.group]
    return found


def _ends(event: Event) -> bool:
    """Whether a change comes to its end; why none is proposed is said by an event without one."""
    return event.what in _ENDS and (event.what != "refused" or event.change is not None)


def _begun(event: Event, at_s: float) -> Decision:
    return Decision(
        at_s=at_s,
        ended_s=None,
        monotonic_s=event.monotonic_s,
        group=event.group,
        ranks=event.ranks,
        seen=event.why,
        change=event.change,
        estimated_gain=event.estimated_gain,
        applied_s=None,
        measured=None,
        became="proposed",
        why=None,
    )


def _continued(decision: Decision, event: Event, at_s: float) -> Decision:
    known: dict[str, object] = {}
    if event.what == "applied" and decision.applied_s is None:
        known = {"applied_s": at_s, "became": "being measured"}
    if _ends(event):
        known = {"ended_s": at_s, "became": event.what, "why": event.why}
    if event.measured_gain is not None:
        known["measured"] = Gain(event.measured_gain, event.gain_low, event.gain_high)
    return msgspec.structs.replace(decision, **known)
