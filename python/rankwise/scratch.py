# SPDX-License-Identifier: BSD-3-Clause
"""Directories for a while: made, removed at their end, and where that was killed, by the next that makes one.

A directory says in `owner` which process made it. Whoever finds one removes it if that was a process of this boot of
this machine which is no more, and no process that it has left behind still names it. Where only this machine makes
them, one that nobody owns for some time is removed, too.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rankwise.owner import owner_is_gone, write_owner

OWNER = "owner"


@contextlib.contextmanager
def scratch(purpose: str, parent: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """A directory `rankwise-PURPOSE-...` in `parent` or /tmp, which is there inside the `with`.

    Raises:
        OSError: It cannot be made.
    """
    directory = make_scratch(parent or tempfile.gettempdir(), f"rankwise-{purpose}-")
    try:
        yield directory
    finally:
        remove_scratch(directory)


def make_scratch(parent: str | os.PathLike[str], prefix: str) -> Path:
    """A new directory in `parent`; those of this prefix that were abandoned there are removed.

    Raises:
        OSError: It cannot be made.
    """
    remove_abandoned(parent, prefix)
    directory = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    with contextlib.suppress(OSError):
        write_owner(directory / OWNER)
    return directory


def remove_abandoned(parent: str | os.PathLike[str], prefix: str, unowned_s: float | None = None) -> None:
    """Remove directories of this prefix whose makers are gone.

    Args:
        parent: Where they are.
        prefix: Of their names.
        unowned_s: After so long without `owner` the maker of one is gone, too; only where no other machine makes them.
    """
    with contextlib.suppress(OSError):
        for left in Path(parent).glob(f"{prefix}*"):
            if _is_abandoned(left, unowned_s):
                remove_scratch(left)


def remove_scratch(directory: Path) -> None:
    """Remove it with all that is in it."""
    shutil.rmtree(directory, ignore_errors=True)


def _is_abandoned(directory: Path, unowned_s: float | None) -> bool:
    """Whether a process of this user on this machine made it and is gone; in doubt it is not."""
    owner = directory / OWNER
    try:
        if directory.is_symlink() or (found := directory.stat()).st_uid != os.geteuid():
            return False
        if unowned_s is not None and not owner.exists():
            gone = time.time() - found.st_mtime > unowned_s
        else:
            gone = owner_is_gone(owner)
    except OSError:
        return False
    return gone and not _is_named(directory.name.encode())


def _is_named(name: bytes) -> bool:
    """Whether a process was started with this name in its arguments or environment, as launchers and ranks are."""
    for process in Path("/proc").glob("[0-9]*"):
        for file in ("cmdline", "environ"):
            with contextlib.suppress(OSError):
                if name in (process / file).read_bytes():
                    return True
    return False
