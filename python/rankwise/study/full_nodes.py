# SPDX-License-Identifier: BSD-3-Clause
"""Calls of IMB on full nodes, predicted with the ranks of each node in one of several orders."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.machine.machine import Machine
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology
from rankwise.replay.predictor import Predictor
from rankwise.schedule.source import Source
from rankwise.study.calls import collective, ring
from rankwise.study.platforms import Platform
from rankwise.study.where_bytes_are import Caches, Where, with_bytes

CORES = 128
LIBRARY = "cray"
ITERATIONS = (20, 60)
"""Of a ring: its time is that of an iteration between these, when all ranks have come into step."""
FRESH = ("allgather", "allgatherv", "allreduce")
"""Collectives that pass on what they received; what the others send is the caller's, and stays as it is."""


@dataclass(frozen=True)
class Call:
    """What is measured over and over.

    Attributes:
        benchmark: IMB's name in lower case.
        nodes: How many.
        ranks: On all of them.
        bytes: Of a block, of the buffer of an allreduce, or of a message.
    """

    benchmark: str
    nodes: int
    ranks: int
    bytes: int

    @property
    def buffers_bytes(self) -> int:
        """What a rank sends from and receives into."""
        if self.benchmark in ("sendrecv", "allreduce"):
            return 2 * self.bytes
        return self.ranks * self.bytes * (1 if self.benchmark.startswith("allgather") else 2)


@dataclass(frozen=True)
class Predicted:
    """A predicted time.

    Attributes:
        time_s: Mean over the ranks.
        where: Where the bytes are that are copied.
        decides: The resource that was full for most of the time, if one was; else `ranks`.
    """

    time_s: float
    where: Where
    decides: str


class FullNodes:
    """Predictions of calls on a machine whose file says its caches, and what copies share.

    Args:
        platform: The machine.

    Raises:
        RankwiseError: Its nodes have not 128 cores, or it does not say how large a core's caches are.
    """

    def __init__(self, platform: Platform):
        self._machine = platform.machine
        self.node = platform.topology.nodes[0]
        context = platform.machine.context
        if self.node.cores != CORES or not {"l2_bytes_a_core", "l3_bytes_a_core"} <= set(context):
            raise RankwiseError(
                f"`{platform.name}` has no nodes of {CORES} cores whose caches are known",
                "the file says them under `[context]`, as `l2_bytes_a_core` and `l3_bytes_a_core`",
            )
        self._caches = Caches(int(context["l2_bytes_a_core"]), int(context["l3_bytes_a_core"]))
        limit = next(
            each.eager_limit_bytes for each in platform.machine.link_classes if each.channel == "package"
        )
        self._eager_bytes = int(limit.value) if limit else 0
        self._combine_s_per_byte = sum(
            1 / each.combine_bytes_per_s.value
            for each in platform.machine.resources
            if each.combine_bytes_per_s
        )
        self.predict = lru_cache(maxsize=None)(self._predict)
        self.placement = lru_cache(maxsize=8)(self._placement)
        self._schedule = lru_cache(maxsize=1)(self._of_collective)

    def _predict(self, call: Call, order: str, library: str = LIBRARY) -> Predicted:
        """How long a call takes.

        Args:
            call: The call.
            order: Of the ranks in each node.
            library: By whose rules a collective's algorithm is chosen.
        """
        machine, where = self._as_copied(call)
        placement = self.placement(order, call.nodes, call.ranks)
        if call.benchmark == "sendrecv":
            first, last = (
                self._replay(machine, ring(call.ranks, call.bytes, count), placement) for count in ITERATIONS
            )
            return Predicted((last[0] - first[0]) / (ITERATIONS[1] - ITERATIONS[0]), where, last[1])
        time_s, decides = self._replay(machine, self._schedule(call, library), placement)
        return Predicted(time_s, where, decides)

    def predictor(self, call: Call, library: str = LIBRARY) -> Predictor:
        """What predicts a call with any placement of its ranks: a ring as long as it is timed."""
        machine, _ = self._as_copied(call)
        ring_or_collective = (
            ring(call.ranks, call.bytes, ITERATIONS[1])
            if call.benchmark == "sendrecv"
            else self._schedule(call, library)
        )
        return Predictor.of(Source(ring_or_collective), machine, Topology((self.node,) * call.nodes))

    def _of_collective(self, call: Call, library: str) -> _core.schedule.Schedule:
        each = call.ranks // call.nodes
        return collective(
            call.benchmark,
            call.ranks,
            call.bytes,
            library=library,
            combine_s_per_byte=self._combine_s_per_byte,
            nodes=[rank // each for rank in range(call.ranks)] if call.nodes > 1 else None,
        )

    def _as_copied(self, call: Call) -> tuple[Machine, Where]:
        """The machine as the call's copies find it."""
        fresh = call.benchmark in FRESH
        message = call.bytes // 2 if call.benchmark == "allreduce" else call.bytes
        where = self._caches.where(message, call.buffers_bytes, self._eager_bytes, fresh)
        to_memory = fresh and call.buffers_bytes > self._caches.third_bytes
        return with_bytes(self._machine, where, to_memory), where

    def _replay(
        self, machine: Machine, schedule: _core.schedule.Schedule, placement: Placement
    ) -> tuple[float, str]:
        topology = Topology((self.node,) * len(placement.node_names))
        prediction = Predictor.of(Source(schedule), machine, topology).predict(placement)
        full = {each.resource: each.saturated_s for each in prediction.shared}
        for each in prediction.shared:
            full[each.resource] = max(full[each.resource], each.saturated_s)
        name, time_s = max(full.items(), key=lambda item: item[1], default=("", 0.0))
        decides = name if time_s > prediction.makespan_s / 2 else "ranks"
        return float(prediction.finish_s.mean()), decides

    def _placement(self, order: str, nodes: int, ranks: int) -> Placement:
        """The ranks of each node in an order (`core_of`), the nodes filled one after the other."""
        each = ranks // nodes
        seats = [(rank // each, (core_of(rank % each, order),)) for rank in range(ranks)]
        return Placement.explicit(Topology((self.node,) * nodes), seats)


def core_of(rank: int, order: str) -> int:
    """Core of a rank of a node of 128 cores in eight NUMA nodes.

    Args:
        rank: Its number on the node.
        order: `rank`: as numbered; `cores` and `cyclic`: round the NUMA nodes.
    """
    return rank if order == "rank" else 16 * (rank % 8) + rank // 8
