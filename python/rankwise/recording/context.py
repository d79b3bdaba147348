# SPDX-License-Identifier: BSD-3-Clause
"""What a recording says about itself: hosts, bindings, MPI library, and what is not in it and why."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

import rankwise
from rankwise.errors import RankwiseError
from rankwise.quantities import seconds_text
from rankwise.record import manifest
from rankwise.recording import rank_use
from rankwise.recording.completeness import NO_SPACE, ranks_text
from rankwise.recording.emulated import emulated_bindings, emulated_hosts, placement_problems
from rankwise.recording.ending import ending
from rankwise.recording.expansion import Expansion, library_of
from rankwise.recording.job import Job
from rankwise.recording.layouts import (
    ABORTED,
    APPROXIMATE_COLLECTIVES,
    FILE_GONE,
    FINALIZED,
    FORMAT_VERSION,
    LAZY_COMMS,
    STORAGE_FULL,
    TRACE_CUT,
    TRACED,
    UNCLASSIFIED,
)
from rankwise.recording.raw import CALL_CLASSES, CALL_NAMES, FLAVOURS, RawRecording, Thread

SCHEMA = "rankwise.context/1"
STOPPED = {
    STORAGE_FULL: NO_SPACE,
    FILE_GONE: "the file of its node was no longer there",
}
# Shorter times are those of files that are read, and of clocks.
LEAST_STILL_S, LEAST_STILL_SHARE = 0.1, 0.01
NOTHING_RAN = "no program ran"
# The format version that samples of ranks came with.
_SAMPLES_SINCE = 4
REASONS = {"io": "file operations are counted and timed, their data is not recorded"}


def describe(directory: Path, job: Job, expansion: Expansion, raw: RawRecording) -> dict[str, Any]:
    """The content of context.json, but for what `collect` adds to find out whether it is current."""
    first = job.threads[0].rank
    run, run_problems = _run(directory)
    hosts = emulated_hosts(_hosts(directory, job, run), run)
    return {
        "schema": SCHEMA,
        "rankwise": rankwise.__version__,
        "run": run,
        "world_size": job.world_size,
        "executables": sorted({thread.rank["executable"] for thread in job.threads}),
        "mpi": {
            "family": library_of(first),
            "flavour": FLAVOURS.get(first["flavour"]),
            "library": first["mpi_library"],
            "version": first["mpi_version"].strip(),
            "thread_level": ("single", "funneled", "serialized", "multiple")[min(first["thread_level"], 3)],
        },
        "hosts": hosts,
        "bindings": emulated_bindings(_bindings(job, hosts), run),
        "missing_ranks": job.missing_ranks,
        "ending": ending(job, run),
        "partial_ranks": _partial(job),
        "not_recorded": _not_recorded(job, expansion),
        "passed_through": _passed_through(job),
        "other_jobs": job.left_out,
        "problems": [
            *job.problems,
            *raw.problems,
            *raw.notes,
            *run_problems,
            *_thread_problems(job.threads),
            *_uncovered(job.threads),
            *_ended_in_finalize(job),
            *placement_problems(job, run),
        ],
        "damage": raw.problems,
        "recorder": _recorder(job),
        "samples": rank_use.describe(job),
        "not_sampled": _not_sampled(job, run),
        "network": _network(job, run),
        "init_monotonic_s": _init_monotonic(job),
        "devices_known": sorted(_devices_known(job)),
        "stood_still": _stood_still(job),
        "trace": {
            "empty_ranks": _without_trace(job),
            "ranks": len({t.rank["world_rank"] for t in job.threads if t.has(TRACED)}),
            "bytes": sum(thread.record.trace_bytes for thread in job.threads),
            "stopped": next(iter(_stopped(job.threads)), None),
        },
    }


def _init_monotonic(job: Job) -> dict[str, float]:
    """CLOCK_MONOTONIC of each host when its first rank came back from MPI_Init: others' times on its axis."""
    found: dict[str, float] = {}
    for thread in job.first_threads:
        rank = thread.rank
        ready_s = rank["first_monotonic_ns"] * 1e-9 + thread.seconds(
            max(rank["init_ticks"] - rank["first_ticks"], 0)
        )
        found[rank["host"]] = min(found.get(rank["host"], ready_s), ready_s)
    return found


