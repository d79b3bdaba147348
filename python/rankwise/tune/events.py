# SPDX-License-Identifier: BSD-3-Clause
"""What a tuner wrote of what it saw and did: a line of JSON an event (tune/events/event_line.hpp writes them)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec

from rankwise import regular_files
from rankwise.errors import RankwiseError

What = Literal[
    "started", "rank_found", "rank_gone", "seen", "proposed", "refused", "applied", "measured", "kept",
    "undone", "stood_back", "resumed", "restored", "failed", "stopped",
]  # fmt: skip

# No clock and no gain is beyond these; differences of them are finite.
Moment = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
Part = Annotated[float, msgspec.Meta(ge=-1e12, le=1e12)]


class Move(msgspec.Struct, frozen=True):
    """A process whose threads were put on other processing units; `source` and `to` are lists as Linux writes them."""

    pid: int
    start: int
    source: str = msgspec.field(name="from")
    to: str = ""


class Pages(msgspec.Struct, frozen=True):
    """A process whose pages were moved to a NUMA node."""

    pid: int
    start: int
    to_numa: int


class Interrupt(msgspec.Struct, frozen=True):
    """An interrupt that was given other processing units; `to` is empty where it got back those that it had."""

    number: int
    to: str


class Change(msgspec.Struct, frozen=True):
    """One change of a mapping."""

    moves: list[Move] = []
    pages: list[Pages] = []
    interrupts: list[Interrupt] = []


class Event(msgspec.Struct, frozen=True):
    """One line.

    Attributes:
        monotonic_s: CLOCK_MONOTONIC of the node.
        unix_s: The same moment in seconds since 1970.
        what: What it says.
        group: Ranks that may change places.
        why: A sentence.
        ranks: World ranks that it concerns.
        change: Of what is proposed, applied, kept, undone.
        estimated_gain: Part of the time that an iteration takes.
        measured_gain: The same as measured, `gain_low` and `gain_high` its interval at 95 %.
        rate_per_s: Iterations or MPI calls a second, by `rate_of`.
    """

    monotonic_s: Moment
    unix_s: Moment
    what: What
    group: str | None = None
    why: str | None = None
    ranks: list[int] = []
    change: Change | None = None
    estimated_gain: Part | None = None
    measured_gain: Part | None = None
    gain_low: Part | None = None
    gain_high: Part | None = None
    rate_per_s: float | None = None
    rate_of: str | None = None


class Log(NamedTuple):
    """A tuner's events, and how many lines are none: a full disk cuts lines off, and others follow."""

    events: list[Event]
    damaged: int = 0


def is_whole(events: Sequence[Event]) -> bool:
    """Whether the tuner came to its end."""
    return bool(events) and events[-1].what == "stopped"


def read_events(path: Path) -> Log:
    """All events of a file; a last line that is being written is left out.

    Raises:
        RankwiseError: It cannot be read, or has no event in it, but something else.
    """
    try:
        *lines, _ = regular_files.read_bytes(path).split(b"\n")
    except FileNotFoundError:
        return Log([])
    except OSError as error:
        raise RankwiseError(f"`{path}` cannot be read: {(error.strerror or str(error)).lower()}") from None
    decoder = msgspec.json.Decoder(Event)
    events, damaged = [], 0
    for line in lines:
        try:
            events.append(decoder.decode(line))
        except (msgspec.DecodeError, RecursionError):
            damaged += 1
    if damaged and not events:
        raise RankwiseError(
            f"`{path}` has no event of a tuner", "run `rankwise tune -o NAME.tune -- ...` again"
        )
    return Log(events, damaged)
