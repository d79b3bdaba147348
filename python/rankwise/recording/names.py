# SPDX-License-Identifier: BSD-3-Clause
"""Names of C++ functions as their source has them, found by a process of its own, which may be ended.

Two hundred characters of a symbol can stand for a name that takes hours to write: each part may repeat all before it.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterable

CPU_S = 2
_LIMIT_S = 60
_MEMORY_BYTES = 1 << 30
_MOST_CHARACTERS = 4000


def readable_names(symbols: Iterable[str]) -> dict[str, str]:
    """Of C++ symbols the names, as far as they are found in `CPU_S` of a processor, short symbols first."""
    # Others would be read as types: `i` is `int`.
    mangled = {symbol for symbol in symbols if symbol.startswith("_Z") and symbol.isprintable()}
    if not mangled:
        return {}
    asked = {"path": [place for place in sys.path if place], "symbols": sorted(mangled, key=_short_first)}
    words = [sys.executable, "-I", __file__]
    try:
        ended = subprocess.run(
            words,
            input=json.dumps(asked).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_LIMIT_S,
        )
    except (subprocess.TimeoutExpired, OSError):
        return {}
    whole, _, _ = ended.stdout.rpartition(b"\n")
    return dict(map(json.loads, whole.splitlines()))


def _short_first(symbol: str) -> tuple[int, str]:
    return len(symbol), symbol


def main() -> None:
    """A line for each symbol that has a name."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 1))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    asked = json.load(sys.stdin)
    sys.path[:] = asked["path"]
    from rankwise._core.trace import readable_name

    for symbol in asked["symbols"]:
        name = readable_name(symbol)
        if len(name) <= _MOST_CHARACTERS:
            sys.stdout.write(json.dumps([symbol, name]) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
