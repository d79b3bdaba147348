# SPDX-License-Identifier: BSD-3-Clause
"""Predictions that take long, kept in a study's directory, so that a study that was interrupted goes on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, Generic, ParamSpec, TypeVar

import msgspec

import rankwise
from rankwise import _core

T = TypeVar("T")
P = ParamSpec("P")


class _Line(msgspec.Struct):
    key: str
    value: msgspec.Raw


class KeptPredictions(Generic[T]):
    """Predictions by what they are of, a line of a file each; what was kept before is not made again.

    May be used by several threads. What another version of Rankwise predicted, or for another machine file, is not
    looked at.

    Args:
        directory: The study's; `None`: nothing is kept.
        kind: Type of a prediction: what `msgspec` can write.
        made_with: What all predictions are made with, such as the machine.
    """

    def __init__(self, directory: Path | None, kind: type[T], *made_with: Any):
        self._path = None if directory is None else directory / "predictions.jsonl"
        self._kind = kind
        self._made_with = _version() + msgspec.json.encode(made_with)
        self._lock = Lock()
        self._known = {} if self._path is None else _read(self._path)

    def get(self, make: Callable[P, T], *what: P.args, **named: P.kwargs) -> T:
        """A prediction, from the file if it is there.

        Args:
            make: Predicts it.
            what: What it is of; its `repr` says it.
            named: Likewise.
        """
        said = f"{make.__name__}{what!r}{named!r}"
        key = hashlib.sha256(self._made_with + said.encode()).hexdigest()[:20]
        if key in self._known:
            return msgspec.json.decode(self._known[key], type=self._kind)
        value = make(*what, **named)
        if self._path is not None:
            line = msgspec.json.encode(_Line(key, msgspec.Raw(msgspec.json.encode(value))))
            with self._lock:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with self._path.open("ab") as file:
                    file.write(b"\n" + line)  # after a line that was cut off too
        return value


def _read(path: Path) -> dict[str, bytes]:
    """What is kept; a line that was cut off is none."""
    known = {}
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return {}
    for line in lines:
        try:
            read = msgspec.json.decode(line, type=_Line)
        except msgspec.DecodeError:
            continue
        known[read.key] = bytes(read.value)
    return known


@lru_cache(maxsize=1)
def _version() -> bytes:
    """A digest of all that predicts: Rankwise's modules and its core."""
    found = hashlib.sha256()
    modules = sorted(Path(rankwise.__file__).parent.rglob("*.py"))
    for path in [*modules, Path(str(_core.__file__))]:
        found.update(path.read_bytes())
    return found.digest()
