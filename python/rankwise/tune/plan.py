# SPDX-License-Identifier: BSD-3-Clause
"""The plan that `rankwise-tuned` starts with: text, a key and its values a line (tune/plan/plan.hpp reads it)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rankwise import whole_files
from rankwise.errors import RankwiseError
from rankwise.machine.topology import from_this_machine
from rankwise.tune.levels import Costs, Pu, costs_of, pus_of

FIRST_LINE = "rankwise-tune-plan 1"


@dataclass(frozen=True)
class Plan:
    """What a tuner is told.

    Attributes:
        pus: The node's processing units in logical order.
        costs: What messages and memory cost.
        state: Directory of its journal and its lock.
        socket: Where it answers.
        act: Change anything; without it, say what would be done.
        irq: Interrupts may be moved instead of ranks.
        pages: Directory of the ranks' pages.
        pids: Processes without a page that are ranks.
        events: File to write events to.
        policy: Fields of Policy (tune/tuner.hpp) that differ from its defaults.
        until_ranks_end: It ends when the last rank has.
        keep: At its end it leaves masks as they are.
        daemon: It serves a node, for the ranks of those users whom `users` names (all, if it is empty).
        users: Numbers of users.
    """

    pus: Sequence[Pu]
    costs: Costs
    state: Path
    socket: Path
    act: bool = True
    irq: bool = False
    pages: Path | None = None
    pids: Sequence[int] = ()
    events: Path | None = None
    policy: Mapping[str, float] = field(default_factory=dict)
    until_ranks_end: bool = False
    keep: bool = False
    daemon: bool = False
    users: Sequence[int] = ()

    def text(self) -> str:
        """As `rankwise-tuned` reads it."""
        return "\n".join([FIRST_LINE, *self._lines()]) + "\n"

    def write(self, path: Path) -> None:
        """Write it.

        Raises:
            RankwiseError: It cannot be written.
        """
        whole_files.write(path, self.text().encode())

    def _lines(self) -> Iterator[str]:
        yield f"act {int(self.act)}"
        yield f"irq {int(self.irq)}"
        for key in ("pages", "state", "socket", "events"):
            path = getattr(self, key)
            if path is not None:
                yield f"{key} {_one_line(path)}"
        yield from (f"pid {pid}" for pid in self.pids)
        for pu in self.pus:
            yield f"pu {pu.os} {pu.core} {pu.l2} {pu.l3} {pu.numa} {pu.package}"
        yield from (f"link {message_s!r} {byte_s!r}" for message_s, byte_s in self.costs.links)
        memory = (
            self.costs.memory_bytes_per_s,
            self.costs.core_memory_bytes_per_s,
            *self.costs.memory_slowdown,
        )
        yield f"memory {' '.join(map(repr, memory))}"
        yield f"costs_from {' '.join(self.costs.source.split())}"
        yield from (f"policy {name} {value!r}" for name, value in self.policy.items())
        yield f"until {'ranks-end' if self.until_ranks_end else 'stopped'}"
        if self.keep:
            yield "keep 1"
        yield f"daemon {int(self.daemon)}"
        yield from (f"user {user}" for user in self.users)


def this_node(machine: str | None) -> tuple[list[Pu], Costs]:
    """Processing units of this node, and what messages cost on it by a machine file.

    Raises:
        RankwiseError: hwloc or the machine file cannot be read.
    """
    node = from_this_machine()
    return pus_of(node), costs_of(machine, node)


def _one_line(path: Path) -> str:
    text = str(path)
    # The plan's reader cuts lines at line feeds, and blanks off their ends.
    if "\n" in text or text != text.strip(" \t\r"):
        raise RankwiseError(
            f"`{text}` cannot be a tuner's path: it has line ends or blanks at an end", "choose another one"
        )
    return text
