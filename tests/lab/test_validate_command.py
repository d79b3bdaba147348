# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise lab validate`: bad input, resuming, the page, and its short form in a lab."""

import json
import os
import re
import shutil
from pathlib import Path

import mpis
import msgspec
import pytest

from rankwise.errors import RankwiseError
from rankwise.lab.validation import pace, page
from rankwise.lab.validation.processors import Processors
from rankwise.lab.validation.result import evaluate
from rankwise.lab.validation.state import CasePlan, Options, Predicted, Run, Setting, State
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
        (["--rate", "100"], "error: the rate `100` has no unit\n"),
        (["--nodes", 0], "error: a lab has 1 to 256 nodes, not `0`\n"),
        (["--resume"], "holds no validation to go on with\n"),
    ],
)
def test_bad_input_is_answered_before_anything_is_made(line, tmp_path, launcher, words, sentence):
    answer = line("validate", "--state", tmp_path / "v", *words, "--", launcher)
    assert answer.returncode == 1
    assert sentence in answer.stderr
    assert "\nhint: " in answer.stderr
    assert not (tmp_path / "v").exists()


@pytest.mark.root
def test_a_machine_file_of_other_nodes_is_refused(line, tmp_path, launcher):
    other = machine_file(tmp_path / "other.machine.toml", nodes=3)
    answer = line("validate", "--state", tmp_path / "v", "--machine", other, "--", launcher)
    assert answer.returncode == 1
    assert "describes 3 nodes of 2 cores, the lab has 4 of 4\n" in answer.stderr
    assert not (tmp_path / "v").exists()


@pytest.mark.root
@pytest.mark.mpi
def test_the_short_form_measures_predicts_and_tells(line, tmp_path, launcher):
    # GIVEN a machine file and a tolerance, so that the test does not depend on what this machine is busy with
    machine = machine_file(tmp_path / "lab.machine.toml")
    words = ["validate", "--quick", "--nodes", 2, "--cores", 2, "--cases", "cg", "--placements", 3]
    words += ["--repetitions", 1, "--state", tmp_path / "v", "--machine", machine, "--", launcher]
    # WHEN a window is over before the first run
    cut = words.index("--")
    begun = line(*words[:cut], "--window", "0s", *words[cut:], timeout=120)
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
    resume = ["validate", "--resume", "--state", tmp_path / "v", "--tolerate", 1]
    done = line(*resume, "--json", "-o", tmp_path / "accuracy.md", timeout=240)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["schema"] == "rankwise.validation/2"
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
    assert found["machine_sha256"]["200mbit"] in (tmp_path / "accuracy.md").read_text()
    assert (tmp_path / "accuracy.mpich.200mbit.svg").read_text().startswith("<?xml")
    assert "Processor time in the traced runs:" in (tmp_path / "accuracy.md").read_text()
    # AND labs are down, that of the killed one too, but for the user's
    assert line("down", "--name", users).returncode == 0
    assert line("status").stdout == "no lab is up\n"
    # WHEN another machine file is meant, or the frozen one was changed
    other = machine_file(tmp_path / "other.machine.toml")
    other.write_text(other.read_text().replace("roughly", "otherwise"))
    refused = line(*resume, "--machine", other)
    assert refused.returncode == 1
    assert "is not the machine file that this validation began with" in refused.stderr
    shutil.copy(other, tmp_path / "v" / "200mbit.machine.toml")
    changed = line(*resume)
    assert changed.returncode == 1
    assert "is not the machine file that this validation began with" in changed.stderr
    # AND other options than at the beginning are refused
    fewer = line(*resume, "--placements", 4)
    assert fewer.returncode == 1


@pytest.mark.root
@pytest.mark.mpi
@pytest.mark.slow
def test_a_program_takes_more_steps_in_a_lab_where_it_is_over_at_once(line, tmp_path, launcher):
    # GIVEN a machine file, and a halo exchange of 4 ranks, whose 100 steps take half a second
    machine = machine_file(tmp_path / "lab.machine.toml")
    words = ["validate", "--nodes", 2, "--cores", 2, "--rates", "50mbit", "--cases", "halo", "--ranks", 4]
    words += ["--placements", 3, "--repetitions", 1, "--tolerate", 1, "--state", tmp_path / "v"]
    # WHEN it is validated
    done = line(*words, "--machine", machine, "--json", "--", launcher, timeout=240)
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


