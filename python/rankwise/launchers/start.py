# SPDX-License-Identifier: BSD-3-Clause
"""Starting a launcher so that the kernel ends it when this process is killed, as nothing else could."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence

from rankwise.child import ending_with_us

# Python ignores these two, the program must not.
_DEFAULTS = (signal.SIGPIPE, signal.SIGXFSZ)


def start(
    words: Sequence[str],
    environment: Mapping[str, str],
    mask: set[int | signal.Signals],
    untied: Callable[[], None] | None = None,
) -> int:
    """Start a program found by PATH, with this signal mask and the default actions; returns its process number.

    Args:
        words: The program and its arguments.
        environment: Its environment.
        mask: Its signal mask.
        untied: Called if it outlives us when we are killed, as there is no memory for a copy of this process.

    Raises:
        OSError: It cannot be started.
    """
    ask = ending_with_us()
    said, saying = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(said)
        os.close(saying)
        pid = os.posix_spawnp(words[0], list(words), environment, setsigmask=mask, setsigdef=_DEFAULTS)
        if untied is not None:
            untied()
        return pid
    if pid == 0:
        _become(words, environment, mask, ask, saying)
    os.close(saying)
    with open(said, "rb") as reading:
        failure = reading.read()
    if failure:
        os.waitpid(pid, 0)
        raise OSError(int(failure), os.strerror(int(failure)))
    return pid


def _become(
    words: Sequence[str],
    environment: Mapping[str, str],
    mask: Iterable[int | signal.Signals],
    ask: Callable[[], None],
    saying: int,
) -> None:
    try:
        ask()
        for number in _DEFAULTS:
            signal.signal(number, signal.SIG_DFL)
        if callable(signal.getsignal(signal.SIGINT)):
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.execvpe(words[0], list(words), environment)
    except OSError as error:
        os.write(saying, str(error.errno).encode())
    finally:
        os._exit(127)
