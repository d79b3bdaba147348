# SPDX-License-Identifier: BSD-3-Clause
"""Raw timings with everything that is needed to judge them later.

Lines of the microbenchmarks (measure/measure.h) become rows of one table, which is kept as
Parquet beside the machine file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankwise import whole_files

MARK = "@rankwise "
# The kernel counts in steps of 10 ms, 2 % of this and a fifth of what is tolerated; of 0.1 s a step would be all that.
WINDOW_S = 0.5
COMPLETE = "complete"  # in the context of a sample: whether its launch came to its end

# As printed after `sample`: step, test, pairs, from, to, bytes, messages, switches, sentinel (ns), cores, five values,
# setting, rotate_bytes, waited. `others` is the part of all cores' time that others and the hypervisor used around it.
SCHEMA = {
    "launch": pl.Int32,
    "step": pl.Int32,
    "test": pl.String,
    "channel": pl.String,
    "pairs": pl.Int32,
    "source": pl.Int32,
    "destination": pl.Int32,
    "bytes": pl.Int64,
    "messages": pl.Int64,
    "switches": pl.Int64,
    "sentinel_s": pl.Float64,
    "source_cpu": pl.Int32,
    "destination_cpu": pl.Int32,
    "value1": pl.Float64,
    "value2": pl.Float64,
    "value3": pl.Float64,
    "value4": pl.Float64,
    "value5": pl.Float64,
    "setting": pl.Int64,
    "rotate_bytes": pl.Int64,
    "waited": pl.Float64,
    "others": pl.Float64,
    "context": pl.String,
}


@dataclass
class Launch:
    """What one launch of the microbenchmarks said.

    Attributes:
        number: Counted from 0.
        context: JSON-able: date, command, library, hosts.
        channels: Channel by step number.
        sharing: Whether ranks of ours share cores, so that who waits for one may wait for another of them.
        rows: Samples, in the order of `SCHEMA` without launch, channel and context.
        points: (step, bytes, why repetition ended).
        ranks: By rank: host, boot, cpu, allowed, load, clock_ns as text.
        library: `MPI_Get_library_version`.
        variables: Integer control variables of the library about eager messages.
        wrong: (step, source, destination, bytes) of the message that arrived with wrong content, if one did.
        complete: Whether all steps ended.
        others: By machine (one of its ranks) and point (step, bytes), which it follows: seconds since the start, number
            of cores, and processor time that others, the hypervisor among them, used since then.
        steps_s: How long all steps took, without the start and the end of the launch; 0 if they did not end.
    """

    number: int = 0
    context: dict[str, Any] = field(default_factory=dict[str, Any])
    channels: dict[int, str] = field(default_factory=dict)
    sharing: bool = False
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    points: list[tuple[int, int, str]] = field(default_factory=list)
    ranks: dict[int, dict[str, str]] = field(default_factory=dict)
    library: str = ""
    variables: dict[str, int] = field(default_factory=dict)
    world: int = 0
    worlds: int = 0
    wrong: tuple[int, int, int, int] | None = None
    complete: bool = False
    others: dict[int, dict[tuple[int, int], tuple[float, int, float]]] = field(default_factory=dict)
    steps_s: float = 0.0

    def take(self, line: str) -> bool:
        """Read one line of output.

        Returns:
            Whether it was one of the microbenchmarks', wherever in the line a launcher's prefix ends.
        """
        at = line.find(MARK)
        if at < 0:
            return False
        kind, _, rest = line[at + len(MARK) :].rstrip("\n").partition(" ")
        reader = getattr(self, f"_{kind}", None)
        if reader is None:
            return False
        try:
            reader(rest)
        except (ValueError, IndexError):
            return False  # half a line: the launcher was stopped
        return True

    def _sample(self, rest: str) -> None:
        w = rest.split()
        sentinel = float(w[8])
        self.rows.append(
            (
                *(int(w[0]), w[1], int(w[2]), int(w[3]), int(w[4]), int(w[5]), int(w[6]), int(w[7])),
                sentinel * 1e-9 if sentinel >= 0 else None,
                *(int(w[9]), int(w[10])),
                *map(float, w[11:16]),
                *(int(w[16]), int(w[17])),
                float(w[18]) if float(w[18]) >= 0 and not self.sharing else None,
            )
        )

    def _point(self, rest: str) -> None:
        w = rest.split()
        self.points.append((int(w[0]), int(w[5]), w[6]))

    def _others(self, rest: str) -> None:
        w = rest.split()
        used = float(w[5]) + float(w[6])
        self.others.setdefault(int(w[2]), {})[int(w[0]), int(w[1])] = (float(w[3]), int(w[4]), used)

    def _wrong(self, rest: str) -> None:
        w = rest.split()
        self.wrong = (int(w[0]), int(w[3]), int(w[4]), int(w[5]))

    def _world(self, rest: str) -> None:
        self.world = int(rest)
        self.worlds += 1

    def _library(self, rest: str) -> None:
        self.library = " ".join(rest.split())

    def _variable(self, rest: str) -> None:
        name, value = rest.split()
        self.variables[name] = int(value)

    def _rank(self, rest: str) -> None:
        number, _, words = rest.partition(" ")
        self.ranks[int(number)] = dict(word.split("=", 1) for word in words.split())

    def _end(self, rest: str) -> None:
        self.complete = True
        self.steps_s = float(rest or 0)

    def frame(self) -> pl.DataFrame:
        """The samples as a table."""
        context = json.dumps({**self.context, COMPLETE: self.complete}, sort_keys=True)
        others = self.others_by_point()
        first = next(iter(others.values()), None)  # what was before the first count, too
        rows = [
            (
                self.number,
                r[0],
                r[1],
                self.channels.get(r[0], ""),
                *r[2:],
                others.get((r[0], r[5]), first),
                context,
            )
            for r in self.rows
            if r[0] in self.channels
        ]
        return pl.DataFrame(rows, schema=SCHEMA, orient="row")

    def others_by_point(self) -> dict[tuple[int, int], float]:
        """Part of all cores' time that others used around a point (step, bytes), on the machine where it is largest.

        Around a point that is shorter than `WINDOW_S` that long a time counts.
        """
        found: dict[tuple[int, int], float] = {}
        for points in self.others.values():
            ends, cores, used = map(np.array, zip((0.0, 1, 0.0), *points.values(), strict=True))
            for at, point in enumerate(points, 1):
                middle = (ends[at - 1] + ends[at]) / 2
                first = min(ends[at - 1], middle - WINDOW_S / 2)
                last = max(ends[at], middle + WINDOW_S / 2)
                first, last = max(first, 0.0), min(last, ends[-1])
                more = np.interp(last, ends, used) - np.interp(first, ends, used)
                share = max(0.0, float(more / cores[at] / (last - first))) if last > first else 0.0
                found[point] = max(share, found.get(point, 0.0))
        return found


def concatenate(launches: Iterable[Launch]) -> pl.DataFrame:
    """The samples of several launches as one table."""
    frames = [launch.frame() for launch in launches]
    return pl.concat(frames) if frames else pl.DataFrame(schema=SCHEMA)


def save(samples: pl.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write samples as Parquet, by rename.

    Raises:
        RankwiseError: They cannot be written.
    """
    # In memory first: polars tells a full disk by an exception of its own.
    content = BytesIO()
    samples.write_parquet(content)
    whole_files.write(Path(path), content.getvalue())
