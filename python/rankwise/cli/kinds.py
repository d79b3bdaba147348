# SPDX-License-Identifier: BSD-3-Clause
"""What kind of file a word names, so that arguments that took each other's place get the line that was meant."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Literal

from rankwise.errors import RankwiseError

_HEAD_BYTES = 8192
Kind = Literal["recording", "machine", "placement"]
_CALLED = {"recording": "a recording", "machine": "a machine file", "placement": "a placement"}


def kind_of(path: str) -> Kind | None:
    """What a file is by its beginning; `None` where that does not say it."""
    from rankwise.regular_files import read_beginning

    if Path(path).is_dir():
        return "recording" if (Path(path) / "raw").is_dir() else None
    try:
        head = read_beginning(path, _HEAD_BYTES)
    except OSError:
        return None
    if head.lstrip().startswith(b"{"):
        return "placement" if b'"rankwise.placement/' in head else None
    return "machine" if b'schema = "rankwise.machine/' in head else None


def check_kind(wanted: Kind, path: str, hint: str, status: int) -> None:
    """Refuse what is known to be of another kind.

    Raises:
        RankwiseError: The message says what it is; with this hint and status.
    """
    kind = kind_of(path)
    if kind is not None and kind != wanted:
        raise RankwiseError(f"`{path}` is {_CALLED[kind]}, not {_CALLED[wanted]}", hint, status=status)


def check_kinds(verb: str, read: str, machines: Sequence[str], placements: Sequence[str] = ()) -> None:
    """Refuse a machine file where a recording stands, and the like, before one is read as the other.

    Args:
        verb: The command.
        read: What was given as the recording.
        machines: What was given with `--machine`.
        placements: What was given with `--placement`.

    Raises:
        RankwiseError: The message says what a file is, the hint has the whole line.
    """
    given = [("recording", read), *(("machine", each) for each in machines)]
    given += [("placement", each) for each in placements]
    kinds = [(wanted, path, kind_of(path)) for wanted, path in given]
    wrong = [(wanted, path, kind) for wanted, path, kind in kinds if kind is not None and kind != wanted]
    if not wrong:
        return
    wanted, path, kind = wrong[0]

    def meant(what: Kind) -> list[str]:
        known = [each for _, each, is_kind in kinds if is_kind == what]
        # What says nothing of itself (GOAL, traces of other tools, a broken file) stays what it was given as.
        return known + [each for stood, each, is_kind in kinds if is_kind is None and stood == what]

    recordings = meant("recording")
    if not recordings and wanted == "recording":
        recordings = [each for stood, each, is_kind in kinds if is_kind is None and stood == "machine"]
    words = ["rankwise", verb, quote(recordings[0]) if recordings else "app.rw"]
    for each in [each for each in meant("machine") if each not in recordings] or ["M.machine.toml"]:
        words += ["--machine", quote(each)]
    if verb == "predict":
        for each in meant("placement"):
            words += ["--placement", quote(each)]
    raise RankwiseError(
        f"`{path}` is {_CALLED[kind]}, not {_CALLED[wanted]}", f"`{' '.join(words)}`", status=2
    )
