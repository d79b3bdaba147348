# SPDX-License-Identifier: BSD-3-Clause
"""Labs that a command brings up for itself and takes down when it ends, however it ends."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rankwise.errors import RankwiseError
from rankwise.lab.state import Lab, running
from rankwise.lab.up import bring_up, take_down

_KINDS = ("validate", "interrupts")


def own_name(kind: str) -> str:
    """Of this process's lab: what an ended one may have left up is not in the way."""
    return f"{kind}-{os.getpid()}"


def remove_orphans() -> None:
    """Take down the labs of commands that were killed, which cannot do it any more."""
    for name in running():
        kind, _, owner = name.partition("-")
        if kind in _KINDS and owner.isdigit() and not os.path.exists(f"/proc/{owner}"):
            with suppress(RankwiseError):
                take_down(name)


@contextmanager
def own_lab(planned: Lab) -> Iterator[Lab]:
    """The lab, up inside the block. A batch system's or `timeout`'s SIGTERM takes it along, as Ctrl-C does."""
    lab = bring_up(planned)
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield lab
    finally:
        take_down(planned.name)
        signal.signal(signal.SIGTERM, before)
