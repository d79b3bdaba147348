# SPDX-License-Identifier: BSD-3-Clause
"""The directory of a placed run, which the ranks of other hosts see too."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rankwise import scratch

_PREFIX = "rankwise-run-"


def make_run_directory() -> Path:
    """In the working directory, as that is what other hosts see; where it cannot be written to, in /tmp."""
    try:
        made = scratch.make_scratch(".", f".{_PREFIX}")
    except OSError:
        made = scratch.make_scratch(tempfile.gettempdir(), _PREFIX)
    (made / "ranks").mkdir()
    return made.resolve()
