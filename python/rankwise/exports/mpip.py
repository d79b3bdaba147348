# SPDX-License-Identifier: BSD-3-Clause
"""A profile as text, in the form of mpiP 3.5 (github.com/LLNL/mpiP): times by rank, and calls by place."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import polars as pl

import rankwise
from rankwise import whole_files
from rankwise.errors import RankwiseError
from rankwise.exports.remarks import remarks
from rankwise.recording import Recording

_TOP = 20
_PLACE = ["call", "module", "offset", "function", "symbol", "file", "line"]
_OUTSIDE = ("init", "finalize")
_SENDING = "send|collective"


def write(recording: Recording, path: Path) -> None:
    """Write the profile. Without `record --callsites` a site is all calls of a function.

    Raises:
        RankwiseError: Calls were only counted, or the file cannot be written.
    """
    ranks = recording.ranks
    if ranks["mpi_s"].null_count():
        raise RankwiseError(
            "the recording has no times, which are all of a profile", "record without `--counts`"
        )
    outside = recording.calls.filter(pl.col("class").is_in(_OUTSIDE))["call"].unique().to_list()
    calls = recording.calls.filter(~pl.col("call").is_in(outside))
    sites, timed = _sites(recording, calls, outside)
    app_s, mpi_s = float(ranks["time_s"].sum()), float(ranks["mpi_s"].sum())
    lines = [
        *_head(recording),
        *_section("MPI Time (seconds)", _times(ranks, app_s, mpi_s)),
        *_section(f"Callsites: {len(sites)}", _places(sites)),
        *_section(f"Aggregate Time (top {_TOP}, descending, milliseconds)", _aggregate(timed, app_s, mpi_s)),
        *_section(f"Aggregate Sent Message Size (top {_TOP}, descending, bytes)", _sent(calls, timed)),
        *_section(f"Callsite Time statistics (all, milliseconds): {len(timed)}", _by_rank(timed, ranks)),
    ]
    whole_files.write(
        path, ("\n".join([*lines, "-" * 75, "@--- End of Report " + "-" * 56, "-" * 75]) + "\n").encode()
    )


def _head(recording: Recording) -> Iterator[str]:
    run = recording.context["run"] or {}

    def when(key: str) -> str:
        at_s = run.get(key)
        return (
            "unknown" if at_s is None else f"{datetime.fromtimestamp(at_s, timezone.utc):%Y %m %d %H:%M:%S}"
        )

    yield "@ mpiP"
    # Names and arguments come from anywhere.
    yield f"@ Command : {' '.join(shlex.join(run.get('command') or [recording.program_name]).split())}"
    yield f"@ Version                  : written by Rankwise {rankwise.__version__}"
    yield f"@ Start time               : {when('start_s')}"
    yield f"@ Stop time                : {when('end_s')}"
    for remark in remarks(recording):
        yield f"@ Remark                   : {remark}"
    for rank, host in recording.ranks.select("rank", "host").iter_rows():
        yield f"@ MPI Task Assignment      : {rank} {host}"
    yield ""


def _section(title: str, lines: Iterable[str]) -> list[str]:
    rule = "-" * 75
    return [rule, f"@--- {title} ".ljust(75, "-"), rule, *lines]


def _sites(
    recording: Recording, calls: pl.DataFrame, outside: list[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The places with their numbers, and the time of each rank in each of them."""
    if len(recording.call_sites):
        timed = recording.call_sites.filter(~pl.col("call").is_in(outside)).with_columns(
            min_s=pl.lit(None, pl.Float64), max_s=pl.lit(None, pl.Float64)
        )
    else:
        unknown = {
            "module": pl.String,
            "offset": pl.Int64,
            "function": pl.String,
            "symbol": pl.String,
            "file": pl.String,
            "line": pl.Int64,
        }
        timed = calls.with_columns(pl.lit(None, kind).alias(name) for name, kind in unknown.items())
    sites = timed.select(_PLACE).unique().sort(_PLACE, nulls_last=True).with_row_index("site", 1)
    return sites, timed.join(sites, on=_PLACE, nulls_equal=True).sort("site", "rank")


