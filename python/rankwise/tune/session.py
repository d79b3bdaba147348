# SPDX-License-Identifier: BSD-3-Clause
"""A tuner of this process' own: its directories, its start, what it leaves behind."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankwise.tune import directories
from rankwise.tune.output import EVENTS, LOG, PLAN, claim
from rankwise.tune.plan import Plan, this_node
from rankwise.tune.tuner_process import TunerProcess

if TYPE_CHECKING:
    from rankwise.tune.document import Tuner


@dataclass(frozen=True)
class Asked:
    """What the user asked for.

    Attributes:
        act: Change anything; without it, only say what would be done.
        irq: Interrupts may be moved as well.
        machine: The machine file that costs are taken from.
        output: Directory `NAME.tune` to keep plan, events and summary in; `None` to keep nothing.
        force: Replace what is there.
    """

    act: bool = True
    irq: bool = False
    machine: str | None = None
    output: str | None = None
    force: bool = False


class Session:
    """One tuner, about to start, at work, or ended.

    Attributes:
        plan: What it will be told, as far as it is known already.
        output: `NAME.tune`, if it was asked for.
        events: File of its events.
        left: Of each tuner that was killed before and whose masks could not be put back, a sentence.

    Raises:
        RankwiseError: It cannot be tuned so; nothing is left.
    """

    def __init__(self, asked: Asked):
        pus, costs = this_node(asked.machine)
        with ExitStack() as undo:
            self._claim = claim(asked.output, asked.force) if asked.output is not None else None
            if self._claim is not None:
                undo.callback(self._claim.take_back)
            self._state, self.left = directories.new_state(os.getpid())
            undo.pop_all()
        self.output = self._claim.path if self._claim is not None else None
        self._kept = self.output or self._state
        self.events = self._kept.resolve() / EVENTS
        self._process: TunerProcess | None = None
        self.plan = Plan(
            pus=pus,
            costs=costs,
            state=self._state,
            socket=self._state / directories.SOCKET,
            act=asked.act,
            irq=asked.irq,
            events=self.events,
        )

    def start(self, plan: Plan) -> None:
        """Start the tuner.

        Raises:
            RankwiseError: It could not start.
        """
        directories.check_socket(plan.socket)
        path = self._kept / PLAN
        plan.write(path)
        self._process = TunerProcess(path, plan.socket, self._kept / LOG)

    def is_running(self) -> bool:
        """Whether the tuner has not ended."""
        return self._process is not None and self._process.is_running()

    def end(self) -> Tuner:
        """End the tuner; returns what it did.

        Raises:
            RankwiseError: Its events cannot be read, or the summary cannot be written.
        """
        # Nothing that a tuner needs to start with: the job runs while they are loaded.
        from msgspec.structs import replace

        from rankwise.tune.document import tuner_of
        from rankwise.tune.events import read_events
        from rankwise.tune.summary import write_summary

        early = self._process.end() if self._process is not None else ""
        events = read_events(self.events)
        done = tuner_of(events, ended_early=early)
        if early and (problem := directories.remove_state(self._state, directories.GUARD_S)):
            done = replace(done, ended_early=f"{early}; {problem}")
        elif done.left:
            # It may be possible now.
            done = replace(done, left=directories.put_back(self._state))
        if self._claim is not None:
            write_summary(self._claim.path, [done])
            self._claim.settle()
        return done

    def abandon(self) -> None:
        """End the tuner and leave everything as it was: what was to be tuned did not start."""
        self.close()
        if self._claim is not None:
            self._claim.take_back()

    def close(self) -> str:
        """End the tuner if it still runs, and remove what belongs to it alone.

        Returns:
            Why it ended in another way, and what could not be put back; empty if all is well.
        """
        early = self._process.end() if self._process is not None else ""
        problem = directories.remove_state(self._state, directories.GUARD_S)
        return "; ".join(filter(None, (early, problem)))
