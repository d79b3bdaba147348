# SPDX-License-Identifier: BSD-3-Clause
"""A child that does not outlive this process."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Callable, Iterator

_PR_SET_PDEATHSIG = 1
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Signals that end this process come after this.

    An exception out of `Popen.poll` or `Popen.wait` may leave their lock taken, for which whoever asks next waits for
    ever; and one that comes while modules are loaded is sometimes lost. Children inherit what is blocked.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ending_with_us(number: int = signal.SIGTERM) -> Callable[[], None]:
    """What a child calls before it becomes another program, to get a signal when the thread that made it ends.

    Launchers end their ranks when they get SIGTERM; SIGKILL would leave that to what remains of them.
    """
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
        if os.getppid() != parent:  # it ended before it was asked to tell
            os._exit(128 + number)

    return ask
