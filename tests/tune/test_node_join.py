# SPDX-License-Identifier: BSD-3-Clause
"""The tuner that a node's first rank starts: it has nothing of the rank, and the rank does not notice it."""

import os
import subprocess
import time

import mpis
import pytest

SAYS = """#!/bin/sh
out=$(mktemp -p {folder}); exec > $out
echo "arguments: $*"; echo "files: $(ls /proc/$$/fd | tr '\\n' ' ')"; echo "cwd: $(pwd)"
echo "session: $(ps -o sid= -p $$ | tr -d ' ')"; grep SigBlk /proc/self/status
echo "input and errors: $(readlink /proc/$$/fd/0) $(readlink /proc/$$/fd/2)"; env
mv $out {folder}/said.$$
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("node") / "node_join"
    sources = [mpis.TOP / "tests/programs/node_join.c", mpis.TOP / "record/tune/node.c"]
    words = ["cc", "-D_GNU_SOURCE", "-I", mpis.TOP / "record", *sources, "-o", path]
    subprocess.run(words, check=True)
    return path


@pytest.fixture
def join(program, tmp_path):
    """Function (directory) -> what the program says of two ranks that join there."""
    (tmp_path / "said").mkdir()
    python = tmp_path / "python"
    python.write_text(SAYS.format(folder=tmp_path / "said"))
    python.chmod(0o755)
    environment = os.environ | {"RANKWISE_TUNE_PYTHON": str(python), "RANKWISE_TUNE_NODE": "asked"}

    def run(directory, **more):
        done = subprocess.run(
            [program, directory],
            env=environment | more,
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
        return done.stdout

    return run


def what_was_started(folder):
    for _ in range(100):
        if found := list(folder.glob("said.*")):
            break
        time.sleep(0.05)
    return found


def test_one_tuner_is_started_and_the_program_does_not_notice(join, tmp_path):
    # WHEN two ranks join a node where no directory is yet
    said = join(tmp_path / "job" / "pages", MINE="kept", RANKWISE_DIR="recording")
    # THEN the program has no child, got no signal, and its signals and files are as they were
    assert said == "0 0 no child 1 signals 0 blocked 0 file 0\n"
    # AND one tuner was started, without files or variables that are the rank's, in a session of its own
    (file,) = what_was_started(tmp_path / "said")
    lines = file.read_text().splitlines()
    assert lines[0] == "arguments: -m rankwise tune --node asked"
    assert "77" not in lines[1].split()
    assert lines[5] == "input and errors: /dev/null /dev/null"
    assert lines[2] == "cwd: /"
    assert lines[4].split()[1].strip("0") == ""
    assert "MINE=kept" in lines
    assert [line for line in lines if line.startswith(("RANKWISE_", "LD_PRELOAD="))] == []
    # AND others may not look into its directory
    assert (tmp_path / "job").stat().st_mode & 0o777 == 0o700


def test_where_a_directory_is_there_or_is_no_directory_nothing_is_started(join, tmp_path):
    (tmp_path / "job" / "pages").mkdir(parents=True)
    (tmp_path / "job").chmod(0o700)
    assert join(tmp_path / "job" / "pages").startswith("0 0 ")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    assert join(tmp_path / "open" / "pages").startswith("-1 -1 ")
    (tmp_path / "file").write_text("")
    assert join(tmp_path / "file" / "pages").startswith("-1 -1 ")
    (tmp_path / "job").rename(tmp_path / "real")
    (tmp_path / "job").symlink_to(tmp_path / "real")
    assert join(tmp_path / "job" / "pages").startswith("-1 -1 ")
    time.sleep(0.5)
    assert list((tmp_path / "said").iterdir()) == []


def test_a_tuner_that_cannot_be_started_changes_and_leaves_nothing(join, tmp_path):
    said = join(tmp_path / "job" / "pages", RANKWISE_TUNE_PYTHON="/absent/python")
    # THEN that is told apart from a directory that cannot be made
    assert said == "-2 -2 no child 1 signals 0 blocked 0 file 0\n"
    assert not (tmp_path / "job").exists()
