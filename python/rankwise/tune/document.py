# SPDX-License-Identifier: BSD-3-Clause
"""What tuners say of themselves and did, as JSON: schema `rankwise.tune/1`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from rankwise.tune.decisions import Decision, decisions_of
from rankwise.tune.events import Event

SCHEMA: Literal["rankwise.tune/1"] = "rankwise.tune/1"


class Group(msgspec.Struct, frozen=True):
    """Ranks that may change places: how many, and how fast they are, as last measured."""

    name: str
    ranks: int
    rate_per_s: float | None = None
    rate_of: str | None = None


class Status(msgspec.Struct, frozen=True):
    """A tuner that runs, as it says itself on its socket.

    Attributes:
        pid: Its process.
        daemon: It serves a node.
        act: It changes what it proposes.
        up_s: Seconds since it began.
        ranks: How many it has found and not lost.
        groups: Those that have ranks.
        counts: Events by what they say.
        cpu_s: Processor time that it has taken.
        rss_bytes: Memory that it has.
        costs_from: Where costs of messages are from.
        stands_back: Why it does nothing, while another mover is active; else empty.
        recent: Its last events.
    """

    pid: int
    daemon: bool
    act: bool
    up_s: float
    ranks: int
    groups: list[Group]
    counts: dict[str, int]
    cpu_s: float
    rss_bytes: int
    costs_from: str
    stands_back: str = ""
    recent: list[Event] = []


class Tuner(msgspec.Struct, frozen=True):
    """One tuner: what it is, `None` if it has ended, and its decisions.

    Attributes:
        socket: Where it answers, `None` if it has ended.
        status: What it says of itself.
        began_unix_s: When it began, seconds since 1970.
        counts: Decisions by what became of them.
        decisions: All that is known of; of one that runs, those among its last events.
    """

    socket: str | None
    status: Status | None
    began_unix_s: float | None
    counts: dict[str, int]
    decisions: list[Decision]


class Tuning(msgspec.Struct, frozen=True):
    """The document."""

    schema: Literal["rankwise.tune/1"]
    tuners: list[Tuner]


def tuner_of(events: Sequence[Event], socket: str | None = None, status: Status | None = None) -> Tuner:
    """What events say, and the tuner itself where it still runs."""
    decisions = decisions_of(events)
    return Tuner(
        socket=socket,
        status=status,
        began_unix_s=events[0].unix_s if events else None,
        counts=dict(sorted(Counter(decision.became for decision in decisions).items())),
        decisions=decisions,
    )


def json_schema() -> dict[str, Any]:
    """The JSON schema of the document."""
    return msgspec.json.schema(Tuning)
