# SPDX-License-Identifier: BSD-3-Clause
"""What the model says of a rank that computes while another one receives, on either side of the interrupt core."""

from __future__ import annotations

from pathlib import Path

import msgspec

from interrupts.result import CONFIGURATIONS, Cost
from rankwise.machine.estimate import Estimate
from rankwise.machine.file import load
from rankwise.machine.machine import Machine, Resource, topology_of
from rankwise.machine.placement import Placement
from rankwise.replay.predictor import Predictor
from rankwise.schedule.source import load as load_source

COMPUTES_S = 0.05
AT_ONCE = 16  # as in ranks.py
_LARGE = 16384
_SOURCE = "what a rank lost that computed on it while messages came"


def with_interrupt_core(machine: Machine, cost: Cost, core: int) -> Machine:
    """A machine whose nodes receive on one core."""
    resource = Resource(
        name="interrupt core",
        kind="interrupt_core",
        discipline="fifo",
        per="node",
        core=core,
        channels=["network"],
        per_message_s=Estimate(cost.per_message_s, "assumed", source=_SOURCE),
        capacity_bytes_per_s=Estimate(1 / cost.per_byte_s, "assumed", source=_SOURCE)
        if cost.per_byte_s
        else None,
    )
    return msgspec.structs.replace(machine, resources=[*machine.resources, resource])


def predict(path: Path, cost: Cost, size: int) -> dict[str, float]:
    """The part of its speed that the computing rank keeps, for each rank on the interrupt core.

    Args:
        path: The machine file, of a lab of two nodes of two cores.
        cost: Of the interrupt core.
        size: Of the messages, bytes.
    """
    machine = load(path)
    topology = topology_of(machine, path.parent)
    # More of them than a network carries meanwhile, of any rate that it may have.
    messages = 2000 if size > _LARGE else 20000
    schedule = path.with_name(f"stream.{size}.goal")
    schedule.write_text(_stream(messages, size), encoding="ascii")
    source = load_source(schedule)
    placement = Placement.explicit(topology, [(0, (1,)), (1, (0,)), (1, (1,))])
    found = {}
    for core, name in enumerate(CONFIGURATIONS):
        of = with_interrupt_core(machine, cost, core)
        prediction = Predictor.of(source, of, topology).predict(placement)
        found[name] = COMPUTES_S / float(prediction.finish_s[1])
    return found


def _stream(messages: int, size: int) -> str:
    """Rank 0 sends to rank 2, an answer for every few messages, while rank 1 computes, as a GOAL schedule."""
    sends, receives = [], []
    for at in range(messages):
        sends.append(f"send {size}b to 2 tag 1")
        receives.append(f"recv {size}b from 0 tag 1")
        if at % AT_ONCE == AT_ONCE - 1:
            sends.append("recv 1b from 2 tag 2")
            receives.append("send 1b to 0 tag 2")
    ranks = [sends, [f"calc {round(COMPUTES_S * 1e9)}"], receives]
    lines = ["num_ranks 3"]
    for rank, operations in enumerate(ranks):
        lines.append(f"rank {rank} {{")
        for at, operation in enumerate(operations):
            lines.append(f"l{at}: {operation}")
            if at:
                lines.append(f"l{at} requires l{at - 1}")
        lines.append("}")
    return "\n".join(lines) + "\n"
