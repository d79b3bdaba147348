# SPDX-License-Identifier: BSD-3-Clause
"""What a recording holds that is not replayed, or not as what it is: calls, ranks, counts and times."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from rankwise.machine.drawing import ranges
from rankwise.quantities import rounded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankwise.recording.recording import Recording

_OF_A_RANK = re.compile(r"`(?P<call>MPI_\w+)` of rank (?P<rank>[0-9]+), (?P<how>.+)")
_NOT_MODELLED = ("rma", "io", "partitioned", "comm")  # classes of formats/mpi_calls.txt
_LONGEST = 40  # characters of numbers of ranks


def gather(omitted: Mapping[str, int]) -> dict[str, int]:
    """Calls of single ranks put together: those of the same ranks that are left out in the same way are one entry.

    Args:
        omitted: Sentence -> how often, as the readers of traces say it.
    """
    found: dict[str, int] = {}
    calls: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    for what, count in omitted.items():
        if match := _OF_A_RANK.fullmatch(what):
            calls[match["how"], match["call"]][int(match["rank"])] = count
        else:
            found[what] = count
    alike: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for (how, call), ranks in calls.items():
        alike[how, _ranks(ranks)][call] = sum(ranks.values())
    for (how, those), counts in alike.items():
        names = [f"`{call}`" + (f" ({count})" if len(counts) > 1 else "") for call, count in counts.items()]
        found[f"{', '.join(names)} of {those}, {how}"] = sum(counts.values())
    return found


def not_modelled(recording: Recording) -> dict[str, float]:
    """Calls that are not modelled: their part of the time of all ranks, the longest first; none if it is not known."""
    import polars as pl

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


def let_go_text(sends: int) -> str:
    """A sentence on sends that did not wait for their receive in a replay."""
    return (
        f"{rounded(sends, 'send')} did not wait for {'its' if sends == 1 else 'their'} receive: in the recorded order "
        "ranks would wait for each other for ever (the program polls)"
    )
