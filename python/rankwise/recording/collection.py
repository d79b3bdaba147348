# SPDX-License-Identifier: BSD-3-Clause
"""Raw recording -> Parquet tables and context.json. Safe to repeat: it does nothing if they are current."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rankwise.recording.raw import raw_files, read
from rankwise.whole_files import replacing

if TYPE_CHECKING:
    import polars as pl

TABLES = ("messages", "received", "calls", "durations", "ranks", "collectives", "communicators", "call_sites")

# Raised when the tables change, so that those of an older version are written again.
TABLES_VERSION = 4


@dataclass
class Collected:
    """The tables by name, and the content of context.json."""

    tables: dict[str, pl.DataFrame]
    context: dict


def collect(path: str | os.PathLike[str], force: bool = False) -> Path:
    """Write tables/*.parquet and context.json, unless they are there and as new as the raw files.

    Each file is written under another name and renamed, context.json last: whoever finds it current finds all tables.

    Args:
        path: The recording directory.
        force: Write them even if they are current.

    Returns:
        The recording directory.

    Raises:
        RankwiseError: Not a recording directory, an empty one, or one of a newer format.
        OSError: The directory cannot be written to.
    """
    directory = Path(path)
    if force or not is_current(directory):
        save(directory, make(directory))
    return directory


def is_current(directory: Path) -> bool:
    """Whether tables and context.json belong to the raw files as they are now."""
    try:
        content = json.loads((directory / "context.json").read_text())
    except (OSError, ValueError):
        raw_files(directory)
        return False
    return (
        isinstance(content, dict)
        and content.get("tables_version") == TABLES_VERSION
        and content.get("raw_files") == _fingerprint(directory)
        and content.get("table_bytes") == _table_bytes(directory)
    )


def make(directory: Path, job_wanted: str | None = None) -> Collected:
    """Read the raw files and make everything of them, writing nothing.

    Args:
        directory: The recording directory.
        job_wanted: Number or name of one MPI job of several; `None` for the largest.
    """
    from rankwise.recording import context, tables
    from rankwise.recording.communicators import unify
    from rankwise.recording.expansion import expand
    from rankwise.recording.job import choose_job

    fingerprint = _fingerprint(directory)
    raw = read(directory)
    job = choose_job(raw, job_wanted)
    communicators = unify(job)
    expansion = expand(job, communicators)
    frames = {
        "messages": tables.messages(job, expansion),
        "received": tables.received(job),
        "calls": tables.calls(job),
        "durations": tables.durations(job),
        "call_sites": tables.call_sites(job),
        "ranks": tables.ranks(job),
        "collectives": tables.collectives(job, expansion),
        "communicators": tables.communicators(communicators),
    }
    about = context.describe(directory, job, expansion, raw.problems)
    return Collected(frames, about | {"tables_version": TABLES_VERSION, "raw_files": fingerprint})


def save(directory: Path, collected: Collected) -> None:
    """Write all files, each by rename."""
    (directory / "tables").mkdir(exist_ok=True)
    for name, frame in collected.tables.items():
        with replacing(directory / "tables" / f"{name}.parquet") as partial:
            frame.write_parquet(partial)
    content = collected.context | {"table_bytes": _table_bytes(directory)}
    with replacing(directory / "context.json") as partial:
        partial.write_text(json.dumps(content, indent=1) + "\n")


def _table_bytes(directory: Path) -> dict[str, int]:
    """Sizes of the tables that are there: one that was cut or replaced is made again."""
    files = {name: directory / "tables" / f"{name}.parquet" for name in TABLES}
    return {name: file.stat().st_size for name, file in files.items() if file.exists()}


def _fingerprint(directory: Path) -> dict[str, list[int]]:
    """Name, size and time of change of everything the tables are made of."""
    files = [*raw_files(directory), *sorted((directory / "raw").glob("*.topology.tar"))]
    files.append(directory / "recording.json")
    stats = {file.name: file.stat() for file in files if file.exists()}
    return {name: [stat.st_size, stat.st_mtime_ns] for name, stat in stats.items()}
