# SPDX-License-Identifier: BSD-3-Clause
"""Ranks compute one after the other."""

from __future__ import annotations

from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import LEAST_S, LEAST_SHARE, Finding
from rankwise.findings.late import LatePair
from rankwise.quantities import seconds_text
from rankwise.recording.completeness import ranks_text
from rankwise.recording.raw import CALL_NAMES

NAME = "serialised"
PAGE = """\
Ranks take turns: one computes and sends, the next one waits for that,
computes and sends, and so on, until it is the first one's turn again.

What to do: give each rank work that does not need the turns of the others. Or
have several pieces of work under way, so that each rank has one. Or cut a
turn into smaller pieces, and send each piece on as soon as it is ready.

How it is detected: from a trace with exact times. Each rank of the group
waits in receives while the rank before it computes. It waits for more than
half of that rank's computation in the whole run.

Shown if: fixing it saves 5 % of the run time and 10 ms.

Its cost: what the ranks would save if all computed at once. That is the time
that they wait for each other's computation, without one turn in each round.
There are two upper limits. One is the computation of the whole group, minus
that of its rank that computes longest. The other is the run time on an ideal
network, minus the computation of the rank that computes longest of all.

It is wrong if: each turn needs everything that the turn before it has
computed, and there is only one piece of work. Then more ranks do not help
this part.
"""


def find(evidence: Evidence) -> list[Finding]:
    """The group that costs most."""
    times, efficiency = evidence.times, evidence.efficiency
    if efficiency is None:
        return []
    ideal_s = efficiency.elapsed_s if efficiency.ideal_s is None else efficiency.ideal_s
    bound_s = min(ideal_s, times.elapsed_s) - float(times.useful_least_s.max())
    costs = []
    for ranks in evidence.in_turns:
        useful_s = times.useful_least_s[ranks]
        core_s = float(times.core_outside_s[ranks].sum())
        waited_s = sum(pair.waited_s for pair in _inside(evidence, ranks))
        turns_s = min(float(useful_s.sum() - useful_s.max()), waited_s * (len(ranks) - 1) / len(ranks))
        costs.append((min(turns_s - core_s, bound_s), ranks))
    cost_s, ranks = max(costs, default=(0.0, []))
    if cost_s < max(LEAST_S, LEAST_SHARE * times.elapsed_s):
        return []
    pairs = sorted(_inside(evidence, ranks), key=lambda pair: -pair.waited_s)
    lines = [
        f"rank {pair.waiting} waits {seconds_text(pair.waited_s)} in {CALL_NAMES[pair.waiting_call]} while "
        f"rank {pair.late} computes" + (f", at {at}" if at else "")
        for pair in pairs[:3]
        for at in [evidence.place_of(pair.waiting, str(CALL_NAMES[pair.waiting_call]))]
    ]
    together = float(times.useful_least_s[ranks].sum())
    lines.append(
        f"together they compute {seconds_text(together)} in a run of {seconds_text(times.elapsed_s)}"
    )
    return [
        Finding(
            name=NAME,
            sentence=f"{ranks_text(ranks)} take turns: while one computes, the others wait for its message",
            evidence=lines,
            ranks=ranks,
            cost_s=cost_s,
            estimate="what they wait for each other's turns, as if all computed at once",
            do="let several pieces of work go round at once, or give each rank work that needs no turn",
            command=None,
            confidence="medium",
            refuted_by="there is one piece of work, and each turn needs all of the turn before",
        )
    ]


def _inside(evidence: Evidence, ranks: list[int]) -> list[LatePair]:
    """Who waits for whose message in a group."""
    return [
        pair
        for pair in evidence.late_pairs
        if pair.need == "message" and pair.late in ranks and pair.waiting in ranks
    ]
