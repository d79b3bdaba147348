# SPDX-License-Identifier: BSD-3-Clause
"""How the clocks of a recording's hosts relate, and how far that may be wrong.

Ranks of one host read one counter. Between hosts the messages say it, afterwards and without any of our own: a message
does not arrive before it was sent, so each one from A to B bounds the offset of B's clock from below, and each from B
to A from above (Duda, Harrus, Haddad & Bernard, "Estimating global time in distributed systems", 1987; there with a
drift, which is taken here from each host's own CLOCK_MONOTONIC).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.errors import RankwiseError
from rankwise.recording.job import Job
from rankwise.recording.traces.timeline import Messages, RankEvents


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


def relate(job: Job, ranks: list[RankEvents], messages: Messages) -> list[HostClock]:
    """The clocks of all hosts.

    Args:
        job: Whose ranks these are.
        ranks: Their events (`timeline.rank_events`).
        messages: Messages between them (`timeline.match`).

    Raises:
        RankwiseError: Hosts that no messages relate in both directions, or clocks that run unequally.
    """
    host_of = [thread.rank["host"] for thread in job.first_threads]
    names = list(dict.fromkeys(host_of))
    number = np.array([names.index(host) for host in host_of])
    bounds = _bounds(ranks, messages, number)
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
                f"no messages in both directions relate the clock of {missing} to that of {names[0]}",
                hint="use what is said within each host",
            )
        bound, offset, host = min(reachable)
        placed[host] = (offset, bound)
    return [HostClock(name, *placed[at], _spread(job, name)) for at, name in enumerate(names)]


def _bounds(
    ranks: list[RankEvents], messages: Messages, number: np.ndarray
) -> dict[tuple[int, int], tuple[float, float]]:
    """By pair of hosts: what to add to the second's times to get the first's, and the bound of it."""
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
