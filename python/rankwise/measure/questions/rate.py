# SPDX-License-Identifier: BSD-3-Clause
"""How many messages a second does one rank send another, and how many bytes: streaming with a window and one reply."""

from __future__ import annotations

import polars as pl

from rankwise.measure.arguments import Steps
from rankwise.measure.fitting.statistics import Median
from rankwise.measure.plan import Plan
from rankwise.measure.questions.answer import Answer, Column, Plot, Question, Task, Value
from rankwise.measure.questions.groups import sizes_for
from rankwise.measure.questions.settled import medians, per, scale_median
from rankwise.quantities import bytes_text

WINDOW = 160
SIZES = tuple(4**k for k in range(11))  # to 1 MiB
QUICK_SIZES = (8, 1024, 65536)
LAB_MOST = 16384


def steps(steps: Steps, task: Task) -> None:
    """Every channel's pair."""
    sizes = sizes_for(task.plan, QUICK_SIZES if task.quick else SIZES, LAB_MOST)
    each = task.seconds / max(1, len(sizes) * len(task.plan.pairs))
    for channel, pair in task.plan.pairs.items():
        steps.add("window", channel, [pair], sizes, budget_s=each, messages=WINDOW)


def answer(samples: pl.DataFrame, plan: Plan) -> Answer:
    """Message rate and bandwidth by size."""
    rows: list[tuple[Value, ...]] = []
    most: dict[str, Median] = {}
    peak: dict[str, Median] = {}
    for (channel, size), time in medians(samples, ["channel", "bytes"], pl.col("value1")).items():
        rate = per(1.0, time)
        rows.append((channel, size, rate, scale_median(rate, size)))
        most.setdefault(channel, rate)
        if channel not in peak or peak[channel].value < size * rate.value:
            peak[channel] = scale_median(rate, size)
    said = [
        f"{channel} {most[channel].value / 1e6:.3g} M messages/s, {bytes_text(peak[channel].value)}/s"
        for channel in most
    ]
    return Answer(
        name="rate",
        title="Message rate and streaming bandwidth",
        sentence=f"most that one rank sends to another, with a reply after {WINDOW} messages: "
        + "; ".join(said),
        columns=(
            Column("channel"),
            Column("size", "bytes"),
            Column("rate", "1/s"),
            Column("bandwidth", "bytes/s"),
        ),
        rows=tuple(rows),
        values={
            **{f"{channel}_messages_per_s": rate for channel, rate in most.items()},
            **{f"{channel}_peak_bytes_per_s": rate for channel, rate in peak.items()},
        },
        plot=Plot("size", "bandwidth", "channel"),
    )


QUESTION = Question(
    name="rate",
    title="Message rate and streaming bandwidth",
    tests=("window",),
    steps=steps,
    answer=answer,
    quick=True,
)
