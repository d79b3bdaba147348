# SPDX-License-Identifier: BSD-3-Clause
"""Running a launch to its end as if it had been started directly: its streams, signals and status are its own."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from rankwise.errors import RankwiseError
from rankwise.launchers.line import Launch
from rankwise.launchers.start import start

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
# What is held back once the launcher has ended.
LATE = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
_TELLING = (signal.SIGUSR1, signal.SIGUSR2)
# siginfo si_code of what the terminal sends; it sends that to the launcher as well.
_FROM_KERNEL = 0x80
# `timeout` and batch systems signal the whole process group: who ends within this time had the signal already, and
# a second one would make both Hydra and Open MPI stop without cleaning up.
_GRACE_S = 0.3


@dataclass(frozen=True)
class Ended:
    """How a launch ended: `status` is its exit status, or 128 + `signal` as in a shell.

    `asked_to_end` is the signal that asked us, and with us the launcher, to end; `None` if none did.
    """

    status: int
    signal: int | None
    interrupted: bool
    start_s: float
    end_s: float
    asked_to_end: int | None = None


def execute(launch: Launch, untied: Callable[[], None] | None = None) -> Ended:
    """Run a launch with the caller's stdin, stdout and stderr, and pass on the signals that come meanwhile.

    When this process is killed, the launcher is asked to end. Once it has ended, its status is all that counts: of the
    signals that would end us only SIGQUIT still does, until `pass_on`.

    Args:
        launch: What to run.
        untied: Called if it goes on when this process is killed, as memory is short.

    Raises:
        RankwiseError: It could not be started: not found (status 127), or not executable (126).
    """
    sys.stdout.flush()
    watched = {signal.SIGCHLD, *_ENDING, *_TELLING}
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    after = before
    try:
        start_s = time.time()
        pid = _spawn(launch, before, untied)
        status, number, signals = _wait(pid, watched)
        after = before | LATE
        with contextlib.suppress(OSError):
            os.waitpid(pid, 0)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, after)
    interrupted = signal.SIGINT in signals
    return Ended(status, number, interrupted, start_s, time.time(), max(signals, default=None))


def _spawn(launch: Launch, mask: set[int | signal.Signals], untied: Callable[[], None] | None) -> int:
    try:
        return start(launch.words, launch.environment_of_first(os.environ), mask, untied)
    except OSError as error:
        hint = "check that it is a program for this machine; a script needs a first line such as `#!/bin/sh`"
        message = f"`{launch.words[0]}` cannot be started: {os.strerror(error.errno or 0).lower()}"
        status = 127 if error.errno == errno.ENOENT else 126
        raise RankwiseError(message, hint=hint, status=status) from error


def _wait(pid: int, watched: set[signal.Signals]) -> tuple[int, int | None, set[int]]:
    """Exit status, signal that ended it, and the signals that came meanwhile to end it."""
    signals: set[int] = set()
    pending: list[tuple[float, int]] = []
    while True:
        # Left for who asks again: nothing is lost where there is no memory for the answer.
        try:
            ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is not None:
                if ended.si_code == os.CLD_EXITED:
                    return ended.si_status, None, signals
                return 128 + ended.si_status, ended.si_status, signals
            now = time.monotonic()
            for _, number in [each for each in pending if each[0] <= now]:
                _send(pid, number)
            pending = [each for each in pending if each[0] > now]
            info = signal.sigtimedwait(watched, min([1.0, *(at - now for at, _ in pending)]))
            # CPython tells of a signal that never came where the wait is interrupted just as its time is over.
            if info is None or info.si_signo == signal.SIGCHLD or info.si_signo not in watched:
                continue
            if info.si_signo in _ENDING:
                signals.add(int(info.si_signo))
            if info.si_signo in _TELLING:
                _send(pid, info.si_signo)
            elif info.si_code != _FROM_KERNEL:
                pending.append((now + _GRACE_S, info.si_signo))
        except MemoryError:
            continue


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def pass_on(ended: Ended) -> int:
    """The exit status to leave with; does not return if the launch was killed by a signal, but dies of it too."""
    if ended.signal is not None:
        sys.stdout.flush()
        sys.stderr.flush()
        _, hard = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
        if ended.signal != signal.SIGKILL:
            signal.signal(ended.signal, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {ended.signal})
        os.kill(os.getpid(), ended.signal)
    if ended.interrupted and ended.status != 0:
        return 128 + signal.SIGINT
    return ended.status
