# SPDX-License-Identifier: BSD-3-Clause
"""Nothing that came from elsewhere commands the terminal."""

import argparse
import json

import pytest

from rankwise.cli import failures
from rankwise.cli.terminal import Terminal
from rankwise.errors import RankwiseError

HOSTILE = "a\033]0;owned\a\033[2J\x9b31mb\rc\u202e"


@pytest.fixture(params=["never", "always"])
def terminal(request):
    return Terminal(
        argparse.Namespace(quiet=0, verbose=0, color=request.param, no_progress=False, json=False)
    )


def test_no_name_reaches_the_terminal_with_its_escapes(terminal, capsys):
    terminal.result(HOSTILE)
    terminal.note(HOSTILE)
    terminal.warning(HOSTILE, "some-id", hint=HOSTILE)
    terminal.wrote(HOSTILE)
    terminal.next(HOSTILE)
    terminal.table([HOSTILE, "n"], [[HOSTILE, 1]], title=HOSTILE)
    failures.show(RankwiseError(HOSTILE, hint=HOSTILE, causes=(HOSTILE,)), ["--color", terminal.color])
    said = "".join(capsys.readouterr())
    assert "owned" in said
    assert not [each for each in ("\033]", "\033[2J", "\a", "\x9b", "\r", "\u202e") if each in said]


def test_json_with_control_characters_is_still_json_and_has_none(terminal, capsys):
    terminal.json({"schema": "test/1", "name": HOSTILE})
    said = capsys.readouterr().out
    assert json.loads(said)["name"] == HOSTILE
    assert not [each for each in ("\033", "\x9b", "\u202e") if each in said]


def test_colours_of_a_result_stay(capsys):
    args = argparse.Namespace(quiet=0, verbose=0, color="always", no_progress=False, json=False)
    Terminal(args).result("\033[1mbold\033[0m \033[2J")
    assert capsys.readouterr().out == "\033[1mbold\033[0m \\x1b[2J\n"