def _devices_known(job: Job) -> set[str]:
    """Hosts of whose ranks all say which interfaces they used."""
    unknown = {thread.rank["host"] for thread in job.first_threads if not rank_use.knows_devices(thread)}
    return {thread.rank["host"] for thread in job.first_threads} - unknown


def _network(job: Job, run: dict[str, Any] | None) -> dict[str, Any]:
    """How many ranks have network time, and why others have none."""
    first = [thread for thread in job.threads if thread.rank["thread"] == 0]
    counted = [thread for thread in first if len(thread.network)]
    why = None
    if len(counted) < len(first):
        lacking = next(thread for thread in first if not len(thread.network))
        if (run or {}).get("generated"):
            why = NOTHING_RAN
        elif lacking.rank["format"] < FORMAT_VERSION:
            why = "it was recorded by an older Rankwise"
        elif lacking.has(STORAGE_FULL):
            why = "the file system had no space"
        else:
            why = "RANKWISE_NETWORK is 0, or the recorder is linked into the program"
    return {"ranks": len(counted), "why": why}


def _not_sampled(job: Job, run: dict[str, Any] | None) -> str | None:
    """Why ranks have no samples; `None` if all have."""
    lacking = [thread for thread in job.first_threads if thread.sampled is None]
    if not lacking:
        return None
    if (run or {}).get("generated"):
        return NOTHING_RAN
    if lacking[0].rank["format"] < _SAMPLES_SINCE:
        return "it was recorded by an older Rankwise"
    return NO_SPACE if any(thread.has(STORAGE_FULL) for thread in lacking) else "the recorder left none"


def _recorder(job: Job) -> dict[str, Any]:
    """What recording cost: the time it adds to a call, measured in each rank as it started, and the sum of it.

    `share` is that of the rank with most of it: its calls at that cost and what the recorder did beside them, over the
    time between MPI_Init and MPI_Finalize, or as long as it is known to have run. What the recorder took in
    MPI_Init and MPI_Finalize is not in that time, nor in the share: `aside_s` is that of the rank where it was most.
    Null where the cost was not measured (sessions), and where it is more than all that time: then that is not known
    well enough.
    """
    costs, shares, asides = [], [], []
    for thread in job.threads:
        rank, per_tick = thread.rank, thread.rank["seconds_per_tick"]
        if not rank["call_cost_ticks_1024"] or not per_tick:
            continue
        cost = rank["call_cost_ticks_1024"] / 1024
        costs.append(cost * per_tick)
        aside = thread.sampled.head["aside_ticks"] if thread.sampled else 0
        asides.append(thread.seconds(aside))
        spent = cost * int(thread.calls["count"].sum()) + rank["recorder_ticks"]
        spent_s = thread.seconds(spent)
        if thread.run_s > 0:
            shares.append(spent_s / thread.run_s)
    return {
        "timed": all(thread.timed for thread in job.threads),
        "call_cost_s": float(np.median(costs)) if costs else None,
        "share": max(shares) if shares and max(shares) <= 1 else None,
        "aside_s": max(asides, default=0.0),
    }


def _stood_still(job: Job) -> list[dict[str, Any]]:
    """Ranks that for a while neither ran nor waited for a core, outside MPI: how long at least.

    What the scheduler says of a thread's time is not said of calls, so all the time in MPI is taken off.
    """
    threads = Counter(thread.process for thread in job.threads)
    found = []
    for thread in job.first_threads:
        rank = thread.rank
        # Of other threads, and where MPI_Abort came in between, clock and scheduler were not read together.
        if not (thread.timed and rank["schedstat_samples"] and threads[thread.process] == 1) or thread.has(
            ABORTED
        ):
            continue
        clock_ns = rank["last_monotonic_ns"] - rank["first_monotonic_ns"]
        still_s = (clock_ns - rank["cpu_ns"] - rank["runqueue_wait_ns"]) * 1e-9 - thread.mpi_s
        if still_s > max(LEAST_STILL_S, LEAST_STILL_SHARE * clock_ns * 1e-9):
            found.append({"rank": rank["world_rank"], "time_s": still_s})
    return found


