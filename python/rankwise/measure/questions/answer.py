# SPDX-License-Identifier: BSD-3-Clause
"""What a question of the microbenchmarks comes to: a sentence, a table, numbers for the machine file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import polars as pl

from rankwise.measure.arguments import Steps
from rankwise.measure.fitting.statistics import Median
from rankwise.measure.plan import Plan

Value = Median | float | int | str | None


@dataclass(frozen=True)
class Column:
    """A column of an answer's table.

    Attributes:
        name: Its head.
        unit: `s`, `bytes`, `bytes/s`, `1/s`, `share` (0 to 1), `count`, or empty for text.
    """

    name: str
    unit: str = ""


@dataclass(frozen=True)
class Doubt:
    """What makes an answer less than it could be; `code` stays the same when the text changes."""

    text: str
    code: str


@dataclass(frozen=True)
class Plot:
    """How the table is best drawn, by names of its columns."""

    x: str
    y: str
    series: str | None = None
    log_x: bool = True
    log_y: bool = True


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes:
        name: Key in the machine file, `[answers.NAME]`.
        title: Heading.
        sentence: The answer: one sentence, or a question and short sentences.
        columns: Of the table.
        rows: Values by column; `None` is not known here.
        doubts: Warnings.
        values: Numbers and words for the machine file; keys end in their unit.
        reasons: By key of `values` that is `None`, why.
        missing: Why there is no answer at all; `None` if there is one.
        plot: How to draw the table.
    """

    name: str
    title: str
    sentence: str
    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[Value, ...], ...] = ()
    doubts: tuple[Doubt, ...] = ()
    values: Mapping[str, Value] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    missing: str | None = None
    plot: Plot | None = None


@dataclass(frozen=True)
class Task:
    """What a question may do in one launch.

    Attributes:
        plan: Who is there.
        seconds: What its points may take together.
        quick: Whether `--quick` asked.
    """

    plan: Plan
    seconds: float
    quick: bool


@dataclass(frozen=True)
class Question:
    """A question.

    Attributes:
        name: Of its answer.
        title: Heading of its answer.
        tests: The microbenchmarks (measure/*.c) whose samples it reads.
        steps: Adds its steps to those of a launch; adds nothing where it cannot be asked.
        answer: From the samples of `tests`, at least one of them its `own`, of all launches.
        why_not: Why it cannot be asked of these ranks; empty if it can.
        quick: Whether `--quick` asks it.
        weight: Its share of the time for questions, relative to the others.
        launches: Only the first so many launches ask it, because it takes long or says the same each time.
        own: Which samples of `tests` are taken for this question only.
    """

    name: str
    title: str
    tests: tuple[str, ...]
    steps: Callable[[Steps, Task], None]
    answer: Callable[[pl.DataFrame, Plan], Answer]
    why_not: Callable[[Plan], str] = lambda plan: ""
    quick: bool = False
    weight: float = 1.0
    launches: int = 1000
    own: pl.Expr = field(default_factory=lambda: pl.lit(True))