def test_the_page_has_what_came_out(tmp_path):
    # GIVEN two placements measured at 1 and 2 s, predicted at 1.1 and 1.8 s
    state = State.create(tmp_path / "v", OPTIONS, {"kernel": "6.1", "rankwise": "0"})
    elsewhere = [
        msgspec.structs.replace(NOWHERE, ranks=[RankEntry(0, [0]), RankEntry(0, [core])]) for core in (1, 2)
    ]
    placements = [
        Predicted("blocked", NOWHERE, 1.1, 0.9, 1.2, 1000, 0.5),
        Predicted("cyclic", elsewhere[0], 1.8, 1.7, 1.9, 9000, 0.5),
        Predicted("worst", elsewhere[1], 3.0, 2.9, 3.1, 9000, 0.5),
        Predicted("optimised", NOWHERE, 1.1, 0.9, 1.2, 1000, 0.5),
    ]
    state.plan.cases.append(CasePlan(ONE, "The first", 1.0, omitted={"probes": 3}, predicted=placements))
    for repetition in range(3):
        state.add(Run(ONE.key, "blocked", repetition, time_s=1.0))
        state.add(Run(ONE.key, "cyclic", repetition, time_s=2.0))
        state.add(Run(ONE.key, "worst", repetition, failure="status 1: /home/me/lmp: out of memory"))
        state.add(Run(ONE.key, "optimised", repetition, time_s=1.0))
    document = evaluate(state)
    # WHEN the page is written
    used = Processors(ONE.key, used_s=0.1, computation_s=0.05, overhead_s=0.02, busy_share=0.8)
    document = msgspec.structs.replace(document, processors=[used])
    path, plot, results = page.write(tmp_path / "accuracy.md", [document])
    text = path.read_text()
    # THEN numbers, failures and what was left out are there
    assert text.startswith(page.MARK)
    assert "| blocked | 1.000 s | 1.000 - 1.000 | 1.100 s | 0.900 - 1.200 | +10 % | 45 % | 1.000 s |" in text
    assert "| cyclic | 2.000 s | 2.000 - 2.000 | 1.800 s | 1.700 - 1.900 | -10 % |" in text
    assert "| worst | failed |" in text
    assert "* one.2.100mbit worst, repetition 1: status 1: lmp: out of memory" in text
    assert "Not replayed: probes (3)." in text
    assert "| one.2.100mbit | 80 % | 100 ms | 50 ms | 20 ms | 70 % | +10 % |" in text
    assert page.sentence(document, *page.names([document])) in text
    assert (
        "Open MPI, 2 ranks: of 1 pairs of placements that runs tell apart, 100.0 % are ordered rightly (by network "
        "bytes alone 100.0 %). The median error" in text
    )
    assert "| pairs that runs tell apart, ordered rightly | 95 % | 1 of 1 (100.0 %) |" in text
    assert "1 of 1 pairs are told apart by their runs; if all placements of a program took the same" in text
    # what is missed stands out: the only interval that says something does not hold the time
    assert "| times in the predicted interval | 80-95 % | **0.0 %** |" in text
    # intervals are 33, 12 and 7 % wide
    assert "| one | 2 | 100mbit | 50 % | 1 of 1 | 1 of 1 | 10 % | +10 % | 0 of 1 | 12 % |" in text
    # AND a placement under two names is compared once
    assert "| optimised (as blocked) | 1.000 s |" in text
    assert "1 placements were found twice, under two names" in text
    assert "| one.2.100mbit | the same | +50 % (+39 %) *sure* |  |" in text
    assert "| one.2 | not counted |" in text
    # AND the plot is linked and names the placements
    assert f"({plot.name})" in text
    assert re.search(r"blocked", plot.read_text())
    # AND writing it again gives the same files
    before = plot.read_bytes()
    page.write(tmp_path / "accuracy.md", [document])
    assert plot.read_bytes() == before
    # AND so does what is beside it, in which no directory is named
    assert page.render("accuracy", page.read_results(results))[0] == text
    assert "/mpi/bin" not in results.read_text() and '"mpiexec"' in results.read_text()
    # AND validations that have all but the rate in common, or all, are told apart, each with its plots
    other_rate = msgspec.structs.replace(
        document, options=msgspec.structs.replace(document.options, rates_bytes_per_s=(25e6,))
    )
    three = [document, other_rate, document]
    assert len(set(page.names(three))) == 3
    thrice, *plots = page.write(tmp_path / "thrice.md", three)
    assert len(set(plots)) == len(plots)
    for name in page.names(three):
        assert thrice.read_text().count(f"## {name}\n") == 1
        assert thrice.read_text().count(f"| {name} | 1 of 1 (100.0 %) |") == 1
    # AND all together are summed up
    assert thrice.read_text().count("* All: of 3 pairs of placements") == 1


