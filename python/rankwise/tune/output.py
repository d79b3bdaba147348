# SPDX-License-Identifier: BSD-3-Clause
"""The directory `NAME.tune`: plan, events, what the tuner said, and the summary of its decisions."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from rankwise import whole_files
from rankwise.errors import RankwiseError
from rankwise.tune.document import SCHEMA, Tuner, Tuning, tuner_of
from rankwise.tune.events import FILE_NAME, is_whole, read_events
from rankwise.tune.tuner_process import LOG, last_error

SUMMARY = "summary.json"
OUTPUT_ENTRIES = ("plan", FILE_NAME, LOG, SUMMARY)
_HINT = "choose another name with `-o NAME.tune`"


@dataclass(frozen=True)
class Claim:
    """The directory of a run that is about to start.

    Attributes:
        path: As typed.
        before: Where the result of an earlier run is until this one has ended.
    """

    path: Path
    before: Path | None = None

    def take_back(self) -> None:
        """Leave everything as it was: the run did not start."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self.before is not None:
            os.rename(self.before, self.path)

    def settle(self) -> None:
        """Remove the earlier result."""
        if self.before is not None:
            shutil.rmtree(self.before, ignore_errors=True)


def claim(name: str, force: bool) -> Claim:
    """Make the directory; one of an earlier run steps aside.

    Args:
        name: As typed.
        force: Replace what is there.

    Raises:
        RankwiseError: Something else is there, or it cannot be made.
    """
    path = Path(name)
    before = None
    try:
        if os.path.lexists(path):
            held = os.listdir(path) if path.is_dir() and not path.is_symlink() else None
            if held is None or not all(map(_is_ours, held)):
                raise RankwiseError(f"`{path}` is there, and is not what `rankwise tune` wrote", _HINT)
            if held and not force:
                raise RankwiseError(
                    f"`{path}` is there already", "use `--force` to replace it, or `-o` for another one"
                )
            before = path.with_name(f".{path.name[:200]}.{os.urandom(8).hex()}")
            os.rename(path, before)
        path.mkdir()
    except OSError as error:
        if before is not None and not os.path.lexists(path) and os.path.lexists(before):
            os.rename(before, path)
        raise RankwiseError(
            f"`{path}` cannot be made: {os.strerror(error.errno or 0).lower()}",
            "choose another place with `-o NAME.tune`",
        ) from None
    return Claim(path, before)


def _is_ours(name: str) -> bool:
    """Whether an entry is of the launching host's tuner, or events or the log of another host's."""
    return name in OUTPUT_ENTRIES or name.endswith((".jsonl", ".log"))


def write_summary(path: Path, tuners: Sequence[Tuner]) -> None:
    """Write summary.json, schema `rankwise.tune/1`.

    Raises:
        RankwiseError: It cannot be written.
    """
    document = Tuning(schema=SCHEMA, tuners=list(tuners))
    text = msgspec.json.format(msgspec.json.encode(document), indent=2)
    whole_files.write(path / SUMMARY, text + b"\n")


def read_output(path: Path) -> list[Tuner]:
    """What the tuners of a `NAME.tune`, or of a recording made under them, did; that of the launching host first.

    Raises:
        RankwiseError: There are no events.
    """
    hint = "name what `rankwise tune -o NAME.tune -- mpiexec -n 16 ./app` wrote"
    try:
        os.stat(path)
    except OSError as error:
        raise RankwiseError(f"`{path}` cannot be read: {(error.strerror or '').lower()}", hint) from None
    if os.path.isfile(path / FILE_NAME):
        return [_tuner(path / FILE_NAME, None), *tuners_of_hosts(path)]
    found = tuners_of_hosts(path / "tune")
    if not found:
        raise RankwiseError(f"`{path}` has no events of a tuner", hint)
    return found


def tuners_of_hosts(directory: Path) -> list[Tuner]:
    """What tuners did whose events are in `HOST.jsonl`.

    Raises:
        RankwiseError: Events cannot be read.
    """
    files = sorted(file for file in directory.glob("*.jsonl") if file.name != FILE_NAME)
    return [_tuner(file, file.name.removesuffix(".jsonl")) for file in files]


def _tuner(file: Path, host: str | None) -> Tuner:
    log = read_events(file)
    early = ""
    if not is_whole(log.events):
        said = last_error(file.with_name(LOG)) if host is None else _said_by(file.with_suffix(".log"))
        early = said or "its events have no end, or it still runs"
    return tuner_of(log, ended_early=early, host=host)


def _said_by(log: Path) -> str:
    """What a host's tuner wrote when it ended in another way than it should; empty if it wrote nothing."""
    try:
        return log.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
