# SPDX-License-Identifier: BSD-3-Clause
"""What tuners did, read from `NAME.tune` or from a recording, and the summary that is kept of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from rankwise import whole_files
from rankwise.errors import RankwiseError
from rankwise.tune.document import SCHEMA, Tuner, Tuning, tuner_of
from rankwise.tune.events import is_whole, read_events
from rankwise.tune.output import EVENTS, LOG, SUMMARY
from rankwise.tune.tuner_process import last_error


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
    if os.path.isfile(path / EVENTS):
        return [_tuner(path / EVENTS, None), *tuners_of_hosts(path)]
    found = tuners_of_hosts(path / "tune")
    if not found:
        raise RankwiseError(f"`{path}` has no events of a tuner", hint)
    return found


def tuners_of_hosts(directory: Path) -> list[Tuner]:
    """What tuners did whose events are in `HOST.jsonl`.

    Raises:
        RankwiseError: Events cannot be read.
    """
    files = sorted(file for file in directory.glob("*.jsonl") if file.name != EVENTS)
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
