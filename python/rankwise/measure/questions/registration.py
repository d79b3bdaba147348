# SPDX-License-Identifier: BSD-3-Clause
"""What does the first use of a buffer cost, beside its repeated use?"""

from __future__ import annotations

import polars as pl

from rankwise.measure.arguments import Steps
from rankwise.measure.plan import Plan
from rankwise.measure.questions.answer import Answer, Column, Plot, Question, Task
from rankwise.measure.questions.groups import sizes_for
from rankwise.measure.questions.settled import medians
from rankwise.quantities import bytes_text, seconds_text

SIZES = (65536, 1048576, 4194304)
LAB_MOST = 1048576
# Of the same buffer, so that it is compared with itself.
EXTRA = pl.col("value1") - pl.min_horizontal("value2", "value3")


def steps(steps: Steps, task: Task) -> None:
    """Every channel's pair."""
    sizes = sizes_for(task.plan, SIZES, LAB_MOST)
    each = task.seconds / max(1, len(sizes) * len(task.plan.pairs))
    for channel, pair in task.plan.pairs.items():
        steps.add("registration", channel, [pair], sizes, budget_s=each)


def answer(samples: pl.DataFrame, plan: Plan) -> Answer:
    """First, second and third use by size, and what the first one takes longer."""
    keys = ["channel", "bytes"]
    uses = [medians(samples, keys, pl.col(f"value{n}")) for n in (1, 2, 3)]
    extras = medians(samples, keys, EXTRA)
    said, values = {}, {}
    for (channel, size), extra in extras.items():
        values[f"{channel}_first_use_{size}_bytes_s"] = extra
        seen = (
            f"{seconds_text(extra.value)} for {bytes_text(size)}"
            if extra.low > 0
            else "nothing that is certain"
        )
        said[channel] = f"{channel} {seen}"
    return Answer(
        name="registration",
        title="First use of a buffer",
        sentence="the first message from and to a new buffer costs more, by: " + ", ".join(said.values()),
        columns=(
            *(Column("channel"), Column("size", "bytes"), Column("first", "s"), Column("second", "s")),
            *(Column("third", "s"), Column("extra", "s")),
        ),
        rows=tuple((*key, *(use[key] for use in uses), extra) for key, extra in extras.items()),
        values=values,
        plot=Plot("size", "extra", "channel"),
    )


QUESTION = Question(
    name="registration",
    title="First use of a buffer",
    tests=("registration",),
    steps=steps,
    answer=answer,
    launches=3,
)
