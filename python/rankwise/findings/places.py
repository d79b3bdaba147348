# SPDX-License-Identifier: BSD-3-Clause
"""Places in the program, of a recording with `--callsites`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import polars as pl

from rankwise.findings.place_words import place_text


def place_of(call_sites: pl.DataFrame, rank: int, call: str) -> str | None:
    """Where in the program most of a rank's time in a call was spent; `None` where that is not known."""
    sites = call_sites.filter(rank=rank, call=call).drop_nulls("time_s")
    total_s = sites["time_s"].sum()
    if not len(sites) or not total_s > 0:
        return None
    top = sites.sort("time_s", descending=True).row(0, named=True)
    return None if top["time_s"] < total_s / 2 else _text(top)


def waits_at(call_sites: pl.DataFrame, ranks: Collection[int]) -> str | None:
    """Where some ranks together spent most of their time in MPI, `MPI_Recv at PLACE`; `None`: not known.

    Args:
        call_sites: Of the recording.
        ranks: World ranks, of which the calls of MPI_Init and MPI_Finalize do not count.
    """
    sites = call_sites.drop_nulls("time_s").filter(
        pl.col("rank").is_in(list(ranks)) & ~pl.col("call").str.contains("^MPI_(Init|Finalize)")
    )
    keys = ("call", "module", "offset")
    summed = sites.group_by(keys).agg(pl.col("time_s").sum(), pl.col("file", "line", "function").first())
    total_s = summed["time_s"].sum()
    if not len(summed) or not total_s > 0:
        return None
    top = summed.sort("time_s", *keys, descending=[True, False, False, False]).row(0, named=True)
    return None if top["time_s"] < total_s / 2 else f"{top['call']} at {_text(top)}"


class _Place(NamedTuple):
    module: str | None
    offset: int
    function: str | None
    file: str | None
    line: int | None


def _text(site: dict[str, Any]) -> str:
    return place_text(_Place(**{name: site[name] for name in _Place._fields}))
