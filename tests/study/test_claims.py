# SPDX-License-Identifier: BSD-3-Clause
"""The table of claims: docs/claims.md is what the command writes, and what must come out does."""

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

from rankwise.study.catalogue import study
from rankwise.study.claims import STUDY_OF, tallies
from rankwise.study.request import Request
from rankwise.study.show import markdown

PAGE = Path(__file__).resolve().parents[2] / "docs" / "claims.md"


@pytest.fixture(scope="module")
def result():
    return study("claims").run(Request())


def test_the_page_is_what_the_command_writes(result):
    assert markdown.render(result) == PAGE.read_text(), (
        "make it anew: rankwise study claims --markdown docs/claims.md"
    )


def test_its_document_fits_the_schema(result):
    schema = json.loads((PAGE.parents[1] / "formats" / "study.schema.json").read_text())
    jsonschema.validate(json.loads(msgspec.json.encode(result)), schema, jsonschema.Draft202012Validator)


def test_every_claim_has_a_row(result):
    assert list(dict.fromkeys(outcome.claim for outcome in result.claims)) == list(STUDY_OF)


def test_what_can_be_counted_comes_out(result):
    counted = {each.kind: each for each in tallies(result.claims)}
    for kind in ("exact", "definition", "table", "pattern"):
        assert counted[kind].reproduced == counted[kind].all, kind


def test_what_does_not_come_out_says_why(result):
    silent = [
        outcome.statement
        for outcome in result.claims
        if not outcome.reproduced and outcome.kind in ("ordering", "exact") and not outcome.why
    ]
    assert silent == []
