# SPDX-License-Identifier: BSD-3-Clause
"""What every command shares: options, errors, streams, exit status; as transcripts of a made-up command."""

import importlib
import subprocess
import sys
import types
from pathlib import Path

import pytest

import rankwise.cli
import rankwise.cli.parsing
from rankwise.cli.terminal import Terminal
from rankwise.errors import RankwiseError


@pytest.fixture
def rankwise_line(monkeypatch, capsys):
    """Run `rankwise ARGS` with one more command, `weigh`, that does what the test gives it."""

    def line(*argv, does=lambda args: 0, **attributes):
        module = types.ModuleType("rankwise.cli.weigh")
        module.HELP = "weigh a recording"
        module.run = does

        def add_arguments(parser):
            from rankwise.cli.parsing import add_json, add_output, seconds, size_bytes

            add_output(parser, "where to write")
            add_json(parser)
            parser.add_argument("--budget", type=seconds)
            parser.add_argument("--piece", type=size_bytes)
            parser.add_argument("--kind", choices=("light", "heavy"))

        module.add_arguments = add_arguments
        for name, value in attributes.items():
            setattr(module, name, value)
        monkeypatch.setitem(sys.modules, "rankwise.cli.weigh", module)
        monkeypatch.setattr(rankwise.cli, "COMMANDS", ("weigh",))
        try:
            status = rankwise.cli.main(list(argv))
        except SystemExit as left:
            status = left.code
        out, err = capsys.readouterr()
        return status, out, err

    return line


def test_a_misspelt_command_gets_a_hint(rankwise_line):
    expected = "error: `wiegh` is not a command of rankwise\n\nhint: did you mean `weigh`?\n"
    assert rankwise_line("wiegh") == (2, "", expected)


def test_a_command_like_no_other_is_sent_to_the_help(rankwise_line):
    status, _, err = rankwise_line("zzz")
    assert (status, err) == (2, "error: `zzz` is not a command of rankwise\n\nhint: see `rankwise --help`\n")


def test_a_misspelt_option_gets_a_hint(rankwise_line):
    expected = "error: `--fource` is not an option of `rankwise weigh`\n\nhint: did you mean `--force`?\n"
    assert rankwise_line("weigh", "--fource") == (2, "", expected)


def test_an_abbreviated_option_is_not_guessed(rankwise_line):
    status, _, err = rankwise_line("weigh", "--forc")
    assert status == 2
    assert "did you mean `--force`?" in err


def test_a_wrong_choice_names_the_choices(rankwise_line):
    status, _, err = rankwise_line("weigh", "--kind", "lite")
    expected = "error: `lite` is not a value of `--kind`, which takes `light`, `heavy`\n"
    assert (status, err.splitlines(True)[0]) == (2, expected)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--budget", "3"), "`--budget`: `3` is not a time with a unit, for example `30s`"),
        (("--budget",), "`--budget`: expected one argument"),
        (("--piece", "3 stones"), "`--piece`: `3 stones` is not a size, for example `64KiB`"),
        (("--piece", "0.3B"), "`--piece`: `0.3B` is not a whole number of bytes"),
        (("extra",), "`rankwise weigh` does not know what to do with `extra`"),
        (("--", "mpiexec"), "`rankwise weigh` takes no command after `--`"),
    ],
)
def test_a_wrong_command_line_is_said_in_a_sentence(rankwise_line, words, error):
    expected = f"error: {error}\n\nhint: see `rankwise weigh --help`\n"
    assert rankwise_line("weigh", *words) == (2, "", expected)


def test_values_with_units_arrive_in_seconds_and_bytes(rankwise_line):
    seen = {}
    rankwise_line("weigh", "--budget", "2us", "--piece=64KiB", does=lambda a: seen.update(vars(a)) or 0)
    assert seen["budget"] == pytest.approx(2e-6)
    assert seen["piece"] == 65536


def test_everything_after_the_first_dashes_reaches_the_command_untouched(rankwise_line):
    seen = {}
    words = ["mpiexec", "-n", "4", "-q", "--", "--json", "--help"]
    rankwise_line("weigh", "--", *words, COMMAND="mpiexec ...", does=lambda a: seen.update(vars(a)) or 0)
    assert seen["command"] == words
    assert (seen["quiet"], seen["json"]) == (0, False)


