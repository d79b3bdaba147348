# SPDX-License-Identifier: BSD-3-Clause
"""Whoever predicts says the same of the same case: commands, validations, the demo, and Python."""

import json
import re
import runpy
import sys
from pathlib import Path

import pytest
from lab import keep_runs
from traces import recording_of, traced

import rankwise
from rankwise.cli import main
from rankwise.lab.validation.prediction import RecordedCase
from rankwise.lab.validation.state import CasePlan, Options, Setting, State
from rankwise.machine.file import fingerprint
from rankwise.schedule.source import load

CASE = "mpich.mg.16.20mbit"
GAIN = Path(__file__).resolve().parents[2] / "examples" / "gain.py"


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """Directory of a recording and its machine file, and what is predicted of the placement that was recorded."""
    directory = tmp_path_factory.mktemp("case")
    source = keep_runs.source_of(CASE, directory)
    machine = directory / "lab.machine.toml"
    machine.write_bytes((keep_runs.KEPT / f"{CASE}.machine.toml").read_bytes())
    rankwise.save_placement(source.recorded, directory / "recorded.placement.json")
    found = rankwise.Predictor.of(source, rankwise.load_machine(machine), draws=20)
    assert found.anchor is not None and found.scale != 1
    return directory, found.predict_with_interval(source.recorded)


def said(capsys, *words):
    assert main([*map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_predict_and_place_say_it(expected, capsys):
    directory, prediction = expected
    recording, machine = directory / f"{CASE}.rw", directory / "lab.machine.toml"
    (predicted,) = said(capsys, "predict", recording, "-m", machine, "--no-losses")["placements"]
    output = ("--budget", "0.1s", "-f", "-o", directory / "best.placement.json")
    placed = said(capsys, "place", recording, "-m", machine, *output)["placements"]
    current = next(each for each in placed if each["name"] == "current")
    for each in (predicted, current):
        assert each["makespan_s"] == prediction.makespan_s
        assert each["interval"]["high_s"] == prediction.interval.high_s
        assert each["plain_replay"]["makespan_s"] == prediction.plain.makespan_s


@pytest.mark.slow
def test_python_says_it(expected):
    directory, prediction = expected
    names = (directory / f"{CASE}.rw", directory / "lab.machine.toml")
    found = rankwise.predict(*names)
    assert (found.makespan_s, found.interval) == (prediction.makespan_s, prediction.interval)
    placed = next(each for each in rankwise.place(*names, budget_s=0.1) if each.name == "current")
    assert (placed.makespan_s, placed.prediction.interval) == (prediction.makespan_s, prediction.interval)


@pytest.mark.slow
def test_the_demo_says_it(expected, capsys, monkeypatch):
    directory, prediction = expected
    runs = directory / "runs"
    runs.mkdir()
    for name in ("before", "blocked", "placed"):
        (runs / f"{name}-1.rw").symlink_to(directory / f"{CASE}.rw")
    words = [f"{CASE}.rw", "lab.machine.toml", "recorded.placement.json", "runs"]
    monkeypatch.chdir(directory)
    monkeypatch.setattr(sys, "argv", [str(GAIN), *words])
    runpy.run_path(str(GAIN), run_name="__main__")
    rows = re.findall(r"^as \w+ +[0-9.]+ s +([0-9.]+ s) \(", capsys.readouterr().out, re.MULTILINE)
    assert rows == [f"{prediction.makespan_s:.2f} s"] * 2


def validation_of(directory, machine, program, mpi):
    """A validation that froze a machine file of 4 nodes of 4 cores, its case, and where the recording of that goes."""
    rate = 2.5e6
    options = Options(
        4, 4, (rate,), (16,), mpi, "mpiexec", (program,), placements=3, repetitions=1, seed=1, quick=True
    )
    state = State.create(directory, options, {})
    frozen = state.machine_path(rate)
    frozen.write_bytes(machine.read_bytes())
    state.plan.machine_sha256["20mbit"] = fingerprint(frozen)
    case = CasePlan(Setting(program, 16, rate), program)
    return state, case, state.directory / f"{case.name}.rw"


@pytest.mark.slow
def test_a_validation_says_it(expected, tmp_path):
    directory, prediction = expected
    # GIVEN a validation that has this recording and froze this machine file
    state, case, recording = validation_of(tmp_path / "state", directory / "lab.machine.toml", "mg", "mpich")
    recording.symlink_to(directory / f"{CASE}.rw")
    # WHEN it predicts its placements, the recorded one among them
    recorded = RecordedCase.load(state, case)
    predicted = [recorded.predict(name)[0] for name in recorded.placements]
    where = prediction.placement
    (same,) = {
        each.makespan_s
        for each in predicted
        if [(rank.node, tuple(rank.cores)) for rank in each.placement.ranks]
        == [(node, where.cores_of(rank)) for rank, node in enumerate(where.node.tolist())]
    }
    assert same == prediction.makespan_s


@pytest.mark.parametrize(
    ("version", "library", "other"),
    [("5.0.11", "openmpi", "openmpi-4"), ("4.1.8", "openmpi-4", "openmpi")],
    ids=["5.0", "4.1"],
)
def test_a_validation_follows_the_algorithms_of_the_version_that_ran(tmp_path, version, library, other):
    # GIVEN an allreduce of 1 MiB on four nodes, of which Open MPI 4.1 and 5.0 send other messages
    machine = keep_runs.KEPT / "openmpi.ft.16.20mbit.machine.toml"
    state, case, recording = validation_of(tmp_path / "state", machine, "sum", "openmpi")
    ranks = traced(16)
    for number, rank in enumerate(ranks):
        rank.version, rank.host = f"Open MPI v{version}, package: Open MPI", f"n{number // 4}"
        rank.together("MPI_Allreduce", 1, 4, 1 << 20)
    recording_of(recording, ranks)
    # WHEN it predicts one of its placements
    predicted = RecordedCase.load(state, case).predict("blocked")[1]
    # THEN the messages are those of the version, and not those of the other one
    messages = {
        name: rankwise.Predictor.of(load(recording, name), rankwise.load_machine(machine))
        .predict(predicted.placement)
        .channels
        for name in (library, other)
    }
    assert predicted.channels == messages[library] != messages[other]
