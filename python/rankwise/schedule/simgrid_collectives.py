# SPDX-License-Identifier: BSD-3-Clause
"""Collectives in SimGrid's traces: what stands behind each name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from rankwise import _core
from rankwise.schedule.simgrid_values import element_bytes, root, size


class Reader(Protocol):
    """What an action needs of the trace that it is in.

    Attributes:
        ranks: How many there are.
        builder: Takes the calls.
        default_type: Of each rank, the size of what is counted where no datatype is named.
    """

    ranks: int
    builder: _core.schedule.ProgramBuilder
    default_type: list[int]

    def combine(self, rank: int, flops: str) -> None:
        """Computation of a reduction."""


Action = Callable[..., list[int]]  # (reader, rank, arguments, nonblocking) -> requests


def _type(reader: Reader, rank: int, arguments: list[str], at: int) -> int:
    return element_bytes(arguments[at]) if len(arguments) > at else reader.default_type[rank]


def _counts(reader: Reader, arguments: list[str], start: int, each: int) -> list[int]:
    counts = arguments[start : start + reader.ranks]
    if len(counts) < reader.ranks:
        raise IndexError
    return [size(count, each) for count in counts]


def _barrier(reader: Reader, rank: int, arguments: list[str], nonblocking: bool) -> list[int]:
    return reader.builder.collective(rank, "barrier", nonblocking=nonblocking)


def _bcast(reader: Reader, rank: int, arguments: list[str], nonblocking: bool) -> list[int]:
    """`SIZE [ROOT [TYPE]]`."""
    each = _type(reader, rank, arguments, 2)
    return reader.builder.collective(
        rank,
        "bcast",
        bytes=size(arguments[0], each),
        element_bytes=each,
        root=root(arguments, 1),
        nonblocking=nonblocking,
    )


def _reducing(name: str, rooted: bool) -> Action:
    """`SIZE FLOPS [ROOT] [TYPE]`; a reduce has a root."""

    def action(reader: Reader, rank: int, arguments: list[str], nonblocking: bool) -> list[int]:
        each = _type(reader, rank, arguments, 2 + rooted)
        reader.combine(rank, arguments[1])
        return reader.builder.collective(
            rank,
            name,
            bytes=size(arguments[0], each),
            element_bytes=each,
            root=root(arguments, 2) if rooted else 0,
            nonblocking=nonblocking,
        )

    return action


def _blocks(name: str, rooted: bool) -> Action:
    """`SENT RECEIVED [ROOT] [SENDTYPE [RECEIVETYPE]]`; a gather and a scatter have a root."""
    which = 1 if name == "scatter" else 0  # its block counts where it is received

    def action(reader: Reader, rank: int, arguments: list[str], nonblocking: bool) -> list[int]:
        each = _type(reader, rank, arguments, 2 + rooted + which)
        return reader.builder.collective(
            rank,
            name,
            bytes=size(arguments[which], each),
            element_bytes=each,
            root=root(arguments, 2) if rooted else 0,
            nonblocking=nonblocking,
        )

    return action


def _gathered(name: str, rooted: bool) -> Action:
    """`SENT RECEIVED... [ROOT] [SENDTYPE [RECEIVETYPE]]`; only at the root of a gatherv are the lengths known."""

    def action(reader: Reader, rank: int, arguments: list[str], nonblocking: bool) -> list[int]:
        behind = 1 + reader.ranks
        types = arguments[behind + rooted :]
        # Older traces have displacements there, with one type or none.
        each = element_bytes(types[0]) if 0 < len(types) <= 2 else reader.default_type[rank]
        sizes = _counts(reader, arguments, 1, each)
        gathers = root(arguments, behind) if rooted else 0
        if rooted and gathers != rank:
            sizes = []
        return reader.builder.collective(
            rank,
            name,
            bytes=size(arguments[0], each),
            element_bytes=each,
            root=gathers,
            sizes=sizes,
            total_bytes=sum(sizes),
            nonblocking=nonblocking,
        )

    return action


def _scatterv(reader: Reader, rank: int, arguments: list[str], nonblocking: bool) -> list[int]:
    """`SENT... RECEIVED [ROOT [SENDTYPE [RECEIVETYPE]]]`; the lengths are known at the root."""
    ranks = reader.ranks
    each = _type(reader, rank, arguments, ranks + 2)
    scatters = root(arguments, ranks + 1)
    sizes = _counts(reader, arguments, 0, each) if scatters == rank else []
    return reader.builder.collective(
        rank,
        "scatterv",
        bytes=size(arguments[ranks], _type(reader, rank, arguments, ranks + 3)),
        element_bytes=each,
        root=scatters,
        sizes=sizes,
        total_bytes=sum(sizes),
        nonblocking=nonblocking,
    )


def _reduce_scatter(reader: Reader, rank: int, arguments: list[str], nonblocking: bool) -> list[int]:
    """`RECEIVED... FLOPS [TYPE]`."""
    each = _type(reader, rank, arguments, reader.ranks + 1)
    sizes = _counts(reader, arguments, 0, each)
    reader.combine(rank, arguments[reader.ranks])
    return reader.builder.collective(
        rank,
        "reduce_scatter",
        bytes=sizes[rank],
        element_bytes=each,
        sizes=sizes,
        total_bytes=sum(sizes),
        nonblocking=nonblocking,
    )


def _alltoallv(reader: Reader, rank: int, arguments: list[str], nonblocking: bool) -> list[int]:
    """`BUFFER SENT... BUFFER RECEIVED... [SENDTYPE [RECEIVETYPE]]`."""
    ranks = reader.ranks
    each = _type(reader, rank, arguments, 2 * ranks + 2)
    sent = _counts(reader, arguments, 1, each)
    received = _counts(reader, arguments, ranks + 2, _type(reader, rank, arguments, 2 * ranks + 3))
    return reader.builder.collective(
        rank,
        "alltoallv",
        bytes=sum(sent),
        element_bytes=each,
        sizes=sent,
        receive_sizes=received,
        nonblocking=nonblocking,
    )


COLLECTIVES: dict[str, Action] = {
    "barrier": _barrier,
    "bcast": _bcast,
    "reduce": _reducing("reduce", True),
    "allreduce": _reducing("allreduce", False),
    "scan": _reducing("scan", False),
    "exscan": _reducing("exscan", False),
    "gather": _blocks("gather", True),
    "scatter": _blocks("scatter", True),
    "allgather": _blocks("allgather", False),
    "alltoall": _blocks("alltoall", False),
    "gatherv": _gathered("gatherv", True),
    "allgatherv": _gathered("allgatherv", False),
    "scatterv": _scatterv,
    "reducescatter": _reduce_scatter,
    "alltoallv": _alltoallv,
}
