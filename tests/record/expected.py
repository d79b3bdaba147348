# SPDX-License-Identifier: BSD-3-Clause
"""What a program says must be recorded of it (tests/programs/expect.h), and whether it was."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import raw_reader


@dataclass
class Expected:
    """The known answer of one rank: by (peer, call), by (call, bytes), by call."""

    sent: Counter = field(default_factory=Counter)
    sent_bytes: Counter = field(default_factory=Counter)
    received: Counter = field(default_factory=Counter)
    received_bytes: Counter = field(default_factory=Counter)
    collectives: Counter = field(default_factory=Counter)
    called: Counter = field(default_factory=Counter)


def read(path: Path) -> Expected:
    """One rank's lines."""
    expected = Expected()
    for line in path.read_text().splitlines():
        what, call, peer, count, size = line.split()
        if what in ("sent", "received"):
            getattr(expected, what)[int(peer), call] += int(count)
            getattr(expected, what + "_bytes")[int(peer), call] += int(size)
        elif what == "collective":
            expected.collectives[call, int(size)] += int(count)
        else:
            expected.called[call] += int(count)
    return expected


def assert_same(found: Counter, wanted: Counter, what: str) -> None:
    """Equal, or the differences are named: key -> (found, wanted)."""
    different = {
        key: (found.get(key), wanted.get(key)) for key in found | wanted if found.get(key) != wanted.get(key)
    }
    assert not different, f"{what} (found, wanted): {different}"


def check(threads: list[raw_reader.Thread], expected: Expected, collectives: bool = True) -> None:
    """Everything that these threads of one rank recorded is what was expected, and nothing else.

    Args:
        threads: All threads of the rank.
        expected: Its known answer.
        collectives: Whether the program stated all its collectives.
    """
    for what in ("sent", "sent_bytes", "received", "received_bytes"):
        found: Counter = Counter()
        for thread in threads:
            found.update(getattr(thread, what))
        assert_same(found, getattr(expected, what), what)
    found = Counter()
    for thread in threads:
        for entry in thread.collectives:
            found[entry["call"], entry["bytes"]] += entry["count"]
    if collectives:
        assert_same(found, expected.collectives, "collectives")
    for call, count in expected.called.items():
        assert sum(thread.count(call) for thread in threads) == count, call
        ticks = sum(thread.totals[call][1] for thread in threads)
        assert ticks > 0, f"{call} has no time"
    for thread in threads:
        assert not thread.has("unclassified")
        assert not thread.has("full")
    assert threads[0].has("finalized")
