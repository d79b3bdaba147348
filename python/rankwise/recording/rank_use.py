# SPDX-License-Identifier: BSD-3-Clause
"""Tables of what each rank used of its node: cores, processor time, switches, faults, memory, counters, devices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from rankwise.recording.job import Job
from rankwise.recording.layouts import NETWORK_KINDS
from rankwise.recording.raw import Thread
from rankwise.recording.samples import Absent, Sampled
from rankwise.recording.tables import NETWORK_KIND_NAMES, address_of

# Column of the recording -> column of the tables and what it is multiplied with.
_TIMES = {
    "user_ns": "user_s",
    "system_ns": "system_s",
    "on_core_ns": "on_core_s",
    "runqueue_wait_ns": "runqueue_wait_s",
}
_COUNTS = ("minor_faults", "major_faults", "voluntary_switches", "involuntary_switches")
_SCHEMA: dict[str, Any] = {
    "rank": pl.Int64,
    "samples": pl.Int64,
    "user_s": pl.Float64,
    "system_s": pl.Float64,
    **dict.fromkeys(_COUNTS, pl.Int64),
    "migrations": pl.Int64,
    "migrations_of": pl.String,
    "moves_seen": pl.Int64,
    "peak_memory_bytes": pl.Int64,
    "memory_bytes": pl.List(pl.Int64),
    "ran_on": pl.List(pl.Int64),
    "threads_ran_on": pl.List(pl.Int64),
    "threads_busy": pl.Float64,
    "threads_crowded": pl.Float64,
    "mask_changes": pl.Int64,
}


_VARIABLES_SCHEMA: dict[str, Any] = {
    "rank": pl.Int64,
    "variable": pl.String,
    "class": pl.String,
    "value": pl.Float64,
    "elements": pl.Int64,
}
_DEVICES_SCHEMA: dict[str, Any] = {
    "rank": pl.Int64,
    "host": pl.String,
    "device": pl.String,
    "how": pl.String,
    "sent_bytes": pl.Int64,
    "received_bytes": pl.Int64,
}


def sampled_ranks(job: Job) -> list[tuple[Thread, Sampled]]:
    """First threads that have samples."""
    return [(thread, thread.sampled) for thread in job.first_threads if thread.sampled is not None]


def rank_use(job: Job) -> pl.DataFrame:
    """What each rank used between MPI_Init and MPI_Finalize, or the last sample of one that was killed.

    Migrations are those of `migrations_of`: all threads (a counter of perf_event) or the first thread (the scheduler's
    own count); `moves_seen` is how often the first thread was seen on another PU than 10 ms before, so it moved at
    least as often. Peak memory is that since the process began; `memory_bytes` is by NUMA node at the end. `ran_on` are
    OS PUs of the first thread, `threads_ran_on` those of all that ran for a twentieth of the time between two looks,
    every half second; `threads_busy` is how many that were in the mean, `threads_crowded` which part of them shared its
    PU with another.
    """
    return pl.DataFrame(
        [_use(thread, sampled) for thread, sampled in sampled_ranks(job)], schema=_SCHEMA, orient="row"
    )


def _use(thread: Thread, sampled: Sampled) -> dict[str, Any]:
    user, system = (sampled.total(name) for name in ("user_ns", "system_ns"))
    peak = sampled.facts.get("peak_memory_kib")
    if peak is None and len(sampled.ticks) and not np.isnan(last := sampled.column("peak_memory_kib")[-1]):
        peak = int(last)
    seen = sampled.column("cpu")
    migrations, migrations_of = _migrations(sampled)
    moves = sampled.total("moves_seen")
    counts = {name: sampled.total(name) for name in _COUNTS}
    return {
        "rank": thread.rank["world_rank"],
        "samples": len(sampled.ticks),
        "user_s": None if user is None else user * 1e-9,
        "system_s": None if system is None else system * 1e-9,
        **{name: None if count is None else int(count) for name, count in counts.items()},
        "migrations": migrations,
        "migrations_of": migrations_of,
        "moves_seen": None if moves is None else int(moves),
        "peak_memory_bytes": None if peak is None else peak * 1024,
        "memory_bytes": _by_numa_node(sampled),
        "ran_on": sampled.ran_on or sorted({int(pu) for pu in seen[~np.isnan(seen)]}),
        "threads_ran_on": sampled.threads_ran_on,
        **_threads(sampled),
        "mask_changes": max(len(sampled.allowed) - 1, 0) + sampled.facts.get("dropped_notes", 0),
    }


def _threads(sampled: Sampled) -> dict[str, float | None]:
    looks, busy, crowded = (
        sampled.total(name) for name in ("thread_looks", "threads_busy", "threads_crowded")
    )
    return {
        "threads_busy": busy / looks if looks and busy is not None else None,
        "threads_crowded": crowded / busy if busy and crowded is not None else None,
    }


def _migrations(sampled: Sampled) -> tuple[int | None, str | None]:
    for name in ("cpu-migrations", "migrations"):
        counted = sampled.counted(name) if name in sampled.counters else np.empty(0)
        known = counted[~np.isnan(counted)]
        if len(known) > 1:
            return round(float(known[-1])), "all threads"
    total = sampled.total("migrations")
    return (None, None) if total is None else (int(total), "first thread")


def _by_numa_node(sampled: Sampled) -> list[int] | None:
    found = {}
    if any(name.startswith("memory_kib:") for name in sampled.lost_facts):
        return None
    for name, kib in sampled.facts.items():
        what, _, node = name.partition(":")
        if what == "memory_kib" and node.isdecimal() and len(node) < 4:
            found[int(node)] = kib * 1024
    return [found.get(node, 0) for node in range(max(found) + 1)] if found else None


def rank_masks(job: Job) -> pl.DataFrame:
    """The OS PUs that a rank's first thread was allowed, at MPI_Init and from each change that a sample saw.

    `set_by` is the file whose code called libc to set them, empty where no such call was seen (the system call was made
    directly, or by another process); null for the first, and where that is not known.
    """
    rows = [
        (thread.rank["world_rank"], _seconds(thread, ticks), pus, sampled.set_by.get(at))
        for thread, sampled in sampled_ranks(job)
        for at, (ticks, pus) in enumerate(sampled.allowed)
    ]
    schema: dict[str, Any] = {
        "rank": pl.Int64,
        "time_s": pl.Float64,
        "pus": pl.List(pl.Int64),
        "set_by": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def rank_counters(job: Job) -> pl.DataFrame:
    """Counters of perf_event from the first to the last sample, all threads of a rank.

    `count` is scaled by enabled over running time where counters took turns, and null where one never ran.
    """
    rows = []
    for thread, sampled in sampled_ranks(job):
        for name in sampled.counters:
            counted = sampled.counted(name)
            known = counted[~np.isnan(counted)]
            enabled, running = (sampled.total(f"counter:{name}", part) for part in (1, 2))
            rows.append(
                {
                    "rank": thread.rank["world_rank"],
                    "counter": name,
                    "count": float(known[-1]) if len(known) > 1 else None,
                    "enabled_s": None if enabled is None else enabled * 1e-9,
                    "running_s": None if running is None else running * 1e-9,
                    "user_only": f"user_only:counter:{name}" in sampled.facts,
                }
            )
    schema: dict[str, Any] = {
        "rank": pl.Int64,
        "counter": pl.String,
        "count": pl.Float64,
        "enabled_s": pl.Float64,
        "running_s": pl.Float64,
        "user_only": pl.Boolean,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def rank_samples(job: Job) -> pl.DataFrame:
    """Samples of each rank over time: what was counted since its first, the PU it was on, a column for each counter."""
    schema: dict[str, Any] = {"rank": pl.Int64, "time_s": pl.Float64, "pu": pl.Int64}
    schema |= {name: pl.Float64 for name in _TIMES.values()} | {name: pl.Float64 for name in _COUNTS}
    schema["peak_memory_bytes"] = pl.Float64
    frames = [pl.DataFrame(schema=schema)]
    for thread, sampled in sampled_ranks(job):
        columns: dict[str, Any] = {
            "rank": np.full(len(sampled.ticks), thread.rank["world_rank"], np.int64),
            "time_s": [_seconds(thread, int(ticks)) for ticks in sampled.ticks],
            "pu": sampled.column("cpu"),
        }
        columns |= {to: sampled.since_start(name) * 1e-9 for name, to in _TIMES.items()}
        columns |= {name: sampled.since_start(name) for name in _COUNTS}
        columns["peak_memory_bytes"] = sampled.column("peak_memory_kib") * 1024
        columns |= {name: sampled.counted(name) for name in sampled.counters if name not in columns}
        frames.append(without_nan(columns))
    return pl.concat(frames, how="diagonal_relaxed")


def without_nan(columns: dict[str, Any], integers: Iterable[str] = ("pu",)) -> pl.DataFrame:
    """A frame with null for NaN."""
    frame = pl.DataFrame(columns).fill_nan(None)
    return frame.with_columns(pl.col(name).cast(pl.Int64) for name in integers if name in frame.columns)


def _seconds(thread: Thread, ticks: int) -> float:
    """Since the return of MPI_Init."""
    return thread.seconds(max(ticks - thread.rank["init_ticks"], 0))


def _lost(thread: Thread, sampled: Sampled) -> list[Absent]:
    masks = []
    if sampled.facts.get("dropped_notes"):
        kept = max(len(sampled.allowed) - 1, 0)
        masks = [Absent("later changes of the cores allowed", f"there is room for {kept} of them", None)]
    return masks + sampled.lost(
        {"counter": "counters"}, thread.rank["init_ticks"], thread.rank["seconds_per_tick"]
    )


def describe(job: Job) -> dict[str, Any] | None:
    """How ranks were sampled, for context.json; `None` where none was (recordings of older formats).

    Returns:
        `interval_s` (between two samples that were kept, at least; null: only start and end), `asked_s`, `cost_share`
        (of the rank where sampling cost most), and `absent`: source, why, remedy, ranks (how many).
    """
    sampled = sampled_ranks(job)
    if not sampled:
        return None
    intervals = [
        thread.seconds(each.head["interval_ticks"])
        for thread, each in sampled
        if each.head["asked_ns"] and each.head["interval_ticks"] < 1 << 62
    ]
    costs = [
        thread.seconds(each.head["cost_ticks"]) / thread.run_s for thread, each in sampled if thread.run_s > 0
    ]
    absent = Counter(absent for _, each in sampled for absent in each.absent)
    absent += Counter(absent for thread, each in sampled for absent in _lost(thread, each))
    asked = max(each.head["asked_ns"] for _, each in sampled) * 1e-9
    return {
        "asked_s": asked or None,
        "interval_s": (max(intervals) if intervals else asked) or None,
        "cost_share": max(costs, default=None),
        "absent": [
            {"source": each.source, "why": each.why, "remedy": each.remedy, "ranks": ranks}
            for each, ranks in absent.items()
        ],
    }


def rank_devices(job: Job) -> pl.DataFrame:
    """By rank and device.

    Columns: rank, host, device, how, sent_bytes, received_bytes. `open`: an adapter of InfiniBand, RoCE, Omni-Path or
    Slingshot whose device file was open at the end of MPI_Init or in MPI_Finalize; a library may open adapters
    that it sends nothing through, and bytes are null. `address`: an interface that has the own address of connections
    that moved data, with their bytes; `lo` where the other end is of the same node.
    """
    rows: list[tuple[Any, ...]] = []
    for thread in job.first_threads:
        if thread.sampled is None:
            continue
        base = thread.rank["world_rank"], thread.rank["host"]
        for fact in sorted(thread.sampled.facts):
            if fact.startswith("device:"):
                rows.append((*base, fact.removeprefix("device:"), "open", None, None))
        rows += [
            (*base, device, "address", *moved) for device, moved in sorted(_by_interface(thread).items())
        ]
    return pl.DataFrame(rows, schema=_DEVICES_SCHEMA, orient="row")


def performance_variables(job: Job) -> pl.DataFrame:
    """MPI's own performance variables (MPI_T), as the library offers them, of the process or MPI_COMM_WORLD.

    Columns: rank, variable, class (`counter`, `aggregate`, `timer`: from the return of MPI_Init to the call of
    MPI_Finalize; `size`, `level`, `high watermark`, `low watermark`: at the end), value, elements (it is the sum of
    so many).
    Empty where the library has none.
    """
    rows = [
        (thread.rank["world_rank"], name, of_class, value, elements)
        for thread in job.first_threads
        if thread.sampled is not None
        for name, (of_class, value, elements) in sorted(thread.sampled.variables.items())
    ]
    return pl.DataFrame(rows, schema=_VARIABLES_SCHEMA, orient="row")


def knows_devices(thread: Thread) -> bool:
    """Whether it is known which interfaces a rank used: recordings of older versions have no addresses."""
    sampled = thread.sampled
    return sampled is not None and bool(_interfaces(thread)) and len(thread.network) > 0


def _interfaces(thread: Thread) -> dict[str, str]:
    """Address -> interface."""
    found = {}
    for fact in thread.sampled.facts if thread.sampled else ():
        what, _, rest = fact.partition(":")
        if what == "address":
            interface, _, address = rest.partition(" ")
            found[address] = interface
    return found


@cache
def _address(packed: bytes) -> str | None:
    """Of many ranks with many peers there are few addresses."""
    return address_of(np.frombuffer(packed, "<u4"))


def _by_interface(thread: Thread) -> dict[str, tuple[int, int]]:
    interfaces = _interfaces(thread)
    found: dict[str, tuple[int, int]] = {}
    for entry in thread.network:
        own, peer = _address(entry["own"].tobytes()), _address(entry["peer"].tobytes())
        if own is None or own not in interfaces:
            continue
        device = "lo" if peer in interfaces else interfaces[own]
        by_kind = entry["bytes"].reshape(-1, NETWORK_KINDS).sum(axis=0)
        moved = [int(by_kind[NETWORK_KIND_NAMES.index(kind)]) for kind in ("send", "receive")]
        if any(moved):
            before = found.get(device, (0, 0))
            found[device] = before[0] + moved[0], before[1] + moved[1]
    return found
