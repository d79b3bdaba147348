# SPDX-License-Identifier: BSD-3-Clause
"""What is not in a recording, said on the first screen, and what to know about the numbers."""

from __future__ import annotations

from collections import Counter

from rankwise.quantities import seconds_text
from rankwise.record.directory import in_use
from rankwise.recording import Recording
from rankwise.report.data import Gap

_MOST_RANKS_NAMED = 6


def gaps(recording: Recording) -> list[Gap]:
    """What is missing, and why, in sentences without a full stop."""
    context = recording.context
    found = [Gap("how it ended", context["ending"]["text"])] if context.get("ending") else []
    if use := in_use(recording.path):
        found = [Gap("the rest of the run", f"it is still being recorded by {use.holder}")]
    if missing := context["missing_ranks"]:
        found.append(Gap(f"{ranks_text(missing)} of {recording.world_size}", "left nothing behind"))
    by_reason: dict[str, list[dict]] = {}
    for entry in context["partial_ranks"]:
        by_reason.setdefault(entry["why"], []).append(entry)
    for why, entries in by_reason.items():
        found.append(
            Gap(f"the end of {ranks_text([entry['rank'] for entry in entries])}", why + _since(entries))
        )
    found += [Gap(_counted(entry["what"], entry["count"]), entry["why"]) for entry in context["not_recorded"]]
    for why, hosts in _topology_problems(context).items():
        named = ", ".join(hosts[:3]) + (", ..." if len(hosts) > 3 else "")
        found.append(Gap(f"the topology of {named}", why))
    found += [Gap("in the raw files", problem) for problem in context["problems"]]
    return found


def notes(recording: Recording) -> list[str]:
    """What a reader of the numbers should know, in sentences."""
    found = []
    bindings = recording.context["bindings"]
    unbound = [entry["rank"] for entry in bindings if entry["bound"] is False]
    if unbound:
        who = "The ranks were" if len(unbound) == len(bindings) else f"{len(unbound)} ranks were"
        found.append(f"{who} not bound to cores: their times include migration between cores.")
    per_host = Counter(entry["host"] for entry in bindings)
    cores = {
        host["host"]: len(host["topology"]["pus"]) for host in recording.context["hosts"] if host["topology"]
    }
    crowded = [host for host, count in per_host.items() if count > cores.get(host, count)]
    if crowded:
        host = crowded[0]
        found.append(
            f"There were more ranks than cores ({per_host[host]} on the {cores[host]} of {host}): "
            "times include waiting for a core."
        )
    threads = int(recording.table("ranks")["threads"].max() or 1)
    if threads > 1 and recording.context["recorder"]["timed"]:
        found.append(
            f"Up to {threads} threads of a rank called MPI: times of functions and of collectives are those of "
            "all threads added up, also where they were in MPI at once."
        )
    return found


def ranks_text(ranks: list[int]) -> str:
    """`rank 3`, `ranks 1, 2, 5`, `ranks 0-15`, `12 ranks`."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > 2 and sorted(ranks) == list(range(min(ranks), max(ranks) + 1)):
        return f"ranks {min(ranks)}-{max(ranks)}"
    if len(ranks) <= _MOST_RANKS_NAMED:
        return "ranks " + ", ".join(map(str, ranks))
    return f"{len(ranks)} ranks"


def _since(entries: list[dict]) -> str:
    """When the calls began that did not return; entries of one reason are all in one or none."""
    times = sorted(entry["since_s"] for entry in entries if entry.get("since_s") is not None)
    if not times:
        return ""
    first, last = (seconds_text(time) for time in (times[0], times[-1]))
    return f" (entered {first if first == last else f'{first} to {last}'} after MPI_Init)"


def _counted(what: str, count: int | None) -> str:
    name = {"io": "file calls"}.get(what, what)
    return name if count is None else f"{count} {name}"


def _topology_problems(context: dict) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for host in context["hosts"]:
        if host["topology"] is None:
            why = host["topology_problem"] or "it was not saved"
            found.setdefault(why, []).append(host["host"])
    return found
