# SPDX-License-Identifier: BSD-3-Clause
"""The report's file: its name, and what it may replace."""

from __future__ import annotations

import os
from pathlib import Path

from rankwise import regular_files, whole_files
from rankwise.errors import RankwiseError

# Within this many bytes a report of Rankwise says that it is one.
_HEAD = 2000
_MARK = '<meta name="generator" content="rankwise report">'


def default_path(recording: Path, job: str | None = None) -> Path:
    """`NAME.report.html` beside the recording `NAME.rw`, `NAME.JOB.report.html` for one job of several."""
    return recording.parent / f"{stem(recording, job)}.report.html"


def stem(recording: Path, job: str | None) -> str:
    """`NAME` of a recording `NAME.rw`, `NAME.JOB` for one job of several."""
    name = recording.resolve().name.removesuffix(".rw")
    return name if job is None else f"{name}." + "".join(each if each.isalnum() else "-" for each in job)


def compared_path(one: Path, other: Path) -> Path:
    """`ONE-OTHER.report.html` beside the recording `OTHER.rw`."""
    # So that the name is none that file systems refuse.
    stems = [path.resolve().name.removesuffix(".rw")[:60] for path in (one, other)]
    return other.parent / f"{'-'.join(stems)}.report.html"


def check(path: Path, force: bool) -> None:
    """Check that a report may be written, before the work.

    Args:
        path: Where to.
        force: Whether a report that is there may be replaced. No other file ever is.

    Raises:
        RankwiseError: It may not.
    """
    if str(path) == "-":
        raise RankwiseError(
            "`-o -` names no file",
            "leave `-o` out: text and `--json` go to stdout; `-o FILE` is the HTML report",
        )
    if path.is_dir():
        raise RankwiseError(f"`{path}` is a directory", f"name a file in it: `-o {path / 'report.html'}`")
    whole_files.refuse_special(path)
    if path.exists():
        if not is_report(path):
            raise RankwiseError(
                f"`{path}` is not a report of Rankwise, so it is not replaced",
                "choose another file with `-o`",
            )
        if not force:
            raise RankwiseError(f"`{path}` exists", "use `--force` to replace it")
    parent = path.parent
    if not parent.is_dir():
        raise RankwiseError(f"no directory `{parent}` to write into", f"make it: `mkdir -p {parent}`")
    if not os.access(parent, os.W_OK):
        raise RankwiseError(f"`{parent}` cannot be written to", "choose another file with `-o`")


def is_report(path: Path) -> bool:
    """Whether a file is a report that Rankwise wrote."""
    try:
        return _MARK.encode() in regular_files.read_beginning(path, _HEAD)
    except OSError:
        return False


def write(path: Path, page: str) -> None:
    """Write by rename, so that no half page is ever seen."""
    whole_files.write(path, page.encode())
