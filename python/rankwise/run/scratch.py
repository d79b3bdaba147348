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

from rankwise.owner import owner_is_gone, write_owner

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
        write_owner(scratch / _OWNER)
    return scratch


def _is_abandoned(directory: Path) -> bool:
    """Whether a run of this user on this machine made it and is gone; in doubt it is not."""
    try:
        if directory.is_symlink() or directory.stat().st_uid != os.geteuid():
            return False
    except OSError:
        return False
    return owner_is_gone(directory / _OWNER) and not _is_named(directory.name.encode())


def _is_named(name: bytes) -> bool:
    """Whether a process was started with this name in its arguments or environment, as launchers and ranks are."""
    for process in Path("/proc").glob("[0-9]*"):
        for file in ("cmdline", "environ"):
            with contextlib.suppress(OSError):
                if name in (process / file).read_bytes():
                    return True
    return False
