# SPDX-License-Identifier: BSD-3-Clause
"""A rank's page (formats/tune_page.h), read and made up without Rankwise."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from proc_stat import start_of

MAGIC = 0x3147504557525752
HEAD = struct.Struct("=QIIiiiIQd QQQQ QQIIQ QQ")
PEER = struct.Struct("=iIQQ")
PEERS = 48
TICKS_PER_S = 1e9
NOT_KNOWN, BY_PATTERN, BY_PCONTROL = range(3)


@dataclass
class Page:
    """What a rank wrote; times in seconds, `peers` as world rank -> (messages, bytes)."""

    pid: int
    rank: int
    ranks: int
    ended: bool
    process_start: int
    ticks_per_s: float
    calls: int
    mpi_s: float
    wait_s: float
    entered: int
    iterations: int
    known_by: int
    anchor: int
    messages: int
    bytes: int
    peers: dict[int, tuple[int, int]] = field(default_factory=dict)


def read(path: Path) -> Page:
    """One page; asserts that it is one."""
    data = path.read_bytes()
    (magic, version, size, pid, rank, ranks, ended, start, rate, calls, mpi, wait, entered) = (
        HEAD.unpack_from(data)[:13]
    )
    iterations, _, known_by, peers, anchor, messages, sent = HEAD.unpack_from(data)[13:]
    assert magic == MAGIC and version == 1
    assert size == len(data) == HEAD.size + PEERS * PEER.size
    page = Page(
        pid, rank, ranks, bool(ended), start, rate, calls, mpi / rate, wait / rate, entered, iterations, known_by,
        anchor, messages, sent,
    )  # fmt: skip
    entries = [PEER.unpack_from(data, HEAD.size + at * PEER.size) for at in range(PEERS)]
    assert all(entry[0] > 0 for entry in entries[:peers])
    assert not any(any(entry) for entry in entries[peers:])
    page.peers = {rank - 1: (count, size) for rank, _, count, size in entries[:peers]}
    return page


def read_all(directory: Path, suffix: str = ".page.kept") -> list[Page]:
    """All pages of a directory, by rank."""
    return sorted((read(path) for path in directory.glob(f"*{suffix}")), key=lambda page: page.rank)


def made_up(
    pid: int,
    rank: int = 0,
    ranks: int = 2,
    *,
    start: int | None = None,
    magic: int = MAGIC,
    calls: int = 5,
    mpi: int = 0,
    wait: int = 0,
    entered: int = 0,
    iterations: int = 0,
    peers: Sequence[int] = (),
) -> bytes:
    """A page of a process that runs, with ticks of a nanosecond, and three messages of 100 bytes to each of `peers`."""
    size = HEAD.size + PEERS * PEER.size
    begun = start_of(pid) if start is None else start
    head = HEAD.pack(
        magic, 1, size, pid, rank, ranks, 0, begun, TICKS_PER_S, calls, mpi, wait, entered,
        iterations, 1, BY_PATTERN, len(peers), 0, 7, 700,
    )  # fmt: skip
    return (head + b"".join(PEER.pack(peer + 1, 0, 3, 300) for peer in peers)).ljust(size, b"\0")
