# SPDX-License-Identifier: BSD-3-Clause
"""No launcher known here: one process (`./app`), or a script that starts one; variables are inherited."""

from __future__ import annotations

from collections.abc import Mapping

from rankwise.launchers.line import Launch, LaunchLine
from rankwise.launchers.preload import merge


def emit_environment(line: LaunchLine, variables: Mapping[str, str], inherited: Mapping[str, str]) -> Launch:
    """Set variables for the process itself."""
    merged = {name: merge(name, value, inherited.get(name)) for name, value in variables.items()}
    return Launch(line.words(), merged)