def _run(directory: Path) -> tuple[dict[str, Any] | None, list[str]]:
    """recording.json, if the launcher lived to write it, and what is wrong with it."""
    try:
        written = manifest.read(directory)
    except RankwiseError as error:
        return None, [error.message]
    return (msgspec.to_builtins(written) if written else None), []


def _hosts(directory: Path, job: Job, run: dict[str, Any] | None) -> list[dict[str, Any]]:
    generated = ((run or {}).get("generated") or {}).get("nodes") or {}
    files = dict((thread.rank["host"], thread.rank["node_file"]) for thread in job.threads)
    hosts = []
    for name, node in files.items():
        file = directory / "raw" / f"{node}.topology.tar"
        host = {"host": name, "topology": None, "topology_file": None, "topology_problem": None}
        if name in generated:
            host["topology"] = generated[name]
        elif file.exists():
            host["topology_file"] = f"raw/{file.name}"
            try:
                from rankwise.machine.topology import from_saved_files

                host["topology"] = from_saved_files(file).to_dict()
            except RankwiseError as error:
                host["topology_problem"] = error.message
        else:
            host["topology_problem"] = "no rank of this node saved its topology"
        hosts.append(host)
    return hosts


def _bindings(job: Job, hosts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each rank the OS PUs it was allowed, and where the node is known the logical cores these belong to.

    A rank is bound if there are cores of its node that it may not use.
    """
    from rankwise.machine.topology import NodeTopology

    nodes = {host["host"]: host["topology"] and NodeTopology.from_dict(host["topology"]) for host in hosts}
    bindings = []
    for thread in job.first_threads:
        node = nodes[thread.rank["host"]]
        cores = node.cores_of(thread.pus) if node else ()
        bindings.append(
            {
                "rank": thread.rank["world_rank"],
                "host": thread.rank["host"],
                "pus": thread.pus,
                "cores": list(cores) if node else None,
                "bound": 0 < len(cores) < node.cores if node else None,
            }
        )
    return bindings


def _partial(job: Job) -> list[dict[str, Any]]:
    found = []
    for thread in job.first_threads:
        reasons = []
        if thread.has(ABORTED):
            reasons.append("MPI_Abort was called")
        elif not thread.has(FINALIZED):
            reasons.append("MPI_Finalize was not reached" + _hung_in(thread))
        reasons += _stopped([thread])
        reasons += thread.record.problems
        if reasons:
            entry = {"rank": thread.rank["world_rank"], "why": "; ".join(reasons)}
            if thread.record.problems:
                entry["damaged"] = True
            if thread.in_call:
                entry |= {"in_call": thread.in_call, "since_s": thread.in_call_since_s}
            found.append(entry)
    return found


def _stopped(threads: list[Thread]) -> list[str]:
    """Why recording stopped before the program did."""
    return [why for flag, why in STOPPED.items() if any(thread.has(flag) for thread in threads)]


def _without_trace(job: Job) -> list[int]:
    """Ranks whose messages were counted, and that have no trace although they were to be traced from begin to end."""
    sending = np.isin(
        CALL_CLASSES, ["send", "recv", "sendrecv", "isend", "irecv", "collective", "icollective"]
    )
    return [
        thread.rank["world_rank"]
        for thread in job.first_threads
        if thread.has(TRACED)
        and not thread.has(TRACE_CUT)
        and not thread.record.trace_bytes
        and thread.calls["count"][sending].any()
    ]


def _ended_in_finalize(job: Job) -> list[str]:
    """Ranks that did not come back from MPI_Finalize: all they sent is recorded, so they are not partial."""
    ranks = [thread.rank["world_rank"] for thread in job.first_threads if thread.in_call == "MPI_Finalize"]
    if not ranks:
        return []
    some = ", ".join(map(str, ranks[:4])) + (", ..." if len(ranks) > 4 else "")
    return [
        f"MPI_Finalize did not return on {len(ranks)} of {len(job.first_threads)} ranks ({some}); all before it is here"
    ]


def _hung_in(thread: Thread) -> str:
    return f"; the last call was {thread.in_call}, which did not return" if thread.in_call else ""


def _calls_by_function(job: Job) -> np.ndarray:
    counts = np.stack([thread.calls["count"] for thread in job.threads])
    totals: np.ndarray = counts.sum(axis=0, dtype=np.int64)
    return totals


def _not_recorded(job: Job, expansion: Expansion) -> list[dict[str, Any]]:
    totals = _calls_by_function(job)
    missing = [
        {"what": kind, "count": int(totals[kind == CALL_CLASSES].sum()), "why": REASONS[kind]}
        for kind in REASONS
    ]
    lost = sum(thread.rank["unrecorded_messages"] for thread in job.threads)
    missing.append(
        {
            "what": "messages",
            "count": lost,
            "why": "recording had stopped: no space, no file, or switched off",
        }
    )
    missing += [{"what": "collectives", "count": n, "why": why} for why, n in expansion.not_expanded.items()]
    missing = [entry for entry in missing if entry["count"]]
    for flag, what, why in (
        (UNCLASSIFIED, "peers", "a handle could not be resolved; those messages have no destination"),
        (APPROXIMATE_COLLECTIVES, "collectives", "more distinct sizes than fit; some are by size bin only"),
        (TRACE_CUT, "trace", "only a part of the calls was traced, as was asked for"),
        (LAZY_COMMS, "communicators", "some were first seen in use, not when they were made"),
    ):
        flagged = [thread for thread in job.threads if thread.has(flag)]
        ranks = len({thread.rank["world_rank"] for thread in flagged})
        if flag == UNCLASSIFIED and job.left_out:
            why = "processes of another MPI job, or of an unknown handle; those messages have no destination"
        if flag == TRACE_CUT and not any(thread.record.trace_bytes for thread in flagged):
            stopped = _stopped(flagged) or ["the calls or the phase asked for did not occur"]
            why = f"{stopped[0]}: it is empty"
        if ranks:
            missing.append({"what": what, "count": None, "why": f"{why} (on {ranks} ranks)"})
    notes = Counter(thread.rank["note"] for thread in job.threads if thread.rank["note"])
    missing += [{"what": "note", "count": n, "why": note} for note, n in sorted(notes.items())]
    return missing


def _passed_through(job: Job) -> dict[str, int]:
    """Calls of functions without messages of their own in the recording, by name."""
    totals = _calls_by_function(job)
    shown = (totals > 0) & np.isin(CALL_CLASSES, ["other", *REASONS])
    return {str(name): int(count) for name, count in zip(CALL_NAMES[shown], totals[shown], strict=True)}


def _thread_problems(threads: list[Thread]) -> list[str]:
    found = [
        f"rank {thread.rank['world_rank']}: {problem}"
        for thread in threads
        for problem in thread.record.problems
    ]
    unclocked = sum(thread.rank["seconds_per_tick"] == 0 for thread in threads)
    if unclocked:
        found.append(f"{unclocked} threads ended before their clock was read twice: their times are 0")
    return found


def _uncovered(threads: list[Thread]) -> list[str]:
    """What ranks wrote that were killed, after the last checksum that they stored."""
    late = [thread for thread in threads if thread.record.uncovered]
    if not late:
        return []
    ranks = sorted({thread.rank["world_rank"] for thread in late})
    since_s = min(
        thread.seconds(max(thread.rank["sealed_ticks"] - thread.rank["init_ticks"], 0)) for thread in late
    )
    their, checksum = ("its", "checksum") if len(ranks) == 1 else ("their", "checksums")
    return [
        f"{ranks_text(ranks)} wrote after {their} last {checksum}, {seconds_text(since_s)} after MPI_Init: "
        f"{their} counts, and the trace from there on, are not covered by one"
    ]
