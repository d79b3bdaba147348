# SPDX-License-Identifier: BSD-3-Clause
"""Completion in bash, driven as bash drives it."""

import subprocess
import sys

import pytest

from rankwise.cli import COMMANDS


@pytest.fixture(scope="module")
def script():
    command = [sys.executable, "-m", "rankwise", "completion", "bash"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def complete(script, tmp_path):
    """Function: what is offered for the last of these words."""
    (tmp_path / "halo.rw").mkdir()

    def offered(*words, before=""):
        asked = 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rankwise; printf "%s\\n" "${COMPREPLY[@]}"'
        lines = f"{script}\n{before}\n{asked}"
        command = ["bash", "--norc", "-c", lines, "bash", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
        assert done.stderr == ""
        return done.stdout.split()

    return offered


def test_commands_are_offered(complete):
    assert complete("rankwise", "rec") == ["record"]
    assert "doctor" in complete("rankwise", "")


def test_options_of_the_command_are_offered(complete):
    assert complete("rankwise", "record", "--tr") == ["--trace", "--trace-calls"]
    assert complete("rankwise", "doctor", "--tr") == []


def test_values_of_an_option_are_offered(complete):
    assert complete("rankwise", "record", "--mpi", "open") == ["openmpi"]
    assert complete("rankwise", "--color", "al") == ["always"]


def test_files_are_offered_elsewhere(complete):
    assert complete("rankwise", "record", "-o", "ha") == ["halo.rw"]


def test_what_follows_the_dashes_is_a_command_line_of_its_own(complete):
    # GIVEN a shell without the bash-completion package: any command, then files
    assert "bash" in complete("rankwise", "record", "--", "bas")
    assert complete("rankwise", "record", "--", "cat", "ha") == ["halo.rw"]
    # GIVEN one with it: that command's own completion
    asked = complete(
        "rankwise", "record", "--", "cat", "--fo", before="_command_offset() { COMPREPLY=(from:$1); }"
    )
    assert asked == ["from:3"]


def test_every_command_is_in_the_list_of_commands():
    done = subprocess.run(
        [sys.executable, "-m", "rankwise", "--help"], capture_output=True, text=True, check=True
    )
    listed = [
        line.split()[0] for line in done.stdout.splitlines() if line.startswith("    ") and line[4] != " "
    ]
    assert listed == list(COMMANDS)
