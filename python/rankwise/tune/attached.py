# SPDX-License-Identifier: BSD-3-Clause
"""Tuning processes that run: those that the user names, as ranks of one job."""

from __future__ import annotations

import os
import pwd
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rankwise.child import ENDING
from rankwise.errors import RankwiseError
from rankwise.tune.session import Asked, Session

if TYPE_CHECKING:
    from rankwise.tune.document import Tuner

_LOOK_S = 0.05


def tune_processes(
    pids: Sequence[int], asked: Asked, keep: bool, begun: Callable[[list[str]], None]
) -> Tuner:
    """Tune until the last process has ended, or until this one is asked to end; returns what was done.

    Args:
        pids: Processes.
        asked: How to tune.
        keep: Leave masks as they are at the end.
        begun: Called once the tuner runs, with what tuners before could not put back.

    Raises:
        RankwiseError: One is no process, or another user's; nothing was started.
    """
    check_processes(pids, os.geteuid())
    session = Session(asked)
    try:
        plan = replace(session.plan, pids=list(dict.fromkeys(pids)), pages=pages_of(pids))
        session.start(replace(plan, until_ranks_end=True, keep=keep))
    except BaseException:
        session.abandon()
        raise
    try:
        begun(session.left)
        wait(session)
        return session.end()
    finally:
        session.close()


def wait(session: Session) -> None:
    """Wait until the tuner has ended, or this process is asked to end, also where that is `uninterrupted`."""
    # No threading.Event: a handler that sets it waits for ever for the lock that the interrupted wait() has.
    asked: list[int] = []
    before = {number: signal.signal(number, lambda number, _: asked.append(number)) for number in ENDING}
    blocked = signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    try:
        while session.is_running() and not asked:
            time.sleep(_LOOK_S)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for number, handler in before.items():
            signal.signal(number, handler)


def check_processes(pids: Sequence[int], user: int) -> None:
    """Refuse what is no process that this user may tune.

    Args:
        pids: Numbers of processes.
        user: Number of the user; 0 may tune everybody's.

    Raises:
        RankwiseError: One is not.
    """
    hint = "name processes that run, for example `rankwise tune --pid $(pgrep -d ' ' -x app)`"
    for pid in pids:
        status = _status(pid) if pid > 0 else {}
        # The kernel's own threads have no memory of their own.
        wrong = {
            f"there is no process `{pid}`{_unless_hidden()}": not status,
            f"process `{pid}` has ended": status.get("State", "?")[0] in "ZX",
            f"`{pid}` is a thread, not a process": status.get("Tgid") != str(pid),
            f"process `{pid}` is the kernel's": "VmSize" not in status,
            f"process `{pid}` is the one that starts all others": pid == 1,
        }
        sentence = next((each for each, is_so in wrong.items() if is_so), None)
        if sentence is not None:
            raise RankwiseError(sentence, hint)
        owner = int(status["Uid"].split()[1])
        if user not in (0, owner):
            raise RankwiseError(
                f"process `{pid}` is `{_name(owner)}`'s", "tune your own processes, or ask the administrator"
            )


def pages_of(pids: Sequence[int]) -> Path | None:
    """The directory in which processes say how they get on; `None` if it is not one only, their user's.

    Helpers of a job, which are no ranks, may have none.
    """
    try:
        (owner,) = {os.stat(f"/proc/{pid}").st_uid for pid in pids}
        (name,) = {name for pid in pids if (name := _variable(pid, b"RANKWISE_TUNE"))}
        path = Path(os.fsdecode(name))
        return path if path.is_absolute() and path.stat().st_uid == owner and path.is_dir() else None
    except (OSError, ValueError):  # one has ended, or they differ
        return None


def _variable(pid: int, name: bytes) -> bytes:
    """A variable of the environment that a process was started with; empty if it has none."""
    entries = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return next((entry[len(name) + 1 :] for entry in entries if entry.startswith(name + b"=")), b"")


def _unless_hidden() -> str:
    """What is to be added where other users' processes are hidden: the first one is there, and is root's."""
    return (
        "" if os.access("/proc/1/comm", os.R_OK) else ", or it cannot be seen: /proc is mounted with hidepid"
    )


def _status(pid: int) -> dict[str, str]:
    """/proc/PID/status; empty if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())}


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)
