# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that talk much are far from each other, and another placement is faster."""

from __future__ import annotations

import shlex

import numpy as np
import polars as pl

from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import LEAST_S, LEAST_SHARE, Finding
from rankwise.findings.order import in_order
from rankwise.quantities import bytes_text, seconds_text
from rankwise.replay.prediction import Prediction

NAME = "far-placement"
_MOST_BY_ORDER = 0.8
PAGE = """\
Another placement on the same nodes is faster. Ranks that exchange many
messages are far from each other, or ranks share an interface, a memory or a
core that they should not share.

What to do: search longer, and run with the placement that is found:
    rankwise place REC --machine FILE -o best.placement.json
    rankwise run --placement best.placement.json -- mpiexec -n 16 ./app

How it is detected: this needs a trace and a machine file (`--machine`).
Rankwise searches for some seconds, as `rankwise place` does. It replays the
recorded run with each placement. The replay knows messages, waiting,
interfaces, caches and memory.

Shown if: the best placement saves 10 % of the run time and more than 10 ms.
It must save 10 % also if the numbers of the machine file are a little
different (within their intervals). Two cases have findings of their own, if a
simpler change saves four fifths of that: putting the ranks in the order of
the machine (order-against-hierarchy), or spreading them over the memories of
their nodes (memory-shared).

Its cost: the predicted time of the recorded placement, minus that of the best
one.

It is wrong if: `rankwise run` with that placement takes as long.
"""


def find(evidence: Evidence) -> list[Finding]:
    """The best that a short search finds."""
    there = evidence.on_machine
    best, now = there.candidates[-1], there.prediction
    saved_s = now.makespan_s - best.makespan_s
    if saved_s < max(LEAST_S, LEAST_SHARE * evidence.elapsed_s) or not there.is_better(best.placement):
        return []
    if there.saved_s(in_order(there.recorded)) >= _MOST_BY_ORDER * saved_s:
        return []
    spread = evidence.memory_spread
    if spread and spread.saved_s >= _MOST_BY_ORDER * saved_s:
        return []
    assert isinstance(best.prediction, Prediction)
    lines = [
        f"predicted time: {seconds_text(now.makespan_s)} as it ran, {seconds_text(best.makespan_s)} with the "
        f"placement `{best.name}`"
    ]
    pairs = _brought_together(evidence, best.prediction)
    if pairs:
        lines.append(f"that placement puts on one node: {'; '.join(pairs)}")
    return [
        Finding(
            name=NAME,
            sentence=f"ranks that talk are far apart: now {_network(now) * 100:.0f} % of the bytes go between nodes; "
            f"with a better placement it would be {_network(best.prediction) * 100:.0f} %"
            if _network(now) > _network(best.prediction)
            else "other ranks should share nodes, caches or memory: a better placement is known",
            evidence=lines,
            ranks=[],
            cost_s=saved_s,
            estimate=f"predicted on `{there.path}`, with what a search of {there.search_s:g} s finds",
            do="search for a placement, and launch with it",
            command=_command(evidence),
            confidence="medium",
            refuted_by="`rankwise run` with that placement takes as long",
        )
    ]


def _network(prediction: Prediction) -> float:
    total = sum(size for _, size in prediction.channels.values())
    return prediction.channels["network"][1] / total if total else 0.0


def _brought_together(evidence: Evidence, best: Prediction) -> list[str]:
    """The pairs with most bytes that are on two nodes, and on one in the best placement."""
    table = (
        evidence.recording.messages.drop_nulls("destination")
        .group_by("source", "destination")
        .agg(pl.col("bytes").sum())
        .sort("bytes", descending=True)
    )
    source, destination = (table[name].to_numpy().astype(np.int64) for name in ("source", "destination"))
    was, then = evidence.on_machine.recorded.node, best.placement.node
    joined = (was[source] != was[destination]) & (then[source] == then[destination])
    found: dict[tuple[int, int], int] = {}
    for row in np.flatnonzero(joined)[:32]:
        pair = tuple(sorted((int(source[row]), int(destination[row]))))
        found[pair[0], pair[1]] = found.get((pair[0], pair[1]), 0) + int(table["bytes"][int(row)])
    most = sorted(found.items(), key=lambda each: -each[1])[:3]
    return [f"ranks {one} and {other} ({bytes_text(size)})" for (one, other), size in most]


def _command(evidence: Evidence) -> str:
    there = evidence.on_machine
    path = str(evidence.recording.path)
    target = f"{path.removesuffix('.rw')}.placement.json"
    place = shlex.join(["rankwise", "place", path, "--machine", there.path, "-o", target])
    if evidence.in_lab or not evidence.command:
        return place
    return f"{place} && {shlex.join(['rankwise', 'run', '--placement', target, '--', *evidence.command])}"
