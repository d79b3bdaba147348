# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise lab validate -- ./app args`: whether predictions are right about one program, in a lab or on a cluster."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import mpis
import msgspec
import pytest
from test_validate_command import LINK, MACHINE, NOWHERE, machine_file

import rankwise.lab.enter as enter
from rankwise.cli import main
from rankwise.lab.validation import own_program, verdict
from rankwise.lab.validation.own_program import InLab, OnCluster, check_on, short_name
from rankwise.lab.validation.result import evaluate
from rankwise.lab.validation.state import CasePlan, Options, Predicted, Run, Setting, State
from rankwise.machine.channels import channel_names
from rankwise.machine.topology import Topology, from_this_machine
from rankwise.measure.node_text import synthetic_of
from rankwise.placement.file import RankEntry

RATE = 12.5e6
OPTIONS = Options(
    2, 1, (RATE,), (2,), "mpich", "/mpi/bin/mpiexec", ("app",), 3, 3, 1, False, command=("./app", "5")
)
CASE = Setting("app", 2, RATE)


def judged(directory, predicted, measured, repetitions=3):
    """The document of three placements, predicted and measured to take so long."""
    state = State.create(directory, OPTIONS, {"kernel": "6.1"})
    state.plan.machine_sha256["100mbit"] = "f" * 64
    names = ("blocked", "cyclic", "worst")
    places = [
        msgspec.structs.replace(NOWHERE, ranks=[RankEntry(0, [0]), RankEntry(0, [core])])
        for core in (1, 2, 3)
    ]
    found = [
        Predicted(name, place, time, 0.9 * time, 1.1 * time, 1000)
        for name, place, time in zip(names, places, predicted, strict=True)
    ]
    state.plan.cases.append(CasePlan(CASE, "./app 5", measured[0], predicted=found))
    for repetition in range(repetitions):
        for name, time in zip(names, measured, strict=True):
            state.add(Run(CASE.key, name, repetition, time_s=time))
    document = evaluate(state)
    return msgspec.structs.replace(document, verdict=verdict.sentence(document))


@pytest.mark.parametrize(
    ("predicted", "measured", "begins"),
    [
        (
            (1.0, 2.0, 3.0),
            (1.02, 2.0, 3.1),
            "yes: 3 of 3 pairs in order, median error 2 %, the worst -3 %, 2 of 2",
        ),
        (
            (2.0, 4.0, 6.0),
            (1.0, 2.0, 3.0),
            "right in order, wrong in times: 3 of 3 pairs in order, but a median error",
        ),
        (
            (3.0, 2.0, 1.0),
            (1.0, 2.0, 3.0),
            "no: only 0 of 3 pairs in order; `worst` is predicted to take 1 s and `blocked` 3 s, they took 3 s",
        ),
        ((1.0, 1.0, 1.0), (1.0, 1.0, 1.0), "right in times, the order is not known: their runs tell no two"),
    ],
)
def test_the_verdict_says_what_is_right_and_what_is_wrong(tmp_path, predicted, measured, begins):
    document = judged(tmp_path / "v", predicted, measured)
    assert document.verdict.startswith(begins), document.verdict
    # AND the table and the page have it, with what each placement came to
    assert len(verdict.pairs(document.cases[0])) == document.predicted.pairs
    page = verdict.page(document)
    assert page.startswith(verdict.MARK)
    assert f"{document.verdict}." in page and "in a lab of 2 nodes of 1 cores at 100mbit" in page


def test_two_runs_of_a_placement_tell_no_order(tmp_path):
    document = judged(tmp_path / "v", (1.0, 2.0, 3.0), (1.0, 2.0, 3.0), repetitions=2)
    assert document.verdict.startswith(
        "right in times, the order is not known: 2 runs a placement tell none apart"
    )
    assert [row[0] for row in verdict.rows(document.cases[0])] == ["blocked", "cyclic", "worst"]


def test_a_program_that_could_not_be_recorded_has_no_verdict(tmp_path):
    state = State.create(tmp_path / "v", OPTIONS, {})
    state.plan.cases.append(CasePlan(CASE, "./app", failure="not finished after 90 s"))
    assert verdict.sentence(evaluate(state)) == "not known: not finished after 90 s"


def test_runs_that_shared_the_machine_with_others_have_no_verdict(tmp_path):
    state = State.create(tmp_path / "v", OPTIONS, {})
    place = msgspec.structs.replace(NOWHERE, ranks=[RankEntry(0, [0]), RankEntry(0, [1])])
    state.plan.cases.append(
        CasePlan(CASE, "./app", 1.0, predicted=[Predicted("blocked", place, 1.0, 0.9, 1.1, 0)])
    )
    state.add(Run(CASE.key, "blocked", 0, time_s=1.0, other_load=0.5))
    found = verdict.sentence(evaluate(state))
    assert found.startswith("not known yet: 1 run shared the machine with others, none counts")


