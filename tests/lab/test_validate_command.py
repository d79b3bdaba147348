# SPDX-License-Identifier: BSD-3-Clause
"""`python -m accuracy`: bad input, resuming, and its short form in a lab."""

import json
import os
import shutil
import sys

import accuracy.__main__ as accuracy
import command
import mpis
import msgspec
import pytest
from accuracy import pace, page
from accuracy.result import evaluate
from accuracy.state import CasePlan, Options, Predicted, Run, Setting, State

from rankwise.owner import write_owner
from rankwise.placement.file import NodeEntry, PlacementFile, RankEntry

MACHINE = """
schema = "rankwise.machine/1"
name = "a lab, roughly"
[node]
count = {nodes}
topology = "package:1 core:2"
host_cores = {host_cores}
[[resources]]
name = "nic_tx"
kind = "nic_tx"
discipline = "fifo"
per = "node"
capacity_bytes_per_s = {{ value = 1.2e7, obtained = "measured", low = 1.1e7, high = 1.25e7 }}
"""
LINK = """
[[link_classes]]
channel = "{channel}"
protocol = "host-processed"
progress = "in-call"
overlap = true
[[link_classes.segments]]
L_s = {{ value = 1e-4, obtained = "measured", low = 5e-5, high = 2e-4 }}
o_s = {{ value = 1e-5, obtained = "measured", low = 5e-6, high = 2e-5 }}
g_s = {{ value = 0.0, obtained = "assumed", source = "none" }}
G_s_per_byte = {{ value = 1e-9, obtained = "assumed", source = "none" }}
O_s_per_byte = {{ value = 4e-10, obtained = "assumed", source = "none" }}
"""


@pytest.fixture
def launcher():
    return mpis.named("mpich-5.0.2").mpiexec


def machine_file(path, nodes=2):
    text = MACHINE.format(nodes=nodes, host_cores=[[0, 1]] * nodes)
    path.write_text(text + LINK.format(channel="network") + LINK.format(channel="package"))
    return path


@pytest.mark.root
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--cases", "cg,bt"], "error: there is no case `bt`\n"),
        (["--cases", "cg,cg"], "error: each case can be named once, and one is needed\n"),
        (["--placements", 2], "error: a validation compares 3 to 8 placements, not `2`\n"),
        (["--repetitions", 0], "error: `0` repetitions measure nothing\n"),
        (["--rates", "100"], "error: the rate `100` has no unit\n"),
        (["--nodes", 0], "error: a lab has 1 to 256 nodes, not `0`\n"),
        (["--resume"], "holds no validation to go on with\n"),
    ],
)
def test_bad_input_is_answered_before_anything_is_made(
    tmp_path, launcher, words, sentence, monkeypatch, capsys
):
    words = ["accuracy", "--state", tmp_path / "v", *words, "--", launcher]
    monkeypatch.setattr(sys, "argv", list(map(str, words)))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert command.main("accuracy", "", accuracy.add_arguments, accuracy.run) == 1
    said = capsys.readouterr().err
    assert sentence in said and "\nhint: " in said
    assert not (tmp_path / "v").exists()


@pytest.mark.root
def test_a_machine_file_of_other_nodes_is_refused(line, tmp_path, launcher):
    other = machine_file(tmp_path / "other.machine.toml", nodes=3)
    answer = line.python("accuracy", "--state", tmp_path / "v", "--machine", other, "--", launcher)
    assert answer.returncode == 1
    assert "describes 3 nodes of 2 cores, the lab has 4 of 4\n" in answer.stderr
    assert not (tmp_path / "v").exists()


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.mpi
def test_the_short_form_measures_predicts_and_tells(line, tmp_path, launcher):
    # GIVEN a machine file and a tolerance, so that the test does not depend on what this machine is busy with
    machine = machine_file(tmp_path / "lab.machine.toml")
    words = ["accuracy", "--quick", "--nodes", 2, "--cores", 2, "--cases", "cg", "--placements", 3]
    words += ["--repetitions", 1, "--state", tmp_path / "v", "--machine", machine, "--", launcher]
    # WHEN a window is over before the first run
    cut = words.index("--")
    begun = line.python(*words[:cut], "--window", "0s", *words[cut:], timeout=120)
    # THEN the status says that it is not finished
    assert begun.returncode == 75, begun.stderr
    # GIVEN the lab of a validation that was killed, and one that a user calls so
    killed, users = "validate-99999999", "validate-99999998"
    for name in (killed, users):
        assert line("up", "--name", name, "--nodes", 1, "--cores", 1).returncode == 0
    owner = line.directory / "rankwise" / "labs" / killed / "owner"
    write_owner(owner)
    boot, namespace, _, started = owner.read_text().split()
    owner.write_text(f"{boot} {namespace} 99999999 {started}\n")
    # AND the same with --resume makes the runs
    resume = ["accuracy", "--resume", "--state", tmp_path / "v", "--tolerate", 1]
    done = line.python(*resume, "--json", "-o", tmp_path / "accuracy.md", timeout=240)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["schema"] == "rankwise.accuracy/1"
    assert found["complete"] and found["failures"] == []
    (case,) = found["cases"]
    assert [each["name"] for each in case["placements"]] == ["blocked", "cyclic", "optimised"]
    # Runs that the lab does not let count are named, and count nowhere.
    measured = [each for each in case["placements"] if each["measured"]]
    assert all(
        each["measured"]
        or any(f" {each['name']}, r" in run or ", recorded run, " in run for run in found["invalid"])
        for each in case["placements"]
    )
    assert all(each["measured"]["median_s"] > 0 for each in measured)
    assert all(each["low_s"] <= each["predicted_s"] <= each["high_s"] for each in case["placements"])
    distinct = [each for each in measured if not each["same_as"]]
    assert found["predicted"]["times"] == len(distinct)
    assert (found["tolerated_load"], found["disturbed"]) == (1.0, 0)
    # AND the frozen hash is that of the file, in the page too
    assert found["machine_sha256"]["200mbit"][:12] in (tmp_path / "accuracy.md").read_text()
    assert (tmp_path / "accuracy.svg").read_text().startswith("<?xml")
    assert page.read_results(tmp_path / "accuracy.json.gz")[0].predicted.times == len(distinct)
    # AND labs are down, that of the killed one too, but for the user's
    assert line("down", "--name", users).returncode == 0
    assert line("status").stdout == "no lab is up\n"
    # WHEN another machine file is meant, or the frozen one was changed
    other = machine_file(tmp_path / "other.machine.toml")
    other.write_text(other.read_text().replace("roughly", "otherwise"))
    refused = line.python(*resume, "--machine", other)
    assert refused.returncode == 1
    assert "is not the machine file that this validation began with" in refused.stderr
    shutil.copy(other, tmp_path / "v" / "200mbit.machine.toml")
    changed = line.python(*resume)
    assert changed.returncode == 1
    assert "is not the machine file that this validation began with" in changed.stderr
    # AND other options than at the beginning are refused
    fewer = line.python(*resume, "--placements", 4)
    assert fewer.returncode == 1


