# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise study` as users type it."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from rankwise.cli import main
from rankwise.study.catalogue import names, study
from rankwise.study.claims import STUDIES, STUDY_OF


def test_without_a_name_it_lists_all_studies(capsys):
    assert main(["study"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in names())
    assert main(["study", "--json"]) == 0
    assert {each["name"] for each in json.loads(capsys.readouterr().out)["studies"]} == set(names())


def test_every_claim_is_tested_by_the_study_that_says_so():
    for claim, name in STUDY_OF.items():
        assert not name or claim in study(name).claims, claim
    assert set(STUDIES) <= set(names())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing"], "there is no study `nothing`"),
        (["levels", "--on", "moon"], "`--on moon` is not known"),
        (["levels", "--on", "cluster", "x"], "`--on cluster` takes no `x`"),
        (["levels", "--on", "lab", "--part", "3/2"], "`3/2` is no part of a study"),
        (["levels", "--part", "1/2"], "`--part` goes with what is measured"),
        (["levels", "-o", "none/at/all"], "the directory `none/at` does not exist"),
        (["levels", "--markdown", "none/page.md"], "the directory `none` does not exist"),
        (["allocation", "--ranks", "0"], "`--ranks 0` is no number of ranks"),
        (["claims", "--on", "lab"], "the study `claims` is made with `--on machine`"),
        (["claims", "--ranks", "4"], "the study `claims` takes no `--ranks`"),
        (["levels", "--app", "cg"], "the study `levels` takes no `--app`"),
        (["bottleneck", "--ranks", "4"], "the study `bottleneck` takes no `--ranks`"),
        (["allocation", "--ranks", "99999999999999999999"], "is not from 4 to 16384"),
        (["message-distribution", "--ranks", "1"], "`--ranks 1` is not from 2"),
        (["archer2", "--ranks", "8"], "nothing was measured on `8` ranks"),
        (["collectives", "--ranks", "7"], "nothing was measured on `7` ranks"),
        (["allocation", "--app", "cg --class"], "is no option with a value"),
        (["allocation", "--app", "./app"], "without running it"),
        (["levels", "--on", "machine", "none.toml"], "none.toml"),
    ],
)
def test_what_makes_no_sense_is_refused(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["study", *words]) in (1, 2)
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.open = [], []

    def handle_starttag(self, tag, attrs):
        self.links += [value for name, value in attrs if name in ("src", "href")]


def test_it_writes_a_page_json_and_figures(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["study", "levels"]) == 0
    said = capsys.readouterr()
    assert "levels.study/levels.html" in said.err
    # THEN the terminal's 80 columns are kept, and the verdict comes first
    assert max(map(len, said.out.splitlines())) <= 80
    assert "0.42 us" in said.out.splitlines()[1]
    made = {path.suffix for path in (tmp_path / "levels.study").iterdir()}
    assert made == {".html", ".json", ".svg"}
    # THEN the page needs nothing from outside
    tags = Tags()
    tags.feed((tmp_path / "levels.study" / "levels.html").read_text())
    assert not [link for link in tags.links if link and link.startswith("http")]
    result = json.loads((tmp_path / "levels.study" / "levels.json").read_text())
    assert result["schema"] == "rankwise.study/1"
    assert all(claim["reproduced"] for claim in result["claims"])


def test_other_machines_and_programs_have_no_claims(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["study", "allocation", "--app", "cg.A", "--app", "mg.A", "--json", "--no-files"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["claims"] == []
    assert {row[0] for row in result["tables"][0]["rows"]} == {"CG", "MG"}
    assert not list(tmp_path.iterdir())


def test_two_programs_of_one_workload_have_names_of_their_own(capsys):
    words = ["study", "message-distribution", "--app", "ep.S", "--app", "ep.W", "--app", "is.S"]
    assert main([*words, "--json", "--no-files"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [row[0] for row in result["tables"][0]["rows"]] == ["ep.S", "ep.W", "IS"]


def test_a_program_that_does_not_run_on_two_ranks_is_left_out_there(capsys):
    assert main(["study", "bottleneck", "--app", "bt.S", "--json", "--no-files"]) == 0
    assert len(json.loads(capsys.readouterr().out)["tables"]) == 1


def test_machines_of_today_have_no_statements_of_the_papers(capsys):
    machine = str(Path(__file__).resolve().parents[2] / "machines" / "lumi-c.machine.toml")
    words = [
        "study",
        "message-distribution",
        "--app",
        "cg.S",
        "--on",
        "machine",
        machine,
        "--json",
        "--no-files",
    ]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["claims"] == []
