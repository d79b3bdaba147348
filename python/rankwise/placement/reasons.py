# SPDX-License-Identifier: BSD-3-Clause
"""Why one placement is better than another, in sentences, from their predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankwise.quantities import seconds_text

if TYPE_CHECKING:
    from rankwise.replay.predict import Prediction

# Shares of the compared placement's makespan below this are not worth a sentence.
_WORTH_SAYING = 0.01


def network_bytes(prediction: Prediction) -> int:
    """Bytes that leave any node."""
    return int(prediction.interfaces["tx"]["bytes"].sum())


def busiest_interface_s(prediction: Prediction) -> float:
    """Time of the busiest network interface, one direction."""
    return float(max(prediction.interfaces[way]["busy_s"].max(initial=0.0) for way in ("tx", "rx")))


def reasons(best: Prediction, other: Prediction, name: str) -> list[str]:
    """Sentences on what `best` saves or costs against `other`, the largest difference first.

    Args:
        best: The placement chosen.
        other: What it is compared with.
        name: Of the other.
    """
    if best.makespan_s >= other.makespan_s:
        return [f"nothing that was tried is better than {name}"]
    scale = other.makespan_s
    parts = {
        "a rank waits": (best.waiting_s.mean(), other.waiting_s.mean()),
        "a rank sends and receives": (best.overhead_s.mean(), other.overhead_s.mean()),
        "a rank loses to others on its core": (best.time_shared_s.mean(), other.time_shared_s.mean()),
        "the busiest network interface is at work": (busiest_interface_s(best), busiest_interface_s(other)),
    }
    found = [
        (abs(now - then), f"{what} {_change(float(now), float(then))}")
        for what, (now, then) in parts.items()
        if abs(now - then) > _WORTH_SAYING * scale
    ]
    sentences = [sentence for _, sentence in sorted(found, key=lambda each: -each[0])]
    now, then = network_bytes(best), network_bytes(other)
    if then and now != then:
        direction = "fewer" if now < then else "more"
        sentences.append(f"{abs(1 - now / then):.0%} {direction} bytes cross the network")
    moved = int(np.sum(best.placement.node != other.placement.node))
    sentences.append(f"{moved} of {best.placement.ranks} ranks are on another node than with {name}")
    return sentences


def _change(now: float, then: float) -> str:
    if then == 0:
        return f"{seconds_text(now)} instead of none"
    return f"{seconds_text(now)} instead of {seconds_text(then)}"
