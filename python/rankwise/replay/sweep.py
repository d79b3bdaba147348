# SPDX-License-Identifier: BSD-3-Clause
"""One parameter of a machine over a range: `network.L=1us..100us:21,log`."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from rankwise.errors import RankwiseError
from rankwise.machine.machine import Machine
from rankwise.machine.overrides import apply, number, scale

POINTS = 11


@dataclass(frozen=True)
class Sweep:
    """Values of one parameter.

    Attributes:
        parameter: `TARGET.KEY`.
        unit: Of the values: `s`, `s/B`, `B/s` or `B`.
        values: In order.
        log: Whether they are a geometric sequence.
    """

    parameter: str
    unit: str
    values: tuple[float, ...]
    log: bool

    @classmethod
    def parse(cls, text: str, machine: Machine) -> Sweep:
        """A sweep from `TARGET.KEY=LOW..HIGH[:POINTS][,log]`; 11 points if it does not say how many.

        Raises:
            RankwiseError: It is none, the machine has no such parameter, or a value is none of it.
        """
        match = re.fullmatch(r"([^.=]+\.([^.=]+))=(.+?)\.\.(.+?)(?::([0-9]+))?(,log)?", text.strip())
        if not match:
            raise RankwiseError(
                f"`{text}` is not a range, which is written TARGET.KEY=LOW..HIGH[:POINTS][,log]",
                "for example `--sweep network.L=1us..100us:21,log`",
                status=2,
            )
        parameter, key, low, high, points, log = match.groups()
        for end in (low, high):
            apply(machine, [f"{parameter}={end.strip()}"])  # names target, key and value if one is wrong
        known = scale(key)
        if known is None:
            raise RankwiseError(
                f"`{parameter}` has words as values, no range", "compare them with `--set`, one at a time"
            )
        parse, unit = known
        first, last = (number(parse, end.strip()) or 0.0 for end in (low, high))
        count = int(points or POINTS)
        if not 2 <= count <= 1000:
            raise RankwiseError(f"`{text}`: {count} points", "take 2 to 1000 points", status=2)
        if not first < last or (log and first == 0):
            lacks = "0 has no logarithm" if first < last else "the second end is not above the first"
            raise RankwiseError(
                f"`{text}`: {lacks}", "for example `--sweep network.L=1us..100us,log`", status=2
            )
        steps = np.geomspace(first, last, count) if log else np.linspace(first, last, count)
        return cls(parameter, unit, tuple(steps.tolist()), bool(log))

    def settings(self) -> list[str]:
        """For each value what `overrides.apply` takes."""
        return [f"{self.parameter}={value!r}{self.unit}" for value in self.values]
