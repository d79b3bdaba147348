# SPDX-License-Identifier: BSD-3-Clause
"""What is not in a recording, said on the first screen, and what to know about the numbers."""

from __future__ import annotations

from collections import Counter

import msgspec
import polars as pl

from rankwise.quantities import seconds_text
from rankwise.record.usage import Usage
from rankwise.recording import Recording, completeness
from rankwise.report.data import Gap


def gaps(recording: Recording) -> list[Gap]:
    """What is missing, and why, in sentences without a full stop."""
    return [
        Gap(gap.what, gap.why, gap.severity, gap.said_by is not None)
        for gap in completeness.gaps(recording.path, recording.context)
    ]


def notes(recording: Recording, waited_share: float | None) -> list[str]:
    """What a reader of the numbers should know, in sentences.

    Args:
        recording: The run.
        waited_share: Of the ranks' time, waiting for a core; `None` if it is not known.
    """
    found = []
    if generated := recording.generated:
        found.append(f"No program ran: this is {generated}. All times are those of a replay.")
    bindings = recording.context["bindings"]
    unbound = [entry["rank"] for entry in bindings if entry["bound"] is False]
    if unbound:
        who = "The ranks were" if len(unbound) == len(bindings) else f"{len(unbound)} ranks were"
        found.append(f"{who} not bound to cores: their times include migration between cores.")
    used = (recording.context["run"] or {}).get("usage")
    if used:
        used = msgspec.convert(used, Usage)
        found.append(f"The lab says of this run: {used.sentence()}.")
    if still := recording.context["stood_still"]:
        who = completeness.ranks_text([entry["rank"] for entry in still])
        longest = max(entry["time_s"] for entry in still)
        found.append(
            f"{who[0].upper()}{who[1:]} did not run for {seconds_text(longest)} or more outside MPI, and did not "
            "wait for a core (asleep, stopped, waiting for a file or another thread): that counts as computation."
        )
    per_host = Counter(entry["host"] for entry in bindings)
    cores = {
        host["host"]: len(host["topology"]["pus"]) for host in recording.context["hosts"] if host["topology"]
    }
    crowded = [host for host, count in per_host.items() if count > cores.get(host, count)]
    host = crowded[0] if crowded else None
    ranks_on = f"{per_host[host]} ranks on the {cores[host]} cores of {host}" if host else ""
    if waited_share is not None and waited_share >= 0.005:
        found.append(
            f"The ranks waited for a core for {waited_share * 100:.0f} % of their time"
            f"{f' ({ranks_on})' if host else ''}. That is known of each rank and not of each call: times of functions "
            "and of collectives include it."
        )
    elif host:
        found.append(f"There were more ranks than cores ({ranks_on}): times may include waiting for a core.")
    levels = recording.context["passed_through"].get("MPI_Pcontrol", 0)
    if levels and all(entry["what"] != "trace" for entry in recording.context["not_recorded"]):
        found.append(
            f"The program calls MPI_Pcontrol ({levels} calls). Its levels switch no recording off: all of the run is "
            "here. `--phase 1` traces what is between MPI_Pcontrol(1) and the next other level."
        )
    threads = int(recording.table("ranks").select(pl.max("threads")).item() or 1)
    if threads > 1 and recording.context["recorder"]["timed"]:
        found.append(
            f"Up to {threads} threads of a rank called MPI: times of functions and of collectives are those of "
            "all threads added up, also where they were in MPI at once."
        )
    return found
