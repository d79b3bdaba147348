# SPDX-License-Identifier: BSD-3-Clause
"""What a recording holds that is not replayed, or not as what it is: calls, ranks, counts and times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import polars as pl

from rankwise import _core
from rankwise.machine.drawing import ranges
from rankwise.quantities import rounded
from rankwise.recording.recording import Recording

_OF_CALLS = {"timeless": "taken as no time", "unsynchronised": "whose synchronisation is not replayed"}
_SENTENCES = {
    "cancelled": "cancelled requests other than receives, replayed as if they were not",
    "freed": "requests freed before their end, nobody waits for them",
    "lost": "events that were not recorded",
    "partly_traced": "ranks of which only a part of the calls was traced",
    "truncated": "traces that are cut short: {problem}",
    "unknown_partners": "collective calls whose partners are not known (`{call}`)",
    "unknown_peer": "messages with a rank that could not be identified",
}
_NOT_MODELLED = ("rma", "io", "partitioned", "comm")  # classes of formats/mpi_calls.txt
_LONGEST = 40  # characters of numbers of ranks


def sentence(omission: _core.schedule.Omission) -> str:
    """What a reader of traces left out, without its rank."""
    return _SENTENCES[omission.kind].format(call=omission.call, problem=omission.problem)


def gather(omissions: Iterable[tuple[_core.schedule.Omission, int]]) -> dict[str, int]:
    """Sentence -> how often: calls of the same ranks that are left out in the same way are one entry.

    Args:
        omissions: What the readers of traces left out, and how often.
    """
    found: dict[str, int] = defaultdict(int)
    calls: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    for what, count in omissions:
        if what.kind in _OF_CALLS:
            calls[what.kind, what.call][what.rank] = count
        else:
            found[sentence(what)] += count
    alike: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for (kind, call), ranks in calls.items():
        alike[_OF_CALLS[kind], _ranks(ranks)][call] = sum(ranks.values())
    for (how, those), counts in alike.items():
        names = [f"`{call}`" + (f" ({count})" if len(counts) > 1 else "") for call, count in counts.items()]
        found[f"{', '.join(names)} of {those}, {how}"] = sum(counts.values())
    return dict(found)


def not_modelled(recording: Recording) -> dict[str, float]:
    """Calls that are not modelled: their part of the time of all ranks, the longest first; none if it is not known."""
    whole_s = recording.ranks["time_s"].sum()
    if not whole_s:
        return {}
    calls = recording.calls.filter(pl.col("class").is_in(_NOT_MODELLED)).drop_nulls("time_s")
    times = calls.group_by("call").agg(pl.col("time_s").sum()).sort("time_s", descending=True)
    return {call: time_s / whole_s for call, time_s in times.iter_rows()}


def _ranks(ranks: Mapping[int, int]) -> str:
    numbers = ranges(list(ranks))
    if len(ranks) == 1:
        return f"rank {numbers}"
    return f"ranks {numbers}" if len(numbers) <= _LONGEST else f"{len(ranks)} ranks"


def ended_sends_text(sends: int) -> str:
    """A sentence on sends that did not wait for their receive in a replay."""
    return (
        f"{rounded(sends, 'send')} did not wait for {'its' if sends == 1 else 'their'} receive: in the recorded order "
        "ranks would wait for each other for ever (the program polls)"
    )