def test_as_many_runs_are_planned_as_the_time_that_is_left_allows(tmp_path, monkeypatch):
    # GIVEN three placements, predicted to take 2 s, and a second for each start
    state = State.create(tmp_path / "v", OPTIONS, {})
    predicted = [Predicted(name, NOWHERE, 2.0, 1.9, 2.1, 0) for name in ("blocked", "cyclic", "worst")]
    plan = CasePlan(CASE, "", recorded_s=2.0, launch_s=3.0, predicted=predicted)
    monkeypatch.setattr(InLab, "_find_launcher", lambda self: None)
    # THEN a round takes 9 s, of which three quarters of what is left hold so many, one at least and five at most
    for window_s, rounds in ((1.0, 1), (41.0, 3), (3600.0, 5)):
        validation = InLab(state, print, window_s, words=("./app",), fit=True)
        assert validation._repetitions(plan) == rounds


def test_a_cluster_that_others_disturb_is_frozen_with_the_marks_inside(tmp_path, monkeypatch):
    # GIVEN a measurement on the hosts of a launch line, and what writes it
    line = ("mpiexec", "-n", "2", "-hosts", "a,b")
    options = msgspec.structs.replace(OPTIONS, rates_bytes_per_s=(0.0,), on=line)
    measured = SimpleNamespace(prepare=lambda: None, measure=lambda: None, interrupted=False)
    asked, written, frozen = [], [], []
    monkeypatch.setattr(own_program, "Site", lambda words: asked.append(words))
    monkeypatch.setattr(own_program, "Measurement", lambda *_: measured)
    monkeypatch.setattr(own_program, "write", lambda *given, **options: written.append((*given, options)))
    monkeypatch.setattr(OnCluster, "_freeze", lambda self, rate: frozen.append(rate))
    state = State.create(tmp_path / "v", options, {})
    validation = OnCluster(state, print, 300.0, words=("./app",))
    # WHEN it is measured
    validation._measure(0.0, None)
    # THEN the file has the frozen name, whatever others did: its own marks widen the intervals
    assert asked == [list(line)]
    assert written == [(measured, state.directory / "cluster.machine.toml", {"anyway": True})]
    assert frozen == [0.0]
    # AND a measurement that was interrupted is not written
    measured.interrupted = True
    with pytest.raises(KeyboardInterrupt):
        validation._measure(0.0, None)
    assert len(written) == len(frozen) == 1


def test_a_script_is_called_by_its_name():
    assert short_name(["/usr/bin/python3", "run/it.py", "5"]) == "it.py"
    assert short_name(["./my app"]) == "my_app"


@pytest.mark.root
@pytest.mark.parametrize(
    ("words", "sentence", "hint"),
    [
        (
            ["--", "{mpiexec}", "-n", "4", "./app", "5"],
            "starts the ranks of a cluster",
            "--ranks 4 -- ./app 5",
        ),
        (
            ["--on", "{mpiexec}", "--", sys.executable],
            "`--on` does not say how many ranks there are",
            "-n 64",
        ),
        (
            ["--on", "ls -n 4", "--", sys.executable],
            "`--on` takes a launch line without its program",
            "mpiexec",
        ),
        (["--on", "{mpiexec} -n 2 ./app", "--", sys.executable], "is more than a launch line", "-- ./app"),
        (
            ["--on", "{mpiexec} -n 2", "--rate", "1gbit", "--", sys.executable],
            "`--rate` is about a lab",
            "leave",
        ),
        (["--", "{mpiexec}"], "starts the ranks of a cluster", "-- ./app"),
        (["--on", "{mpiexec} -n 2"], "no program to validate", "-- ./app args"),
        (["--ranks", "17", "--", sys.executable], "`17` ranks of one program cannot be placed", "--ranks 16"),
    ],
)
def test_bad_input_is_answered_before_anything_is_made(tmp_path, words, sentence, hint, monkeypatch, capsys):
    launcher = mpis.named("mpich-5.0.2").mpiexec
    words = [word.format(mpiexec=launcher) for word in words]
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert main(["lab", "validate", "--state", str(tmp_path / "v"), *words]) == 1
    said = capsys.readouterr().err
    assert sentence in said and "\nhint: " in said and hint in said
    assert not (tmp_path / "v").exists()


def test_the_ranks_of_a_launch_line_are_those_of_the_whole(monkeypatch):
    launcher = str(mpis.named("mpich-5.0.2").mpiexec)
    assert check_on([launcher, "-n", "4", "-hosts", "a,b"], ["./app", "-n", "7"]) == 4


