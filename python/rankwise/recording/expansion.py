# SPDX-License-Identifier: BSD-3-Clause
"""The messages that the MPI library sent for collective calls, by its own choice of algorithms."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankwise._core import collectives as core
from rankwise.recording.communicators import Communicators
from rankwise.recording.job import Job
from rankwise.recording.layouts import COLL_INTERCOMM, COLLECTIVE_ENTRY, MPI_OPENMPI
from rankwise.recording.raw import CALL_COLLECTIVES


def library_of(rank: dict[str, Any]) -> str:
    """Whose library a process used: `mpich` (and what derives from it) or `openmpi`."""
    return "openmpi" if rank["flavour"] == MPI_OPENMPI or "Open MPI" in rank["mpi_version"] else "mpich"


def algorithms_of(rank: dict[str, Any]) -> str:
    """Whose collective algorithms a process used, as `algorithms_by_version`."""
    return algorithms_by_version(library_of(rank), rank["mpi_version"])


def algorithms_by_version(library: str, version: str) -> str:
    """Whose collective algorithms a version of `mpich` or `openmpi` has: its own; before 5.0 `openmpi-4`."""
    before_han = library == "openmpi" and re.match(r"Open MPI v[1-4]\.", version)
    return "openmpi-4" if before_han else library


def nodes_of(job: Job) -> np.ndarray:
    """The node of each world rank as a number, empty where some rank is missing."""
    if job.missing_ranks:
        return np.empty(0, np.uint32)
    hosts = [thread.rank["host"] for thread in job.first_threads]
    return np.unique(hosts, return_inverse=True)[1].astype(np.uint32)


@dataclass
class Expansion:
    """Messages of collectives, and what is known of each entry of all threads' collective tables.

    Attributes:
        rows: Columns of messages between world ranks (source, destination, call, bin, algorithm, messages, bytes),
            and `chosen`, the algorithm of each entry, -1 where it was not expanded.
        communicator: Number of each entry's communicator, -1 if no definition of it was found.
        root: World rank of each entry's root, -1 if it has none or it is not known.
        not_expanded: Calls whose messages are missing, by the reason.
    """

    rows: dict[str, np.ndarray]
    communicator: np.ndarray
    root: np.ndarray
    not_expanded: dict[str, int]

    @staticmethod
    def algorithm_names(indices: np.ndarray) -> pl.Series:
        """Names of algorithms, null for -1."""
        known = pl.Series([name for _, name in core.algorithms()])
        return known.gather(pl.select(pl.when(pl.Series(indices) >= 0).then(pl.Series(indices))).to_series())


def expand(job: Job, communicators: Communicators) -> Expansion:
    """Count the messages of all collective calls of a job."""
    entries, number, columns = _calls(job, communicators)
    offsets, members = communicators.groups()
    (rows,) = _counted(job, communicators, [columns])
    usable = _usable(number, offsets)
    return Expansion(
        rows, number, _world_roots(entries, number, usable, offsets, members), _missing(entries, usable, rows)
    )


def by_communicator(job: Job, communicators: Communicators) -> pl.DataFrame:
    """Messages of collective calls between world ranks, by communicator.

    Columns are communicator, source, destination, messages, bytes. Those that callers record one by one are not among
    them: `recorded_directly`.
    """
    _, number, columns = _calls(job, communicators)
    order = np.argsort(number, kind="stable")
    order = order[number[order] >= 0]
    parts = np.split(order, np.flatnonzero(np.diff(number[order])) + 1) if len(order) else []
    counted = _counted(
        job, communicators, [{name: each[part] for name, each in columns.items()} for part in parts]
    )
    names = ("source", "destination", "messages", "bytes")
    found = [
        pl.DataFrame(
            {"communicator": np.full(len(rows["source"]), number[part[0]], np.int64)}
            | {name: rows[name].astype(np.int64) for name in names}
        )
        for part, rows in zip(parts, counted, strict=True)
    ]
    empty = pl.DataFrame(schema=dict.fromkeys(("communicator", *names), pl.Int64))
    pairs = pl.concat([empty, *found]).group_by("communicator", "source", "destination", maintain_order=True)
    return pairs.agg(pl.col("messages", "bytes").sum())


def _calls(job: Job, communicators: Communicators) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Entries of all threads, their communicators' numbers, and them as counting takes them."""
    parts = [thread.collectives for thread in job.threads]
    entries = np.concatenate([*parts, np.empty(0, COLLECTIVE_ENTRY)])
    resolved = [
        communicators.resolve(thread.process, part["comm"])
        for thread, part in zip(job.threads, parts, strict=True)
    ]
    number = np.concatenate([numbers for numbers, _ in resolved])
    rank = np.concatenate([ranks for _, ranks in resolved])
    usable = _usable(number, communicators.groups()[0])
    columns = {
        "rank": np.where(usable, rank, 0).astype(np.uint32),
        "group": np.where(usable, number, 0).astype(np.uint32),
        "call": entries["call"],
        # Without its members a communicator is like one whose messages are not expanded.
        "flags": np.where(usable, entries["flags"], entries["flags"] | COLL_INTERCOMM).astype(np.uint16),
        "root": entries["root"],
        "datatype_bytes": entries["datatype_bytes"],
        "bytes": entries["bytes"],
        "total_bytes": entries["bytes2"],
        "count": entries["count"],
    }
    return entries, number, columns


