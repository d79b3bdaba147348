# SPDX-License-Identifier: BSD-3-Clause
"""The questions that the microbenchmarks answer besides the parameters of the channels, a module each."""

from __future__ import annotations

import polars as pl

from rankwise.measure.arguments import Steps
from rankwise.measure.plan import Plan
from rankwise.measure.questions import (
    availability,
    bidirectional,
    buffers,
    collectives,
    cores,
    interface,
    memory,
    message_cpu,
    peers,
    progress,
    rate,
    registration,
    tiling,
)
from rankwise.measure.questions.answer import Answer, Question, Task

QUESTIONS: tuple[Question, ...] = (
    rate.QUESTION,
    bidirectional.QUESTION,
    collectives.QUESTION,
    progress.QUESTION,
    message_cpu.QUESTION,
    availability.QUESTION,
    buffers.QUESTION,
    registration.QUESTION,
    interface.QUESTION,
    memory.QUESTION,
    cores.QUESTION,
    tiling.QUESTION,
    peers.QUESTION,
)


def list_questions(plan: Plan, quick: bool, launch: int) -> list[Question]:
    """The questions that one launch asks."""
    return [q for q in QUESTIONS if (q.quick or not quick) and launch < q.launches and not q.why_not(plan)]


def add_steps(steps: Steps, plan: Plan, seconds: float, quick: bool, launch: int) -> None:
    """Add the steps of all questions of one launch, which may take `seconds` together."""
    questions = list_questions(plan, quick, launch)
    whole = sum(question.weight for question in questions) or 1.0
    for question in questions:
        question.steps(steps, Task(plan, seconds * question.weight / whole, quick))


def answers(samples: pl.DataFrame, plan: Plan, quick: bool = False) -> list[Answer]:
    """What all samples answer, in the order of `QUESTIONS`; a question without samples says why it has none."""
    return [_answer(question, samples, plan, quick) for question in QUESTIONS]


def _answer(question: Question, samples: pl.DataFrame, plan: Plan, quick: bool) -> Answer:
    of_question = samples.filter(pl.col("test").is_in(question.tests))
    if len(of_question.filter(question.own)):
        return question.answer(of_question, plan)
    reason = question.why_not(plan)
    if not reason:
        reason = (
            "left out of short runs (`--quick`, or `--budget` below 100s)"
            if quick and not question.quick
            else "left out: the time was over, or the measurement interrupted, before its turn; "
            "a longer `--budget` asks it"
        )
    return Answer(question.name, question.title, f"not measured: {reason}", missing=reason)
