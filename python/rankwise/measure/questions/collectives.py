# SPDX-License-Identifier: BSD-3-Clause
"""How long do collectives take, by size, number of ranks, and ranks on a node?"""

from __future__ import annotations

import polars as pl

from rankwise.measure.arguments import Steps
from rankwise.measure.plan import Plan
from rankwise.measure.questions.answer import Answer, Column, Plot, Question, Task
from rankwise.measure.questions.groups import members, no_group, shapes, sizes_for
from rankwise.measure.questions.settled import medians
from rankwise.quantities import seconds_text

TESTS = ("barrier", "bcast", "allreduce", "allgather", "alltoall")
SIZES = (8, 64, 1024, 8192, 65536, 1048576)
QUICK_SIZES = (8, 16384)
LAB_MOST = 16384
MOST_BYTES = 1 << 27  # of a rank's buffer in an all-to-all


def steps(steps: Steps, task: Task) -> None:
    """All of them on every group."""
    groups = [members(task.plan, *shape) for shape in shapes(task.plan, task.quick)]
    sizes = sizes_for(task.plan, QUICK_SIZES if task.quick else SIZES, LAB_MOST)
    each = task.seconds / max(1, len(groups) * (1 + len(sizes) * (len(TESTS) - 1)))
    for group in groups:
        fitting = tuple(size for size in sizes if size * len(group) <= MOST_BYTES)
        for test in TESTS:
            steps.add_group(test, group, (0,) if test == "barrier" else fitting, budget_s=each)


def answer(samples: pl.DataFrame, plan: Plan) -> Answer:
    """Times by collective, group and size."""
    rows, values = [], {}
    keys = ["test", "channel", "pairs", "bytes"]
    found = medians(samples, keys, pl.col("value1"))
    largest = max(count for _, _, count, _ in found)
    said = {}
    for (test, shape, count, size), time in sorted(
        found.items(), key=lambda item: (TESTS.index(item[0][0]), item[0][2:])
    ):
        rows.append((test, count, shape.removeprefix(GROUP), size, time))
        if count == largest and test not in said:
            said[test] = f"{test} {seconds_text(time.value)}"
            values[f"{test}_{size}_bytes_{count}_ranks_s"] = time
    return Answer(
        name="collectives",
        title="Collectives",
        sentence=f"on {largest} ranks, smallest size: " + ", ".join(said.values()),
        columns=(
            Column("collective"),
            Column("ranks", "count"),
            Column("nodes x ranks"),
            Column("size", "bytes"),
            Column("time", "s"),
        ),
        rows=tuple(rows),
        values=values,
        plot=Plot("size", "time", "collective"),
    )


GROUP = "group "

QUESTION = Question(
    name="collectives",
    title="Collectives",
    tests=TESTS,
    steps=steps,
    answer=answer,
    why_not=no_group,
    quick=True,
    weight=2.0,
)
