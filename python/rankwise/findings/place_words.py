# SPDX-License-Identifier: BSD-3-Clause
"""A place in the program in words, the same in findings and in reports."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

_ANONYMOUS = "(anonymous namespace)"


class Site(Protocol):
    """What is known of a place; `None` is not known."""

    @property
    def module(self) -> str | None:
        """File of the program or a library; `None` for code of no file."""

    @property
    def offset(self) -> int:
        """In that, in bytes."""

    @property
    def function(self) -> str | None:
        """Its name."""

    @property
    def file(self) -> str | None:
        """Its source."""

    @property
    def line(self) -> int | None:
        """In that."""


def place_text(site: Site, room: int | None = None) -> str:
    """A place in the program: `exchange, halo.c:42`, or the file and the offset where no more is known.

    Directories, template arguments and parameters are left out.

    Args:
        site: The place.
        room: Characters that there are for it. What is longer is cut, but for lines and offsets, which tell two places
            apart. `None`: nothing is cut.
    """
    if site.file is None:
        path, number = site.module or "code of no file", f" +{site.offset:#x}"
    else:
        path, number = site.file, "" if site.line is None else f":{site.line}"
    file, function = Path(path).name, None
    if site.function is not None or site.file is not None:
        function = short_function(site.function or "?")
    if room is None:
        return ", ".join([*([] if function is None else [function]), file]) + number
    room -= len(number)
    if function is None:
        return _ended(file, room) + number
    room -= len(", ")
    file = _ended(file, max(room - len(function), room // 3))
    # The end tells two functions of a class apart.
    return f"{_ended(function[::-1], room - len(file))[::-1]}, {file}{number}"


def short_function(name: str) -> str:
    """A C++ function without what it returns, its template arguments and its parameters."""
    if "operator" in name:
        return name
    kept, depth = "", 0
    for at, each in enumerate(name):
        if each == "(" and depth == 0 and not name.startswith(_ANONYMOUS, at):
            break
        depth += (each == "<") - (each == ">")
        if depth == 0 and each != ">":
            kept += each
    return kept.replace(_ANONYMOUS, "{}").rpartition(" ")[2].replace("{}", _ANONYMOUS) or name


def _ended(text: str, room: int) -> str:
    return text if len(text) <= room else text[: max(room - 1, 0)] + "…"