def _times(ranks: pl.DataFrame, app_s: float, mpi_s: float) -> Iterator[str]:
    yield "Task    AppTime    MPITime     MPI%"
    for rank, time_s, in_mpi_s in [*ranks.select("rank", "time_s", "mpi_s").iter_rows(), ("*", app_s, mpi_s)]:
        yield f"{rank:>4} {time_s:>10.4g} {in_mpi_s:>10.4g} {_percent(in_mpi_s, time_s):>8.2f}"


def _places(sites: pl.DataFrame) -> Iterator[str]:
    yield " ID Lev File/Address                     Line Parent_Funct             MPI_Call"
    for row in sites.iter_rows(named=True):
        file = row["file"] or (
            f"{row['module'] or ''}+{row['offset']:#x}" if row["offset"] is not None else None
        )
        name, function = Path(file).name if file else "[unknown]", row["function"] or "[unknown]"
        line = "" if row["line"] is None else row["line"]
        yield f"{row['site']:>3}   0 {_word(name):<30} {line:>6} {_word(function):<24} {_short(row['call'])}"


def _aggregate(timed: pl.DataFrame, app_s: float, mpi_s: float) -> Iterator[str]:
    yield "Call                 Site       Time    App%    MPI%      Count    COV"
    summed = timed.group_by("site", "call").agg(
        pl.col("time_s").sum().alias("all_s"),
        pl.col("count").sum(),
        (pl.col("time_s").std() / pl.col("time_s").mean()).alias("cov"),
    )
    for site, call, time_s, count, cov in (
        summed.sort("all_s", "site", descending=[True, False]).head(_TOP).iter_rows()
    ):
        shares = f"{_percent(time_s, app_s):>7.2f} {_percent(time_s, mpi_s):>7.2f}"
        yield f"{_short(call):<20} {site:>4} {time_s * 1e3:>10.4g} {shares} {count:>10} {cov or 0:>6.2f}"


def _sent(calls: pl.DataFrame, timed: pl.DataFrame) -> Iterator[str]:
    """By place; by function where the bytes of its places are not known, with the place if there is one only."""
    yield "Call                 Site      Count      Total       Avrg  Sent%"
    sending = (
        calls.filter(pl.col("class").str.contains(_SENDING))
        .group_by("call")
        .agg(pl.col("count", "bytes").sum())
    )
    rows: list[tuple[str, int | str, int, int]] = []
    for call, count, size in sending.iter_rows():
        places = timed.filter(pl.col("call") == call)
        numbers = places["site"].unique()
        if len(numbers) == 1 or places["bytes"].null_count():
            rows.append((call, numbers.item() if len(numbers) == 1 else "-", count, size))
        else:
            summed = places.group_by("site").agg(pl.col("count", "bytes").sum())
            rows += [(call, *row) for row in summed.iter_rows()]
    whole = sum(size for *_, size in rows)
    largest = sorted((row for row in rows if row[-1]), key=lambda row: (-row[-1], row[0], str(row[1])))
    for call, site, count, size in largest[:_TOP]:
        share = _percent(size, whole)
        yield f"{_short(call):<20} {site:>4} {count:>10} {size:>10.4g} {size / count:>10.4g} {share:>6.2f}"


def _by_rank(timed: pl.DataFrame, ranks: pl.DataFrame) -> Iterator[str]:
    yield "Name              Site Rank  Count      Max     Mean      Min   App%   MPI%"
    whole = {rank: times for rank, *times in ranks.select("rank", "time_s", "mpi_s").iter_rows()}
    wanted = ("site", "call", "rank", "count", "time_s", "max_s", "min_s")
    for site, call, rank, count, time_s, max_s, min_s in timed.select(wanted).iter_rows():
        shares = " ".join(f"{_percent(time_s, of):>6.2f}" for of in whole[rank])
        mean_s = time_s / count if count else 0.0
        times = " ".join(
            f"{'-' if at is None else format(at * 1e3, '.4g'):>8}" for at in (max_s, mean_s, min_s)
        )
        yield f"{_short(call):<17} {site:>4} {rank:>4} {count:>6} {times} {shares}"


def _word(text: str) -> str:
    """A name as one word, as columns are told apart by blanks: `f(int,_double_const*)` would be two without."""
    return re.sub(r"\s+", "_", re.sub(r",\s+", ",", text.strip())) or "[unknown]"


def _short(call: Any) -> str:
    return str(call).removeprefix("MPI_")


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole > 0 else 0.0
