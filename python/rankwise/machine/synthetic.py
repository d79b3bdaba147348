# SPDX-License-Identifier: BSD-3-Clause
"""hwloc synthetic descriptions as people write them, made complete and checked for what hwloc lets pass."""

from __future__ import annotations

import math
import re

from rankwise.errors import RankwiseError

_LEVEL = re.compile(r"(?P<type>[A-Za-z0-9]+):(?P<count>\d+)(?:\((?P<attributes>[^)]*)\))?$")
_INDEXES = re.compile(r"\s*indexes=(\S+)\s*")
MOST_PUS = 65536  # of one node; hwloc would take minutes for more
_HINT = "list each OS index once, for example `package:2 core:2(indexes=0,2,1,3)`"


def complete(description: str) -> str:
    """Add the PU level where a description ends with cores, and number PUs where it numbers cores.

    OS indices matter as PU indices, which is what ranks are bound to. So `core:2(indexes=...)` without a PU
    level, or with `pu:1`, numbers the PUs.

    Raises:
        RankwiseError: `indexes=` that hwloc would ignore without a word, or more PUs than any node has.
    """
    # hwloc separates levels by white space, which may also stand inside the parentheses of a level.
    levels = re.findall(r"[^\s(]+(?:\([^)]*\))?", description)
    if not levels:
        raise RankwiseError("an empty description of a node", "for example `--node 'package:2 core:4'`")
    matches = [_LEVEL.match(level) for level in levels]
    kinds = [match["type"].lower() if match else "" for match in matches]
    plain = all(kinds) and "pu" not in kinds
    if plain:
        levels.append("pu:1")
        kinds.append("pu")
    numbered = matches[kinds.index("core")] if "core" in kinds and kinds[-1] == "pu" else None
    indexes = _INDEXES.search(numbered["attributes"] or "") if numbered else None
    if numbered and indexes and "indexes=" not in levels[-1]:
        if not levels[-1].startswith("pu:1") or levels[-1][4:5].isdigit():
            raise RankwiseError(
                f"`{description}` numbers its cores but not its PUs, which is what ranks are bound to",
                f"move the list to the last level: `{levels[-1]}(indexes=...)`",
            )
        core = kinds.index("core")
        rest = _INDEXES.sub(" ", numbered["attributes"]).strip()
        levels[core] = f"{numbered['type']}:{numbered['count']}" + (f"({rest})" if rest else "")
        levels[-1] = f"pu:1(indexes={indexes[1]})"
    total = math.prod(_counts(levels))
    if total > MOST_PUS:
        raise RankwiseError(
            f"`{description}` has {total} PUs; the most that a node may have are {MOST_PUS}",
            "describe one node; `count` says how many of them there are",
        )
    _check_indexes(description, levels)
    return " ".join(levels)


def levels_with_sizes(description: str) -> list[str]:
    """Levels whose size a description says: `l3` of `l3:2(size=32MB)`."""
    return re.findall(r"([A-Za-z0-9]+):\d+\([^)]*\bsize=", description)


def numbers_cores(description: str) -> bool:
    """Whether a description says which OS indices its cores or PUs have."""
    return "indexes=" in description


def _counts(levels: list[str]) -> list[int]:
    return [int(match[1]) for level in levels if (match := re.match(r"(?:[A-Za-z0-9]+:)?(\d+)", level))]


def _check_indexes(description: str, levels: list[str]) -> None:
    last = _INDEXES.search((re.search(r"\(([^)]*)\)$", levels[-1]) or ["", ""])[1])
    if not last or not re.fullmatch(r"[\d,]+", last[1]):
        return
    if len(_counts(levels)) < len([level for level in levels if not level.startswith("[")]):
        return  # hwloc refuses a level without a number
    total = math.prod(_counts(levels))
    listed = [int(number) for number in last[1].split(",") if number]
    if len(listed) != total:
        raise RankwiseError(f"`{description}` lists {len(listed)} indexes for {total} PUs", _HINT)
    twice = sorted({index for index in listed if listed.count(index) > 1})
    if twice:
        raise RankwiseError(f"`{description}` lists the index {twice[0]} twice", _HINT)
