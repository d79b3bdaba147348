# SPDX-License-Identifier: BSD-3-Clause
"""Commands that compute, where the address space is limited: they end with a line, whatever a library does."""

from __future__ import annotations

import os
import signal

from rankwise.errors import RankwiseError
from rankwise.short_memory import address_space, use_one_thread

COMPUTING = ("report", "export", "predict", "place", "study")
# Numpy, polars and what draws, with a thread each.
_IMPORTS_BYTES = 400 << 20
# Libraries abort, or use what they did not get.
_OF_MEMORY = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGTRAP, signal.SIGKILL)


def short() -> RankwiseError:
    """The error of a command for which there was too little memory."""
    hint = "`ulimit -v unlimited`, or ask for more memory for the job"
    return RankwiseError("memory is short", hint=hint)


def status_of_child() -> int | None:
    """Go on in a child if the address space is limited, as libraries may then end their process.

    Returns:
        `None` in the process that does the work, its exit status in the one that waited.

    Raises:
        RankwiseError: Memory is too short to begin with, or ended the child.
    """
    limit = address_space()
    if limit is None:
        return None
    if limit < _IMPORTS_BYTES:
        raise short()
    use_one_thread()
    from rankwise.child import ending_with_us

    try:
        ask = ending_with_us()
        pid = os.fork()
    except OSError:
        raise short() from None
    if pid == 0:
        ask()
        return None
    while True:
        try:
            ended = os.waitpid(pid, 0)[1]
            break
        except KeyboardInterrupt:  # the child has it too, and may have something to write
            continue
    if not os.WIFSIGNALED(ended):
        return os.waitstatus_to_exitcode(ended)
    number = os.WTERMSIG(ended)
    if number in _OF_MEMORY:
        raise short()
    return 128 + number
