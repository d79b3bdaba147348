# SPDX-License-Identifier: BSD-3-Clause
"""Answers of questions as people, JSON and the machine file see them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from rankwise.machine.estimate import Estimate
from rankwise.measure.fitting.fit import measured
from rankwise.measure.fitting.statistics import Median
from rankwise.measure.questions.answer import Answer, Column, Value
from rankwise.quantities import bytes_text, count_text, seconds_text


def text(value: Value, column: Column) -> str:
    """A value with its unit, for a table; `-` where it is not known."""
    number = value.value if isinstance(value, Median) else value
    if number is None or (isinstance(number, float) and not math.isfinite(number)):
        return "-"
    if isinstance(number, str):
        return number
    sign = "-" if number < 0 else ""
    plain = {
        "s": lambda: sign + seconds_text(abs(number)),
        "bytes": lambda: sign + bytes_text(abs(number)),
        "bytes/s": lambda: f"{sign}{bytes_text(abs(number))}/s",
        "1/s": lambda: f"{count_text(round(number))}/s",
        "share": lambda: f"{100 * number:.0f} %",
        "count": lambda: count_text(round(number)),
    }
    return plain.get(column.unit, lambda: f"{number:.3g}" if isinstance(number, float) else str(number))()


def plain(value: Value) -> object:
    """A value for JSON."""
    if isinstance(value, Median):
        if not all(map(math.isfinite, (value.value, value.low, value.high))):
            return None
        return {"value": value.value, "low": value.low, "high": value.high, "samples": value.count}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def document(answers: Iterable[Answer]) -> dict[str, dict[str, Any]]:
    """All answers for `--json`, by name."""
    return {
        answer.name: {
            "title": answer.title,
            "sentence": answer.sentence,
            "missing": answer.missing,
            "columns": [{"name": column.name, "unit": column.unit or None} for column in answer.columns],
            "rows": [[plain(value) for value in row] for row in answer.rows],
            "values": {key: plain(value) for key, value in answer.values.items()},
            "doubts": [{"text": doubt.text, "code": doubt.code} for doubt in answer.doubts],
        }
        for answer in answers
    }


def entries(answers: Iterable[Answer]) -> dict[str, dict[str, str | int | float | bool | Estimate]]:
    """`[answers.NAME]` of the machine file: the sentence and the numbers, measured or with the reason why not."""
    found = {}
    for answer in answers:
        entry: dict[str, str | int | float | bool | Estimate] = {"sentence": answer.sentence}
        for key, value in answer.values.items():
            entry.update(_entry(key, value, answer.reasons))
        found[answer.name] = entry
    return found


def _entry(
    key: str, value: Value, reasons: Mapping[str, str]
) -> dict[str, str | int | float | bool | Estimate]:
    if isinstance(value, Median):
        if plain(value) is not None and min(value.low, value.value) >= 0:
            return {key: measured(value.value, value.low, value.high, value.count)}
        value = None
    elif value is not None and plain(value) is not None:
        return {key: value}
    return {f"{key}_unknown": reasons.get(key, "not measured")}