@pytest.mark.root
@pytest.mark.mpi
@pytest.mark.parametrize("name", ["mpich-5.0.2", pytest.param("openmpi-5.0.11", marks=pytest.mark.slow)])
def test_a_users_program_is_recorded_predicted_and_run_in_a_lab(line, tmp_path, compiled, name):
    # GIVEN a machine file, so that nothing is measured
    machine = machine_file(tmp_path / "lab.machine.toml")
    program = compiled(mpis.named(name), "ring.c")
    words = ["validate", "--nodes", 2, "--cores", 2, "--placements", 3, "--machine", machine, "--tolerate", 1]
    words += ["--state", tmp_path / "v"]
    # WHEN it is validated, with something that looks like a secret
    secret = ["--", program, 40, "--token", "hush"]
    done = line(*words, "--repetitions", 1, "--json", "-o", tmp_path / "page.md", *secret, timeout=180)
    assert done.returncode == 0, done.stderr
    # THEN all placements have been predicted and measured, and the verdict says what came out
    found = json.loads(done.stdout)
    (case,) = found["cases"]
    assert [each["name"] for each in case["placements"]] == ["blocked", "cyclic", "optimised"]
    assert all(
        each["measured"]
        or any(f" {each['name']}, r" in run or ", recorded run, " in run for run in found["invalid"])
        for each in case["placements"]
    )
    assert "the order is not known: 1 run a placement" in found["verdict"] or (
        found["verdict"].startswith("not known: no run counts")
    )
    assert found["options"]["launcher"].startswith(str(Path(mpis.named(name).mpiexec).parent))
    assert found["verdict"] in (tmp_path / "page.md").read_text()
    # AND the secret is kept nowhere
    kept = [path for path in (tmp_path / "v").iterdir() if path.is_file() and b"hush" in path.read_bytes()]
    assert not kept and "hush" not in (tmp_path / "page.md").read_text()
    # AND it goes on with the same program only, which has to be named again
    resume = ["validate", "--resume", "--state", tmp_path / "v"]
    assert "because of what looks like a secret" in line(*resume).stderr
    assert "`-- COMMAND` is another" in line(*resume, "--", program, 41).stderr
    again = line(*resume, "--tolerate", 1, *secret, timeout=180)
    assert again.returncode == 0 and again.stdout.startswith(found["verdict"])


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.mpi
def test_a_users_program_is_validated_on_the_hosts_of_a_launch_line(line, tmp_path, compiled):
    # GIVEN two hosts that a launcher reaches, as those of a cluster, and a machine file of them
    assert line("up", "--nodes", 2, "--cores", 2).returncode == 0
    mpich = mpis.named("mpich-5.0.2")
    labs = line.directory / "rankwise" / "labs" / "lab"
    node = from_this_machine()
    text = MACHINE.replace("host_cores = {host_cores}\n", "").replace("package:1 core:2", synthetic_of(node))
    links = [
        LINK.format(channel=name)
        for name in channel_names(Topology.of(node, 2))
        if name not in ("self", "unbound")
    ]
    machine = tmp_path / "cluster.machine.toml"
    machine.write_text("".join([text.format(nodes=2), *links]))
    launch = f"{mpich.mpiexec} -launcher ssh -launcher-exec {labs / 'agent'} -localhost rw-lab-front"
    launch += " -n 4 -hosts rw-lab-node0,rw-lab-node1"
    words = ["validate", "--on", launch, "--placements", 3, "--repetitions", 1, "--machine", machine]
    words += ["--state", tmp_path / "v", "--json", "--", compiled(mpich, "ring.c"), 40]
    # WHEN a program is validated there
    on_front = [sys.executable, "-I", "-S", enter.__file__, str(labs / "lab.json"), "exec", "rw-lab-front"]
    done = subprocess.run(
        [*on_front, sys.executable, "-m", "rankwise", "lab", *map(str, words)],
        env=line.environment | {"UCX_NET_DEVICES": "eth0"},
        capture_output=True,
        text=True,
        timeout=180,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    # THEN its ranks ran on both, placed by the launcher's own means
    found = json.loads(done.stdout)
    assert (found["options"]["nodes"], found["options"]["cores"]) == (2, 2)
    (case,) = found["cases"]
    assert [each["name"] for each in case["placements"]] == ["blocked", "cyclic", "optimised"]
    assert all(each["measured"]["median_s"] > 0 for each in case["placements"])
    blocked, cyclic, _ = case["placements"]
    assert 0 < blocked["network_bytes"] < cyclic["network_bytes"]
    recording = json.loads((tmp_path / "v" / f"{case['name']}.rw" / "recording.json").read_text())
    assert recording["command"][0] == str(mpich.mpiexec)
    # AND the machine file was frozen
    assert list(found["machine_sha256"]) == ["cluster"]
