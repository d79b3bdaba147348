# SPDX-License-Identifier: BSD-3-Clause
"""LD_PRELOAD as a list: ours first, then what was there."""

from __future__ import annotations

import re


def merge(name: str, ours: str, theirs: str | None) -> str:
    """The value of a variable where the user has one already: joined for LD_PRELOAD, else ours."""
    if name != "LD_PRELOAD" or not theirs:
        return ours
    # The dynamic loader takes blanks and colons as separators.
    kept = [path for path in re.split("[: ]+", theirs) if path and path not in ours.split(":")]
    return ":".join([ours, *kept])
