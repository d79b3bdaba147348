# SPDX-License-Identifier: BSD-3-Clause
"""The tables of a recording, as described in ARCHITECTURE.md, from one job's raw records."""

from __future__ import annotations

import ipaddress

import numpy as np
import polars as pl

from rankwise.recording.communicators import Communicators
from rankwise.recording.expansion import Expansion, recorded_directly
from rankwise.recording.job import Job
from rankwise.recording.layouts import (
    DIRECTION_RECEIVE,
    FINALIZED,
    NETWORK_KINDS,
    NETWORK_RECEIVE,
    NETWORK_SEND,
    NETWORK_TOTALS,
    PEER_UNKNOWN,
    ROLE_OWN,
    ROLE_PEER,
    SITE_BYTES_UNKNOWN,
    TICK_BINS,
    TRANSPORT_SOCKETS,
    TRANSPORTS,
)
from rankwise.recording.places import resolve
from rankwise.recording.raw import CALL_CLASSES, CALL_COLLECTIVES, CALL_NAMES, Thread

MESSAGE_KEY = ["source", "destination", "call", "collective", "algorithm", "bytes_over", "bytes_up_to"]
NETWORK_KIND_NAMES = ("send", "receive", "progress", "wait")
TRANSPORT_NAMES = ("sockets", "UCX", "libfabric", "PSM2")
_NETWORK_SCHEMA = {
    "rank": pl.Int64,
    "transport": pl.String,
    "node": pl.String,
    "address": pl.String,
    "kind": pl.String,
    "inside_mpi": pl.Boolean,
    "calls": pl.Int64,
    "bytes": pl.Int64,
    "time_s": pl.Float64,
    "unsized": pl.Int64,
}
RECEIVED_KEY = ["source", "destination", "call", "bytes_over", "bytes_up_to"]

# Of calls of these classes another call, which completes or starts what they began, says how many bytes there are.
_BYTES_COME_LATER = ("irecv", "isendrecv", "send_init", "recv_init", "collective_init", "partitioned")

# Their empty blocks are not sent, and a rank's block for itself is copied; neighbourhood collectives do send both.
_SENDS_BLOCKS = np.isin(CALL_COLLECTIVES, ["gatherv", "scatterv", "alltoallv", "alltoallw"])


# Null where a part of it is: calls that were not timed.
_SUM_OF_TIMES = pl.when(pl.col("time_s").null_count() == 0).then(pl.col("time_s").sum()).alias("time_s")


def join_entries(threads: list[Thread], attribute: str) -> tuple[np.ndarray, np.ndarray]:
    """The tables of all threads one behind the other, and for each row the position of its thread."""
    parts = [getattr(thread, attribute) for thread in threads]
    return np.concatenate(parts), np.repeat(np.arange(len(threads)), [len(part) for part in parts])


def of_thread(threads: list[Thread], key: str, dtype: type = np.int64) -> np.ndarray:
    """One field of rw_rank for each thread."""
    return np.array([thread.rank[key] for thread in threads], dtype)


def names(calls: np.ndarray) -> pl.Series:
    """Names of call numbers."""
    return pl.Series(CALL_NAMES)[calls.astype(np.int64)] if len(calls) else pl.Series([], dtype=pl.String)


