# SPDX-License-Identifier: BSD-3-Clause
"""Waiting for what other processes do."""

import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 120.0  # of a starved machine; what is waited for usually takes less than a second


def until(condition: Callable[[], object], patience_s: float = PATIENCE_S) -> bool:
    """Whether a condition came true in time."""
    end = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def has_ended(pid: int) -> bool:
    """Whether a process is gone, but for its exit status: one that was killed may run until it is scheduled next."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True
