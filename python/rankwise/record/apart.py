# SPDX-License-Identifier: BSD-3-Clause
"""Work that may fail in any way, done in a child so that this process still can pass on a status."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path

from rankwise.child import ending_with_us
from rankwise.launchers.execute import LATE
from rankwise.short_memory import address_space, is_limited, use_one_thread, was_short

# A child that used no processor for so long waits for what will not come.
_STALLED_S = 30.0
_LONGEST_S = 900.0
_FIRST_TO_BE_KILLED = "1000"


class NotDone(Exception):
    """The work was not done; says why."""


def do_apart(work: Callable[[], list[str]]) -> list[str]:
    """What `work` returns, done in a child that the kernel kills before us when memory is short.

    Raises:
        NotDone: It failed, was killed, made no progress, or a signal asked us to end.
        OSError, MemoryError: There is no child.
    """
    ask = ending_with_us(signal.SIGKILL)
    said, saying = os.pipe()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, *LATE})
    try:
        pid = os.fork()
        if pid == 0:
            _do(work, ask, saying)
        os.close(saying)
        saying = -1
        try:
            _wait(pid)
        except BaseException:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
        ended = os.waitpid(pid, 0)[1]
        if ended:
            # Libraries without memory leave with a status, too.
            short = os.WIFSIGNALED(ended) or address_space() is not None
            raise NotDone("memory was short" if short else f"status {ended >> 8}")
        return _heard(os.read(said, 1 << 16))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for descriptor in (said, saying):
            if descriptor >= 0:
                os.close(descriptor)


def _do(work: Callable[[], list[str]], ask: Callable[[], None], saying: int) -> None:
    """In the child: it says nothing itself, and leaves no core file."""
    try:
        ask()
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_BE_KILLED, encoding="ascii")
        _, hard = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        if is_limited():
            use_one_thread()
        try:
            answer: dict[str, object] = {"lines": work()}
        except Exception as error:
            why = " ".join(str(error).split()) or type(error).__name__
            answer = {"failed": "memory was short" if was_short(error) else why}
        os.write(saying, json.dumps(answer).encode()[: 1 << 16])
        os._exit(0)
    finally:
        os._exit(1)


def _wait(pid: int) -> None:
    """Wait for a child to end, and see that it does something."""
    begun = moved = time.monotonic()
    used = None
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        info = signal.sigtimedwait({signal.SIGCHLD, *LATE}, 0.5)
        if info is not None and info.si_signo in LATE:
            raise NotDone("interrupted")
        now, latest = time.monotonic(), _progress(pid)
        if latest != used:
            used, moved = latest, now
        if now - moved > _STALLED_S or now - begun > _LONGEST_S:
            raise NotDone("it took too long")


def _progress(pid: int) -> list[bytes]:
    """Processor time so far, and page faults."""
    with open(f"/proc/{pid}/stat", "rb") as stat:
        fields = stat.read().rpartition(b")")[2].split()
    return [fields[9], fields[11], fields[12]]


def _heard(answer: bytes) -> list[str]:
    heard = json.loads(answer)
    if "failed" in heard:
        raise NotDone(heard["failed"])
    lines: list[str] = heard["lines"]
    return lines
