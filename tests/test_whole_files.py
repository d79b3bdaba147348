# SPDX-License-Identifier: BSD-3-Clause
"""Files come whole or not at all, and only where they were meant to."""

import os
import stat
from pathlib import Path

import pytest

from rankwise.cli import main
from rankwise.errors import RankwiseError
from rankwise.report.files import check, is_report
from rankwise.whole_files import check_free, replacing, write


def test_a_link_under_a_name_that_was_predictable_is_not_followed(tmp_path):
    victim, target = tmp_path / "victim", tmp_path / "out.json"
    victim.write_text("precious")
    (tmp_path / f".out.json.{os.getpid()}").symlink_to(victim)
    write(target, b"new")
    assert (victim.read_text(), target.read_text()) == ("precious", "new")


def test_a_file_that_is_replaced_keeps_its_mode_and_a_new_one_has_that_of_the_umask(tmp_path):
    old = tmp_path / "old"
    old.write_text("old")
    old.chmod(0o640)
    write(old, b"new")
    before = os.umask(0o027)
    try:
        write(tmp_path / "fresh", b"new")
    finally:
        os.umask(before)
    assert [oct(each.stat().st_mode & 0o777) for each in (old, tmp_path / "fresh")] == ["0o640", "0o640"]


def test_what_went_wrong_leaves_the_old_file_and_no_other(tmp_path):
    target = tmp_path / "out"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(target) as scratch:
        scratch.write_text("half")
        raise ZeroDivisionError
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("out", "old")]


@pytest.fixture
def pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("name", ["pipe", "link"])
def test_a_pipe_is_not_replaced_and_neither_is_a_link_to_one(pipe, name):
    path = pipe.with_name(name)
    if path != pipe:
        path.symlink_to(pipe)
    for use in (lambda: write(path, b"new"), lambda: check_free(path, force=True)):
        with pytest.raises(RankwiseError, match="is a pipe or a device"):
            use()
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert {each.name for each in pipe.parent.iterdir()} == {"pipe", name}


def test_a_file_is_replaced_through_a_link_and_where_a_link_leads_nowhere(tmp_path):
    (tmp_path / "old").write_text("old")
    for name, target in (("to file", "old"), ("to nothing", "nothing")):
        (tmp_path / name).symlink_to(target)
        check_free(tmp_path / name, force=True)
        write(tmp_path / name, b"new")
        assert (tmp_path / name).read_text() == "new"


def test_a_pipe_is_no_report_and_is_not_waited_for(pipe):
    assert not is_report(pipe)
    with pytest.raises(RankwiseError, match="is a pipe or a device"):
        check(pipe, force=True)


def test_no_command_puts_a_file_in_the_place_of_a_pipe(pipe, capsys):
    machine = str(Path(__file__).resolve().parents[1] / "machines" / "bensley-infiniband-2007.machine.toml")
    goal = pipe.with_name("app.goal")
    goal.write_text(
        "num_ranks 2\nrank 0 {\nl1: send 10b to 1 tag 5\n}\nrank 1 {\nl1: recv 10b from 0 tag 5\n}\n"
    )
    graph = pipe.with_name("app.mtx")
    for words in (
        ["predict", str(goal), "-m", machine, "--perfetto", str(pipe), "-f"],
        ["predict", str(goal), "-m", machine, "--goal", str(pipe), "-f"],
        ["place", str(goal), "-m", machine, "-o", str(pipe), "-f"],
        ["place", "--graph", str(graph), "--hierarchy", "2:2", "--distances", "1:10", "-o", str(pipe), "-f"],
        ["measure", "-o", str(pipe), "-f", "--", "mpiexec", "-n", "2"],
    ):
        assert main(words) == 1
        assert f"`{pipe}` is a pipe or a device" in capsys.readouterr().err
    assert stat.S_ISFIFO(pipe.stat().st_mode)
