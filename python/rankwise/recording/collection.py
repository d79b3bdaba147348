# SPDX-License-Identifier: BSD-3-Clause
"""Raw recording -> Parquet tables and context.json. Safe to repeat: it does nothing if they are current."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise import regular_files
from rankwise.recording.files import raw_files
from rankwise.whole_files import replacing

if TYPE_CHECKING:
    import polars as pl

TABLES = (
    *("messages", "received", "calls", "durations", "ranks", "collectives", "communicators", "call_sites"),
    *("rank_use", "rank_masks", "rank_counters", "rank_samples", "rank_devices"),
    *("core_samples", "interface_samples", "port_samples", "interrupts", "port_counters", "interface_queues"),
    *("memory_samples", "network_time", "performance_variables"),
)

# Raised when the tables change, so that those of an older version are written again.
TABLES_VERSION = 17


@dataclass
class Collected:
    """The tables by name, and the content of context.json."""

    tables: dict[str, pl.DataFrame]
    context: dict[str, Any]


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
    if force or current(directory) is None:
        save(directory, make(directory))
    return directory


def current(directory: Path) -> dict[str, Any] | None:
    """What context.json says, if it and the tables are as written and belong to the raw files as they are now.

    Raises:
        RankwiseError: Not a recording directory.
    """
    content = written(directory)
    if content is None:
        raw_files(directory)
        return None
    as_now = (
        content.get("tables_version") == TABLES_VERSION
        and content.get("raw_files") == _fingerprint(directory)
        and content.get("table_bytes") == _table_bytes(directory)
    )
    return content if as_now else None


def written(directory: Path) -> dict[str, Any] | None:
    """What context.json says, current or not; `None` if it is not there or not as it was written."""
    try:
        content = json.loads(regular_files.read_bytes(directory / "context.json"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or content.pop("sha256", None) != _digest(_text(content)):
        return None
    return content


def read_table(directory: Path, context: dict[str, Any], name: str) -> pl.DataFrame | None:
    """A table that was collected; `None` if it is not as it was written."""
    from io import BytesIO

    import polars as pl

    content = _table_content(directory, context, name)
    return None if content is None else pl.read_parquet(BytesIO(content))


def is_as_written(directory: Path, context: dict[str, Any], name: str) -> bool:
    """Whether a table is what `context`, as `written`, knows it by."""
    return _table_content(directory, context, name) is not None


def _table_content(directory: Path, context: dict[str, Any], name: str) -> bytes | None:
    try:
        content = regular_files.read_bytes(directory / "tables" / f"{name}.parquet", 1 << 40)
    except OSError:
        return None
    return content if _digest(content) == context.get("table_sha256", {}).get(name) else None


def make(directory: Path, job_wanted: str | None = None) -> Collected:
    """Read the raw files and make everything of them, writing nothing.

    Args:
        directory: The recording directory.
        job_wanted: Number or name of one MPI job of several; `None` for the largest.
    """
    from rankwise.recording import context, node_use, rank_use, tables
    from rankwise.recording.communicators import unify
    from rankwise.recording.expansion import expand
    from rankwise.recording.job import choose_job
    from rankwise.recording.raw import damage_of_samples, read

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
        "network_time": tables.network_time(job),
        "collectives": tables.collectives(job, expansion),
        "communicators": tables.communicators(communicators),
        "rank_use": rank_use.rank_use(job),
        "rank_masks": rank_use.rank_masks(job),
        "rank_counters": rank_use.rank_counters(job),
        "rank_samples": rank_use.rank_samples(job),
        "rank_devices": rank_use.rank_devices(job),
        "performance_variables": rank_use.performance_variables(job),
    }
    nodes = node_use.nodes(directory, raw, job)
    for make_table in (
        node_use.core_samples,
        node_use.interface_samples,
        node_use.port_samples,
        node_use.memory_samples,
        node_use.interrupts,
        node_use.port_counters,
        node_use.interface_queues,
    ):
        frames[make_table.__name__] = make_table(nodes)
    raw.problems += damage_of_samples(raw) + node_use.damage(nodes)
    raw.notes += node_use.unlikely(nodes)
    about = context.describe(directory, job, expansion, raw) | {"nodes": node_use.describe(nodes)}
    return Collected(frames, about | {"tables_version": TABLES_VERSION, "raw_files": fingerprint})


def save(directory: Path, collected: Collected) -> dict[str, Any]:
    """Write all files, each by rename, and what they are known by into the last of them.

    Returns:
        The content of context.json, as `current` gives it.

    Raises:
        OSError: The directory cannot be written to, or is on a full disk.
    """
    (directory / "tables").mkdir(exist_ok=True)
    digests = {}
    for name, frame in collected.tables.items():
        packed = parquet(frame)
        digests[name] = _digest(packed)
        with replacing(directory / "tables" / f"{name}.parquet") as partial:
            partial.write_bytes(packed)
    content = collected.context | {"table_bytes": _table_bytes(directory), "table_sha256": digests}
    with replacing(directory / "context.json") as partial:
        partial.write_bytes(_text(content | {"sha256": _digest(_text(content))}))
    return content


def parquet(frame: pl.DataFrame) -> bytes:
    """A table as Parquet; in memory, as polars tells a full disk by an exception of its own."""
    from io import BytesIO

    content = BytesIO()
    frame.write_parquet(content)
    return content.getvalue()


def _text(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=1) + "\n").encode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _table_bytes(directory: Path) -> dict[str, int]:
    """Sizes of the tables that are there: one that was cut or replaced is made again."""
    files = {name: directory / "tables" / f"{name}.parquet" for name in TABLES}
    return {name: file.stat().st_size for name, file in files.items() if file.exists()}


def _fingerprint(directory: Path) -> dict[str, list[int]]:
    """Name, size and time of change of everything the tables are made of."""
    files = [*raw_files(directory), *sorted((directory / "raw").glob("*.tar"))]
    files.append(directory / "recording.json")
    stats = {file.name: file.stat() for file in files if file.exists()}
    return {name: [stat.st_size, stat.st_mtime_ns] for name, stat in stats.items()}
