# SPDX-License-Identifier: BSD-3-Clause
"""All studies on the papers' machines, and every statement of the papers beside what they found."""

from __future__ import annotations

from dataclasses import replace

from rankwise.errors import RankwiseError
from rankwise.study.catalogue import study
from rankwise.study.claims import PAPERS, STUDIES, Tally, in_order, tallies
from rankwise.study.compared import CLOSE
from rankwise.study.request import Request
from rankwise.study.result import Cell, Mode, StudyResult, Table

SUMMARY = "every statement of the four papers beside what the studies find"
CLAIMS = ()
TAKES: tuple[str, ...] = ()
MODES: tuple[Mode, ...] = ("machine",)


_COLUMNS = ["kind", "target", "reached", "reproduced", "tested", "not tested", "calibrations", "passes"]
_NOTE = (
    "`reached` is the share of the tested statements of a kind that are reproduced. A kind passes if that is as "
    "much as its target. `ordering` is which of two is larger or faster, or a direction; `number` is by how much. "
    "Calibrations are statements that machine files and cases were made from. They are not counted as tests. But "
    "if one of them does not come out as the paper says, its kind fails. A number is reproduced if it differs "
    "from the "
    f"paper's by at most {100 * CLOSE:.0f} % of it."
)
_LETTERS = (
    "The name of a claim begins with the letter of its paper. `how` says how it was tested. `exact count`: messages "
    "and bytes were counted. `predicted`: a replay gave the number. `hardware figure`: the number is in the machine "
    "file. `outcome` says what came out. `calibration`: a machine file or a case was made from this statement. So it "
    "comes out as the paper says, and tests nothing."
)


def run(request: Request) -> StudyResult:
    """The table of claims.

    Raises:
        RankwiseError: It was asked for other machines or programs, or a study cannot be made.
    """
    if request.machines:
        raise RankwiseError(
            "the table of claims is of the papers' own machines",
            "other machines are for one study: `rankwise study levels --on machine FILE`",
            status=2,
        )
    results = []
    for name in STUDIES:
        request.progress(name)
        results.append(study(name).run(replace(request, directory=None)))
    outcomes = in_order([outcome for result in results for outcome in result.claims])
    counted = tallies(outcomes)
    rows = [_row(each) for each in counted]
    reproduced, tested = sum(each.reproduced for each in counted), sum(each.tested for each in counted)
    papers: list[list[Cell]] = [[letter, paper] for letter, paper in PAPERS.items()]
    verdicts: list[list[Cell]] = [[result.study, result.verdict] for result in results]
    return StudyResult(
        study="claims",
        title="What the papers state, and what Rankwise finds",
        on=sorted({name for result in results for name in result.on}),
        how="predicted",
        verdict=f"Of {tested} statements of the four papers that can be tested, {reproduced} are reproduced."
        f"{_missed(counted)} {sum(each.calibrations for each in counted)} more are calibrations: machine files and "
        "cases were made from them, so they test nothing.",
        tables=[
            Table("Statements by kind", _COLUMNS, rows, [_NOTE]),
            Table("The papers", ["claims", "paper"], papers, [_LETTERS]),
            Table("The studies", ["study", "what it finds"], verdicts),
        ],
        claims=outcomes,
    )


def _missed(counted: list[Tally]) -> str:
    """Kinds whose target is missed, a sentence each."""
    return "".join(
        f" The target of the kind `{each.kind}` is missed: {100 * (each.reached or 0):.0f} % instead of "
        f"{100 * (each.target or 0):.0f} %."
        for each in counted
        if each.passes is False
    )


def _row(each: Tally) -> list[Cell]:
    passes = {None: "no target", True: "yes", False: "no"}[each.passes]
    shares = [None if share is None else f"{100 * share:.0f} %" for share in (each.target, each.reached)]
    return [each.kind, *shares, each.reproduced, each.tested, each.untested, each.calibrations, passes]
