# SPDX-License-Identifier: BSD-3-Clause
"""The table of claims: docs/internals/claims.md is what the command writes, and what must come out does."""

import re
from pathlib import Path

import msgspec
import pytest

from rankwise.study.catalogue import study
from rankwise.study.claims import STUDY_OF, TARGETS, tallies
from rankwise.study.request import Request
from rankwise.study.result import ClaimOutcome
from rankwise.study.show import markdown
from rankwise.study.show.cells import outcome_text

PAGE = Path(__file__).resolve().parents[2] / "docs" / "internals" / "claims.md"

# What of a claim the papers say besides what its first row is of: words of further rows.
ROWS = {
    "N-co": ["every program slows down", "how much IS", "IS slows down most"],
    "N-4x4": ["CG, FT and IS", "BT, LU and SP", "MG stays"],
    "N-time": ["16x1 to 8x2", "to 4x4"],
    "N-proc": [
        "every program",
        "how much slower SP",
        "SP is slowed most",
        "L2 misses",
        "resource",
        "memory stalls",
    ],
    "N-alloc": [
        "CG at 16x4",
        "equal or slower",
        "MG is much slower",
        "CG's network",
        "all others rises",
        "MG's network",
    ],
    "N-shape": ["of N x N ranks", "of N x N x N ranks", "tree", "switches"],
    "N-pattern": ["CG", "FT", "IS", "MG", "BT", "LU", "SP"],
    "S-bw": ["core 0", "core 1", "core 2", "core 3", "iWARP"],
    "S-irq": ["share of interrupts", "interrupts per message"],
    "S-cache": ["clearly below", "shrinks"],
    "S-lat": ["small messages", "large messages"],
    "S-gromacs": ["rank on core 0", "waiting of ranks 6 and 7", "gain", "offloaded"],
    "S-lammps": ["ranks 1 and 2", "mapping A'", "mapping B'", "more than twice", "offloaded"],
    "S-maps": ["set-up B", "GROMACS", "LAMMPS"],
    "C-lat": ["intra-CMP", "inter-CMP", "inter-node"],
    "C-bw": ["intra-CMP", "inter-CMP", "inter-node", "slower than inter-node"],
    "C-namd": ["more than 90 %", "by channel"],
    "C-hpl": ["4x4", "16x4", "most messages", "most bytes"],
    "C-cont": ["1x4", "2x2"],
    "C-two": ["on a chip", "comparable", "IS loses"],
    "C-tile": ["2 on a chip", "4 in a node", "8 on 2 nodes", "16 on 4 nodes"],
    "C-scale": ["nearly ideally", "better on the single-core", "the same on both"],
    "I-pp": ["equal latency", "InfiniBand's latency", "peak", "35 %", "changes of protocol"],
    "I-bidi": ["peak", "PCI-X", "dips"],
    "I-coll": ["allreduce", "all-to-all", "exchange"],
    "I-rate": ["Elan-4's and XD1's", "InfiniBand's"],
    "I-scale": ["scale reasonably well", "one rank a node", "two ranks a node", "Stouch"],
}


@pytest.fixture(scope="module")
def result():
    return study("claims").run(Request())


def outcome(kind="ordering", reproduced=True, calibration=False):
    return ClaimOutcome("C-cont", "", kind, "", "", "predicted", reproduced, "", calibration)


@pytest.mark.slow
def test_the_page_is_what_the_command_writes(result):
    assert markdown.render(result) == PAGE.read_text(), (
        "make it anew: rankwise study claims --markdown docs/internals/claims.md"
    )


def test_every_claim_has_a_row(result):
    assert list(dict.fromkeys(outcome.claim for outcome in result.claims)) == list(STUDY_OF)


@pytest.mark.parametrize("claim", ROWS)
def test_every_statement_of_a_claim_has_a_row(result, claim):
    said = [outcome.statement for outcome in result.claims if outcome.claim == claim]
    assert [words for words in ROWS[claim] if not any(words in statement for statement in said)] == []


@pytest.mark.parametrize("kind", ["exact", "definition", "table", "pattern", "number"])
def test_targets_are_reached(result, kind):
    found = {each.kind: each for each in tallies(result.claims)}[kind]
    assert found.tested + found.calibrations > 0
    assert found.passes, found


def test_what_machine_files_were_made_from_comes_out(result):
    assert [each.statement for each in result.claims if each.calibration and not each.reproduced] == []


def test_a_calibration_does_not_look_like_a_statement_that_was_tested(result):
    # GIVEN rows of the table WHEN they are shown
    said = {outcome_text(each).partition(":")[0] for each in result.claims if each.calibration}
    others = [outcome_text(each) for each in result.claims if not each.calibration]
    # THEN those that a machine file or a case was made from say so, and no other does
    assert said == {"calibration"}
    assert not [text for text in others if text.startswith("calibration")]
    # AND one that does not come out does not hide that
    assert outcome_text(outcome(reproduced=False, calibration=True)) == "calibration, not reproduced"


def test_what_does_not_come_out_says_what_is_lacking(result):
    # THEN not only of which programs: that is what stands before the colon
    silent = [
        each.statement
        for each in result.claims
        if not each.reproduced and (not each.why or re.fullmatch("not for [^:]*", each.why))
    ]
    assert silent == []


def test_a_kind_passes_if_its_share_comes_out_and_so_do_all_calibrations():
    # GIVEN four of five orderings, the target, and one that cannot be tested
    four = [*[outcome() for _ in range(4)], outcome(reproduced=False), outcome(reproduced=None)]
    by_kind = {each.kind: each for each in tallies(four)}
    ordering = by_kind["ordering"]
    assert (ordering.reproduced, ordering.tested, ordering.untested) == (4, 5, 1)
    assert ordering.reached == TARGETS["ordering"] == 0.8
    assert ordering.passes
    # THEN one more that does not come out is too many, and a calibration neither helps nor may be wrong
    for more in ([outcome(reproduced=False)], [outcome(reproduced=False, calibration=True)]):
        assert not {each.kind: each for each in tallies([*four, *more])}["ordering"].passes
    helped = [*four, outcome(reproduced=False), *[outcome(calibration=True) for _ in range(9)]]
    assert not {each.kind: each for each in tallies(helped)}["ordering"].passes
    assert by_kind["table"].passes  # nothing of it was tested
    notes = tallies([msgspec.structs.replace(four[0], kind="note")])[-1]
    assert (notes.kind, notes.passes) == ("note", None)


def test_the_table_shows_target_and_what_is_reached(result):
    table = result.tables[0]
    rows = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert list(rows)[: len(TARGETS)] == list(TARGETS)
    for found in tallies(result.claims):
        row = rows[found.kind]
        assert (row["reproduced"], row["tested"]) == (found.reproduced, found.tested)
        assert row["passes"] == {None: "no target", True: "yes", False: "no"}[found.passes]
