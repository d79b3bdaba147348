# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise report --watch`: a run that is going on, from what its ranks have written so far."""

from __future__ import annotations

import argparse
import shlex
import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from rankwise.recording import Recording

_TOP_CALLS = 5
_CLEAR = "\033[H\033[J"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of watching."""
    from rankwise.cli.parsing import duration

    group = parser.add_argument_group("a run that is going on")
    group.add_argument(
        "--watch",
        action="store_true",
        help="show what is recorded so far, again and again until the run ends",
    )
    group.add_argument(
        "--every",
        type=duration,
        default=2.0,
        metavar="TIME",
        help="with --watch: how often, such as 5s; default 2s",
    )


def run(args: argparse.Namespace) -> int:
    """Show the run until it ends, or Ctrl-C."""
    from rankwise.cli.terminal import Terminal
    from rankwise.record.directory import in_use

    terminal = Terminal(args)
    path = Path(args.recordings[0])
    if len(args.recordings) > 1 or args.json:
        raise RankwiseError(
            "`--watch` shows one recording as text", "leave the others and `--json` out", status=2
        )
    on_terminal = sys.stdout.isatty()
    begun = False
    try:
        while True:
            # Asked before reading: what is read after the end is all there is.
            going_on = in_use(path) is not None
            if going_on or begun:
                begun = True
                lines = _lines(path)
                terminal.result(
                    (_CLEAR if on_terminal else "") + "\n".join(lines if on_terminal else lines[:1])
                )
            if not going_on:
                break
            time.sleep(args.every)
    except KeyboardInterrupt:
        return 0
    if not begun and not path.is_dir():
        raise RankwiseError(
            f"`{path}` is not there", "`rankwise record -o app.rw -- mpiexec -n 4 ./app` makes one"
        )
    if not args.quiet:
        terminal.note("the run has ended" if begun else f"no run writes to `{path}`")
        terminal.next(f"rankwise report {shlex.quote(str(path))}")
    return 0


def _lines(path: Path) -> list[str]:
    """What is known so far: the first line alone says the most."""
    from rankwise.recording import Recording, collection

    try:
        collected = collection.make(path)
    except RankwiseError as error:
        return [f"nothing yet: {error.message}"]
    return _of(Recording(path, collected.context, collected.tables))


def _of(recording: Recording) -> list[str]:
    import polars as pl

    from rankwise.findings.catalogue import findings_of
    from rankwise.quantities import bytes_text, count_text, counted, seconds_text

    ranks, calls, messages = recording.ranks, recording.calls, recording.messages
    time_s = float(ranks["time_s"].to_numpy().sum()) if len(ranks) else 0.0
    elapsed_s = float(ranks["time_s"].to_numpy().max(initial=0.0))
    parts = [f"{seconds_text(elapsed_s)}", f"{len(ranks)} of {counted(recording.world_size, 'rank')}"]
    if time_s and not ranks["mpi_s"].null_count():
        parts.append(f"{float(ranks['mpi_s'].to_numpy().sum()) / time_s * 100:.0f} % in MPI")
    if time_s and not ranks["runqueue_wait_s"].null_count():
        parts.append(
            f"{float(ranks['runqueue_wait_s'].to_numpy().sum()) / time_s * 100:.0f} % waiting for a core"
        )
    count, size = int(messages["messages"].sum()), int(messages["bytes"].sum())
    parts.append(f"{count_text(count)} messages, {bytes_text(size)}")
    if elapsed_s:
        parts.append(f"{bytes_text(size / elapsed_s)}/s")
    lines = [", ".join(parts), ""]
    summed = calls.group_by("call").agg(pl.col("count", "time_s").sum())
    top = summed.sort("time_s", descending=True, nulls_last=True).head(_TOP_CALLS)
    for row in top.iter_rows(named=True):
        spent = (
            ""
            if row["time_s"] is None or not time_s
            else f"{row['time_s'] / time_s * 100:>6.1f} % of the time"
        )
        lines.append(f"  {row['call']:<24}{count_text(row['count']):>10} calls{spent}")
    found, _ = findings_of(recording)
    first = found[0].sentence if found else "nothing is told of a run before all its ranks have ended"
    return [*lines, "", *textwrap.wrap(f"what to fix: {first}", 80)]
