# SPDX-License-Identifier: BSD-3-Clause
"""Locks of files that tell whether who made them still lives."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def is_held(file: Path) -> bool:
    """Whether a process holds a lock on a file; not so where it cannot be opened, or its file system has no locks."""
    flags = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        # NFS gives an exclusive lock only on what is open for writing.
        descriptor = os.open(file, os.O_RDWR | flags)
    except OSError:
        try:
            descriptor = os.open(file, os.O_RDONLY | flags)
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
