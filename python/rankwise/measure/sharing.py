# SPDX-License-Identifier: BSD-3-Clause
"""The steps of the sharing sweep: 1, 2, ... pairs through one interface at once, in the time that there is for it."""

from __future__ import annotations

from rankwise.machine.channels import NETWORK
from rankwise.measure.arguments import Steps
from rankwise.measure.plan import Plan

SHARE_BYTES, RATE_BYTES = 65536, 8
# Messages of a burst; two bursts of each pair are on their way.
BURSTS = {SHARE_BYTES: 4, RATE_BYTES: 160}
# Of the sweep's time; of small messages, many pass in a short window.
PARTS = {SHARE_BYTES: 0.8, RATE_BYTES: 0.2}
SHORTEST_WINDOW_S = (
    0.1  # of large messages: where there is less time, fewer counts of pairs are tried, at least two
)


def add(steps: Steps, plan: Plan, seconds: float, longest_s: float, windows: int) -> None:
    """Add the steps of one launch.

    Args:
        steps: The launch's.
        plan: Who measures.
        seconds: What they may take together, if that is enough for the shortest windows.
        longest_s: Of a window.
        windows: For each count of pairs.
    """
    counts = counts_in(len(plan.sharing), seconds, windows)
    least = len(counts) * (windows + 1) * SHORTEST_WINDOW_S / PARTS[SHARE_BYTES]
    for count in counts:
        for size, part in PARTS.items():
            # As much passes before the first window as in each.
            window = min(longest_s, max(seconds, least) * part / len(counts) / (windows + 1))
            numbers = {"batch_s": window, "most": windows, "messages": BURSTS[size]}
            steps.add("share", NETWORK, plan.sharing[:count], (size,), **numbers)


def counts_in(pairs: int, seconds: float, windows: int) -> list[int]:
    """Counts of pairs for which there is time: the fewest and the most come first, then those between them."""
    tried = sharing_counts(pairs)
    fit = max(2, int(seconds * PARTS[SHARE_BYTES] / ((windows + 1) * SHORTEST_WINDOW_S)))
    while len(tried) > fit:
        del tried[(len(tried) - 1) // 2 or 1]
    return tried


def sharing_counts(pairs: int) -> list[int]:
    """Counts of pairs that are tried together: all up to 4, then doubling, and all there are."""
    counts = {k for k in (1, 2, 3, 4, 8, 16) if k <= pairs}
    return sorted(counts | ({pairs} if pairs else set()))
