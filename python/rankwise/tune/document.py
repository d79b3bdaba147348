# SPDX-License-Identifier: BSD-3-Clause
"""What tuners say of themselves and did, as JSON: schema `rankwise.tune/1`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from rankwise.tune.decisions import Decision, decisions_of
from rankwise.tune.events import Event, Log

SCHEMA: Literal["rankwise.tune/1"] = "rankwise.tune/1"
# What tune/tuner.cpp writes into `why` of `started`.
ACTS = "it acts"


class Group(msgspec.Struct, frozen=True):
    """Ranks that may change places.

    Attributes:
        name: Of the job and its part of the node.
        ranks: How many.
        rate_per_s: How fast they are, as last measured, by `rate_of`.
        major_faults: Pages that their threads had to get from a disk.
        migrations: Times that a thread was seen on another processing unit than at the look before.
    """

    name: str
    ranks: int
    rate_per_s: float | None = None
    rate_of: str | None = None
    major_faults: int = 0
    migrations: int = 0


class Limits(msgspec.Struct, frozen=True):
    """What holds the node's processing units back.

    Attributes:
        clock: Lowest of the units' highest clocks allowed, as a part of the highest there is.
        throttled: Times that heat held back the unit that it did most, since the tuner began.
        power_w: Watts that each package may take over a long time.
        queues: Of each network interface, where its interrupts are and its packets are handed on to.
        unknown: What is not known of this, and of memory traffic, and why.
    """

    clock: float | None = None
    throttled: int | None = None
    power_w: dict[str, float] = {}
    queues: list[str] = []
    unknown: list[str] = []


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
        stands_back: Why it does nothing, while another mover is active or it can write no journal; else empty.
        began_unix_s: When it began, seconds since 1970.
        began_monotonic_s: The same in CLOCK_MONOTONIC of its node.
        limits: What holds the node back.
        recent: Events of its last decisions.
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
    began_unix_s: float | None = None
    began_monotonic_s: float | None = None
    limits: Limits | None = None
    recent: list[Event] = []


class Stopped(msgspec.Struct, frozen=True):
    """What a tuner says when it has been asked to stop and has given back what it changed.

    Attributes:
        left: Threads and interrupts that it could not give back.
        said: What became of all, as a sentence; empty if it had changed nothing.
    """

    left: int
    said: str


class Tuner(msgspec.Struct, frozen=True):
    """One tuner: what it is, `None` if it has ended, and its decisions.

    Attributes:
        socket: Where it answers, `None` if it has ended.
        host: Its node, `None` where that is the one from which the job was launched.
        status: What it says of itself.
        began_unix_s: When it began, seconds since 1970.
        counts: Decisions by what became of them.
        decisions: All; of one that runs, its last ones.
        acts: It carries out what it proposes; `None` where its beginning is not known.
        ranks_seen: How many ranks it has found.
        seen_s: Seconds between the first rank that was found and the last event.
        stood_back: Why it did nothing, if another mover was active or it could write no journal at its end; else empty.
        said: Why nothing was proposed, as it said last; else empty.
        ended_early: Why it ended before it was asked to; else empty.
        left: What could not be given back when it ended, in a sentence; else empty.
        damaged_lines: Of its events, that could not be read.
    """

    socket: str | None
    status: Status | None
    began_unix_s: float | None
    counts: dict[str, int]
    decisions: list[Decision]
    acts: bool | None = None
    ranks_seen: int = 0
    seen_s: float = 0.0
    stood_back: str = ""
    said: str = ""
    ended_early: str = ""
    left: str = ""
    damaged_lines: int = 0
    host: str | None = None


class Tuning(msgspec.Struct, frozen=True):
    """The document."""

    schema: Literal["rankwise.tune/1"]
    tuners: list[Tuner]


def tuner_of(
    log: Log,
    socket: str | None = None,
    status: Status | None = None,
    ended_early: str = "",
    host: str | None = None,
) -> Tuner:
    """What events say, and the tuner itself where it still runs."""
    events = log.events
    decisions = decisions_of(events, status.began_monotonic_s if status else None)
    found = [event for event in events if event.what == "rank_found"]
    acts = acting(events)
    back = [event for event in events if event.what in ("stood_back", "resumed")]
    why = [event.why for event in events if event.what in ("refused", "seen") and event.group and event.why]
    first = events[0].unix_s if events else None
    return Tuner(
        socket=socket,
        status=status,
        began_unix_s=status.began_unix_s if status else first,
        counts=dict(sorted(Counter(decision.became for decision in decisions).items())),
        decisions=decisions,
        acts=status.act if status is not None else acts,
        ranks_seen=status.counts.get("rank_found", 0) if status else sum(len(event.ranks) for event in found),
        seen_s=events[-1].monotonic_s - found[0].monotonic_s if found else 0.0,
        stood_back=(back[-1].why or "") if back and back[-1].what == "stood_back" else "",
        said=why[-1] if why else "",
        ended_early=ended_early,
        left=next((event.why for event in reversed(events) if _says_left(event)), None) or "",
        damaged_lines=log.damaged,
        host=host,
    )


def _says_left(event: Event) -> bool:
    """What cannot be given back at the end is of no group; what fails before is of one."""
    return event.what == "failed" and event.group is None


def together(tuners: Sequence[Tuner]) -> Tuner:
    """What tuners of a job's nodes did, as if it were one; what only one can say is the first one's that says it."""
    return msgspec.structs.replace(
        tuners[0],
        counts=dict(sorted(sum((Counter(each.counts) for each in tuners), Counter[str]()).items())),
        decisions=[decision for each in tuners for decision in each.decisions],
        ranks_seen=sum(each.ranks_seen for each in tuners),
        seen_s=max(each.seen_s for each in tuners),
        ended_early=next(map(_early, filter(lambda each: each.ended_early, tuners)), ""),
        left=next((each.left for each in tuners if each.left), ""),
        stood_back=next((each.stood_back for each in tuners if each.stood_back), ""),
        said=next((each.said for each in tuners if each.said), ""),
    )


def _early(tuner: Tuner) -> str:
    """Why it ended early, and on which host, where that is another one."""
    return tuner.ended_early if tuner.host is None else f"{tuner.ended_early} on `{tuner.host}`"


def acting(events: Sequence[Event]) -> bool | None:
    """Whether a tuner carries out what it proposes, as it says when it begins; `None` where that is not known."""
    return next((event.why == ACTS for event in events if event.what == "started"), None)


def json_schema() -> dict[str, Any]:
    """The JSON schema of the document."""
    return msgspec.json.schema(Tuning)
