# SPDX-License-Identifier: BSD-3-Clause
"""How the clocks of a recording's hosts relate, and how far that may be wrong.

Ranks of one host read one counter. Between hosts the program's messages say it, afterwards and without any of our own,
and collectives that nobody leaves before all have come, which are as a message from each member to each other. A
message does not arrive before it was sent, so each one from A to B bounds the offset of B's clock from below, and each
from B to A from above (Duda, Harrus, Haddad & Bernard, "Estimating global time in distributed systems", 1987; there
with a drift, which is taken here from each host's own CLOCK_MONOTONIC).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.errors import RankwiseError
from rankwise.recording.job import Job
from rankwise.recording.raw import CALL_COLLECTIVES
from rankwise.recording.traces.timeline import CollectiveCalls, Messages, RankEvents

# Without data they may end at once, but for the barrier; in those with a size for each rank a member may give nothing.
_OF_ALL = ("allgather", "allreduce", "alltoall", "barrier", "reduce_scatter_block")
_MOST_DELAYS = 50_000_000


@dataclass(frozen=True)
class HostClock:
    """A host's clock against that of the first host.

    Attributes:
        host: Its name.
        offset_s: To be added to the host's times; 0 for the first host.
        bound_s: How far that may be wrong, between hosts; 0 for the first one.
        spread_s: How far the ranks' own readings of the host's clocks are apart: the bound within the host.
    """

    host: str
    offset_s: float
    bound_s: float
    spread_s: float


def relate(
    job: Job, ranks: list[RankEvents], messages: Messages, collectives: CollectiveCalls
) -> list[HostClock]:
    """The clocks of all hosts.

    Args:
        job: Whose ranks these are.
        ranks: Their events (`timeline.rank_events`).
        messages: Messages between them (`timeline.match`).
        collectives: Their collectives (`timeline.match_collectives`).

    Raises:
        RankwiseError: Hosts that no messages or collectives relate in both directions, or clocks that run unequally.
    """
    host_of = [thread.rank["host"] for thread in job.first_threads]
    names = list(dict.fromkeys(host_of))
    number = np.array([names.index(host) for host in host_of])
    shortest = np.minimum(_of_messages(ranks, messages, number), _of_collectives(ranks, collectives, number))
    bounds = _bounds(shortest)
    placed = {0: (0.0, 0.0)}
    while len(placed) < len(names):
        reachable = [
            (bound + placed[a][1], placed[a][0] + offset, b)
            for (a, b), (offset, bound) in bounds.items()
            if a in placed and b not in placed
        ]
        if not reachable:
            missing = ", ".join(name for at, name in enumerate(names) if at not in placed)
            raise RankwiseError(
                "no messages in both directions and no collectives relate the clock of "
                f"{missing} to that of {names[0]}",
                hint="use what is said within each host",
            )
        bound, offset, host = min(reachable)
        placed[host] = (offset, bound)
    return [HostClock(name, *placed[at], _spread(job, name)) for at, name in enumerate(names)]


def same(job: Job) -> list[HostClock]:
    """Of hosts that have one clock, as those of a generated recording."""
    names = dict.fromkeys(thread.rank["host"] for thread in job.first_threads)
    return [HostClock(name, 0.0, 0.0, 0.0) for name in names]


def _of_messages(ranks: list[RankEvents], messages: Messages, number: np.ndarray) -> np.ndarray:
    """By pair of hosts, the shortest time of a message from the first to the second, by their own clocks."""
    starts = np.cumsum([0, *(len(each.begin_s) for each in ranks)])
    begins = np.concatenate([each.begin_s for each in ranks])
    ends = np.concatenate([each.end_s for each in ranks])
    delay = (
        ends[starts[messages.destination] + messages.receive]
        - begins[starts[messages.source] + messages.send]
    )
    hosts = int(number.max()) + 1
    shortest = np.full((hosts, hosts), np.inf)
    np.minimum.at(shortest, (number[messages.source], number[messages.destination]), delay)
    return shortest


def _of_collectives(ranks: list[RankEvents], calls: CollectiveCalls, number: np.ndarray) -> np.ndarray:
    """The same of collectives: from the last of a host's members that came to the first of another's that left."""
    hosts = int(number.max()) + 1
    shortest = np.full((hosts, hosts), np.inf)
    size, end = np.empty(len(calls.rank)), np.empty(len(calls.rank))
    for rank, each in enumerate(ranks):
        mine = calls.rank == rank
        size[mine] = each.columns["bytes"][calls.given[mine]]
        end[mine] = each.end_s[calls.row[mine]]
    names = np.append(CALL_COLLECTIVES, "")[calls.kind][calls.number]
    counts = np.isin(names, _OF_ALL) & ((size > 0) | (names == "barrier"))
    if hosts < 2 or not counts.any():
        return shortest
    which, turn = np.unique(calls.number[counts], return_inverse=True)
    last, first = np.full((len(which), hosts), -np.inf), np.full((len(which), hosts), np.inf)
    host = number[calls.rank[counts]]
    np.maximum.at(last, (turn, host), calls.begin_s[counts])
    np.minimum.at(first, (turn, host), end[counts])
    step = max(len(which) * hosts * hosts // _MOST_DELAYS, 1)
    for a in range(hosts):
        # Who has no member there has begun at minus infinity, and left at infinity.
        shortest[a] = (first[::step] - last[::step, a, None]).min(axis=0)
    return shortest


def _bounds(shortest: np.ndarray) -> dict[tuple[int, int], tuple[float, float]]:
    """By pair of hosts: what to add to the second's times to get the first's, and the bound of it."""
    least = {(int(a), int(b)): float(shortest[a, b]) for a, b in np.argwhere(np.isfinite(shortest)) if a != b}
    found = {}
    for (a, b), there in least.items():
        back = least.get((b, a), np.inf)
        if np.isinf(back):
            continue
        # a's time = b's time + offset, and delays are not negative: -there <= offset <= back.
        if there + back < 0:
            raise RankwiseError(
                f"the clocks of two hosts ran apart by {-(there + back) * 1e6:.0f} us in this run",
                hint="use what is said within each host",
            )
        found[a, b] = ((back - there) / 2, (there + back) / 2)
    return found


def _spread(job: Job, host: str) -> float:
    """The ranks' readings of (ticks, CLOCK_MONOTONIC) against one line through the first and the last of them."""
    ranks = [thread.rank for thread in job.first_threads if thread.rank["host"] == host]
    points = sorted(
        (rank[f"{when}_ticks"], rank[f"{when}_monotonic_ns"]) for rank in ranks for when in ("first", "last")
    )
    ticks, ns = np.array(points, np.int64).T
    ticks, ns = (ticks - ticks[0]).astype(np.float64), (ns - ns[0]).astype(np.float64)
    if ticks[-1] == 0:
        return 0.0
    left = ns - ticks * (ns[-1] / ticks[-1])
    return float(left.max() - left.min()) * 1e-9
