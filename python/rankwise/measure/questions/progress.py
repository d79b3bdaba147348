# SPDX-License-Identifier: BSD-3-Clause
"""Do large messages advance while their ranks compute? COMB's post-work-wait method, with its evidence."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from rankwise.machine.machine import Progress
from rankwise.measure.arguments import Steps
from rankwise.measure.fitting.statistics import Median
from rankwise.measure.plan import Plan
from rankwise.measure.questions.answer import Answer, Column, Plot, Question, Task, Value
from rankwise.measure.questions.settled import medians
from rankwise.quantities import bytes_text
from rankwise.sentences import capital

SIZES = (1024, 16384, 65536, 262144, 1048576)
QUICK_SIZES = (65536, 1048576)
LARGE = 65536  # smaller messages may be on their way before the post returns, whoever moves them
WORK = (50, 100, 200, 400)  # computation, in per cent of what the exchange takes alone
HALF = 0.5
_SAID = {"independent": "yes", "in-call": "only inside MPI calls", None: "not clear"}
LEAST = 6  # samples that a verdict needs: fewer have no interval of 95 %

_TOGETHER = pl.col("value1") + pl.col("value2") + pl.col("value3")
# What of the wait is left after the computation. A wait of nothing leaves nothing to tell.
LEFT = pl.when(pl.col("value5") > 0).then(pl.col("value3") / pl.col("value5"))
# Of the shorter of exchange and computation, the share that together they do not take longer than the longer one.
_SHORTER = pl.min_horizontal("value4", "value5")
OVERLAP = (
    pl.when(_SHORTER > 0).then((pl.col("value4") + pl.col("value5") - _TOGETHER) / _SHORTER).clip(0.0, 1.0)
)
AVAILABLE = pl.when(_TOGETHER > 0).then(pl.col("value4") / _TOGETHER)


def steps(steps: Steps, task: Task) -> None:
    """Every channel's pair, by size and computation."""
    sizes, works = (QUICK_SIZES, WORK[-1:]) if task.quick else (SIZES, WORK)
    each = task.seconds / max(1, len(sizes) * len(works) * len(task.plan.pairs))
    for channel, pair in task.plan.pairs.items():
        for work in works:
            steps.add("post_work_wait", channel, [pair], sizes, budget_s=each, setting=work)


def answer(samples: pl.DataFrame, plan: Plan) -> Answer:
    """The verdict for each channel: `independent`, `in-call`, or not known."""
    keys = ["channel", "bytes", "setting"]
    left = medians(samples, keys, LEFT)
    available = medians(samples, keys, AVAILABLE)
    waits = medians(samples, keys, pl.col("value3"))
    alone = medians(samples, keys, pl.col("value5"))
    overlaps = medians(samples, keys, OVERLAP)
    rows = tuple(
        (channel, size, work / 100, alone.get(key), waits[key], left.get(key), available.get(key))
        for key in waits
        for channel, size, work in [key]
    )
    values: dict[str, Value] = {}
    reasons, said = {}, []
    for channel in dict.fromkeys(key[0] for key in waits):
        verdict, why = judge({key[1:]: share for key, share in left.items() if key[0] == channel})
        values[f"{channel}_progress"] = verdict
        if verdict is None:
            reasons[f"{channel}_progress"] = why
        said.append(f"{capital(channel)}: {_SAID[verdict]}. {capital(why)}.")
        hidden = _most({key: share for key, share in overlaps.items() if key[0] == channel})
        values[f"{channel}_overlap_share"] = hidden
        if hidden is None:
            reasons[f"{channel}_overlap_share"] = "no exchange without computation was timed"
        else:
            said[-1] += f" {100 * hidden.value:.0f} % of the exchange is hidden behind the computation."
    return Answer(
        name="progress",
        title="Progress while computing",
        sentence="do large messages advance while a rank computes? " + " ".join(said),
        columns=(
            *(Column("channel"), Column("size", "bytes"), Column("work", "exchanges")),
            *(Column("wait alone", "s"), Column("wait after work", "s")),
            *(Column("left", "share"), Column("available", "share")),
        ),
        rows=rows,
        values=values,
        reasons=reasons,
        plot=Plot("size", "left", "channel", log_y=False),
    )


def _most(overlaps: dict[tuple[int, float], Median]) -> Median | None:
    """Overlap of the largest messages with the most work."""
    return overlaps[max(overlaps)] if overlaps else None


def verdicts(answers: Iterable[Answer]) -> dict[str, Progress]:
    """The verdict by channel, where it is clear."""
    ending = "_progress"
    return {
        key.removesuffix(ending): "independent" if value == "independent" else "in-call"
        for answer in answers
        if answer.name == QUESTION.name
        for key, value in answer.values.items()
        if key.endswith(ending) and isinstance(value, str)
    }


def judge(left: dict[tuple[int, int], Median]) -> tuple[str | None, str]:
    """Verdict and evidence from what is left of the wait, by (bytes, per cent of work), after the most work."""
    most = max((work for _, work in left), default=0)
    large = {size: share for (size, work), share in left.items() if work == most and size >= LARGE}
    if not large:
        return None, f"no sample from {bytes_text(LARGE)} on"
    size = max(large)
    share = large[size]
    ends = [f"{100 * end:.0f}" for end in (share.low, share.high)]
    interval = "" if ends[0] == ends[1] else f" (between {ends[0]} and {ends[1]} %)"
    evidence = (
        f"after a computation {most / 100:g} times as long as the exchange, the wait for {bytes_text(size)} takes "
        f"{100 * share.value:.0f} % of the time that it takes without computation{interval}"
    )
    if share.count < LEAST:
        return None, f"{evidence}, by {share.count} samples only"
    if share.high < HALF:
        return "independent", evidence
    return ("in-call" if share.low > HALF else None), evidence


QUESTION = Question(
    name="progress",
    title="Progress while computing",
    tests=("post_work_wait",),
    steps=steps,
    answer=answer,
    quick=True,
    weight=1.5,
)
