# SPDX-License-Identifier: BSD-3-Clause
"""Labs that a command brings up for itself and takes down when it ends, however it ends.

Such a lab has a file beside its state that says whose it is. The next such command takes down those whose owner is
gone, and no others: what a user brought up stays, whatever its name.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from rankwise.errors import RankwiseError
from rankwise.lab.state import Lab, directory_of, running
from rankwise.lab.up import bring_up, take_down
from rankwise.owner import owner_is_gone, write_owner

OWNER = "owner"


def own_name(kind: str) -> str:
    """Of this process's lab: what an ended one may have left up is not in the way."""
    return f"{kind}-{os.getpid()}"


def remove_orphans() -> None:
    """Take down the labs of commands that were killed, which cannot do it any more."""
    for name in running():
        if owner_is_gone(directory_of(name) / OWNER):
            with suppress(RankwiseError):
                take_down(name)


@contextmanager
def own_lab(planned: Lab) -> Iterator[Lab]:
    """The lab, up inside the block. A batch system's or `timeout`'s SIGTERM takes it along, as Ctrl-C does."""
    lab = None
    with _at_sigterm(lambda number, _: sys.exit(128 + number)):
        try:
            with _sigterm_later():
                lab = bring_up(planned)
                write_owner(lab.directory / OWNER)
            yield lab
        finally:
            if lab:
                with _sigterm_later():
                    take_down(planned.name)


@contextmanager
def _at_sigterm(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    before = signal.signal(signal.SIGTERM, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _sigterm_later() -> Iterator[None]:
    """What SIGTERM does outside the block is done at its end: half of a lab can be neither used nor taken down."""
    signals: list[int] = []
    with _at_sigterm(lambda number, _: signals.append(number)):
        yield
    if signals:
        signal.raise_signal(signals[0])
