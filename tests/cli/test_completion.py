# SPDX-License-Identifier: BSD-3-Clause
"""Completion in bash, zsh and fish, driven as the shells drive it."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time

import pytest

from rankwise.cli import COMMANDS


@pytest.fixture(scope="module")
def script():
    """Function: the script of a shell."""

    def of(shell):
        command = [sys.executable, "-m", "rankwise", "completion", shell]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    return of


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A directory with a recording, a machine file, a text, what a tuner wrote, a graph, and a lab of this user's."""
    (tmp_path / "halo.rw").mkdir()
    (tmp_path / "halo.machine.toml").touch()
    (tmp_path / "halo.txt").touch()
    (tmp_path / "small.tune").mkdir()
    (tmp_path / "small.graph").touch()
    (tmp_path / "run" / "rankwise" / "labs" / "small").mkdir(parents=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    return tmp_path


@pytest.fixture
def complete(script, here):
    """Function: what bash offers for the last of these words."""
    text = script("bash")

    def offered(*words, before=""):
        asked = 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rankwise; printf "%s\\n" "${COMPREPLY[@]}"'
        lines = f"{text}\n{before}\n{asked}"
        command = ["bash", "--norc", "-c", lines, "bash", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=here)
        assert done.stderr == ""
        return done.stdout.split()

    return offered


@pytest.fixture
def fish(script, here):
    """Function: what fish offers for a line."""
    if shutil.which("fish") is None:
        pytest.skip("no fish on PATH (Debian package `fish`)")
    (here / "rankwise.fish").write_text(script("fish"))

    def offered(line):
        asked = f"source rankwise.fish; complete -C {line!r}"
        command = ["fish", "--no-config", "-c", asked]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=here)
        return [each.partition("\t")[0] for each in done.stdout.splitlines()]

    return offered


@pytest.fixture
def zsh(script, here):
    """Function: the line that zsh makes of one where Tab is pressed behind it."""
    if shutil.which("zsh") is None:
        pytest.skip("no zsh on PATH (Debian package `zsh`)")
    (here / "rankwise.zsh").write_text(script("zsh"))

    def completed(line):
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(here)
            os.environ["TERM"] = "dumb"
            os.execvp("zsh", ["zsh", "-f", "-i"])

        def read_until(mark):
            read, end = "", time.monotonic() + 30
            while mark not in read and time.monotonic() < end:
                if select.select([terminal], [], [], 0.1)[0]:
                    read += os.read(terminal, 4096).decode(errors="replace")
            return read

        try:
            setup = (
                "PS1=; autoload -U compinit; compinit -u -D; source rankwise.zsh; setopt no_auto_menu;"
                "show() { print -r -- \"<$BUFFER>\" }; zle -N show; bindkey '^G' show; print rea''dy\n"
            )
            os.write(terminal, setup.encode())
            read_until("ready")
            os.write(terminal, f"{line}\t\x07".encode())
            return read_until(">").partition("<")[2].partition(">")[0]
        finally:
            os.close(terminal)
            os.waitpid(process, 0)

    return completed


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


def test_files_of_the_kind_are_offered(complete):
    assert complete("rankwise", "report", "ha") == ["halo.rw"]
    assert complete("rankwise", "predict", "--machine", "halo.m") == ["halo.machine.toml"]
    # Where there is none of the kind, any file.
    assert complete("rankwise", "report", "halo.t") == ["halo.txt"]


def test_labs_are_offered(complete):
    assert complete("rankwise", "measure", "--lab", "s") == ["small"]
    assert complete("rankwise", "lab", "down", "--name", "") == ["small"]


def test_fish(fish):
    assert fish("rankwise rec") == ["record"]
    assert fish("rankwise record --trace-") == ["--trace-calls"]
    assert fish("rankwise record --mpi open") == ["openmpi"]
    assert fish("rankwise lab u") == ["up"]
    assert "halo.txt" not in fish("rankwise report ha")
    assert "halo.rw" in fish("rankwise report ha")
    assert fish("rankwise measure --lab s") == ["small"]
    assert "basename" in fish("rankwise record -- basen")
    assert fish("rankwise explain late-s") == ["late-sender"]
    assert fish("rankwise tune sto") == ["stop"]
    assert "small.tune" in fish("rankwise tune show sm")


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("rankwise rec", "rankwise record "),
        ("rankwise record --trace-", "rankwise record --trace-calls "),
        ("rankwise record --mpi open", "rankwise record --mpi openmpi "),
        ("rankwise lab u", "rankwise lab up "),
        ("rankwise report ha", "rankwise report halo.rw/"),
        ("rankwise measure --lab s", "rankwise measure --lab small "),
        ("rankwise explain late-s", "rankwise explain late-sender "),
        ("rankwise tune sh", "rankwise tune show "),
        ("rankwise tune show sm", "rankwise tune show small.tune/"),
        ("rankwise record -- cat halo.t", "rankwise record -- cat halo.txt "),
    ],
)
def test_zsh(zsh, line, becomes):
    assert zsh(line) == becomes


def test_what_follows_the_dashes_is_a_command_line_of_its_own(complete):
    # GIVEN a shell without the bash-completion package: any command, then files
    assert "bash" in complete("rankwise", "record", "--", "bas")
    assert complete("rankwise", "record", "--", "cat", "halo.t") == ["halo.txt"]
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


def test_names_are_offered_where_commands_take_them(complete):
    assert complete("rankwise", "explain", "late-s") == ["late-sender"]
    assert complete("rankwise", "study", "arc") == ["archer2"]
    assert complete("rankwise", "workloads", "gro") == ["gromacs"]
    assert complete("rankwise", "report", "app.rw", "--allocation", "c") == ["cyclic"]
    assert complete("rankwise", "study", "levels", "--on", "l") == ["lab"]


def test_what_to_do_with_a_tuner_is_offered_and_what_it_wrote(complete):
    assert complete("rankwise", "tune", "s") == ["status", "stop", "show"]
    assert complete("rankwise", "tune", "show", "sm") == ["small.tune"]
    assert complete("rankwise", "place", "--graph", "small.g") == ["small.graph"]


def test_names_in_scripts_are_those_that_commands_know():
    from rankwise.cli.shells.names import BY_COMMAND
    from rankwise.cli.tune import _WORDS
    from rankwise.findings.catalogue import DEFECTS
    from rankwise.study import catalogue
    from rankwise.workloads import names

    known = [[each.NAME for each in DEFECTS], catalogue.names(), names(), list(_WORDS)]
    assert [list(each) for each in BY_COMMAND.values()] == known
