# SPDX-License-Identifier: BSD-3-Clause
"""The POP efficiencies in words, the same in every view."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rankwise.explain.loss import loss_name
from rankwise.findings.data import Efficiency, TransferSplit
from rankwise.quantities import seconds_text
from rankwise.report.words import percent

_CORE_WAITING = 0.01
_LEAST_LOSS = 0.01
_MOST_LOSSES = 6
_LOW = 0.8
PRODUCT = "parallel = load balance × serialisation × transfer; 1 is best"


@dataclass(frozen=True)
class Factor:
    """One efficiency.

    Attributes:
        name: Its name.
        value: 1 is best; `None` where it is not known.
        between: The least and the most that it can be; `None` where it is one number.
        depth: 0 for the product of all; those below one of depth n with depth n + 1 are its factors.
        meaning: What it is, in one sentence.
    """

    name: str
    value: float | None
    depth: int
    meaning: str
    between: tuple[float, float] | None = None

    @property
    def text(self) -> str:
        """`0.93`, `0.10-0.27`, `-`."""
        if self.between is not None:
            return "-".join(map(text, self.between))
        return text(self.value)


def text(value: float | None) -> str:
    """`0.93`; `0.005` where two digits would say little more than 0; `-` where it is not known."""
    if value is None:
        return "-"
    return f"{value:.3f}" if 0 < value < 0.01 else f"{value:.2f}"


_KEYS = {
    "parallel efficiency": "parallel",
    "load balance": "load_balance",
    "inside nodes": "load_balance_in_nodes",
    "between nodes": "load_balance_between_nodes",
    "communication": "communication",
}


def factors(found: Efficiency) -> list[Factor]:
    """All of them, each behind what it is a factor of."""
    named = [
        Factor("parallel efficiency", found.parallel, 0, "Time that ranks compute, of all their time."),
        Factor(
            "load balance",
            found.load_balance,
            1,
            "Computation of the mean rank, divided by that of the rank that computes most.",
        ),
        Factor(
            "inside nodes",
            found.load_balance_in_nodes,
            2,
            "Computation of the mean rank of the busiest node, divided by that of the rank that computes most.",
        ),
        Factor(
            "between nodes",
            found.load_balance_between_nodes,
            2,
            "Computation of the mean rank, divided by that of the mean rank of the busiest node.",
        ),
        Factor(
            "communication",
            found.communication,
            1,
            "Computation of the rank that computes most, divided by the run time.",
        ),
        Factor(
            "serialisation",
            found.serialisation,
            2,
            "Computation of the rank that computes most, divided by the run time on an ideal network, of which the "
            "rest is waiting for each other.",
        ),
        Factor("transfer", found.transfer, 2, "Run time on an ideal network, divided by the run time."),
    ]
    return [replace(each, between=_open(found, _KEYS.get(each.name, ""))) for each in named]


def _open(found: Efficiency, key: str) -> tuple[float, float] | None:
    """Between what an efficiency is, where that is more than the two digits shown."""
    return found.between[key] if found.is_open(key) else None


def is_low(factor: Factor) -> bool:
    """Whether it is worth fixing, whatever it is."""
    value = factor.value if factor.between is None else factor.between[1]
    return value is not None and value < _LOW


def sentences(found: Efficiency) -> list[str]:
    """What the numbers come from."""
    times = (
        f"computation a rank: mean {_seconds(found, 'useful_mean_s')}, most {_seconds(found, 'useful_max_s')}, "
        f"in a run of {seconds_text(found.elapsed_s)}"
    )
    lines = [times]
    if found.ideal_s is not None:
        ideal = (
            "without what its calls took to transfer (Scalasca's ideal time)"
            if found.convention == "scalasca"
            else "on an ideal network"
        )
        lines = [f"{times}; {ideal} it would take {seconds_text(found.ideal_s)}"]
    else:
        lines.append(f"serialisation and transfer are not told apart: {found.why_no_ideal}")
    if (found.core_waiting or 0.0) > _CORE_WAITING:
        line = f"ranks waited for a core for {percent(found.core_waiting)} of their time"
        if found.between:
            line += ", in MPI or outside: only a trace tells how much they computed"
        elif found.ideal_s is not None:
            line += "; transfer is lower because of that, and not only because of the network"
        lines.append(line)
    return lines


def _seconds(found: Efficiency, key: str) -> str:
    if key in found.between:
        least, most = (seconds_text(each) for each in found.between[key])
        if least != most:
            return f"{least} to {most}"
    return seconds_text(getattr(found, key))


def split_sentences(split: TransferSplit) -> list[str]:
    """What transfer is lost to, the largest first."""
    of_s = split.makespan_s
    largest = [
        f"{loss_name(loss.kind, loss.name, loss.part)} {seconds_text(loss.lost_s)} ({percent(loss.lost_s / of_s)})"
        for loss in split.losses
        if loss.kind != "communication" and loss.lost_s >= _LEAST_LOSS * of_s
    ]
    lines = [
        f"of {seconds_text(of_s)} predicted as it ran, this would be saved if one of these took no time:"
    ]
    lines += [f"  {each}" for each in largest[:_MOST_LOSSES]]
    if not largest:
        lines = [
            f"of {seconds_text(of_s)} predicted as it ran, less than 1 % would be saved if any one channel or resource "
            "took no time"
        ]
    if split.placement_s is None:
        lines.append(f"no other placement was searched for: {split.why_no_placement}")
    else:
        lines.append(
            f"the best placement found gives back {seconds_text(split.placement_s)} "
            f"({percent(split.placement_s / of_s)})"
        )
    return lines
