# SPDX-License-Identifier: BSD-3-Clause
"""The ranks of each node spread over what has a memory or cache of its own, and what that saves of their messages."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rankwise.explain.losses import losses
from rankwise.findings.on_machine import DRAWS, OnMachine
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology
from rankwise.placement.simple import in_turn
from rankwise.replay.gain import is_better
from rankwise.replay.predictor import Predictor
from rankwise.replay.sharing import objects_of


@dataclass(frozen=True)
class Spread:
    """What spreading the ranks saves.

    Attributes:
        resource: Name of the memory or cache that they share.
        placement: Each rank on its node still.
        lost_s: Run time that would be saved if the resource were free.
        saved_s: Run time that the placement saves, no more than that.
    """

    resource: str
    placement: Placement
    lost_s: float
    saved_s: float


def spread(placement: Placement, topology: Topology, per: str) -> Placement | None:
    """The ranks of each node on cores of each of its packages, NUMA nodes or caches in turn; neighbours stay together.

    Args:
        placement: Where they are.
        topology: Its nodes.
        per: As of a resource: `package`, `numa` or a cache level.

    Returns:
        `None` if ranks are not bound to a core of their own each.
    """
    if not placement.bound.all() or not placement.injective:
        return None
    cores = placement.cores.copy()
    for node in set(placement.node.tolist()):
        ranks = np.flatnonzero(placement.node == node)
        seats = in_turn(np.array(objects_of(per, topology.nodes[node])))[: len(ranks)]
        cores[ranks[np.argsort(placement.cores[ranks])]] = np.sort(seats)
    return replace(placement, cores=cores, allocation="explicit")


def best_spread(there: OnMachine) -> Spread | None:
    """What saves most, with messages alone loading memories and caches: computation may wait for neither.

    Returns:
        `None` where nothing is known to save time.

    Raises:
        RankwiseError: As `OnMachine.recorded`.
    """
    slows = any(each.per_core_bytes_per_s is not None for each in there.machine.resources)
    of_messages = (
        Predictor.of(
            there.source,
            there.machine,
            there.topology,
            draws=DRAWS,
            memory_bound=np.zeros(len(there.recorded.node)),
        )
        if slows
        else there.predictor
    )
    now = of_messages.predict(there.recorded)
    lost = {each.name: each.lost_s for each in losses(of_messages, now) if each.kind == "resource"}
    found = []
    for each in there.machine.resources:
        if each.kind not in ("memory", "cache") or not lost.get(each.name, 0.0) > 0:
            continue
        other = spread(there.recorded, there.topology, each.per)
        if other is None or not is_better(of_messages, other, there.recorded):
            continue
        saved_s = now.makespan_s - of_messages.predict(other).makespan_s
        found.append(Spread(each.name, other, lost[each.name], min(saved_s, lost[each.name])))
    return max(found, key=lambda each: each.saved_s, default=None)
