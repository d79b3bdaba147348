# SPDX-License-Identifier: BSD-3-Clause
"""A node's raw file (formats/recording.h) written at once: what its ranks would have left there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rankwise._core import trace

from rankwise.recording import layouts
from rankwise.whole_files import replacing

_TABLES = (layouts.CHUNK_PEERS, layouts.CHUNK_COLLECTIVES)


@dataclass(frozen=True)
class RankRecord:
    """All that one rank leaves behind.

    Attributes:
        head: An rw_rank.
        calls: rw_call_total of each MPI function.
        peers: rw_peer_entry, used slots only.
        collectives: rw_collective_entry, likewise.
        communicators: A log of definitions.
        histograms: rw_call_histogram of the functions that were called.
        events: The packed trace.
    """

    head: np.ndarray
    calls: np.ndarray
    peers: np.ndarray
    collectives: np.ndarray
    communicators: bytes
    histograms: np.ndarray
    events: bytes

    def runs(self) -> Iterator[tuple[int, bytes, int]]:
        """Kind, content and `used` of each of its runs of chunks, that of the rank first."""
        progress = np.zeros((), layouts.PROGRESS)
        rank = self.head.tobytes() + self.calls.tobytes() + progress.tobytes()
        yield layouts.CHUNK_RANK, rank, len(rank)
        yield layouts.CHUNK_PEERS, self.peers.tobytes(), len(self.peers)
        yield layouts.CHUNK_COLLECTIVES, self.collectives.tobytes(), len(self.collectives)
        yield layouts.CHUNK_COMMS, self.communicators, len(self.communicators)
        histograms = self.histograms.tobytes()
        yield layouts.CHUNK_HISTOGRAMS, histograms, len(histograms)
        yield layouts.CHUNK_TRACE, self.events, len(self.events)


def write(path: Path, run: str, ranks: Iterator[RankRecord]) -> None:
    """Write a node's file by rename.

    Args:
        path: `raw/HOST.NODE.RUN.rwn`.
        run: The run's identity, 32 hexadecimal digits.
        ranks: One after the other; none is kept.
    """
    identity = (int(run[:16], 16), int(run[16:], 16))
    with replacing(path) as scratch, scratch.open("wb") as file:
        chunk = 0
        for rank in ranks:
            owner = chunk
            for kind, content, used in rank.runs():
                file.seek(_offset(chunk))
                file.write(_header(kind, content, used, chunk, owner, identity))
                file.write(content)
                chunk += _chunks(content)
        # What is skipped takes no space.
        file.truncate(_offset(chunk))
        file.seek(0)
        file.write(_file_header(chunk, identity))


def _offset(chunk: int) -> int:
    return layouts.FILE_HEADER_BYTES + chunk * layouts.CHUNK_BYTES


def _chunks(content: bytes) -> int:
    return -(-(layouts.CHUNK_HEADER.itemsize + len(content)) // layouts.CHUNK_BYTES)


def _header(kind: int, content: bytes, used: int, first: int, owner: int, identity: tuple[int, int]) -> bytes:
    """Of a run that is closed: nothing is stored in it any more."""
    same = {
        "kind": kind,
        "chunks": _chunks(content),
        "rank_chunk": owner,
        "first_chunk": first,
        "run": identity,
    }
    state = len(content) | layouts.SEAL_CLOSED
    sealed = _struct(layouts.SEALED, checked=state, slots=used if kind in _TABLES else 0, **same)
    checksum = trace.crc32c(content + sealed)
    return _struct(
        layouts.CHUNK_HEADER, magic=layouts.CHUNK_MAGIC, used=used, seal=checksum << 32 | state, **same
    )


def _file_header(chunks: int, identity: tuple[int, int]) -> bytes:
    fields = {
        "magic": layouts.FILE_MAGIC,
        "version": layouts.FORMAT_VERSION,
        "chunk_bytes": layouts.CHUNK_BYTES,
        "calls": len(trace.calls()),
        "calls_crc": trace.call_table_crc(),
        "run": identity,
    }
    places = layouts.FILE_HEADER.fields
    assert places is not None
    checksum = trace.crc32c(_struct(layouts.FILE_HEADER, **fields)[: places["crc"][1]])
    return _struct(layouts.FILE_HEADER, next_chunk=chunks, crc=checksum, **fields)


def _struct(of: np.dtype, **fields: object) -> bytes:
    """Its bytes; what is not named is 0."""
    struct = np.zeros((), of)
    for name, value in fields.items():
        struct[name] = value
    return struct.tobytes()
