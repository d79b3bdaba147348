# SPDX-License-Identifier: BSD-3-Clause
"""How a run ended whose ranks did not all reach MPI_Finalize: who ended it, who waited, and for how long."""

from __future__ import annotations

import signal
from typing import Any

from rankwise.quantities import seconds_text
from rankwise.recording.job import Job
from rankwise.recording.layouts import ABORTED, FINALIZED
from rankwise.recording.raw import Thread

_MOST_NAMED = 4
# What `timeout` says, and what launchers say that were asked to end.
_ASKED_TO_END = (124, 128 + signal.SIGINT, 128 + signal.SIGTERM)
# A rank without memory, and a job out of time.
_KILLED = (int(signal.SIGKILL), 128 + signal.SIGKILL)
# Hydra says so when it was asked to end, and at times when it ended the others after one rank had crashed.
_EITHER = int(signal.SIGTERM)


def ending(job: Job, run: dict[str, Any] | None) -> dict[str, Any] | None:
    """Who ended the run, as far as the ranks' files and the launcher's status say; `None` if all ranks finalized.

    Args:
        job: What the ranks left.
        run: Content of recording.json.

    Returns:
        `kind`: `abort`, `crash`, `stopped` (from outside) or `unknown` (either of these two); `ranks`: those that ended
        it, or that others waited for; `inside`: the call that such a rank was in; `waiting`: for each call that did not
        return its `ranks` and `since_s`; `hung_s`: how long all that waited did so; `text`: the same in words.
    """
    open_ended = [thread for thread in job.first_threads if not thread.has(FINALIZED)]
    if not open_ended:
        return None
    aborted = [thread for thread in open_ended if thread.has(ABORTED)]
    waiting = [thread for thread in open_ended if thread.in_call and thread not in aborted]
    elsewhere = [thread for thread in open_ended if not thread.in_call and thread not in aborted]
    stopped = run is not None and (
        run["signal"] is not None or run["told_to_end"] is not None or run["exit_status"] in _ASKED_TO_END
    )
    status = run["exit_status"] if run is not None else None
    failed = status not in (0, None, _EITHER)
    inside = None
    if aborted:
        kind, ranks = "abort", aborted
    elif stopped:
        kind, ranks = "stopped", elsewhere if waiting else []
    elif failed and elsewhere and (waiting or len(job.first_threads) == 1):
        kind, ranks = "crash", elsewhere
    elif failed and status not in _KILLED and not elsewhere and (alone := _alone(waiting)):
        kind, ranks, inside = "crash", [alone], alone.in_call
        waiting = [thread for thread in waiting if thread is not alone]
    else:
        kind, ranks = "unknown", elsewhere if waiting else []
    calls = [
        {"call": call, "ranks": _ranks(those), "since_s": _first([t.in_call_since_s for t in those])}
        for call, those in _by_call(waiting).items()
    ]
    one_of_these = kind == "unknown" and failed and status not in _KILLED and not elsewhere
    hung_s = _hung_s(waiting, run) if kind in ("stopped", "unknown") and not one_of_these else None
    found = {"kind": kind, "ranks": _ranks(ranks), "inside": inside, "waiting": calls, "hung_s": hung_s}
    return found | {"text": _text(found, len(open_ended), run, one_of_these)}


def brief(found: dict[str, Any]) -> str:
    """What `ending` found in a few words: `rank 3 called MPI_Abort`, `ended from outside after 20 s in MPI_Recv`."""
    who = _named(found["ranks"]) if found["ranks"] else ""
    if found["kind"] == "abort":
        return f"{who} called MPI_Abort"
    if found["kind"] == "crash":
        if found.get("inside"):
            return f"{who} ended in {found['inside']}"
        return f"{who} crashed" if len(found["ranks"]) == 1 else f"one of {who} crashed"
    calls = [each["call"] for each in found["waiting"]]
    how = "ended from outside" if found["kind"] == "stopped" else "ended before MPI_Finalize"
    if not calls:
        return how
    inside = " and ".join(calls[:2]) if len(calls) < 3 else f"{calls[0]} and other calls"
    lasted = "" if found["hung_s"] is None else f"after {seconds_text(found['hung_s'])} "
    late = f", {who} in no MPI call" if who else ""
    return f"{how} {lasted}in {inside}{late}"


