# SPDX-License-Identifier: BSD-3-Clause
"""How much of a processor do messages leave to the program? Three methods in one run: COMB's two and Sandia's."""

from __future__ import annotations

import polars as pl

from rankwise.measure.arguments import Steps
from rankwise.measure.fitting.statistics import Median
from rankwise.measure.plan import Plan
from rankwise.measure.questions.answer import Answer, Column, Plot, Question, Task, Value
from rankwise.measure.questions.groups import sizes_for
from rankwise.measure.questions.progress import AVAILABLE
from rankwise.measure.questions.settled import medians, per

SIZES = (1024, 10_000, 100_000, 1_000_000)  # 100 KB is that of the paper on InfiniPath and XD1
HOST_SIZES = (8, 1024, 65536, 1048576)
INTERVALS_NS = (1_000, 10_000, 100_000)
LAB_MOST = 100_000
PWW = "PWW"  # as COMB abbreviates post-work-wait: the table must fit a terminal
HOST = {"host_send": "send", "host_receive": "receive"}

_V1, _V2, _V3 = pl.col("value1"), pl.col("value2"), pl.col("value3")
_POLLED = pl.when(_V2 > 0).then(_V1 / _V2)
_HOST = pl.when(_V1 > 0).then(1 - (_V2 - _V3) / _V1)
_KEYS = ("test", "channel", "bytes", "setting")


def steps(steps: Steps, task: Task) -> None:
    """Every channel's pair: polling by size and interval, Sandia's method by size; post-work-wait is `progress`'s."""
    polled, others = (sizes_for(task.plan, sizes, LAB_MOST) for sizes in (SIZES, HOST_SIZES))
    points = len(polled) * len(INTERVALS_NS) + 2 * len(others)
    each = task.seconds / max(1, points * len(task.plan.pairs))
    for channel, pair in task.plan.pairs.items():
        for interval in INTERVALS_NS:
            steps.add("polling", channel, [pair], polled, budget_s=each, setting=interval)
        for test in HOST:
            steps.add(test, channel, [pair], others, budget_s=each)


def answer(samples: pl.DataFrame, plan: Plan) -> Answer:
    """Availability by method, size and polling interval."""
    rows: list[tuple[Value, ...]] = []
    values: dict[str, Value] = {}
    rows += _polling(samples.filter(pl.col("test") == "polling"), values)
    waits = samples.filter(pl.col("test") == "post_work_wait")
    for (_, channel, size, work), share in medians(waits, _KEYS, AVAILABLE).items():
        rows.append((channel, f"{PWW}, work {work / 100:g}", size, None, share, None, None))
    rows += _host(samples.filter(pl.col("test").is_in(list(HOST))), values)
    said = _said(rows)
    return Answer(
        name="availability",
        title="Processor left to the program",
        sentence="part of a core that is left while the largest messages pass: " + said
        if said
        else "no method had samples enough",
        columns=(
            *(Column("channel"), Column("method"), Column("size", "bytes"), Column("poll", "s")),
            *(Column("available", "share"), Column("overhead", "s"), Column("bandwidth", "bytes/s")),
        ),
        rows=tuple(rows),
        values=values,
        plot=Plot("poll", "available", "channel", log_y=False),
    )


def _said(rows: list[tuple[Value, ...]]) -> str:
    """What each method says of the largest messages: polling where they flow fastest, post-work-wait with most work."""
    largest: dict[tuple[Value, str], tuple[Value, ...]] = {}
    for row in rows:
        key = (row[0], str(row[1]).partition(", work")[0])
        rate = row[6].value if isinstance(row[6], Median) else 0.0
        seen = largest.get(key)
        old = seen[6].value if seen and isinstance(seen[6], Median) else 0.0
        if seen is None or (row[2], rate) >= (seen[2], old):
            largest[key] = row
    return ", ".join(
        f"{channel} {100 * row[4].value:.0f} % ({'post-work-wait' if method == PWW else method})"
        for (channel, method), row in largest.items()
        if isinstance(row[4], Median)
    )


def _polling(samples: pl.DataFrame, values: dict[str, Value]) -> list[tuple[Value, ...]]:
    shares = medians(samples, _KEYS, _POLLED)
    times = medians(samples, _KEYS, pl.when(_V3 > 0).then(_V3))
    rows: list[tuple[Value, ...]] = []
    best: dict[str, float] = {}
    for key, share in shares.items():
        _, channel, size, interval = key
        rate = per(size, times[key]) if key in times else None
        rows.append((channel, "polling", size, interval * 1e-9, share, None, rate))
        # What is left where messages flow fastest: between the two the interval chooses.
        if (
            size == max(k[2] for k in shares if k[1] == channel)
            and rate
            and rate.value > best.get(channel, 0.0)
        ):
            best[channel] = rate.value
            values[f"{channel}_polling_available_share"] = share
    return rows


def _host(samples: pl.DataFrame, values: dict[str, Value]) -> list[tuple[Value, ...]]:
    overheads = medians(samples, _KEYS, _V2 - _V3)
    shares = medians(samples, _KEYS, _HOST)
    rows: list[tuple[Value, ...]] = []
    for key, overhead in overheads.items():
        test, channel, size, _ = key
        share = shares.get(key)
        rows.append((channel, f"Sandia, {HOST[test]}", size, None, share, overhead, None))
        values[f"{channel}_{HOST[test]}_overhead_{size}_bytes_s"] = overhead
        if share is not None:
            values[f"{channel}_{HOST[test]}_{size}_bytes_available_share"] = share
    return rows


QUESTION = Question(
    name="availability",
    title="Processor left to the program",
    tests=("polling", "host_send", "host_receive", "post_work_wait"),
    steps=steps,
    answer=answer,
    weight=2.5,
)
