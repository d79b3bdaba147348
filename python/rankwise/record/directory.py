# SPDX-License-Identifier: BSD-3-Clause
"""The directory of a recording: its default name, making it, replacing an old one."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from pathlib import Path

from rankwise.errors import RankwiseError
from rankwise.launchers import LaunchLine
from rankwise.record.manifest import FILE_NAME

# What Rankwise writes into a recording; nothing else is ever removed from one.
OWN_ENTRIES = (FILE_NAME, "raw", "context.json", "tables")


def default_name(line: LaunchLine) -> str:
    """`app.16r.1234.rw`: program, ranks, and the job's number or the time; a number more if that is taken."""
    program = line.program or "programs"
    interpreted = os.path.basename(program).startswith("python") and line.segments[0].arguments[:1]
    if interpreted and interpreted[0].endswith(".py"):
        program = interpreted[0][: -len(".py")]
    ranks = f".{line.ranks}r" if line.ranks else ""
    unique = os.environ.get("SLURM_JOB_ID") or time.strftime("%Y%m%d-%H%M%S")
    stem = f"{os.path.basename(program)}{ranks}.{unique}"
    name, number = f"{stem}.rw", 1
    while os.path.lexists(name):
        number += 1
        name = f"{stem}.{number}.rw"
    return name


def is_recording(path: Path) -> bool:
    """Whether a directory is a recording of ours, complete or not."""
    return (path / FILE_NAME).is_file() or any((path / "raw").glob("*.rwn"))


def create(path: Path, replace: bool) -> None:
    """Make an empty recording directory.

    Args:
        path: Where.
        replace: Take the place of a recording that is there; of nothing else.

    Raises:
        RankwiseError: Something is there, or the directory cannot be made.
    """
    if os.path.lexists(path):
        _clear(path, replace)
    try:
        if not path.is_dir():
            path.mkdir()
        (path / "raw").mkdir()
    except OSError as error:
        raise _cannot(path, error) from error


def _cannot(path: Path, error: OSError) -> RankwiseError:
    hint = "choose another place with `-o DIR`"
    if isinstance(error, FileNotFoundError):
        hint = f"`mkdir -p {shlex.quote(str(path.parent))}`"
    reason = os.strerror(error.errno or 0).lower()
    return RankwiseError(f"the recording `{path}` cannot be created: {reason}", hint=hint, status=125)


def _clear(path: Path, replace: bool) -> None:
    if not path.is_dir():
        hint = "choose another name with `-o DIR`"
        raise RankwiseError(f"`{path}` exists and is not a recording", hint=hint, status=125)
    if not any(path.iterdir()):
        return
    if not is_recording(path):
        hint = "choose another name with `-o DIR`; `--force` replaces recordings only"
        raise RankwiseError(f"`{path}` exists and is not a recording", hint=hint, status=125)
    if not replace:
        hint = "add `--force` to replace it, or choose another name with `-o DIR`"
        raise RankwiseError(f"the recording `{path}` exists", hint=hint, status=125)
    for name in OWN_ENTRIES:
        entry = path / name
        try:
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink(missing_ok=True)
        except OSError as error:
            raise _cannot(path, error) from error


def remove_if_empty(path: Path) -> bool:
    """Remove a directory that no rank wrote to; returns whether nothing was recorded."""
    if any(file.stat().st_size for file in (path / "raw").glob("*.rwn")):
        return False
    for name in OWN_ENTRIES:
        entry = path / name
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)
    if not any(path.iterdir()):
        path.rmdir()
    return True
