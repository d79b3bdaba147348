# SPDX-License-Identifier: BSD-3-Clause
"""Files that say which process made what lies beside them, so that what a killed one left behind can be told."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def write_owner(path: Path) -> None:
    """Write that this process is the owner.

    Raises:
        OSError: It cannot be written.
    """
    path.write_text(f"{_here()} {os.getpid()} {_started(os.getpid())}\n", encoding="ascii")


def owner_is_gone(path: Path) -> bool:
    """Whether a process of this boot of this machine wrote the file and is no more; in doubt it is not.

    The number of one that is gone may be another's by now, which started later.
    """
    try:
        boot, namespace, pid, started = path.read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return False
    if f"{boot} {namespace}" != _here() or not (pid.isdecimal() and started.isdecimal()):
        return False
    with contextlib.suppress(OSError):
        return _started(int(pid)) != int(started)
    return True


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
