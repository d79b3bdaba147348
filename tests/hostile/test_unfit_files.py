# SPDX-License-Identifier: BSD-3-Clause
"""Files without an end, nested without an end, and numbers without an end: one error each."""

import os
from pathlib import Path

import pytest
from mutants import run_cli

REPOSITORY = Path(__file__).resolve().parents[2]
MACHINE = REPOSITORY / "machines" / "bensley-infiniband-2007.machine.toml"
GOAL = "num_ranks 2\nrank 0 {\nl1: send 10b to 1 tag 5\n}\nrank 1 {\nl1: recv 10b from 0 tag 5\n}\n"
DEEP = 100_000


@pytest.fixture
def goal(tmp_path):
    path = tmp_path / "app.goal"
    path.write_text(GOAL)
    return path


def refused(*words):
    answer = run_cli(words, seconds=60)
    assert answer.status == 1, answer
    assert "error: " in answer.err, answer
    return answer.err


@pytest.mark.one_of(2)
@pytest.mark.parametrize("kind", ["pipe", "/dev/zero"])
def test_pipes_and_devices_are_no_input_of_any_reader(goal, tmp_path, kind):
    path = kind
    if kind == "pipe":
        path = str(tmp_path / "pipe")
        os.mkfifo(path)
    grid = ["--hierarchy", "2:2", "--distances", "1:10"]
    for words in (
        ["predict", path, "-m", MACHINE],
        ["predict", goal, "-m", path],
        ["predict", goal, "-m", MACHINE, "--placement", path],
        ["place", "--graph", path, *grid],
    ):
        assert "it is a pipe or a device" in refused(*words)


@pytest.mark.one_of(4)
@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * DEEP + "]" * DEEP,
        "a = " + "{b=" * DEEP + "1" + "}" * DEEP,
        "a" + ".b" * DEEP + " = 1",
        "[a" + ".b" * DEEP + "]",
        "a" + ' . "x y"' * DEEP + " = 1",
        "a" + " . 'x \"y'" * DEEP + " = 1",
        "a" + ' . "x\\" y"' * DEEP + " = 1",
        "x = {a = 1, b" + ' . "."' * DEEP + " = 1}",
        'a = "' + '\\"' * DEEP + "." * DEEP + "\n",
        "schema = " + "9" * 30,
        "schema = nan",
    ],
    ids=[
        "lists",
        "tables",
        "dots",
        "header",
        "quoted",
        "literal",
        "escaped",
        "inline",
        "not closed",
        "number",
        "nan",
    ],
)
def test_machine_files_nested_without_end_are_refused(goal, tmp_path, text):
    path = tmp_path / "m.machine.toml"
    path.write_text(text)
    assert "m.machine.toml" in refused("predict", goal, "-m", path)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e400", "9" * 40])
def test_a_machine_file_has_no_number_that_is_none(goal, tmp_path, value):
    path = tmp_path / "m.machine.toml"
    text = MACHINE.read_text()
    at = text.index("L_s")
    at = text.index("value = ", at) + len("value = ")
    end = min(text.index(mark, at) for mark in (",", "}"))
    path.write_text(text[:at] + value + " " + text[end:])
    assert "m.machine.toml" in refused("predict", goal, "-m", path)


@pytest.mark.parametrize(
    "text",
    [
        "[" * DEEP,
        '{"schema": "rankwise.placement/1", "nodes": ' + "[" * DEEP,
        '{"schema": "rankwise.placement/1", "nodes": [{"name": "n", "topology_sha256": "'
        + "0" * 64
        + '"}], "ranks": [{"node": 0, "cores": ['
        + "9" * 23
        + "]}]}",
        '{"schema": "rankwise.placement/1", "nodes": [{"name": "n", "topology_sha256": "'
        + "0" * 64
        + '"}], "ranks": [{"node": 0, "cores": [9223372036854775808]}]}',
    ],
    ids=["deep", "deep value", "23 digits", "64 bits"],
)
def test_placements_nested_without_end_and_cores_of_many_digits_are_refused(goal, tmp_path, text):
    path = tmp_path / "p.placement.json"
    path.write_text(text)
    assert "p.placement.json" in refused("predict", goal, "-m", MACHINE, "--placement", path)
