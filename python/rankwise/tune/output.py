# SPDX-License-Identifier: BSD-3-Clause
"""The directory `NAME.tune`: plan, events, what the tuner said, and the summary of its decisions."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from rankwise import whole_files
from rankwise.errors import RankwiseError
from rankwise.tune.document import SCHEMA, Tuner, Tuning, tuner_of
from rankwise.tune.events import FILE_NAME, read_events

SUMMARY = "summary.json"
OUTPUT_ENTRIES = ("plan", FILE_NAME, "log", SUMMARY)


def claim(name: str, force: bool) -> Path:
    """Make the directory, or empty one of an earlier run.

    Args:
        name: As typed.
        force: Replace what is there.

    Raises:
        RankwiseError: Something else is there, or it cannot be made.
    """
    path = Path(name)
    if os.path.lexists(path):
        ours = path.is_dir() and not {entry.name for entry in path.iterdir()} - set(OUTPUT_ENTRIES)
        if not ours:
            raise RankwiseError(
                f"`{path}` is there, and is not what `rankwise tune` wrote",
                "choose another name with `-o NAME.tune`",
                status=125,
            )
        if not force and any(path.iterdir()):
            raise RankwiseError(
                f"`{path}` is there already",
                "use `--force` to replace it, or `-o` for another one",
                status=125,
            )
        for entry in path.iterdir():
            entry.unlink()
        return path
    try:
        path.mkdir()
    except OSError as error:
        raise RankwiseError(
            f"`{path}` cannot be made: {os.strerror(error.errno or 0).lower()}",
            "choose another place with `-o NAME.tune`",
            status=125,
        ) from None
    return path


def remove_empty(path: Path) -> None:
    """Remove the directory of a run that did not start."""
    for name in OUTPUT_ENTRIES:
        (path / name).unlink(missing_ok=True)
    path.rmdir()


def write_summary(path: Path, tuner: Tuner) -> None:
    """Write summary.json, schema `rankwise.tune/1`.

    Raises:
        RankwiseError: It cannot be written.
    """
    document = Tuning(schema=SCHEMA, tuners=[tuner])
    text = msgspec.json.format(msgspec.json.encode(document), indent=2)
    whole_files.write(path / SUMMARY, text + b"\n")


def read_output(path: Path) -> Tuner:
    """What the tuner of a `NAME.tune`, or of a recording made under it, did.

    Raises:
        RankwiseError: There are no events.
    """
    files = [path / FILE_NAME] if (path / FILE_NAME).is_file() else sorted((path / "tune").glob("*.jsonl"))
    if not files:
        raise RankwiseError(
            f"`{path}` has no events of a tuner",
            "name what `rankwise tune -o NAME.tune -- mpiexec -n 16 ./app` wrote",
        )
    return tuner_of([event for file in files for event in read_events(file)])


def did_act(path: Path) -> bool:
    """Whether the tuner of a `NAME.tune` was to act, as its plan says; where there is no plan, it was."""
    try:
        return "act 0" not in (path / "plan").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return True
