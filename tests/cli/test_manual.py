# SPDX-License-Identifier: BSD-3-Clause
"""Manual pages, as `man` and mandoc read them."""

import shutil
import subprocess
import sys

import pytest

from rankwise.cli import COMMANDS


@pytest.fixture(scope="module")
def share(tmp_path_factory):
    """What is installed below `share`."""
    directory = tmp_path_factory.mktemp("share")
    subprocess.run([sys.executable, "-m", "rankwise.cli.shells", directory, "1.2.3"], check=True)
    return directory


def test_each_command_has_a_page_with_all_its_options(share):
    for command in COMMANDS:
        # GIVEN what its help says
        help = subprocess.run(
            [sys.executable, "-m", "rankwise", command, "--help"], capture_output=True, text=True, check=True
        ).stdout
        page = (share / "man" / "man1" / f"rankwise-{command}.1").read_text().replace("\\-", "-")
        options = {word.rstrip(",)") for word in help.split() if word.startswith("--") and len(word) > 2}
        options = {each for each in options if f"  {each}" in help or f", {each}" in help}
        # THEN the page has it, too
        assert "Rankwise 1.2.3" in page
        assert {each for each in options if f"\\fB{each}\\fR" not in page} == set()


def test_pages_are_right_roff(share):
    if shutil.which("mandoc") is None:
        pytest.skip("no mandoc on PATH (Debian package `mandoc`)")
    pages = sorted((share / "man" / "man1").iterdir())
    done = subprocess.run(
        ["mandoc", "-Tlint", "-W", "warning", *pages], capture_output=True, text=True, check=False
    )
    # A date would make each build another one.
    assert [line for line in done.stdout.splitlines() if "missing date" not in line] == []


def test_completion_is_where_shells_look_for_it(share):
    for name, of in {
        "bash-completion/completions/rankwise": "complete -o filenames -F _rankwise rankwise",
        "zsh/site-functions/_rankwise": "#compdef rankwise",
        "fish/vendor_completions.d/rankwise.fish": "complete -c rankwise",
    }.items():
        assert of in (share / name).read_text()
