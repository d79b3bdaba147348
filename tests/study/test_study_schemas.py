# SPDX-License-Identifier: BSD-3-Clause
"""What every study finds is as formats/study.schema.json says, and so is the list of studies."""

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

from rankwise.cli import main
from rankwise.study.catalogue import names, study
from rankwise.study.program import parse_program
from rankwise.study.request import Request
from rankwise.study.studies import dahu

FORMATS = Path(__file__).resolve().parents[2] / "formats"
FEWEST = {"archer2": 128, "collectives": 4}
"""Numbers of ranks with which studies of what was measured take least."""


def check(document: bytes | str, name: str) -> dict:
    read = json.loads(document)
    schema = json.loads((FORMATS / f"{name}.schema.json").read_text())
    jsonschema.validate(read, schema, jsonschema.Draft202012Validator)
    return read


# What they find is tested in test_archer2.py and test_claims.py.
SLOW = ("archer2", "interconnect")


@pytest.mark.one_of(4)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in SLOW else ())
        for name in names()
        if name != "claims"
    ],
)
def test_what_a_study_finds_fits_the_schema(name, monkeypatch):
    # GIVEN a study of a small program, or a small matrix
    monkeypatch.setattr(dahu, "ORDER", 2 * dahu.BLOCK)
    chosen = study(name)
    programs = (parse_program("cg.S"),) if "--app" in chosen.takes else ()
    # WHEN it is made
    found = check(
        msgspec.json.encode(chosen.run(Request(programs=programs, ranks=FEWEST.get(name)))), "study"
    )
    # THEN its document fits, and has rows as long as its columns say
    assert found["study"] == name
    assert found["tables"]
    for table in found["tables"]:
        assert {len(row) for row in table["rows"]} <= {len(table["columns"])}


def test_what_is_printed_and_what_is_written_fit_it_too(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["study", "levels", "--json"]) == 0
    printed = check(capsys.readouterr().out, "study")
    assert printed == check(Path("levels.study/levels.json").read_text(), "study")


def test_the_list_of_studies_fits_its_schema(capsys):
    assert main(["study", "--json"]) == 0
    listed = check(capsys.readouterr().out, "studies")["studies"]
    assert [each["name"] for each in listed] == names()
    assert {each["name"]: each["takes"] for each in listed}["bottleneck"] == ["--app"]


def test_a_document_that_is_no_study_does_not_fit():
    whole = json.loads(msgspec.json.encode(study("levels").run(Request())))
    for key, value in [("schema", "rankwise.study/2"), ("how", "guessed"), ("tables", [{"title": "t"}])]:
        with pytest.raises(jsonschema.ValidationError):
            check(json.dumps(whole | {key: value}), "study")
