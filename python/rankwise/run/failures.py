# SPDX-License-Identifier: BSD-3-Clause
"""How failures of runs are reported: which file it was belongs to that, where it lay on this machine does not."""

from __future__ import annotations

import re

MOST_CHARACTERS = 120
# The directories of a path from the root; what follows a word or another slash is a relative path, a rate or a URL.
_DIRECTORIES = re.compile(r"(?<![\w./-])/(?:[^\s/'\"`:;,()]+/)+")


def without_directories(text: str) -> str:
    """The text with the last part of each whole path only."""
    return _DIRECTORIES.sub("", text)


def last_line(output: str) -> str:
    """The last line of a program's output, cut; nothing if it wrote none."""
    lines = output.strip().splitlines()
    return without_directories(lines[-1])[:MOST_CHARACTERS] if lines else ""
