# SPDX-License-Identifier: BSD-3-Clause
"""What of a recording is as it was written: its files one by one, asked without changing any."""

from __future__ import annotations

import tarfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rankwise._core import trace
from rankwise.errors import RankwiseError
from rankwise.recording import collection
from rankwise.recording.completeness import ranks_text
from rankwise.recording.files import raw_files
from rankwise.recording.raw import OTHER_RUN, rank_fields, read
from rankwise.recording.samples import decode
from rankwise.recording.snapshots import matches_checksum

State = Literal["whole", "not covered", "damaged"]
_MADE_AGAIN = "the next command makes it again"
_NOT_AS_WRITTEN = "it does not match its checksum"
_NO_CHECKSUM = "it can be read, and has no checksum"


@dataclass(frozen=True)
class Checked:
    """A file of a recording.

    Attributes:
        file: Its name within the recording.
        state: `whole`: all of it is as its checksums say; `not covered`: nothing is wrong with it, but a part or all of
            it has no checksum; `damaged`: it is not as it was written, or not there.
        details: What was found, a sentence each.
    """

    file: str
    state: State
    details: tuple[str, ...] = ()


def check(path: Path) -> list[Checked]:
    """Look at every file of a recording.

    Args:
        path: The recording directory.

    Raises:
        RankwiseError: No recording directory.
    """
    found = [_raw(file) for file in raw_files(path)]
    found += _missing(path, found)
    found += [_archive(file) for file in sorted((path / "raw").glob("*.tar"))]
    if all(each.file != "recording.json" for each in found):
        found += _manifest(path)
    return [*found, *_caches(path)]


def _raw(file: Path) -> Checked:
    name = f"raw/{file.name}"
    try:
        node = trace.NodeFile(str(file))
    except RankwiseError as error:
        return Checked(name, "damaged", (error.message,))
    problems = [*node.problems]
    for thread in node.threads:
        sampled = decode(thread.samples, thread.notes)
        said = [*thread.problems, *(sampled.problems if sampled else ())]
        problems += [f"rank {rank_fields(thread)['world_rank']}: {each}" for each in said]
    if (of_node := decode(node.samples, node.notes_of_samples)) is not None:
        problems += [f"the node: {each}" for each in of_node.problems]
    parts = Counter(cover for _, _, cover in node.runs)
    notes = list(node.notes)
    if not node.version:
        notes.append("it is empty: no rank wrote into it")
    elif parts["uncovered"]:
        ranks = sorted({rank_fields(t)["world_rank"] for t in node.threads if t.uncovered})
        notes.append(
            f"{parts['uncovered']} of {parts.total()} parts were written to after their last checksum"
            + (f", by {ranks_text(ranks)}" if ranks else "")
        )
    if problems:
        return Checked(name, "damaged", (*problems, *notes))
    if notes:
        return Checked(name, "not covered", tuple(notes))
    return Checked(name, "whole", (f"{parts.total()} parts",))


def _missing(path: Path, files: list[Checked]) -> list[Checked]:
    """Ranks of which there is nothing, or whether it is another run's."""
    from rankwise.recording.job import choose_job

    try:
        raw = read(path)
        missing = choose_job(raw, None).missing_ranks
    except RankwiseError as error:
        # Of a file it is said already.
        said = any(error.message in each.details for each in files)
        return [] if said else [Checked("raw", "damaged", (error.message,))]
    other = [Checked("recording.json", "damaged", (OTHER_RUN,))] if OTHER_RUN in raw.notes else []
    return other + ([Checked("raw", "damaged", (f"{ranks_text(missing)} left nothing",))] if missing else [])


def _archive(file: Path) -> Checked:
    """A copy of a node's files; those of older recorders have no checksum."""
    from rankwise.machine.topology import from_saved_files

    name = f"raw/{file.name}"
    if not file.stat().st_size:
        return Checked(name, "damaged", ("it is empty: there was no room for it",))
    try:
        matches = matches_checksum(file)
        if matches is None and file.name.endswith(".topology.tar"):
            from_saved_files(file)
    except RankwiseError as error:
        return Checked(name, "damaged", (error.message,))
    except (OSError, tarfile.TarError, ValueError, EOFError) as error:
        return Checked(name, "damaged", (f"it cannot be read: {error}",))
    if matches is None:
        return Checked(name, "not covered", (_NO_CHECKSUM,))
    return Checked(name, "whole" if matches else "damaged", () if matches else (_NOT_AS_WRITTEN,))


def _manifest(path: Path) -> list[Checked]:
    from rankwise.record import manifest

    name = "recording.json"
    try:
        written = manifest.read(path)
    except RankwiseError as error:
        return [Checked(name, "damaged", (error.message,))]
    if written is None:
        return [
            Checked(name, "not covered", ("it is not there: `rankwise record` did not live to write it",))
        ]
    return [Checked(name, "not covered", (_NO_CHECKSUM,))]


def _caches(path: Path) -> list[Checked]:
    """What is made of the files of the ranks, as far as it was."""
    if not (path / "context.json").exists():
        return []
    content = collection.written(path)
    if content is None:
        return [Checked("context.json", "damaged", (f"it does not match its checksum; {_MADE_AGAIN}",))]
    stale = () if collection.current(path) else (f"it is older than what it was made of; {_MADE_AGAIN}",)
    found = [Checked("context.json", "whole", stale)]
    for name in collection.TABLES:
        file = f"tables/{name}.parquet"
        if not (path / file).exists():
            found.append(Checked(file, "damaged", (f"it is not there; {_MADE_AGAIN}",)))
        elif not collection.is_as_written(path, content, name):
            found.append(Checked(file, "damaged", (f"it does not match its checksum; {_MADE_AGAIN}",)))
        else:
            found.append(Checked(file, "whole"))
    return found
