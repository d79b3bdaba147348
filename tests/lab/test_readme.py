# SPDX-License-Identifier: BSD-3-Clause
"""README says of accuracy what docs/accuracy.md says, which `rankwise lab validate` wrote."""

import importlib.util

import mpis

SCRIPT = mpis.TOP / "docs" / "accuracy_in_readme.py"


def script():
    spec = importlib.util.spec_from_file_location("accuracy_in_readme", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_readme_and_the_page_on_accuracy_agree():
    readme, page = (mpis.TOP / "README.md").read_text(), (mpis.TOP / "docs" / "accuracy.md").read_text()
    assert script().with_sentences(readme, page) == readme, f"run `python {SCRIPT}`"
    assert "are ordered rightly" in script().sentences(page)


def test_sentences_are_replaced_and_nothing_else():
    found = script()
    page = "# Accuracy\n\nOne sentence each:\n\n* MPICH: good.\n* Open MPI: bad.\n\n## How\n\n* other\n"
    readme = f"before\n{found.BEGIN}* old\n{found.END}after\n"
    expected = f"before\n{found.BEGIN}* MPICH: good.\n* Open MPI: bad.\n{found.END}after\n"
    assert found.with_sentences(readme, page) == expected
    assert found.with_sentences(expected, page) == expected
