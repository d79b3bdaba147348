# SPDX-License-Identifier: BSD-3-Clause
"""Where a user keeps what can be made again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_home() -> Path:
    """Our part of `$XDG_CACHE_HOME`, which is `~/.cache` by default."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rankwise"