def _alone(waiting: list[Thread]) -> Thread | None:
    """The rank that was in another call than all the others, or the only one."""
    calls = sorted(_by_call(waiting).values(), key=len)
    sizes = [len(each) for each in calls]
    return calls[0][0] if sizes == [1] or (len(sizes) == 2 and sizes[0] == 1 < sizes[1]) else None


def _by_call(threads: list[Thread]) -> dict[str, list[Thread]]:
    found: dict[str, list[Thread]] = {}
    for thread in threads:
        found.setdefault(thread.in_call or "", []).append(thread)
    return dict(sorted(found.items(), key=lambda each: -len(each[1])))


def _ranks(threads: list[Thread]) -> list[int]:
    return [thread.rank["world_rank"] for thread in threads]


def _first(times: list[float | None]) -> float | None:
    return min((each for each in times if each is not None), default=None)


def _hung_s(waiting: list[Thread], run: dict[str, Any] | None) -> float | None:
    """From the last entry into a call that did not return to the end of the launcher, by the hosts' clocks."""
    if not waiting or run is None or run["end_s"] is None:
        return None
    entered = []
    for thread in waiting:
        rank = thread.rank
        if thread.in_call_since_s is None:
            return None
        after_first = thread.seconds(max(rank["in_call_begin_ticks"] - rank["first_ticks"], 0))
        entered.append(rank["first_realtime_ns"] * 1e-9 + after_first)
    end_s: float = run["end_s"]
    hung_s: float = max(end_s - max(entered), 0.0)
    return hung_s


def _text(found: dict[str, Any], open_ended: int, run: dict[str, Any] | None, one_of_these: bool) -> str:
    ranks, others = found["ranks"], open_ended - len(found["ranks"])
    who = _named(ranks)
    inside = ", ".join(f"{_named(each['ranks'])} in {each['call']}" for each in found["waiting"][:2])
    inside += ", ..." if len(found["waiting"]) > 2 else ""
    were = "was" if sum(len(each["ranks"]) for each in found["waiting"]) == 1 else "were"
    status = _status(run)
    if found["kind"] == "abort":
        text = f"{who} called MPI_Abort{status}"
        return text + (f"; the launcher ended {_the_others(others)}" if others else "")
    if found["kind"] == "crash":
        if found["inside"]:
            text = f"{who} ended or was ended in {found['inside']}{status}"
            return text + (f"; waiting {were} {inside}" if inside else "")
        text = f"{who} ended without MPI_Finalize, in no MPI call{status}"
        if len(ranks) > 1:
            text = f"one of {who}, which were in no MPI call, ended without MPI_Finalize{status}"
        return text + (f"; waiting for others {were} {inside}" if inside else "")
    stopped = "the run was ended from outside" + status if found["kind"] == "stopped" else ""
    parts = [stopped] if stopped else ["the run ended before MPI_Finalize" + status]
    if inside and one_of_these:
        parts.append(f"in calls were {inside}: one of these ended it")
    elif inside:
        lasted = f", for {seconds_text(found['hung_s'])}" if found["hung_s"] is not None else ""
        does = f"waiting {were} {inside}" if open_ended > 1 else inside.replace(" in ", " was in ")
        parts.append(does + lasted)
        if ranks:
            parts.append(f"in no MPI call was {who}" if len(ranks) == 1 else f"in no MPI call were {who}")
    return "; ".join(parts)


def _status(run: dict[str, Any] | None) -> str:
    if run is None or not run["exit_status"]:
        return ""
    status = run["exit_status"]
    if 128 < status < 128 + signal.NSIG and (name := signal.strsignal(status - 128)):
        return f" (exit status {status}: {name.lower()})"
    return f" (exit status {status})"


def _the_others(count: int) -> str:
    return "the other one" if count == 1 else f"the other {count}"


def _named(ranks: list[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > 2 and ranks == list(range(ranks[0], ranks[-1] + 1)):
        return f"ranks {ranks[0]}-{ranks[-1]}"
    return "ranks " + ", ".join(map(str, ranks[:_MOST_NAMED])) + (", ..." if len(ranks) > _MOST_NAMED else "")
