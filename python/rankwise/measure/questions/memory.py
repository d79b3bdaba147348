# SPDX-License-Identifier: BSD-3-Clause
"""What do 1, 2, ... ranks get together out of a cache, a NUMA node, a package; and how much slower is each?"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

import polars as pl

from rankwise.machine.topology import NodeTopology
from rankwise.measure.arguments import Steps
from rankwise.measure.fitting import capacity
from rankwise.measure.fitting.disturbed import taken_from_pairs
from rankwise.measure.plan import End, Plan
from rankwise.measure.questions.answer import Answer, Column, Plot, Question, Task, Value
from rankwise.measure.questions.groups import counts_to, members, own_cores
from rankwise.measure.questions.settled import keep_settled, per, scale_median
from rankwise.quantities import bytes_text

SIZES = (256 << 10, 4 << 20, 64 << 20)  # in a private cache, in a shared one, in none, on most machines
PREFIX = "memory of "
WINDOW_S = (0.01, 0.1)
WINDOWS = 4


def domains(node: NodeTopology) -> dict[str, frozenset[int]]:
    """The cores of the first of each kind of domain that cores share; kinds with the same cores go together."""
    kinds = {
        **dict(node.caches),
        "numa_node": node.numa_nodes,
        "package": node.packages,
        "node": (0,) * node.cores,
    }
    by_cores: dict[frozenset[int], list[str]] = {}
    for name, of_core in kinds.items():
        first = next((domain for domain in of_core if domain >= 0), None)
        cores = frozenset(core for core, domain in enumerate(of_core) if domain == first)
        if first is not None and len(cores) > 1:
            by_cores.setdefault(cores, []).append(name)
    return {"+".join(names): cores for cores, names in by_cores.items()}


def sweeps(plan: Plan) -> dict[str, list[list[End]]]:
    """By domain, groups of 1, 2, ... ranks with cores of their own in it."""
    found: dict[str, list[list[End]]] = {}
    for name, cores in domains(next(iter(plan.nodes.values()))).items() if plan.nodes else ():
        groups = []
        for count in counts_to(len(cores)):
            group = members(plan, 1, count, partial(_is_on, cores))
            if group and own_cores(plan, group) and len({end.pu for end in group}) == count:
                groups.append(group)
        if len(groups) > 1:
            found[name] = groups
    return found


def _is_on(cores: Collection[int], end: End) -> bool:
    return end.core in cores


def why_not(plan: Plan) -> str:
    """Why nothing can be swept; empty if something can."""
    return "" if sweeps(plan) else "no two ranks have cores of their own that share memory"


def steps(steps: Steps, task: Task) -> None:
    """Every domain by number of ranks and working set."""
    found = sweeps(task.plan)
    points = len(SIZES) * sum(len(groups) for groups in found.values())
    window = task.seconds / max(1, points) / (1.5 * (WINDOWS + 2))
    window = min(max(window, WINDOW_S[0]), WINDOW_S[1])
    for name, groups in found.items():
        for group in groups:
            steps.add_group(
                "memory",
                group,
                SIZES,
                channel=PREFIX + name,
                batch_s=window,
                most=WINDOWS,
                budget_s=1.5 * (WINDOWS + 2) * window,
                precision=1e-4,
            )


def answer(samples: pl.DataFrame, plan: Plan) -> Answer:
    """Totals, slowdown and capacity by domain and working set; the largest set is that of the memory."""
    rows: list[tuple[Value, ...]] = []
    values: dict[str, Value] = {}
    reasons, said = {}, []
    kept = keep_settled(samples, ["channel", "pairs", "bytes"]).filter(pl.col("value1") > 0)
    for (channel, size), group in kept.sort("bytes").group_by(["channel", "bytes"], maintain_order=True):
        name = channel.removeprefix(PREFIX)
        totals = {
            k: some["value1"].to_numpy()
            for (k,), some in group.sort("pairs").group_by(["pairs"], maintain_order=True)
        }
        found = capacity.fit(totals, taken_from_pairs(group))
        if found is None:
            continue
        first, most = min(found.rates), max(found.rates)
        alone = found.rates[first].value / first
        rows += [
            (name, size, k, rate, scale_median(rate, 1 / k), k * alone / rate.value)
            for k, rate in found.rates.items()
        ]
        key = f"{name.replace('+', '_')}_{size}_bytes_capacity_bytes_per_s"
        values[key] = found.capacity
        if found.capacity is None:
            reasons[key] = f"{most} ranks, the most that were tried, did not hold each other up"
        if size == max(SIZES) and most > 1:
            slowdown = per(most * alone, found.rates[most])
            values[f"{name.replace('+', '_')}_slowdown_of_{most}"] = slowdown
            together = f"{bytes_text(found.rates[most].value)}/s"
            said.append(
                f"{most} ranks in a {name} get {together}, each {slowdown.value:.2f} times as slow as alone"
            )
    return Answer(
        name="memory",
        title="Ranks that share caches and memory",
        sentence="; ".join(said) or "no domain was seen with more than one rank",
        columns=(
            *(Column("domain"), Column("data", "bytes"), Column("ranks", "count")),
            *(Column("together", "bytes/s"), Column("each", "bytes/s"), Column("slowdown")),
        ),
        rows=tuple(rows),
        values=values,
        reasons=reasons,
        plot=Plot("ranks", "together", "data", log_x=False),
    )


QUESTION = Question(
    name="memory",
    title="Ranks that share caches and memory",
    tests=("memory",),
    steps=steps,
    answer=answer,
    why_not=why_not,
    weight=1.5,
    launches=3,
)
