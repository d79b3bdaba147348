# SPDX-License-Identifier: BSD-3-Clause
"""Which files a recording has."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from rankwise.errors import RankwiseError


def raw_files(directory: Path) -> list[Path]:
    """The nodes' files of a recording directory.

    Raises:
        RankwiseError: It is no recording directory.
    """
    hint = "record a program first: `rankwise record -- mpiexec -n 4 ./app`"
    if not directory.is_dir():
        what = "is a file, not a recording directory" if directory.exists() else "does not exist"
        raise RankwiseError(f"the recording `{directory}` {what}", hint)
    if not (directory / "raw").is_dir():
        if (directory / "events.jsonl").is_file():
            hint = f"it is what `rankwise tune` kept: `rankwise tune show {quote(str(directory))}`"
        raise RankwiseError(f"`{directory}` is not a recording: it has no `raw` directory", hint)
    return sorted((directory / "raw").glob("*.rwn"))
