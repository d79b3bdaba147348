# SPDX-License-Identifier: BSD-3-Clause
"""What do two directions get at once: a send-receive of a pair, and an exchange of each rank with both neighbours?"""

from __future__ import annotations

import polars as pl

from rankwise.measure.arguments import Steps
from rankwise.measure.fitting.statistics import Median
from rankwise.measure.plan import Plan
from rankwise.measure.questions.answer import Answer, Column, Plot, Question, Task, Value
from rankwise.measure.questions.groups import members, shapes, sizes_for
from rankwise.measure.questions.settled import medians, per
from rankwise.quantities import bytes_text

SIZES = tuple(4**k for k in range(13))  # to 16 MiB
QUICK_SIZES = (8, 4096, 65536, 1048576)
LAB_MOST = 262144


def steps(steps: Steps, task: Task) -> None:
    """Every channel's pair; rings of all ranks."""
    sizes = sizes_for(task.plan, QUICK_SIZES if task.quick else SIZES, LAB_MOST)
    rings = [] if task.quick else shapes(task.plan, False)
    each = task.seconds / max(1, len(sizes) * (len(task.plan.pairs) + len(rings)))
    for channel, pair in task.plan.pairs.items():
        steps.add("sendrecv", channel, [pair], sizes, budget_s=each)
    for shape in rings:
        steps.add_group("exchange", members(task.plan, *shape), sizes, budget_s=each)


def answer(samples: pl.DataFrame, plan: Plan) -> Answer:
    """Bandwidth of both directions together by size."""
    rows: list[tuple[Value, ...]] = []
    peak: dict[str, Median] = {}
    found = medians(samples, ["test", "channel", "pairs", "bytes"], pl.col("value1"))
    for (test, channel, count, size), time in found.items():
        # Bytes that a rank sends and receives.
        both = per((2 if test == "sendrecv" else 4) * size, time)
        who = "pair" if test == "sendrecv" else f"ring of {count}"
        rows.append((who, channel, size, time, both))
        if test == "sendrecv" and both.value > (peak[channel].value if channel in peak else 0):
            peak[channel] = both
    best = [f"{channel} {bytes_text(rate.value)}/s" for channel, rate in peak.items()]
    return Answer(
        name="bidirectional",
        title="Both directions at once",
        sentence="most that a rank sends and receives together: " + ", ".join(best)
        if best
        else "only rings were measured",
        columns=(
            Column("who"),
            Column("channel"),
            Column("size", "bytes"),
            Column("time", "s"),
            Column("bandwidth", "bytes/s"),
        ),
        rows=tuple(rows),
        values={f"{channel}_peak_bytes_per_s": rate for channel, rate in peak.items()},
        plot=Plot("size", "bandwidth", "channel"),
    )


QUESTION = Question(
    name="bidirectional",
    title="Both directions at once",
    tests=("sendrecv", "exchange"),
    steps=steps,
    answer=answer,
    quick=True,
    weight=1.5,
)
