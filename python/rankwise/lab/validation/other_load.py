# SPDX-License-Identifier: BSD-3-Clause
"""How much processor time others used while a program ran: runs that shared the machine say nothing of it."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

# Of all cores' time: what a machine does by itself is below it.
TOLERATED = 0.05
_USER, _NICE, _SYSTEM = 0, 1, 2


@dataclass(frozen=True)
class OtherLoad:
    """A moment before the program begins.

    Attributes:
        busy_s: Processor time of all processes of this machine so far, without what interrupts take.
        time_s: Monotonic time.
    """

    busy_s: float
    time_s: float

    @classmethod
    def begin(cls) -> OtherLoad:
        """Now."""
        return cls(busy_s(Path("/proc/stat").read_text(encoding="ascii")), time.monotonic())

    def share(self, own_s: float) -> float:
        """Part of all cores' time since then that others used, if the program used `own_s`."""
        now = self.begin()
        cores = os.cpu_count() or 1
        return max(0.0, now.busy_s - self.busy_s - own_s) / (cores * (now.time_s - self.time_s))


def busy_s(stat: str) -> float:
    """Processor time of processes in `/proc/stat`: user, nice and system of its first line."""
    fields = [int(word) for word in stat.split("\n", 1)[0].split()[1:]]
    return (fields[_USER] + fields[_NICE] + fields[_SYSTEM]) / os.sysconf("SC_CLK_TCK")
