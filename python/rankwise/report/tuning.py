# SPDX-License-Identifier: BSD-3-Clause
"""What tuners decided while the program ran, on the recording's axis of time."""

from __future__ import annotations

from collections import Counter

import msgspec

from rankwise.errors import RankwiseError
from rankwise.quantities import counted, seconds_text
from rankwise.recording import Recording
from rankwise.tune.decisions import Became, Decision, Gain, decisions_of
from rankwise.tune.document import acting
from rankwise.tune.events import read_events
from rankwise.tune.words import change_text, gains_text, outcome_text


class TunedChange(msgspec.Struct, frozen=True):
    """A change of the mapping of ranks to cores, as a tuner proposed and perhaps tried it.

    Attributes:
        host: Whose ranks.
        acts: The tuner was to carry out what it proposed; else it was a dry run.
        proposed_s: When, after MPI_Init, as all times here; negative before it.
        applied_s: When it was carried out for the first time; `null` if it was not.
        ended_s: When it was kept, undone or refused; `null` if the run ended before.
        ranks: World ranks that it concerns.
        seen: Why it was proposed.
        change: What was to change, in words.
        estimated_gain: Part of the time that an iteration takes.
        measured: The same as measured, with its interval at 95 %.
        became: What became of it.
        why: The reason for that.
    """

    host: str
    acts: bool
    proposed_s: float
    applied_s: float | None
    ended_s: float | None
    ranks: list[int]
    seen: str | None
    change: str
    estimated_gain: float | None
    measured: Gain | None
    became: Became
    why: str | None


def tuning(recording: Recording) -> tuple[list[TunedChange], list[str]]:
    """All changes in the order of time, none of a run without a tuner; and what of them is not known, in sentences."""
    init_of: dict[str, float] = recording.context.get("init_monotonic_s") or {}
    found, unknown = [], []
    for file in sorted((recording.path / "tune").glob("*.jsonl")):
        host = file.name.removesuffix(".jsonl")
        # Emulated hosts are one machine with one clock.
        init_s = init_of.get(host, min(init_of.values(), default=None))
        try:
            log = read_events(file)
        except RankwiseError as error:
            unknown.append(f"What `rankwise tune` did on {host} is not known: {error.message}.")
            continue
        if log.damaged:
            lines = counted(log.damaged, "event")
            unknown.append(f"{lines} of `rankwise tune` on {host} cannot be read, and are left out.")
        acts = acting(log.events) is not False
        if init_s is not None:
            found += [_on_axis(decision, host, acts, init_s) for decision in decisions_of(log.events)]
    return sorted(found, key=lambda change: change.proposed_s), unknown


def _on_axis(decision: Decision, host: str, acts: bool, init_s: float) -> TunedChange:
    began_s = decision.monotonic_s - decision.at_s - init_s

    def at(moment_s: float | None) -> float | None:
        return None if moment_s is None else began_s + moment_s

    return TunedChange(
        host=host,
        acts=acts,
        proposed_s=began_s + decision.at_s,
        applied_s=at(decision.applied_s),
        ended_s=at(decision.ended_s),
        ranks=[rank for rank in decision.ranks if rank >= 0],
        seen=decision.seen,
        change=change_text(decision),
        estimated_gain=decision.estimated_gain,
        measured=decision.measured,
        became=decision.became,
        why=decision.why,
    )


def summary(changes: list[TunedChange]) -> str:
    """How many there were, and what became of them."""
    return outcome_text(Counter(change.became for change in changes), any(change.acts for change in changes))


def gains_of(change: TunedChange) -> str:
    """Estimated and measured gain; empty where neither is known."""
    return gains_text(change.estimated_gain, change.measured)


def times_text(change: TunedChange) -> str:
    """When it was proposed, done and ended."""
    times = [("proposed", change.proposed_s), ("done", change.applied_s), (change.became, change.ended_s)]
    return ", ".join(f"{what} at {seconds_text(max(at, 0.0))}" for what, at in times if at is not None)
