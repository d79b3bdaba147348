# SPDX-License-Identifier: BSD-3-Clause
"""Arguments that took each other's place get the line that was meant; a machine that is lacking, the way to one."""

import re
from pathlib import Path

import numpy as np
import pytest
from raw_writer import FINALIZED, TRACED, Rank, u, write_recording, z

from rankwise.cli import main
from rankwise.replay.recorded_run import RecordedRun

MACHINE = str(Path(__file__).resolve().parents[2] / "machines" / "bensley-infiniband-2007.machine.toml")


@pytest.fixture
def recording(tmp_path):
    ranks = [Rank(me, 2, flags=FINALIZED | TRACED) for me in range(2)]
    ranks[0].event("MPI_Send", 1000, 100, u(0) + z(1) + z(0) + u(100))
    ranks[1].event("MPI_Recv", 1000, 100, u(0) + z(0) + z(0) + z(0) + z(0) + u(100))
    return str(write_recording(tmp_path / "x.rw", ranks))


@pytest.mark.parametrize("verb", ["predict", "place"])
def test_a_machine_file_and_a_recording_that_took_each_others_place_are_put_right(recording, capsys, verb):
    assert main([verb, MACHINE, "--machine", recording]) == 2
    error = capsys.readouterr().err
    assert f"error: `{MACHINE}` is a machine file, not a recording" in error
    assert f"hint: `rankwise {verb} {recording} --machine {MACHINE}`" in error
    # AND one of them alone in the wrong place
    assert main([verb, recording, "--machine", recording]) == 2
    assert f"error: `{recording}` is a recording, not a machine file" in capsys.readouterr().err
    assert main([verb, MACHINE, "--machine", MACHINE]) == 2
    assert f"hint: `rankwise {verb} app.rw --machine {MACHINE}" in capsys.readouterr().err


def test_a_machine_file_given_for_goal_and_the_other_way_round_are_put_right(tmp_path, capsys):
    goal = tmp_path / "app.goal"
    goal.write_text("num_ranks 1\nrank 0 {\nl1: calc 1\n}\n")
    assert main(["predict", MACHINE, "--machine", str(goal)]) == 2
    assert f"hint: `rankwise predict {goal} --machine {MACHINE}`" in capsys.readouterr().err


def test_a_placement_given_as_a_machine_is_put_right(recording, tmp_path, capsys):
    best = tmp_path / "best.placement.json"
    assert main(["place", recording, "-m", MACHINE, "--budget", "0.1s", "-o", str(best)]) == 0
    capsys.readouterr()
    assert main(["predict", recording, "-m", MACHINE, "-m", str(best)]) == 2
    error = capsys.readouterr().err
    assert f"`{best}` is a placement, not a machine file" in error
    assert f"`rankwise predict {recording} --machine {MACHINE} --placement {best}`" in error


def test_without_a_machine_the_ways_to_one_are_named_and_the_line_works(recording, tmp_path, capsys):
    assert main(["predict", recording]) == 2
    error = capsys.readouterr().err
    assert "rankwise measure -o here.machine.toml -- mpiexec -n 2" in error
    machine = re.search(r"--machine (\S+)`", error)[1]
    assert main(["predict", recording, "--machine", machine, "--no-losses"]) == 0


def test_place_says_as_predict_does_that_the_machine_is_far_from_the_recorded_run(
    recording, monkeypatch, capsys
):
    # GIVEN a run that took a third of what this machine is predicted to need for it
    run = RecordedRun(1.0, 3.0, np.array([1.0, 1.0]), np.array([3.0, 3.0]))
    monkeypatch.setattr("rankwise.replay.predictor.Predictor._replay_run", lambda *_: run)
    monkeypatch.setattr("rankwise.explain.unexplained.FAR", 10.0)  # it is no run of this recording
    said = []
    for words in (
        ["predict", recording, "--plain", "--no-losses"],
        ["place", recording, "--plain", "--budget", "0.1s"],
    ):
        assert main([*words, "-m", MACHINE]) == 0
        said += [line for line in capsys.readouterr().err.splitlines() if "[model-error]" in line]
    # THEN both say so, in the same words
    assert len(said) == 2 and said[0] == said[1]
    assert "3.0 times as fast as its replay" in said[0]


def test_run_and_report_say_what_they_were_given_instead(recording, tmp_path, capsys):
    placement = tmp_path / "e.placement.json"
    placement.write_text('{"schema": "rankwise.placement/1"}')
    for words, status, what in (
        (
            ["run", "--placement", MACHINE, "--", "true"],
            125,
            f"`{MACHINE}` is a machine file, not a placement",
        ),
        (
            ["run", "--placement", recording, "--", "true"],
            125,
            f"`{recording}` is a recording, not a placement",
        ),
        (["report", MACHINE], 1, f"`{MACHINE}` is a machine file, not a recording"),
        (["report", str(placement)], 1, f"`{placement}` is a placement, not a recording"),
    ):
        assert main(words) == status
        assert f"error: {what}\n\nhint: `rankwise {words[0]} " in capsys.readouterr().err


def test_hosts_of_nodes_need_no_format_and_are_expanded(recording, tmp_path, capsys):
    words = ["place", recording, "--machine", MACHINE, "--budget", "0.1s", "-o", str(tmp_path / "p.json")]
    assert main([*words, "--nodes", "nid[1-2]"]) == 0
    assert main([*words, "-f", "--nodes", "nid[1-2],nid1"]) == 1
    assert "nid1" in capsys.readouterr().err
    assert main([*words, "-f", "--nodes", "4x"]) == 1
    assert "`4x` is not a number of nodes" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["cg", "--ranks", "6"], ["cg", "--class", "S"], ["--ranks", "6"]])
def test_what_only_counting_takes_is_refused_without_it(words, capsys):
    assert main(["workloads", *words]) == 2
    option = next(word for word in words if word.startswith("--"))
    assert f"error: `{option}` goes with `--count`" in capsys.readouterr().err
