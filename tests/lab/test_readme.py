# SPDX-License-Identifier: BSD-3-Clause
"""README says of accuracy what docs/accuracy.md says, which `make accuracy` wrote."""

import importlib.util

import mpis
from accuracy import page

SCRIPT = mpis.TOP / "bench" / "accuracy" / "in_readme.py"


def script():
    spec = importlib.util.spec_from_file_location("accuracy_in_readme", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_readme_and_the_page_on_accuracy_agree():
    readme, page = (mpis.TOP / "README.md").read_text(), (mpis.TOP / "docs" / "accuracy.md").read_text()
    assert script().with_line(readme, page) == readme, f"run `python {SCRIPT}`"
    assert script().sentences(page)[0].startswith("Held out")


def test_the_page_is_what_its_results_give_and_can_be_read_at_one_go():
    docs = mpis.TOP / "docs"
    text = page.render("accuracy", page.read_results(docs / "accuracy.json.gz"))
    assert text == (docs / "accuracy.md").read_text(), "write it again: make accuracy"
    assert len(text.splitlines()) <= 300
    assert [each.name for each in docs.glob("accuracy*.svg")] == ["accuracy.svg"]


def test_the_line_is_replaced_and_nothing_else():
    found = script()
    page = (
        "# Accuracy\n\nIn short:\n\n* Held out (since then): 8 programs ran. 90 % are right (by bytes 80 %). Errors "
        "are 3 %, the worst +14 %; 93 % fit.\n* Development: bad.\n\n## How\n\n* other\n"
    )
    readme = f"before\n{found.BEGIN}old\n{found.END}after\n"
    said = "8 programs ran. 90 % are right. Errors are 3 %, the worst +14 %."
    expected = f"before\n{found.BEGIN}{said}\n{found.END}after\n"
    assert found.with_line(readme, page) == expected
    assert found.with_line(expected, page) == expected
