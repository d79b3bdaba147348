# SPDX-License-Identifier: BSD-3-Clause
"""The POP efficiencies in words, the same in every view."""

from __future__ import annotations

from dataclasses import dataclass

from rankwise.findings.efficiency import Efficiency
from rankwise.findings.transfer import TransferSplit
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
        depth: 0 for the product of all; those below one of depth n with depth n + 1 are its factors.
        meaning: What it is, in one sentence.
    """

    name: str
    value: float | None
    depth: int
    meaning: str


def factors(found: Efficiency) -> list[Factor]:
    """All of them, each behind what it is a factor of."""
    return [
        Factor("parallel efficiency", found.parallel, 0, "Time that ranks compute, of all their time."),
        Factor(
            "load balance",
            found.load_balance,
            1,
            "Computation of the mean rank, of that of the rank with most.",
        ),
        Factor("inside nodes", found.load_balance_in_nodes, 2, "What is uneven between the ranks of a node."),
        Factor("between nodes", found.load_balance_between_nodes, 2, "What is uneven between nodes."),
        Factor(
            "communication", found.communication, 1, "Computation of the rank with most, of the run time."
        ),
        Factor(
            "serialisation", found.serialisation, 2, "What waiting for each other leaves on an ideal network."
        ),
        Factor("transfer", found.transfer, 2, "Run time on an ideal network, of the run time."),
    ]


def is_low(factor: Factor) -> bool:
    """Whether it is worth mending."""
    return factor.value is not None and factor.value < _LOW


def sentences(found: Efficiency) -> list[str]:
    """What the numbers come from."""
    times = (
        f"computation a rank: mean {seconds_text(found.useful_mean_s)}, most {seconds_text(found.useful_max_s)}, "
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
        where = "transfer" if found.ideal_s is not None else "computation and in waiting for others"
        lines.append(
            f"ranks waited for a core for {percent(found.core_waiting)} of their time, which is in {where}"
        )
    return lines


def split_sentences(split: TransferSplit) -> list[str]:
    """What transfer is lost to, the largest first."""
    of_s = split.makespan_s
    largest = [
        f"{loss.kind} {loss.name}{'' if loss.part == 'all' else f' ({loss.part})'} {seconds_text(loss.lost_s)} "
        f"({percent(loss.lost_s / of_s)})"
        for loss in split.losses
        if loss.kind != "communication" and loss.lost_s >= _LEAST_LOSS * of_s
    ]
    lines = [f"of {seconds_text(of_s)} predicted as it ran, these would save if they were free, each alone:"]
    lines += [f"  {each}" for each in largest[:_MOST_LOSSES]]
    if not largest:
        lines = [
            f"of {seconds_text(of_s)} predicted as it ran, no channel or resource would save 1 % if it were free"
        ]
    if split.placement_s is None:
        lines.append(f"no other placement was searched for: {split.why_no_placement}")
    else:
        lines.append(
            f"the best placement found gives back {seconds_text(split.placement_s)} "
            f"({percent(split.placement_s / of_s)})"
        )
    return lines
