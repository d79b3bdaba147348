# SPDX-License-Identifier: BSD-3-Clause
"""Which core serves the network? Latency and bandwidth of a rank on each core in turn, with interrupts and softirqs."""

from __future__ import annotations

import polars as pl

from rankwise.machine.channels import NETWORK
from rankwise.measure.arguments import Steps
from rankwise.measure.plan import End, Pair, Plan
from rankwise.measure.questions.answer import Answer, Column, Plot, Question, Task, Value
from rankwise.measure.questions.settled import medians, per
from rankwise.quantities import bytes_text, seconds_text

SIZES = (8, 65536)
MOST_CORES = 64
WINDOW_S = (0.02, 0.3)
SERVES = 0.5  # share of what serves the network that names one core
NO_COUNTERS = "the kernel offers no hardware counters"


def _ends(plan: Plan) -> list[End]:
    """Each core of the first node that a rank may use, once."""
    pair = plan.pairs[NETWORK]
    seen: dict[int, End] = {}
    for rank in plan.by_host[pair.source.host]:
        for core, pu in zip(rank.cores, rank.pu, strict=True):
            seen.setdefault(pu, End(rank.number, rank.host, core, pu))
    return [seen[pu] for pu in sorted(seen)][:MOST_CORES]


def steps(steps: Steps, task: Task) -> None:
    """One step for each core."""
    ends = _ends(task.plan)
    window = task.seconds / (len(ends) * len(SIZES) * 2.5)
    window = min(max(window, WINDOW_S[0]), WINDOW_S[1])
    for end in ends:
        pair = Pair(end, task.plan.pairs[NETWORK].destination)
        steps.add("core_scan", NETWORK, [pair], SIZES, batch_s=window, most=1, budget_s=2.5 * window)


def answer(samples: pl.DataFrame, plan: Plan) -> Answer:
    """A row for each core and size, and who serves the network."""
    sums, by_core = samples.filter(pl.col("setting") == 0), samples.filter(pl.col("setting") > 0)
    keys = ["source_cpu", "bytes"]
    trips, further, hard, soft, misses = (medians(sums, keys, pl.col(f"value{n}")) for n in range(1, 6))
    own = medians(by_core.filter(pl.col("setting") == pl.col("source_cpu") + 1), keys, pl.col("value4"))
    counted = bool(len(sums)) and (sums["value5"] >= 0).all()
    rows = tuple(
        (
            core,
            size,
            trip,
            per(size, further[core, size]),
            hard[core, size],
            soft[core, size],
            own.get((core, size)),
        )
        + (misses[core, size] if counted else None,)
        for (core, size), trip in trips.items()
    )
    values: dict[str, Value] = {"cache_misses": "counted" if counted else None}
    reasons = {} if counted else {"cache_misses": NO_COUNTERS}
    served_by, share = serving(by_core)
    values["serving_core"] = served_by
    if served_by is None:
        reasons["serving_core"] = share
    small = {core: trip for (core, size), trip in trips.items() if size == min(SIZES)}
    large = {core: per(size, time) for (core, size), time in further.items() if size == max(SIZES)}
    said = [
        f"core {served_by} serves the network ({share})"
        if served_by is not None
        else f"no single core serves the network ({share})"
    ]
    if small:
        values["best_latency_core"] = best = min(small, key=lambda core: small[core].value)
        said.append(f"latency is least on core {best}, {seconds_text(small[best].value)}")
    if large:
        values["best_bandwidth_core"] = best = max(large, key=lambda core: large[core].value)
        said.append(f"bandwidth is highest on core {best}, {bytes_text(large[best].value)}/s")
    return Answer(
        name="cores",
        title="Cores and the network",
        sentence="; ".join(said),
        columns=(
            *(
                Column("OS core", "count"),
                Column("size", "bytes"),
                Column("one way", "s"),
                Column("stream", "bytes/s"),
            ),
            *(Column("interrupts a message"), Column("softirqs a message"), Column("softirqs on this core")),
            Column("cache misses a message"),
        ),
        rows=rows,
        values=values,
        reasons=reasons,
        plot=Plot("OS core", "stream", "size", log_x=False),
    )


def serving(by_core: pl.DataFrame) -> tuple[int | None, str]:
    """The core with most of the softirqs that serve the network, and the evidence or the reason why there is none."""
    counts = (
        by_core.group_by("setting")
        .agg((pl.col("value4") * pl.col("messages")).sum().alias("soft"))
        .sort("soft")
    )
    total = float(counts["soft"].sum()) if len(counts) else 0.0
    if total <= 0:
        return None, "the kernel received nothing for it"
    core, most = int(counts["setting"][-1]) - 1, float(counts["soft"][-1])
    evidence = f"{100 * most / total:.0f} % of its softirqs on core {core}"
    return (core if most > SERVES * total else None), evidence


QUESTION = Question(
    name="cores",
    title="Cores and the network",
    tests=("core_scan",),
    steps=steps,
    answer=answer,
    why_not=lambda plan: ""
    if NETWORK in plan.pairs and len(plan.by_host) > 1
    else "all ranks are on one node",
    weight=1.5,
    launches=3,
)