@pytest.mark.root
@pytest.mark.mpi
@pytest.mark.slow
def test_a_program_takes_more_steps_in_a_lab_where_it_is_over_at_once(line, tmp_path, launcher):
    # GIVEN a machine file, and a halo exchange of 4 ranks, whose 100 steps take half a second
    machine = machine_file(tmp_path / "lab.machine.toml")
    words = ["accuracy", "--nodes", 2, "--cores", 2, "--rates", "50mbit", "--cases", "halo", "--ranks", 4]
    words += ["--placements", 3, "--repetitions", 1, "--tolerate", 1, "--state", tmp_path / "v"]
    # WHEN it is validated
    done = line.python(*words, "--machine", machine, "--json", "--", launcher, timeout=240)
    assert done.returncode == 0, done.stderr
    # THEN the plan says how many steps it takes, and so do the title and what was recorded
    (case,) = json.loads((tmp_path / "v" / "plan.json").read_text())["cases"]
    assert case["steps"] > 100
    assert case["title"].startswith(f"mpi4py: halo exchange, {case['steps']} steps, ")
    command = json.loads((tmp_path / "v" / "halo.4.50mbit.rw" / "recording.json").read_text())["command"]
    assert str(case["steps"]) in command


OPTIONS = Options(2, 1, (12.5e6,), (2,), "openmpi", "/mpi/bin/mpiexec", ("one",), 3, 3, 1, False)
ONE = Setting("one", 2, 12.5e6)
NOWHERE = PlacementFile(
    "rankwise.placement/1", [NodeEntry("node0", "0" * 64)], [RankEntry(0, [0])], "blocked"
)


def test_the_result_says_how_fast_the_machine_was_during_runs(tmp_path):
    # GIVEN an exercise that took 10 us while the lab was measured, and 13 us before most runs
    state = State.create(tmp_path / "v", OPTIONS, {})
    placements = [Predicted("blocked", NOWHERE, 1.1, 0.9, 1.2, 1000, 0.5)]
    state.plan.cases.append(CasePlan(ONE, "The first", 1.0, predicted=placements))
    for repetition, pace_s in enumerate([13e-6, None, 13e-6, 10e-6]):
        compute_s = 30e-6 if pace_s else None
        run = Run(ONE.key, "blocked", repetition, time_s=1.0, pace_s=pace_s, compute_s=compute_s)
        state.add(run)
    # AND one that computes, 30 us before runs and 20 at the recording
    # THEN nothing is said as long as what they took before is not known
    assert evaluate(state).cases[0].slowness is None
    # AND else that runs were made on a slower machine
    state.plan.pace_s["100mbit"] = 10e-6
    state.plan.cases[0] = msgspec.structs.replace(state.plan.cases[0], compute_s=20e-6)
    state.save()
    document = evaluate(State.resume(tmp_path / "v"))
    assert document.cases[0].slowness == pytest.approx(1.3)
    assert document.cases[0].compute_slowness == pytest.approx(1.5)


def test_the_exercise_takes_time_and_leaves_the_process_where_it_was():
    allowed = os.sched_getaffinity(0)
    found = pace.take(allowed)
    assert found.message_s > 0 and found.compute_s > 0
    assert os.sched_getaffinity(0) == allowed
    # AND says nothing of processors that are not there, or of none
    assert pace.take([100_000]) is None
    assert pace.take([]) is None
    assert os.sched_getaffinity(0) == allowed