def finished(directory, code, time_s, rates=None):
    """A validation of one placement, predicted at 1.1 s by some version of the code."""
    state = State.create(directory, OPTIONS, {"code": code})
    predicted = [Predicted("blocked", NOWHERE, 1.1, 0.9, 1.2, 1000, 0.22)]
    state.plan.cases.append(CasePlan(ONE, "The first", 1.0, predicted=predicted))
    state.add(Run(ONE.key, "blocked", 0, time_s=time_s))
    document = evaluate(state)
    options = msgspec.structs.replace(OPTIONS, rates_bytes_per_s=rates or OPTIONS.rates_bytes_per_s)
    return msgspec.structs.replace(document, options=options)


def test_a_page_is_made_anew_in_part(tmp_path):
    # GIVEN a page of two validations
    old, other = finished(tmp_path / "a", "a" * 64, 1.0), finished(tmp_path / "b", "a" * 64, 1.0, (25e6,))
    page.write(tmp_path / "accuracy.md", [old, other])
    # WHEN the first is made anew by other code
    new = finished(tmp_path / "c", "c" * 64, 2.0)
    documents = page.renewed(page.read_results(tmp_path / "accuracy.json"), [new])
    # THEN it has the old one's place, and the page says which one other code predicted
    assert [each.cases[0].placements[0].measured.median_s for each in documents] == [2.0, 1.0]
    text = page.write(tmp_path / "accuracy.md", documents[::-1])[0].read_text()
    one, two = page.names(documents)
    said = f"**Predicted by another version of the code than {one}, or by one that is not known**"
    assert f"{said}: {two}." in text
    # AND nothing of the kind where all have one, or several in one validation
    assert "**Predicted" not in page.write(tmp_path / "same.md", [old, other])[0].read_text()
    cases = [msgspec.structs.replace(old.cases[0], code=code * 64) for code in "xy"]
    mixed = msgspec.structs.replace(old, cases=cases)
    text = page.write(tmp_path / "mixed.md", [mixed])[0].read_text()
    assert "**Predicted by another version" in text and f"(code `{'x' * 64}`, `{'y' * 64}`)" in text
    # AND validations of a new kind follow
    third = msgspec.structs.replace(new, options=msgspec.structs.replace(new.options, ranks=(3,)))
    assert page.renewed([old, other], [third]) == [old, other, third]
    # AND two of one kind are both shown, in the place of those before
    assert page.renewed([old, other, old], [new, new]) == [new, new, other]


def test_the_page_says_how_much_of_the_time_the_network_has(tmp_path):
    # GIVEN a traced run of 1 s, in which the busiest interface transfers for 0.22 s
    text = page.write(tmp_path / "a.md", [finished(tmp_path / "a", "", 1.0)])[0].read_text()
    row = "| network's part of traced runs: below 15, 15-30, 30-40, 40-70, above 70 % | the 2nd and 4th |"
    assert f"{row} 0, 1, 0, 0, 0 |" in text