def _usable(number: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Of which entries the communicator's members are known."""
    usable: np.ndarray = number >= 0
    usable[usable] = (np.diff(offsets.astype(np.int64)) > 0)[number[usable]]
    return usable


def _counted(
    job: Job, communicators: Communicators, parts: list[dict[str, np.ndarray]]
) -> list[dict[str, np.ndarray]]:
    """Messages of some calls each, as `core.count_messages` gives them."""
    offsets, members = communicators.groups()
    if len(offsets) < 2:
        offsets = np.zeros(2, np.uint64)
    library, node = algorithms_of(job.threads[0].rank), nodes_of(job)
    return [
        core.count_messages(
            library,
            **{name: np.ascontiguousarray(column) for name, column in columns.items()},
            group_offsets=offsets,
            group_members=members,
            node=node,
        )
        for columns in parts
    ]


def _world_roots(
    entries: np.ndarray, number: np.ndarray, usable: np.ndarray, offsets: np.ndarray, members: np.ndarray
) -> np.ndarray:
    root = np.full(len(entries), -1, np.int64)
    rooted = usable & (entries["root"] >= 0)
    sizes = np.diff(offsets.astype(np.int64))
    rooted[rooted] = entries["root"][rooted] < sizes[number[rooted]]
    starts = offsets.astype(np.int64)[number[rooted]]
    root[rooted] = members[starts + entries["root"][rooted]]
    return root


def recorded_directly(call: np.ndarray) -> np.ndarray:
    """Which calls are collectives whose messages their callers record one by one, since only they know the sizes."""
    direct = np.isin(CALL_COLLECTIVES, ["gatherv", "scatterv", "alltoallv", "alltoallw"])
    direct |= np.char.startswith(CALL_COLLECTIVES, "neighbor")
    found: np.ndarray = direct[call]
    return found


def _missing(entries: np.ndarray, usable: np.ndarray, rows: dict[str, np.ndarray]) -> dict[str, int]:
    missing = (rows["chosen"] < 0) & ~recorded_directly(entries["call"])
    inter = (entries["flags"] & COLL_INTERCOMM) != 0
    counts = entries["count"].astype(np.int64)
    reasons = {
        "collectives between two groups are not expanded": int(counts[missing & inter].sum()),
        "the communicator's members are not known": int(counts[missing & ~inter & ~usable].sum()),
        "their arguments make no sense": int(counts[missing & ~inter & usable].sum()),
    }
    return {reason: count for reason, count in reasons.items() if count}