def test_common_options_may_stand_before_or_behind_the_command(rankwise_line):
    seen = []
    rankwise_line("-v", "weigh", "-q", "--color", "never", does=lambda a: seen.append(a) or 0)
    assert (seen[0].verbose, seen[0].quiet, seen[0].color) == (1, 1, "never")


def test_an_error_shows_causes_then_a_blank_line_then_the_hint(rankwise_line):
    def does(args):
        raise RankwiseError("no `x`", hint="bring one", causes=("it is gone", "long ago"), status=1)

    expected = "error: no `x`\ncause: it is gone\ncause: long ago\n\nhint: bring one\n"
    assert rankwise_line("weigh", does=does) == (1, "", expected)


def test_a_command_that_passes_on_a_status_fails_with_its_own(rankwise_line):
    def does(args):
        raise RankwiseError("no `x`", hint="bring one")

    assert rankwise_line("weigh", does=does, FAILURE_STATUS=125)[0] == 125
    assert rankwise_line("weigh", "--fource", FAILURE_STATUS=125)[0] == 125


def test_a_bug_is_said_shortly_with_status_70_and_fully_when_asked(rankwise_line):
    def does(args):
        return {}["gone"]

    status, out, err = rankwise_line("weigh", does=does)
    assert (status, out) == (70, "")
    assert err.startswith("error: a bug in rankwise: `KeyError: 'gone'` at `test_command_line.py:")
    assert "Traceback" not in err
    assert "Traceback" in rankwise_line("weigh", "-v", does=does)[2]


def test_ctrl_c_is_quiet_and_130(rankwise_line):
    def does(args):
        raise KeyboardInterrupt

    assert rankwise_line("weigh", does=does) == (130, "", "")


def test_errors_are_coloured_only_when_asked_or_on_a_terminal(rankwise_line):
    assert "\033[1;31merror:\033[0m" in rankwise_line("weigh", "--color", "always", "--fource")[2]
    assert "\033" not in rankwise_line("weigh", "--fource")[2]


def test_results_go_to_stdout_and_narration_to_stderr(rankwise_line):
    def does(args):
        terminal = Terminal(args)
        terminal.result("42")
        terminal.wrote("a.rw")
        terminal.next("rankwise report a.rw")
        terminal.warning("ranks were not bound", "unbound-ranks", hint="bind them")
        return 0

    warning = "warning: ranks were not bound  [unbound-ranks]\n\nhint: bind them\n"
    told = "Wrote a.rw\nnext: rankwise report a.rw\n"
    assert rankwise_line("weigh", does=does) == (0, "42\n", told + warning)
    assert rankwise_line("weigh", "-q", does=does) == (0, "42\n", warning)
    assert rankwise_line("weigh", "-qq", does=does) == (0, "42\n", "")


def test_a_table_fits_80_columns_and_keeps_odd_text_as_it_is(rankwise_line):
    def does(args):
        Terminal(args).table(["call", "time"], [["MPI_Send [bold]", "9.1 s"], ["MPI_Wait", None]])
        return 0

    _, out, _ = rankwise_line("weigh", does=does)
    assert "MPI_Send [bold]" in out
    assert [line.split() for line in out.splitlines() if "Wait" in line] == [["MPI_Wait", "-"]]
    assert max(map(len, out.splitlines())) <= 80


def test_a_table_in_a_pipe_is_as_wide_as_its_cells(rankwise_line):
    def does(args):
        Terminal(args).table(["host", *"abcdef"], [["rack7-node0123456789", *(["0123456789abcdef"] * 6)]])
        return 0

    _, out, _ = rankwise_line("weigh", does=does)
    assert out.splitlines()[-1].split() == ["rack7-node0123456789", *(["0123456789abcdef"] * 6)]


def test_every_command_has_the_interface_and_a_help_text():
    for name in rankwise.cli.COMMANDS:
        module = importlib.import_module(f"rankwise.cli.{name}")
        assert module.HELP[0].islower() and not module.HELP.endswith(".")
        assert callable(module.add_arguments) and callable(module.run)


