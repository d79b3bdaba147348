# SPDX-License-Identifier: BSD-3-Clause
"""What does it cost that data does not lie in the cache: the same buffers again and again, or others each time?"""

from __future__ import annotations

import polars as pl

from rankwise.measure.arguments import Steps
from rankwise.measure.fitting.statistics import Median
from rankwise.measure.plan import Plan
from rankwise.measure.questions.answer import Answer, Column, Plot, Question, Task
from rankwise.measure.questions.settled import medians
from rankwise.quantities import bytes_text

SIZES = (1024, 16384, 131072, 1048576)
ROTATE_BYTES = 128 << 20  # more than the last cache of most processors has for two ranks
TITLE = "Buffers that rotate"
_ROTATING = pl.col("rotate_bytes") > 0


def steps(steps: Steps, task: Task) -> None:
    """Ping-pongs of every channel's pair; those with reused buffers belong to the fit."""
    each = task.seconds / max(1, len(SIZES) * len(task.plan.pairs))
    for channel, pair in task.plan.pairs.items():
        steps.add("pingpong", channel, [pair], SIZES, budget_s=each, rotate_bytes=ROTATE_BYTES)


def answer(samples: pl.DataFrame, plan: Plan) -> Answer:
    """Times of both, and how much longer rotating buffers take."""
    known = samples.join(samples.filter(_ROTATING), on=["channel", "bytes"], how="semi")
    found = medians(known, ["channel", "bytes", "rotate_bytes"], pl.col("value1"))
    rows, values, said = [], {}, {}
    for (channel, size, rotate), time in found.items():
        reused = found.get((channel, size, 0))
        if not rotate or reused is None:
            continue
        ratio = Median(*_ratios(time, reused), min(time.count, reused.count))
        rows.append((channel, size, reused, time, ratio))
        values[f"{channel}_rotating_{size}_bytes_factor"] = ratio
        said[channel] = f"{channel} {ratio.value:.2g} times as long at {bytes_text(size)}"
    return Answer(
        name="buffers",
        title=TITLE,
        sentence="a message takes with buffers that are not in the cache: "
        + (", ".join(said.values()) or "not known"),
        columns=(
            *(Column("channel"), Column("size", "bytes"), Column("reused", "s"), Column("rotating", "s")),
            Column("factor"),
        ),
        rows=tuple(rows),
        values=values,
        plot=Plot("size", "factor", "channel", log_y=False),
    )


def _ratios(time: Median, reused: Median) -> tuple[float, float, float]:
    ends = ((time.value, reused.value), (time.low, reused.high), (time.high, reused.low))
    value, low, high = (a / b if b > 0 else 1.0 for a, b in ends)
    return value, low, high


QUESTION = Question(
    name="buffers",
    title=TITLE,
    tests=("pingpong",),
    steps=steps,
    answer=answer,
    own=_ROTATING,
)
