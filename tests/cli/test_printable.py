# SPDX-License-Identifier: BSD-3-Clause
"""Nothing that came from elsewhere commands the terminal."""

import argparse
import json

import pytest
from raw_writer import FINALIZED, Rank, write_recording

from rankwise.cli import failures, main
from rankwise.cli.terminal import Terminal, for_shell, printable
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
    terminal = Terminal(args)
    terminal.result(f"{terminal.paint_out('good', 'a')} b")
    assert capsys.readouterr().out == "\033[32ma\033[0m b\n"


def test_colours_in_names_of_others_are_no_colours(terminal, capsys):
    # GIVEN names with the very words that colour text, alone and inside what is coloured
    name = "a\033[31mb\033[0m"
    terminal.result(f"{terminal.paint_out('good', name)} {name}")
    terminal.note(f"{terminal.paint('path', name)} {name}")
    terminal.warning(name, "some-id", hint=name)
    terminal.next(name)
    failures.show(RankwiseError(name, hint=name, causes=(name,)), ["--color", terminal.color])
    said = "".join(capsys.readouterr())
    # THEN none of them colours
    assert said.count("\\x1b[31mb\\x1b[0m") == 10
    assert "\033[31m" not in said.replace("\033[1;31m", "")
    assert said.count("\033[0m") == (0 if terminal.color == "never" else 8)


def test_colours_in_host_names_are_none_in_a_coloured_report(tmp_path, capsys):
    # GIVEN a recording whose host is named in red
    ranks = [Rank(me, 2, host="\033[31mn0", flags=FINALIZED) for me in range(2)]
    recording = write_recording(tmp_path / "x.rw", ranks)
    # WHEN it is shown in colours
    assert main(["report", str(recording), "--color", "always"]) == 0
    # THEN the host does not colour
    said = capsys.readouterr().out
    assert "\\x1b[31mn0" in said and "\033[31m" not in said
    # AND the page has it written out, too
    page = (tmp_path / "x.report.html").read_text()
    assert "\\x1b[31mn0" in page and "\033[31m" not in page


def test_paths_for_a_shell_are_whole_and_on_a_terminal_printable(monkeypatch, capsys):
    assert for_shell(HOSTILE) == HOSTILE
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert for_shell(HOSTILE) == printable(HOSTILE)
