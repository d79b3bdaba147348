# SPDX-License-Identifier: BSD-3-Clause
"""Programs that a file describes: read, found or named as missing, made ready in a directory of their own."""

import mpis
import pytest
from accuracy.described import load, make_described, missing

from rankwise.errors import RankwiseError
from rankwise.launchers.line import Launcher

LAUNCHER = Launcher("hydra", "mpiexec", "/nowhere/mpiexec", "5.0.2", "MPICH")
TEXT = """[[program]]
name = "app"
title = "An application"
package = "`apt-get install app`"
command = ["./app", "4"]
files = { input = "1 2 3" }
prepare = "cp input app"
"""


def written(tmp_path, text):
    path = tmp_path / "programs.toml"
    path.write_text(text)
    return path


def test_a_described_program_is_made_ready_once_and_runs_where_its_input_is(tmp_path):
    (program,) = load(written(tmp_path, TEXT))
    # WHEN it is made ready twice, and what was made is changed between
    make_described(program, LAUNCHER, tmp_path)
    (tmp_path / "app" / "app").write_text("mine")
    case = make_described(program, LAUNCHER, tmp_path)
    # THEN it was made once, and starts in its directory
    assert (tmp_path / "app" / "app").read_text() == "mine"
    assert case.words[3:] == (str(tmp_path / "app"), "./app", "4")


@pytest.mark.parametrize(
    "change, said",
    [
        (('"./app"', '"no-such-program"'), "`no-such-program` is not installed: `apt-get install app`"),
        (("files", 'mpi = ["openmpi"]\nfiles'), "not with MPICH"),
        (("files", 'needs = ["python:no_such_module"]\nfiles'), "`python:no_such_module` is not installed"),
    ],
)
def test_a_program_that_is_not_there_is_named_with_what_to_install(change, said, tmp_path):
    programs = load(written(tmp_path, TEXT.replace(*change, 1)))
    assert said in missing(programs, LAUNCHER)["app"]


@pytest.mark.parametrize("text", ["[[program]]\nname = 3\n", "program = []\n", TEXT + TEXT, "[[pro"])
def test_a_file_that_is_none_is_refused_by_its_name(text, tmp_path):
    with pytest.raises(RankwiseError, match="programs.toml"):
        load(written(tmp_path, text))


def test_what_fails_while_it_is_made_ready_is_said(tmp_path):
    (program,) = load(written(tmp_path, TEXT.replace("cp input app", "echo no compiler; exit 1")))
    with pytest.raises(RankwiseError, match="cannot be made ready: no compiler"):
        make_described(program, LAUNCHER, tmp_path)


def test_the_programs_held_out_can_be_read():
    names = [each.name for each in load(mpis.TOP / "bench" / "accuracy" / "held_out.toml")]
    assert len(names) >= 8 and len(set(names)) == len(names)