def test_a_page_and_its_results_are_two_files(tmp_path):
    # WHEN a page would be written over its own results
    with pytest.raises(RankwiseError, match="both the page and") as caught:
        page.check(tmp_path / "accuracy.json", force=True)
    # THEN it is refused, with a way out
    assert "-o accuracy.md" in caught.value.hint


@pytest.mark.parametrize("text", [None, "[", '[{"schema": "rankwise.validation/1"}]', "{}"])
def test_results_that_are_none_are_named(tmp_path, text):
    # GIVEN no results beside a page, or something else
    path = tmp_path / "accuracy.json"
    if text is not None:
        path.write_text(text)
    # THEN the error says which file
    with pytest.raises(RankwiseError, match=r"accuracy\.json"):
        page.read_results(path)


def test_the_page_says_how_fast_the_machine_was_during_runs(tmp_path):
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
    assert "| slowness |" not in page.write(tmp_path / "before.md", [evaluate(state)])[0].read_text()
    # AND else that runs were made on a slower machine
    state.plan.pace_s["100mbit"] = 10e-6
    state.plan.cases[0] = msgspec.structs.replace(state.plan.cases[0], compute_s=20e-6)
    state.save()
    document = evaluate(State.resume(tmp_path / "v"))
    assert document.cases[0].slowness == pytest.approx(1.3)
    text = page.write(tmp_path / "accuracy.md", [document])[0].read_text()
    (row,) = [line for line in text.splitlines() if line.startswith("| one | 2 |")]
    assert row.endswith("| 1.30 | 1.50 |")


def test_the_exercise_takes_time_and_leaves_the_process_where_it_was():
    allowed = os.sched_getaffinity(0)
    found = pace.take(allowed)
    assert found.message_s > 0 and found.compute_s > 0
    assert os.sched_getaffinity(0) == allowed
    # AND says nothing of processors that are not there, or of none
    assert pace.take([100_000]) is None
    assert pace.take([]) is None
    assert os.sched_getaffinity(0) == allowed


@pytest.mark.parametrize(("others", "is_said"), [(0.3, True), (0.01, False), (None, False)])
def test_a_traced_run_that_others_disturbed_is_said_to_be_so(tmp_path, others, is_said):
    # GIVEN a state whose traced run shared the machine, did not, or is older than that this was kept
    state = State.create(tmp_path / "v", OPTIONS, {})
    placements = [Predicted("blocked", NOWHERE, 1.1, 0.9, 1.2, 1000, 0.5)]
    state.plan.cases.append(CasePlan(ONE, "The first", 1.0, predicted=placements, recorded_others=others))
    state.save()
    if others is None:
        plan = json.loads((tmp_path / "v" / "plan.json").read_text())
        del plan["cases"][0]["recorded_others"]
        (tmp_path / "v" / "plan.json").write_text(json.dumps(plan))
    # WHEN its page is written
    document = evaluate(State.resume(tmp_path / "v"))
    path, *_ = page.write(tmp_path / "accuracy.md", [document])
    # THEN it says so where it was more than what runs may have
    assert document.cases[0].recorded_others == others
    assert ("Others used 30% of the machine meanwhile" in path.read_text()) == is_said


def test_a_page_takes_the_place_of_a_page_only(tmp_path):
    path = tmp_path / "README.md"
    path.write_text("precious")
    with pytest.raises(Exception, match=r"README.md. exists and is not of such a page"):
        page.check(path, force=False)
    page.check(path, force=True)
    path.write_text(page.MARK + "\nold")
    page.check(path, force=False)
    # AND so do the results beside it
    path.with_suffix(".json").write_text("[]")
    with pytest.raises(Exception, match=r"README.json. exists and is not of such a page"):
        page.check(path, force=False)
    page.check(path, force=True)
    with pytest.raises(Exception, match="cannot be written"):
        page.check(Path(tmp_path / "missing" / "a.md"), force=False)
