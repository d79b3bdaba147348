# SPDX-License-Identifier: BSD-3-Clause
"""Why one placement is better than another, in sentences, from their predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankwise.machine.channels import SELF
from rankwise.placement.sharing import Sharing, sharing
from rankwise.quantities import seconds_text, share_text

if TYPE_CHECKING:
    from rankwise.machine.machine import Machine
    from rankwise.machine.topology import Topology
    from rankwise.replay.prediction import Prediction

# Shares of the compared placement's makespan below this are not worth a sentence.
_WORTH_SAYING = 0.01
_SAID = {
    "waiting": "the mean rank waits",
    "overhead": "the mean rank sends and receives",
    "core_sharing": "the mean rank loses to others on its core",
    "memory": "the mean rank loses to others on its memory or cache",
    "interrupts": "the mean rank loses to protocol work on its core",
}


def network_bytes(prediction: Prediction) -> int:
    """Bytes that leave any node."""
    return int(prediction.interfaces["tx"]["bytes"].sum())


def network_share(prediction: Prediction) -> float | None:
    """Share of the bytes between different ranks that leave their node; `None` if there are no bytes."""
    total = sum(volume for channel, (_, volume) in prediction.channels.items() if channel != SELF)
    return network_bytes(prediction) / total if total else None


def reasons(
    best: Prediction, other: Prediction, name: str, topology: Topology, machine: Machine | None = None
) -> list[str]:
    """Sentences on what `best` saves or costs against `other`, the largest difference first.

    Args:
        best: The placement chosen.
        other: What it is compared with.
        name: Of the other.
        topology: The nodes.
        machine: For its interrupt cores.
    """
    slower = best.makespan_s > other.makespan_s
    if best.makespan_s >= other.makespan_s and not _spares_the_network(best, other):
        return [f"nothing that was tried is better than {name}"]
    scale = other.makespan_s
    parts = {
        _SAID.get(part, f"the mean rank loses to {part.replace('_', ' ')}"): (
            now.mean(),
            other.parts_s[part].mean(),
        )
        for part, now in best.parts_s.items()
        if part != "computation"
    }
    interfaces = (best.busiest_interface_s(), other.busiest_interface_s())
    parts["the busiest network interface is at work"] = interfaces
    found = [
        (abs(now - then), f"{what} {_change(float(now), float(then))}")
        for what, (now, then) in parts.items()
        if abs(now - then) > _WORTH_SAYING * scale
    ]
    sentences = [sentence for _, sentence in sorted(found, key=lambda each: -each[0])]
    if slower:  # The least time was not what was asked for.
        sentences.insert(0, f"the predicted time is {_change(best.makespan_s, other.makespan_s)}")
    now, then = network_bytes(best), network_bytes(other)
    if then and now != then:
        sentences.append(f"{_share(now, then)} bytes cross the network")
    shared = sharing(best.placement, topology, machine)
    sentences += _shared(shared, sharing(other.placement, topology, machine))
    if shared.interrupted:
        sentences.append(_interrupted(best, list(shared.interrupted)))
    moved = int(np.sum(best.placement.node != other.placement.node))
    sentences.append(f"{moved} of {best.placement.ranks} ranks are on another node than with {name}")
    return sentences


def in_doubt(best: Prediction, present: Prediction) -> str:
    """That what a placement saves is not more than predictions are off by."""
    saved = 1 - best.makespan_s / present.makespan_s
    return (
        f"the saving of {share_text(saved, 1)} against the recorded placement may be an error of the model; "
        "measure both before you rely on it"
    )


def why_it_stays(found: Prediction, present: Prediction) -> str:
    """Why the present placement stays although one was found that is predicted to be faster."""
    saved = 1 - found.makespan_s / present.makespan_s
    return (
        f"no placement is known to be better: the best that was found saves {share_text(saved, 1)}, "
        "which may be an error of the model"
    )


def compared_with(predictions: dict[str, Prediction], best: Prediction) -> str:
    """The name of what the best is compared with: where the program ran, else the first of the simple ones.

    Where that is as good as the best, it is the next best instead, so that there is a difference to explain.
    """
    reference = "current" if "current" in predictions else next(iter(predictions))
    if predictions[reference].makespan_s > best.makespan_s:
        return reference
    worse = {name: each for name, each in predictions.items() if each.makespan_s > best.makespan_s}
    return min(worse, key=lambda name: worse[name].makespan_s, default=reference)


def _shared(now: Sharing, then: Sharing) -> list[str]:
    things = [("a memory", now.memory, then.memory)]
    things += [(f"an {name} cache", now.caches.get(name), then.caches.get(name)) for name in now.caches]
    return [
        f"{what} has up to {_ranks(new.most)} instead of {_ranks(old.most)}"
        for what, new, old in things
        if new and old and new.most != old.most
    ]


def _interrupted(best: Prediction, ranks: list[int]) -> str:
    whole = sum(best.parts_s.values())
    share = best.waiting_s / np.where(whole > 0, whole, 1.0)
    listed = ", ".join(map(str, ranks[:4])) + (", ..." if len(ranks) > 4 else "")
    word = "rank" if len(ranks) == 1 else "ranks"
    verb = "waits" if len(ranks) == 1 else "wait"
    return (
        f"{word} {listed} on the interrupt core {verb} {share_text(share[ranks].mean())} of the time, "
        f"all ranks {share_text(share.mean())}"
    )


def _spares_the_network(best: Prediction, other: Prediction) -> bool:
    """Whether it is better by one of the other objectives."""
    return (
        network_bytes(best) < network_bytes(other) or best.busiest_interface_s() < other.busiest_interface_s()
    )


def _share(now: int, then: int) -> str:
    """`24 % fewer`; never `0 % fewer`, nor `100 % fewer` where some are left."""
    share, direction = abs(now / then - 1), "fewer" if now < then else "more"
    if now and direction == "fewer" and share > 0.995:
        return "over 99 % fewer"
    return f"{share_text(share)} {direction}" if share >= 0.005 else f"hardly {direction}"


def _ranks(count: int) -> str:
    return f"{count} rank{'s' * (count != 1)}"


def _change(now: float, then: float) -> str:
    if then == 0:
        return f"{seconds_text(now)} instead of none"
    return f"{seconds_text(now)} instead of {seconds_text(then)}"
