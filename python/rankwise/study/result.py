# SPDX-License-Identifier: BSD-3-Clause
"""What a study found: plain data that is shown as text, as JSON, as figures and as a page.

The JSON schemas are formats/study.schema.json and formats/studies.schema.json.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec

How = Literal["exact count", "hardware figure", "predicted", "measured"]
Kind = Literal["lines", "bars", "stacked"]
Scale = Literal["linear", "log"]
Bound = Literal["at least", "at most"]
Mode = Literal["machine", "lab", "cluster"]
SCHEMA: Final = "rankwise.study/1"
LIST_SCHEMA: Final = "rankwise.studies/1"

Cell = str | int | float | None


def microseconds(time_s: float) -> float:
    """A time for tables and figures, without the digits that only its conversion makes."""
    return float(f"{time_s * 1e6:.7g}")


class Table(msgspec.Struct, frozen=True):
    """Rows of a study.

    Attributes:
        title: What it shows.
        columns: Names, with units where values have some.
        rows: As long as `columns`; `None` where there is nothing.
        notes: What a reader has to know of it.
    """

    title: str
    columns: list[str]
    rows: list[list[Cell]]
    notes: list[str] = []


class Series(msgspec.Struct, frozen=True):
    """One line, or the bars of one colour.

    Attributes:
        name: In the legend.
        x: Numbers of lines, names of bars.
        y: As many; `None` where there is none.
        paper: Whether these are the paper's values.
    """

    name: str
    x: Sequence[float | str]
    y: list[float | None]
    paper: bool = False


class Figure(msgspec.Struct, frozen=True):
    """A figure with the axes and the normalisation of the paper's.

    Attributes:
        name: Of its file.
        title: What it shows, with the paper's number of the figure.
        x_label: With its unit.
        y_label: With its unit, and what values are normalised to.
        series: What is drawn.
        kind: How.
        x_scale: Of lines.
        y_scale: Of both.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    series: list[Series]
    kind: Kind = "lines"
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"


class ClaimOutcome(msgspec.Struct, frozen=True):
    """A statement of a paper beside what the study found.

    Attributes:
        claim: Its identifier in the table of claims, such as `C-tab1`.
        statement: What of it is tested here.
        kind: As `CLAIM_KINDS` of `rankwise.study.claims`.
        paper: The paper's figure.
        ours: What was found.
        how: How it was got.
        reproduced: Whether it is what the paper says; `None` if it cannot be tested here.
        why: Why not, or what has to be known of it.
        calibration: Whether the machine file was made from this figure, so that it must come out.
    """

    claim: str
    statement: str
    kind: str
    paper: str
    ours: str
    how: How
    reproduced: bool | None
    why: str = ""
    calibration: bool = False


class Target(msgspec.Struct, frozen=True):
    """What predictions of measured times have to come to, and whether they do.

    Attributes:
        statement: What it is of.
        value: What was found; `None` if nothing could be judged.
        bound: Whether the limit is the least or the most that is good enough.
        limit: In the unit of the value.
        unit: Of both, such as `%`; empty for counts.
        met: Whether the value is within the limit; `None` as the value.
    """

    statement: str
    value: float | None
    bound: Bound
    limit: float
    unit: str
    met: bool | None

    @classmethod
    def of(cls, statement: str, value: float | None, bound: Bound, limit: float, unit: str = "%") -> Target:
        """A target, with whether it is met."""
        if value is None:
            return cls(statement, None, bound, limit, unit, None)
        met = value >= limit if bound == "at least" else value <= limit
        return cls(statement, value, bound, limit, unit, met)


class StudyResult(msgspec.Struct, frozen=True):
    """What a study found.

    Attributes:
        schema: `rankwise.study/1`.
        study: Its name.
        title: What it shows.
        on: What it was made on: names of machines, or of a lab or cluster.
        how: How its times were got.
        verdict: What was found, in one sentence.
        tables: Rows.
        figures: To draw.
        claims: Statements of the papers, where it was made on their machines.
        targets: What predictions of measured times have to come to, where a study has such times.
        missing: What could not be done, and why.
        notes: What all its figures rest on, such as the rate of a core.
    """

    study: str
    title: str
    on: list[str]
    how: How
    verdict: str
    tables: list[Table]
    figures: list[Figure] = []
    claims: list[ClaimOutcome] = []
    targets: list[Target] = []
    missing: list[str] = []
    notes: list[str] = []
    schema: Literal["rankwise.study/1"] = SCHEMA


class StudyListed(msgspec.Struct, frozen=True):
    """A study as the list of all has it.

    Attributes:
        name: What it is called on the command line.
        summary: What it shows, in one line.
        claims: Identifiers of the statements that it tests, as `C-tab1`.
        on: On what it can be made.
        takes: Which of `--app` and `--ranks` change it.
    """

    name: str
    summary: str
    claims: list[str]
    on: list[Mode]
    takes: list[str]


class StudyList(msgspec.Struct, frozen=True):
    """All studies.

    Attributes:
        schema: `rankwise.studies/1`.
        studies: By name.
    """

    studies: list[StudyListed]
    schema: Literal["rankwise.studies/1"] = LIST_SCHEMA


def json_schema() -> dict[str, Any]:
    """JSON schema of a study's document."""
    return msgspec.json.schema(StudyResult)


def list_json_schema() -> dict[str, Any]:
    """JSON schema of the list of studies."""
    return msgspec.json.schema(StudyList)
