# SPDX-License-Identifier: BSD-3-Clause
"""How much processor time others used while a program ran: runs that shared the machine say nothing of it."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankwise.lab.state import Lab

# Of all cores' time: what a machine does by itself is below it.
TOLERATED = 0.05
_KERNEL_THREADS = 2  # the process whose children they are
# Fields of /proc/PID/stat behind the name, which ends with the last parenthesis.
_PARENT, _USER, _CHILDREN_SYSTEM = 1, 11, 14


@dataclass(frozen=True)
class OtherLoad:
    """A moment before a program begins.

    Attributes:
        own: Processes that belong to us, their children included.
        hosts: Host names (UTS namespaces) whose processes are ours too, whoever their parents are by now.
        used_s: Processor time so far of every other process and of its children that have ended.
        time_s: Monotonic time.
        processes: Where the kernel shows processes.
    """

    own: frozenset[int]
    hosts: frozenset[str]
    used_s: float
    time_s: float
    processes: Path

    @classmethod
    def begin(
        cls, own: frozenset[int], hosts: frozenset[str] = frozenset(), processes: Path = Path("/proc")
    ) -> OtherLoad:
        """Now.

        What begins and ends unseen between two moments is found in the time of its parent's children. Launchers'
        daemons leave their parents, but not the host of the lab that they were started on.
        """
        used = 0.0
        for entry in processes.iterdir():
            if entry.name.isdigit() and int(entry.name) not in own:
                with contextlib.suppress(OSError):
                    if not hosts or os.readlink(entry / "ns" / "uts") not in hosts:
                        used += used_s((entry / "stat").read_text(errors="replace"))
        return cls(own, hosts, used, time.monotonic(), processes)

    def share(self) -> float:
        """Part of all cores' time that others used since then."""
        now = self.begin(self.own, self.hosts, self.processes)
        cores = os.cpu_count() or 1
        return max(0.0, now.used_s - self.used_s) / (cores * (now.time_s - self.time_s))


def hosts_of(lab: Lab) -> frozenset[str]:
    """UTS namespaces of a lab's nodes and front end."""
    return frozenset(
        os.readlink(f"/proc/{pid}/ns/uts") for pid in (lab.front.pid, *(node.pid for node in lab.nodes))
    )


def used_s(stat: str) -> float:
    """Processor time of a process and its ended children, from /proc/PID/stat; 0 for threads of the kernel."""
    fields = stat.rpartition(")")[2].split()
    if int(fields[_PARENT]) in (0, _KERNEL_THREADS):
        return 0.0
    return sum(map(int, fields[_USER : _CHILDREN_SYSTEM + 1])) / os.sysconf("SC_CLK_TCK")
