# SPDX-License-Identifier: BSD-3-Clause
"""The directory of a placed run: made, removed at its end, and where that was killed, by the next run.

A directory says in `owner` which process made it. Whoever finds one removes it if that was a process of this boot of
this machine which is no more, and no process that the killed run has left behind still names it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

_PREFIX = "rankwise-run-"
_OWNER = "owner"


def make_scratch() -> Path:
    """A directory that the ranks of other hosts see too, as they see the working directory."""
    try:
        scratch = _make_in(".", f".{_PREFIX}")
    except OSError:
        scratch = _make_in(tempfile.gettempdir(), _PREFIX)
    (scratch / "ranks").mkdir()
    return scratch.resolve()


def remove_scratch(scratch: Path) -> None:
    """Remove it with all that is in it."""
    shutil.rmtree(scratch, ignore_errors=True)


def _make_in(parent: str, prefix: str) -> Path:
    with contextlib.suppress(OSError):
        for left in Path(parent).glob(f"{prefix}*"):
            if _is_abandoned(left):
                remove_scratch(left)
    scratch = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    with contextlib.suppress(OSError):
        (scratch / _OWNER).write_text(f"{_here()} {os.getpid()} {_started(os.getpid())}\n", encoding="ascii")
    return scratch


def _is_abandoned(directory: Path) -> bool:
    """Whether a run of this user on this machine made it and is gone; in doubt it is not."""
    try:
        if directory.is_symlink() or directory.stat().st_uid != os.geteuid():
            return False
        boot, namespace, pid, started = (directory / _OWNER).read_text(encoding="ascii").split()
        if f"{boot} {namespace}" != _here() or not (pid.isdecimal() and started.isdecimal()):
            return False
    except (OSError, ValueError):
        return False
    with contextlib.suppress(OSError):
        if _started(int(pid)) == int(started):
            return False
    return not _is_named(directory.name.encode())


def _here() -> str:
    """This boot of this machine, and what its process numbers count in."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{boot} {os.readlink('/proc/self/ns/pid')}"


def _started(pid: int) -> int:
    """When a process started, in ticks since boot; OSError if there is none, or one that only waits to be reaped."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    fields = stat.rpartition(")")[2].split()
    if fields[0] in ("Z", "X"):
        raise ProcessLookupError
    return int(fields[19])


def _is_named(name: bytes) -> bool:
    """Whether a process was started with this name in its arguments or environment, as launchers and ranks are."""
    for process in Path("/proc").glob("[0-9]*"):
        for file in ("cmdline", "environ"):
            with contextlib.suppress(OSError):
                if name in (process / file).read_bytes():
                    return True
    return False
