# SPDX-License-Identifier: BSD-3-Clause
"""What do 1, 2, ... pairs get together through one network interface?"""

from __future__ import annotations

import polars as pl

from rankwise.machine.channels import NETWORK
from rankwise.measure.arguments import Steps
from rankwise.measure.fitting.capacity import sweep
from rankwise.measure.plan import Plan
from rankwise.measure.questions.answer import Answer, Column, Plot, Question, Task
from rankwise.measure.questions.settled import scale_median
from rankwise.measure.sharing import RATE_BYTES, SHARE_BYTES
from rankwise.quantities import bytes_text


def steps(steps: Steps, task: Task) -> None:
    """None: the sweep belongs to the fit, which every measurement makes."""


def answer(samples: pl.DataFrame, plan: Plan) -> Answer:
    """Totals and what a pair gets of them, by number of pairs."""
    network = samples.filter(pl.col("channel") == NETWORK)
    rows, values, reasons = [], {}, {}
    of_bytes, of_messages = sweep(network, SHARE_BYTES, "value1"), sweep(network, RATE_BYTES, "value2")
    for what, found in (("bytes", of_bytes), ("messages", of_messages)):
        key = f"capacity_{what}_per_s"
        values[key] = found.capacity if found else None
        if values[key] is None:
            most = max(found.rates, default=0) if found else 0
            reasons[key] = f"{most} pairs, the most that were tried, did not hold each other up"
        rates = found.rates if found else {}
        for k, rate in rates.items():
            slowdown = k * rates[min(rates)].value / min(rates) / rate.value
            rows.append((what, k, rate, scale_median(rate, 1 / k), slowdown))
    if of_bytes is None:
        sentence = "no window saw all pairs at once"
    elif of_bytes.capacity is None:
        sentence = (
            f"{max(of_bytes.rates)} pairs get {bytes_text(of_bytes.most)}/s without filling the interface"
        )
    else:
        sentence = f"pairs through one interface share {bytes_text(of_bytes.capacity.value)}/s"
    return Answer(
        name="interface",
        title="Pairs that share an interface",
        sentence=sentence,
        columns=(
            Column("of"),
            Column("pairs", "count"),
            Column("together", "1/s"),
            Column("each", "1/s"),
            Column("slowdown"),
        ),
        rows=tuple(rows),
        values=values,
        reasons=reasons,
        plot=Plot("pairs", "together", "of", log_x=False),
    )


QUESTION = Question(
    name="interface",
    title="Pairs that share an interface",
    tests=("share",),
    steps=steps,
    answer=answer,
    why_not=lambda plan: "" if plan.sharing else "all ranks are on one node",
    quick=True,
    weight=0.0,
)
