# SPDX-License-Identifier: BSD-3-Clause
"""Commands that compute say in one line that memory is short."""

import resource
import subprocess
import sys

import pytest

from rankwise.short_memory import was_short

LINE = "error: memory is short\n\nhint: `ulimit -v unlimited`, or ask for more memory for the job\n"
VERBS = {"report": [], "predict": ["--machine", "m.toml"], "place": ["--machine", "m.toml"]}


def limited(size_mb, *words):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (size_mb << 20, size_mb << 20))

    command = [sys.executable, *words]
    return subprocess.run(command, preexec_fn=limit, capture_output=True, text=True, check=False, timeout=100)


@pytest.mark.parametrize("verb", VERBS)
def test_a_limit_below_what_importing_needs_is_one_line(verb):
    done = limited(200, "-m", "rankwise", verb, "x.rw", *VERBS[verb])
    assert (done.returncode, done.stdout, done.stderr) == (1, "", LINE)


@pytest.mark.parametrize(
    "failure",
    [
        "os.abort()",
        "os.kill(os.getpid(), 9)",
        "raise MemoryError",
        "raise NameError('PyLazyFrame')",
        "raise ImportError('failed to map segment')",
        "raise OSError(12, 'Cannot allocate memory')",
    ],
)
def test_what_libraries_do_without_memory_is_the_same_line(failure):
    program = f"""
import os, sys
from rankwise import cli
from rankwise.cli import report
def run(args):
    {failure}
report.run = run
sys.exit(cli.main(["report", "x.rw"]))
"""
    done = limited(1000, "-c", program)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", LINE)


def test_a_command_that_has_enough_leaves_with_its_own_status(tmp_path):
    done = limited(2000, "-m", "rankwise", "report", str(tmp_path / "none.rw"))
    assert done.returncode == 1
    assert "does not exist" in done.stderr


def test_an_error_of_another_kind_is_none_of_memory():
    assert not was_short(ValueError("x"))
    try:
        try:
            raise MemoryError
        except MemoryError:
            raise ValueError("x") from None
    except ValueError as error:
        assert was_short(error)


def test_a_bug_where_only_a_control_group_limits_memory_is_no_lack_of_it(monkeypatch):
    # GIVEN a container or a job, whose limit ends processes and fails no allocation
    monkeypatch.setattr("rankwise.short_memory.address_space", lambda: None)
    monkeypatch.setattr("rankwise.short_memory._group_limits", lambda: iter(["1048576"]))
    assert not was_short(NameError("name 'x' is not defined"))