def size_ranges(bins: np.ndarray) -> dict[str, pl.Series]:
    """The range (bytes_over, bytes_up_to] of size bins; null and 0 for messages without bytes."""
    upper = np.where(bins > 0, np.ldexp(1.0, np.maximum(bins.astype(np.int64), 1) - 1), 0).astype(np.int64)
    lower = pl.Series(np.where(bins > 1, upper // 2, 0))
    return {
        "bytes_over": pl.select(pl.when(pl.Series(bins > 0)).then(lower)).to_series(),
        "bytes_up_to": pl.Series(upper),
    }


def messages(job: Job, expansion: Expansion) -> pl.DataFrame:
    """Messages as their senders saw them, those of collectives included.

    Of one-sided operations only the origin knows: what it fetched is a message from the target to it.
    """
    entries, owner = join_entries(job.threads, "peers")
    call, fetched = _calls_of(entries)
    kept = ~fetched | (CALL_CLASSES[call] == "rma")
    entries, owner, call, fetched = entries[kept], owner[kept], call[kept], fetched[kept]
    origin = of_thread(job.threads, "world_rank")[owner]
    collective = CALL_COLLECTIVES[call] != "none"
    keep = ~(_SENDS_BLOCKS[call] & ((origin == entries["peer"]) | (entries["bin"] == 0)))
    entries, origin, collective = entries[keep], origin[keep], collective[keep]
    call, fetched = call[keep], fetched[keep]
    swapped = fetched & (entries["peer"] != PEER_UNKNOWN)  # a source is always known
    direct = pl.DataFrame(
        {
            "source": np.where(swapped, entries["peer"], origin).astype(np.int64),
            "destination": _peer(np.where(swapped, origin, entries["peer"])),
            "call": names(call),
            "collective": collective,
            "algorithm": pl.select(pl.when(pl.Series(collective)).then(pl.lit("direct"))).to_series(),
            **size_ranges(entries["bin"]),
            "messages": entries["count"].astype(np.int64),
            "bytes": entries["bytes"].astype(np.int64),
        }
    )
    expanded = pl.DataFrame(
        {
            "source": expansion.rows["source"].astype(np.int64),
            "destination": expansion.rows["destination"].astype(np.int64),
            "call": names(expansion.rows["call"]),
            "collective": np.ones(len(expansion.rows["source"]), bool),
            "algorithm": expansion.algorithm_names(expansion.rows["algorithm"]),
            **size_ranges(expansion.rows["bin"]),
            "messages": expansion.rows["messages"].astype(np.int64),
            "bytes": expansion.rows["bytes"].astype(np.int64),
        }
    )
    return _summed(pl.concat([direct, expanded]), MESSAGE_KEY)


def received(job: Job) -> pl.DataFrame:
    """Point-to-point messages as their receivers saw them; a source that is not known is null."""
    entries, owner = join_entries(job.threads, "peers")
    call, arrived = _calls_of(entries)
    there = arrived & (CALL_CLASSES[call] != "rma")
    entries, owner, call = entries[there], owner[there], call[there]
    frame = pl.DataFrame(
        {
            "source": _peer(entries["peer"]),
            "destination": of_thread(job.threads, "world_rank")[owner],
            "call": names(call),
            **size_ranges(entries["bin"]),
            "messages": entries["count"].astype(np.int64),
            "bytes": entries["bytes"].astype(np.int64),
        }
    )
    return _summed(frame, RECEIVED_KEY)


def _calls_of(entries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The call of each entry, and whether it tells of something received."""
    return entries["call"] & ~np.uint16(DIRECTION_RECEIVE), (entries["call"] & DIRECTION_RECEIVE) != 0


def _peer(peers: np.ndarray) -> pl.Series:
    known = pl.Series(peers != PEER_UNKNOWN)
    return pl.select(pl.when(known).then(pl.Series(peers.astype(np.int64)))).to_series()


def _summed(frame: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    return frame.group_by(key).agg(pl.col("messages", "bytes").sum()).sort(key, nulls_last=True)


def calls(job: Job) -> pl.DataFrame:
    """How often, how long and with how many bytes each rank called each function."""
    totals = np.stack([thread.calls for thread in job.threads])
    owner, call = np.nonzero(totals["count"])
    seconds = of_thread(job.threads, "seconds_per_tick", np.float64)[owner]
    used = totals[owner, call]
    frame = pl.DataFrame(
        {
            "rank": of_thread(job.threads, "world_rank")[owner],
            "call": names(call),
            "class": pl.Series(CALL_CLASSES)[call] if len(call) else pl.Series([], dtype=pl.String),
            "count": used["count"].astype(np.int64),
            "time_s": _if_timed(job.threads, owner, used["ticks"] * seconds),
            "min_s": _if_timed(job.threads, owner, used["min_ticks"] * seconds),
            "max_s": _if_timed(job.threads, owner, used["max_ticks"] * seconds),
            "bytes": used["bytes"].astype(np.int64),
        }
    )
    return (
        frame.group_by("rank", "call", "class")
        .agg(
            pl.col("count").sum(),
            _SUM_OF_TIMES,
            # 0 where no call was timed.
            pl.col("min_s").filter(pl.col("min_s") > 0).min(),
            pl.col("max_s").max(),
            pl.col("bytes").sum(),
        )
        .sort("rank", "call")
    )


def durations(job: Job) -> pl.DataFrame:
    """How many calls of each function took from_s or longer and less than below_s: powers of two of clock ticks."""
    entries, owner = join_entries(job.threads, "histograms")
    row, tick_bin = np.nonzero(entries["bins"])
    seconds = of_thread(job.threads, "seconds_per_tick", np.float64)[owner[row]]
    frame = pl.DataFrame(
        {
            "rank": of_thread(job.threads, "world_rank")[owner[row]],
            "call": names(entries["call"][row]),
            "from_s": np.where(tick_bin > 0, np.ldexp(1.0, tick_bin), 0) * seconds,
            "below_s": np.where(tick_bin < TICK_BINS - 1, np.ldexp(1.0, tick_bin + 1), np.inf) * seconds,
            "bin": tick_bin,
            "count": entries["bins"][row, tick_bin].astype(np.int64),
        }
    )
    return (
        frame.group_by("rank", "call", "bin")
        .agg(pl.col("from_s", "below_s").first(), pl.col("count").sum())
        .sort("rank", "call", "bin")
        .drop("bin")
    )


def call_sites(job: Job) -> pl.DataFrame:
    """Calls by the place in the program they came from; function, file and line where the program's files say them."""
    entries, owner = join_entries(job.threads, "sites")
    paths = [_module_of(job.threads[at], module) for at, module in zip(owner, entries["module"], strict=True)]
    seconds = of_thread(job.threads, "seconds_per_tick", np.float64)[owner]
    frame = pl.DataFrame(
        {
            "rank": of_thread(job.threads, "world_rank")[owner],
            "call": names(entries["call"]),
            "module": pl.Series(paths, dtype=pl.String),
            "offset": entries["offset"].astype(np.uint64).view(np.int64),
            "count": entries["count"].astype(np.int64),
            "time_s": _if_timed(job.threads, owner, entries["ticks"] * seconds),
            "bytes": pl.Series(entries["bytes"].view(np.int64)).scatter(
                np.flatnonzero(_without_bytes(entries)), None
            ),
        }
    )
    summed = frame.group_by("rank", "call", "module", "offset").agg(
        pl.col("count").sum(),
        _SUM_OF_TIMES,
        pl.when(pl.col("bytes").null_count() == 0).then(pl.col("bytes").sum()).alias("bytes"),
    )
    places = resolve(summed.select("module", "offset").unique())
    return summed.join(places, on=["module", "offset"], how="left", nulls_equal=True).sort(
        "rank", "call", "module", "offset"
    )


def _without_bytes(entries: np.ndarray) -> np.ndarray:
    """Call sites whose bytes are not known: not recorded then, or counted while later calls are under way."""
    later = np.isin(CALL_CLASSES[entries["call"]], _BYTES_COME_LATER)
    found: np.ndarray = later | (entries["bytes"] == SITE_BYTES_UNKNOWN)
    return found


def _if_timed(threads: list[Thread], owner: np.ndarray, seconds: np.ndarray) -> pl.Series:
    """Seconds of rows; null in those of threads whose calls were only counted."""
    timed = np.array([thread.timed for thread in threads], dtype=bool)[owner]
    return pl.Series(seconds, dtype=pl.Float64).scatter(np.flatnonzero(~timed), None)


def _module_of(thread: Thread, module: int) -> str | None:
    return (thread.record.modules[module] or None) if module < len(thread.record.modules) else None


def ranks(job: Job) -> pl.DataFrame:
    """Each rank's time from the return of MPI_Init to the call of MPI_Finalize, split into MPI and the rest.

    The time of a process with several threads is that of its first; its MPI time that of the thread with most of it.
    """
    frame = pl.DataFrame(
        {
            "rank": of_thread(job.threads, "world_rank"),
            "host": [thread.rank["host"] for thread in job.threads],
            "pid": of_thread(job.threads, "pid"),
            "time_s": [thread.run_s for thread in job.threads],
            "mpi_s": [thread.mpi_s if thread.timed else None for thread in job.threads],
            "runqueue_wait_s": [
                thread.rank["runqueue_wait_ns"] * 1e-9 if thread.rank["schedstat_samples"] else None
                for thread in job.threads
            ],
            "partial": [not thread.has(FINALIZED) or bool(thread.record.problems) for thread in job.threads],
            "first": of_thread(job.threads, "thread") == 0,
        },
        schema_overrides={"runqueue_wait_s": pl.Float64, "mpi_s": pl.Float64},
    )
    return (
        frame.group_by("rank", "host", "pid")
        .agg(
            pl.len().cast(pl.Int64).alias("threads"),
            pl.col("time_s").first(),
            pl.col("mpi_s").max(),
            pl.col("runqueue_wait_s").first(),
            # Threads other than the first do not call MPI_Finalize.
            pl.col("partial").first(),
        )
        .with_columns((pl.col("time_s") - pl.col("mpi_s")).clip(lower_bound=0).alias("compute_s"))
        .select(
            "rank", "host", "pid", "threads", "time_s", "mpi_s", "compute_s", "runqueue_wait_s", "partial"
        )
        .sort("rank")
    )


def collectives(job: Job, expansion: Expansion) -> pl.DataFrame:
    """Collective calls with equal arguments by rank; `communicator` is a row of the table of that name."""
    entries, owner = join_entries(job.threads, "collectives")
    seconds = of_thread(job.threads, "seconds_per_tick", np.float64)[owner]
    algorithm = expansion.algorithm_names(expansion.rows["chosen"])
    direct = pl.Series(recorded_directly(entries["call"]))
    frame = pl.DataFrame(
        {
            "rank": of_thread(job.threads, "world_rank")[owner],
            "call": names(entries["call"]),
            "communicator": _null_below_zero(expansion.communicator),
            "root": _null_below_zero(expansion.root),
            "count": entries["count"].astype(np.int64),
            "bytes": entries["bytes"].astype(np.int64),
            "bytes_total": entries["bytes2"].astype(np.int64),
            "time_s": _if_timed(job.threads, owner, entries["ticks"] * seconds),
            "algorithm": pl.select(pl.when(direct).then(pl.lit("direct")).otherwise(algorithm)).to_series(),
        }
    )
    return frame.sort("rank", "call", "communicator", "bytes")


def _null_below_zero(values: np.ndarray) -> pl.Series:
    series = pl.Series(values.astype(np.int64))
    return pl.select(pl.when(series >= 0).then(series)).to_series()


def communicators(found: Communicators) -> pl.DataFrame:
    """Every communicator, with its members' world ranks where they are known."""
    return pl.DataFrame(
        {
            "communicator": list(range(len(found.size))),
            "instance": found.instance,
            "size": found.size,
            "members": [
                None if ranks is None else ranks.astype(np.int64).tolist() for ranks in found.members
            ],
        },
        schema={
            "communicator": pl.Int64,
            "instance": pl.Int64,
            "size": pl.Int64,
            "members": pl.List(pl.Int64),
        },
    )


def network_time(job: Job) -> pl.DataFrame:
    """Time, calls and bytes in the transport's own calls: of sockets, UCX, libfabric and PSM2.

    Columns: rank, transport, node (the host that the peer's address belongs to, known because a rank there uses it as
    its own; null for others, and for calls that look at many or do not say whom they reach), address (null where there
    is none; a hash of it for other transports than sockets), kind, inside_mpi (of threads that call no MPI, as a
    library's own, it is false), calls, bytes, time_s, unsized (of the calls, those that do not say how many bytes;
    `bytes` has not theirs).

    Kinds of sockets: `send`, `receive`: calls that moved data; `progress`: those that looked, or found nothing to move;
    `wait`: those that may sleep until something comes. Of others: `send`, `receive`: messages and buffers handed over;
    `progress`: calls in which something happened; `wait`: those in which nothing did, and those that block. A call
    inside another one, as a socket call inside UCX, is counted, its time is that of the outermost.

    Empty without network time: nothing was sent through these, or the recording is of an older Rankwise.
    """
    frame = pl.concat([_sockets(job), _transports(job)])
    key = ["rank", "transport", "node", "address", "kind", "inside_mpi"]
    sums = frame.group_by(key).agg(pl.col("calls", "bytes", "time_s", "unsized").sum())
    return sums.sort(key, nulls_last=True)


def _sockets(job: Job) -> pl.DataFrame:
    entries, owner = join_entries(job.threads, "network")
    hosts = [thread.rank["host"] for thread in job.threads]
    own = [address_of(entry) for entry in entries["own"]]
    peer = [address_of(entry) for entry in entries["peer"]]
    hosts_of: dict[str, set[str]] = {}
    for address, at in zip(own, owner, strict=True):
        if address is not None:
            hosts_of.setdefault(address, set()).add(hosts[at])
    # An address that several hosts use as their own, as those of container bridges, is nobody's.
    node_of = {address: min(of) for address, of in hosts_of.items() if len(of) == 1}
    nodes = [
        None if to is None else hosts[at] if _is_loopback(to) or to == own_one else node_of.get(to)
        for own_one, to, at in zip(own, peer, owner, strict=True)
    ]
    transports = [TRANSPORT_NAMES[TRANSPORT_SOCKETS]] * len(entries)
    return _by_kind(job, entries, owner, transports, nodes, peer)


def _transports(job: Job) -> pl.DataFrame:
    entries, owner = join_entries(job.threads, "transports")
    entries = entries[entries["transport"] < TRANSPORTS]
    keys = list(zip(entries["transport"].tolist(), entries["address"].tolist(), strict=True))
    own = np.flatnonzero(entries["role"] == ROLE_OWN)
    node_of = {keys[at]: job.threads[owner[at]].rank["host"] for at in own}
    is_peer = entries["role"] == ROLE_PEER
    nodes = [node_of.get(key) if known else None for key, known in zip(keys, is_peer, strict=True)]
    peers = [f"{key[1]:016x}" if known else None for key, known in zip(keys, is_peer, strict=True)]
    return _by_kind(job, entries, owner, [TRANSPORT_NAMES[key[0]] for key in keys], nodes, peers)


def _by_kind(
    job: Job,
    entries: np.ndarray,
    owner: np.ndarray,
    transports: list[str],
    nodes: list[str | None],
    peers: list[str | None],
) -> pl.DataFrame:
    """A row for each entry and kind that has calls."""
    row, total = np.nonzero(entries["calls"] + entries["ticks"])
    seconds = of_thread(job.threads, "seconds_per_tick", np.float64)[owner[row]]
    inside, kind = total // NETWORK_KINDS, total % NETWORK_KINDS
    assert NETWORK_TOTALS == 2 * NETWORK_KINDS
    return pl.DataFrame(
        {
            "rank": of_thread(job.threads, "world_rank")[owner[row]],
            "transport": [transports[at] for at in row],
            "node": [nodes[at] for at in row],
            "address": [peers[at] for at in row],
            "kind": [NETWORK_KIND_NAMES[at] for at in kind],
            "inside_mpi": inside.astype(bool),
            "calls": entries["calls"][row, total].astype(np.int64),
            "bytes": entries["bytes"][row, total].astype(np.int64),
            "time_s": entries["ticks"][row, total] * seconds,
            "unsized": _unsized(entries)[row, total].astype(np.int64),
        },
        schema=_NETWORK_SCHEMA,
    )


def _unsized(entries: np.ndarray) -> np.ndarray:
    """By entry and total, calls that do not say how many bytes; socket calls all do."""
    unsized = np.zeros((len(entries), NETWORK_TOTALS), np.uint64)
    if "unsized" in (entries.dtype.names or ()):
        unsized[:, [NETWORK_SEND, NETWORK_RECEIVE]] = entries["unsized"][:, :2]
        unsized[:, [NETWORK_KINDS + NETWORK_SEND, NETWORK_KINDS + NETWORK_RECEIVE]] = entries["unsized"][
            :, 2:
        ]
    return unsized


def address_of(words: np.ndarray) -> str | None:
    """An address of rw_network_peer; `None` for no peer."""
    packed = words.tobytes()
    if not any(packed):
        return None
    address = ipaddress.IPv6Address(packed)
    return str(address.ipv4_mapped or address)


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address).is_loopback
