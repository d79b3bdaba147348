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
        hint = _for_report(directory) or hint
        raise RankwiseError(f"the recording `{directory}` {what}", hint)
    if not (directory / "raw").is_dir():
        if (directory / "events.jsonl").is_file():
            hint = f"it is what `rankwise tune` kept: `rankwise tune show {quote(str(directory))}`"
        elif any(directory.glob("*.otf2")):
            hint = f"it is a trace of OTF2: `rankwise predict {quote(str(directory))} --machine FILE`"
        raise RankwiseError(f"`{directory}` is not a recording: it has no `raw` directory", hint)
    return sorted((directory / "raw").glob("*.rwn"))


def _for_report(path: Path) -> str | None:
    """What to do with an HTML report; `None` where it is something else."""
    if path.suffix != ".html" or not path.is_file():
        return None
    recording = path.with_name(path.stem.removesuffix(".report") + ".rw")
    hint = "open it in a browser"
    return f"{hint}, or `rankwise report {quote(str(recording))}`" if recording.is_dir() else hint
