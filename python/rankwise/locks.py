# SPDX-License-Identifier: BSD-3-Clause
"""Locks of files that tell whether who made them still lives."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


def is_held(file: Path) -> bool:
    """Whether a process holds a lock on a file; not so where it cannot be opened, or its file system has no locks."""
    try:
        descriptor = _opened(file)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


@contextlib.contextmanager
def held(file: Path) -> Iterator[bool]:
    """Hold a lock on a file that is there; yields whether it is held, which it is not where another process has it."""
    with contextlib.ExitStack() as close:
        try:
            descriptor = _opened(file)
            close.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_ours = True
        except OSError:
            is_ours = False
        yield is_ours


def _opened(file: Path) -> int:
    flags = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        # NFS gives an exclusive lock only on what is open for writing.
        return os.open(file, os.O_RDWR | flags)
    except OSError:
        return os.open(file, os.O_RDONLY | flags)