def test_help_fits_80_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    parser = rankwise.cli.parsing.build_parser(rankwise.cli.COMMANDS)
    verbs = next(action for action in parser._actions if action.choices and "record" in action.choices)
    for each in (parser, *verbs.choices.values()):
        assert max(map(len, each.format_help().splitlines())) <= 80, each.prog


def test_help_and_version_import_nothing_heavy():
    for words in (["--help"], ["--version"]):
        code = (
            "import sys, rankwise.cli\n"
            f"try: rankwise.cli.main({words!r})\n"
            "except SystemExit as left: assert not left.code\n"
            "heavy = {'numpy', 'polars', 'bokeh', 'rich', 'msgspec', 'rankwise._core'} & set(sys.modules)\n"
            "sys.exit(f'imported {heavy}' if heavy else 0)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert "rankwise" in done.stdout


def test_no_command_shows_the_help_as_an_error():
    done = subprocess.run([sys.executable, "-m", "rankwise"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: rankwise")


def test_a_reader_that_goes_away_is_no_error():
    code = (
        "import sys, types, rankwise.cli as cli\n"
        "module = types.ModuleType('rankwise.cli.weigh')\n"
        "module.HELP, module.add_arguments = 'weigh', lambda parser: None\n"
        "module.run = lambda args: [print('x' * 60) for _ in range(100000)] and 0\n"
        "sys.modules['rankwise.cli.weigh'], cli.COMMANDS = module, ('weigh',)\n"
        "sys.exit(cli.main(['weigh']))"
    )
    script = '"$0" -c "$1" | head -1 >/dev/null; echo ${PIPESTATUS[0]}'
    done = subprocess.run(["bash", "-c", script, sys.executable, code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("141\n", "")


def test_a_result_that_cannot_be_written_is_an_error_and_no_bug():
    with open("/dev/full", "w") as full:
        line = [sys.executable, "-m", "rankwise", "doctor", "--json"]
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    expected = "error: the result could not be written to stdout: no space left on device\n"
    assert (done.returncode, done.stderr) == (1, expected)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_the_caller_closed_is_no_bug(tmp_path, closed):
    # GIVEN a program that tells which of its standard streams are open
    program = tmp_path / "program"
    program.write_text(
        "#!/bin/sh\nfor n in 0 1 2; do [ -e /proc/$$/fd/$n ] && echo $n >> $0.open; done; exit 3\n"
    )
    program.chmod(0o755)
    commands = {"--version": 0, f"record --mpi mpich -o {tmp_path}/x.rw -- {program}": 3}
    for words, status in commands.items():
        script = f"{sys.executable} -m rankwise {words} {closed}"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
        assert done.returncode == status, done.stderr
    # THEN it sees what it sees without Rankwise
    open_ones = [str(n) for n, mark in enumerate(["<&-", ">&-", "2>&-"]) if mark not in closed.split()]
    left = Path(f"{program}.open").read_text().split() if Path(f"{program}.open").exists() else []
    assert left == open_ones


def test_a_command_to_type_next_is_wrapped_where_its_options_begin():
    from rankwise.cli.terminal import in_lines

    command = "rankwise place app.rw --machine m.machine.toml --nodes 4x16 --output place.toml --seed 1"
    assert in_lines(command, 200) == [command]
    lines = in_lines(command, 45)
    assert lines == [
        "rankwise place app.rw \\",
        "  --machine m.machine.toml --nodes 4x16 \\",
        "  --output place.toml --seed 1",
    ]
    # what is too long stays as it is
    assert in_lines("rankwise report /a/very/long/path.rw", 10) == ["rankwise report /a/very/long/path.rw"]


def test_a_name_without_its_option_is_told_where_it_belongs():
    with pytest.raises(RankwiseError) as caught:
        parsing = rankwise.cli.parsing
        parsing.parse(parsing.build_parser(["lab"]), ["lab", "down", "old one"])
    assert caught.value.message == "`rankwise lab down` does not know what to do with `old one`"
    assert caught.value.hint == "names follow `--name`: `rankwise lab down --name 'old one'`"
