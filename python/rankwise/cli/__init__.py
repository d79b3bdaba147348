# SPDX-License-Identifier: BSD-3-Clause
"""The command line: one file a command, each with `HELP`, `add_arguments(parser)` and `run(args) -> int`."""

from __future__ import annotations

COMMANDS: tuple[str, ...] = ()


def main(argv: list[str] | None = None) -> int:
    """Run one command; the only place that turns `RankwiseError` into text and an exit status."""
    return 2
