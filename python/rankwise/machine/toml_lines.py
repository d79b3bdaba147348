# SPDX-License-Identifier: BSD-3-Clause
"""Where in a TOML text a key is, so that a schema error can name the line."""

from __future__ import annotations

import re

_HEADER = re.compile(r"^\s*(\[\[?)\s*([A-Za-z0-9_.\- ]+?)\s*\]\]?")
_KEY = re.compile(r"^\s*([A-Za-z0-9_\-]+)\s*[.=]")
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def line_of_path(text: str, path: str) -> int | None:
    """Line number (from 1) of the deepest part of a path (`link_classes[0].segments[1].L_s`) that has a line.

    Arrays of tables are counted under the array element they belong to; keys of an inline table share its line.
    """
    wanted = steps_of(path)
    table: list[str | int] = []
    best, best_depth = None, 0
    counts: dict[tuple[str | int, ...], int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if header := _HEADER.match(line):
            table = _address(header[2].split("."), header[1] == "[[", counts)
            candidate = table
        elif key := _KEY.match(line):
            candidate = [*table, key[1]]
        else:
            continue
        if candidate == wanted[: len(candidate)] and len(candidate) > best_depth:
            best, best_depth = number, len(candidate)
    return best


def steps_of(path: str) -> list[str | int]:
    """Keys and indices of a path."""
    return [name or int(index) for name, index in _STEP.findall(path)]


def _address(names: list[str], is_array: bool, counts: dict[tuple[str | int, ...], int]) -> list[str | int]:
    """Path of a header, with the index of each array of tables on the way; counts the arrays' elements."""
    address: list[str | int] = []
    for depth, name in enumerate(names):
        address.append(name.strip())
        key = tuple(address)
        if is_array and depth == len(names) - 1:
            counts[key] = counts.get(key, -1) + 1
        if key in counts:
            address.append(counts[key])
    return address
