# SPDX-License-Identifier: BSD-3-Clause
"""The recorded run beside its prediction: when it is known, and what `rankwise predict` says of it."""

import json
from dataclasses import replace

import numpy as np
import pytest
from machines import machine, text

from rankwise import _core
from rankwise.cli import main
from rankwise.machine.machine import topology_of
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology, from_synthetic
from rankwise.recording.span import Span
from rankwise.replay.predictor import Predictor
from rankwise.schedule import source as sources

# Rank 0 computes 1 ms, rank 1 half of it.
GOAL = "num_ranks 2\nrank 0 {\ncalc 1000000\n}\nrank 1 {\ncalc 500000\n}\n"


def recording(topology):
    """As read from a recording: it ran on the first two nodes, rank 0 for 0.8 ms and rank 1 for 0.625 ms."""
    schedule = _core.schedule.Schedule.read_goal(GOAL, "x.goal")
    placement = Placement.explicit(topology, [(0, [0]), (1, [0])])
    span = Span(np.array([0.8e-3, 0.625e-3]))
    return sources.Source(schedule, "recording", library="mpich", recorded=placement, span=span)


def test_what_was_recorded_is_predicted_where_it_ran():
    where = machine()
    topology = topology_of(where, ".")
    read = recording(topology)
    run = Predictor.of(read, where, topology).run
    assert (run.recorded_s, run.predicted_s) == pytest.approx((0.8e-3, 1e-3))
    assert run.error == pytest.approx(0.25)
    assert run.rank_errors == pytest.approx([0.25, -0.2])


def test_a_run_of_which_part_is_not_known_says_nothing():
    where = machine()
    topology = topology_of(where, ".")
    read = recording(topology)
    assert Predictor.of(replace(read, span=None), where, topology).run is None
    assert Predictor.of(replace(read, recorded=None), where, topology).run is None
    # AND so does one on nodes of another kind, or on more of them
    other = Topology.of(from_synthetic("package:2 core:2 pu:1"), 4)
    assert Predictor.of(recording(other), where, topology).run is None
    assert Predictor.of(recording(topology), machine(nodes=1)).run is None


def test_predict_says_both_parts_of_the_interval(tmp_path, monkeypatch, capsys):
    (tmp_path / "m.machine.toml").write_text(text())
    topology = topology_of(machine(), ".")
    monkeypatch.setattr(sources, "load", lambda *_, **__: recording(topology))
    words = ["predict", "x.rw", "--machine", str(tmp_path / "m.machine.toml")]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "recorded: 806 us, 773 us - 840 us" in out
    assert (
        "the recorded run took 800 us, and its replay takes 1 ms: +25.0 % (ranks: -20.0 % to +25.0 %)" in out
    )
    assert "without this correction: 1 ms, 727 us - 1.38 ms" in out
    # WHEN something is changed by hand
    assert main([*words, "--set", "network.L=1s", "--plain", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    # THEN the recorded run is still predicted on the machine that it ran on
    (used,) = document["machines"]
    assert used["recorded_run"]["error"] == pytest.approx(0.25)
    interval = document["placements"][0]["interval"]
    assert interval["model_error"] == used["recorded_run"]["error"]
    assert interval["numbers_low_s"] == interval["numbers_high_s"] == document["placements"][0]["makespan_s"]


def test_a_run_that_is_far_off_is_warned_of(tmp_path, monkeypatch, capsys):
    # GIVEN a machine on which one message takes 2 ms more than the whole run took
    (tmp_path / "m.machine.toml").write_text(text({"L_s": 2e-3}))
    topology = topology_of(machine(), ".")
    read = recording(topology)
    sent = GOAL.replace("calc 1000000", "send 1b to 1").replace("calc 500000", "recv 1b from 0")
    far_off = replace(read, schedule=_core.schedule.Schedule.read_goal(sent, "x.goal"))
    monkeypatch.setattr(sources, "load", lambda *_, **__: far_off)
    assert main(["predict", "x.rw", "--machine", str(tmp_path / "m.machine.toml")]) == 0
    said = capsys.readouterr().err
    assert "warning: the recorded run was 2.5 times as fast as its replay on test" in said
    assert "was something else running" in said
    # WHEN calls that are not modelled took much of the time
    puts = replace(far_off, not_modelled={"MPI_Win_fence": 0.3, "MPI_Put": 0.12})
    monkeypatch.setattr(sources, "load", lambda *_, **__: puts)
    assert main(["predict", "x.rw", "--machine", str(tmp_path / "m.machine.toml")]) == 0
    # THEN they are what is named
    said = " ".join(capsys.readouterr().err.split())
    assert (
        "calls that are not modelled took 42 % of the ranks' time, most of it `MPI_Win_fence`, `MPI_Put`"
        in said
    )
    assert "something else" not in said
