# SPDX-License-Identifier: BSD-3-Clause
"""The steps of a validation, with runs and measurements that end as they should not."""

import contextlib
import time
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from accuracy import validation as rig
from accuracy.cases import Case
from accuracy.monitored import Counts
from accuracy.state import CasePlan, Options, Predicted, State
from interrupts import experiment

from rankwise.errors import RankwiseError
from rankwise.lab.validation import validation as of_one
from rankwise.lab.validation.state import Setting
from rankwise.measure import launch
from rankwise.measure.measurement import Measurement
from rankwise.measure.steps import effort
from rankwise.placement.file import NodeEntry, PlacementFile, RankEntry
from rankwise.run.timed_run import Made, RunFailedError

RATE = 12.5e6
OPTIONS = Options(2, 1, (RATE,), (2,), "openmpi", "/mpi/bin/mpiexec", ("one",), 3, 2, 1, True)
ONE = Setting("one", 2, RATE)


def case_of(steps):
    return Case("one", f"One, {steps} steps", ("./one", str(steps)), steps=steps, of_steps=case_of)


CASE = case_of(20)
COUNTS = Counts({(0, 1): (5, 50)}, {(0, 1): (5, 50)})
NOWHERE = PlacementFile(
    "rankwise.placement/1", [NodeEntry("node0", "0" * 64)], [RankEntry(0, [0])], "blocked"
)


@pytest.fixture
def validation(tmp_path, monkeypatch):
    """One that has just begun, with no lab, whose runs are not prepared."""
    monkeypatch.setattr(
        rig, "find_launcher", lambda *_: SimpleNamespace(path="/mpi/bin/mpiexec", family="openmpi")
    )
    monkeypatch.setattr(rig.Validation, "_prepare", lambda self, lab, case, placement: case)
    monkeypatch.setattr(rig, "_pus", lambda lab: set())
    monkeypatch.setattr(rig, "read_counters", lambda lab: [])
    monkeypatch.setattr(rig, "difference", lambda *_: [])
    state = State.create(tmp_path / "v", OPTIONS, rig.context())
    return rig.Validation(state, lambda sentence: None)


def measured(monkeypatch, shares, interrupted=()):
    """Measurements during which others use these parts of the machine; returns those that were written."""
    made, written = iter(range(len(shares))), []

    class Fake:
        def __init__(self, *_):
            self.number = next(made)
            self.interrupted = False

        def prepare(self):
            pass

        def measure(self):
            self.interrupted = self.number in interrupted

    def write(measurement, path, anyway):
        assert anyway
        written.append(measurement.number)
        path.write_text(f"# {measurement.number}\n")

    load = iter(shares)
    for module in (of_one, experiment):
        monkeypatch.setattr(module, "Measurement", Fake)
        monkeypatch.setattr(module, "LabSite", lambda *_: None)
        monkeypatch.setattr(module, "write", write)
    monkeypatch.setattr(of_one, "hosts_of", lambda lab: frozenset())
    monkeypatch.setattr(
        of_one.OtherLoad, "begin", lambda *_: SimpleNamespace(share=lambda: next(load)), raising=True
    )
    monkeypatch.setattr(of_one, "load", lambda path: SimpleNamespace(context={"mpi": "Open MPI"}))
    return written


def test_an_interrupted_measurement_freezes_nothing(validation, monkeypatch):
    # GIVEN Ctrl-C while the lab is measured a second time, of which the measurement keeps what there is
    written = measured(monkeypatch, [0.5, 0.0], interrupted=[1])
    with pytest.raises(KeyboardInterrupt):
        validation._measure(RATE, object())
    # THEN nothing is written, and a resumption measures again
    assert written == []
    assert State.resume(validation.state.directory).plan.machine_sha256 == {}


def test_an_interrupted_measurement_ends_the_experiment_on_the_interrupt_core(tmp_path, monkeypatch):
    written = measured(monkeypatch, [0.0], interrupted=[0])
    launcher = SimpleNamespace(path="/mpi/bin/mpiexec")
    with pytest.raises(KeyboardInterrupt):
        experiment.Experiment(launcher, tmp_path, print)._measure(None)
    assert written == []


def test_ctrl_c_before_anything_is_measured_is_a_ctrl_c(monkeypatch):
    # GIVEN a census that the user stops
    def run(*_, **__):
        raise launch.Interrupted

    monkeypatch.setattr(launch, "run", run)
    site = SimpleNamespace(
        prepare=lambda: None,
        command=lambda words: contextlib.nullcontext(words),
        environment=lambda: None,
    )
    with pytest.raises(KeyboardInterrupt):
        Measurement(site, effort(True, 1.0)).prepare()


@pytest.mark.parametrize(("shares", "frozen"), [([0.3, 0.1, 0.2], 1), ([0.3, 0.01], 1), ([0.3, 0.2, 0.1], 2)])
def test_the_measurement_that_others_disturbed_least_is_frozen(validation, monkeypatch, shares, frozen):
    written = measured(monkeypatch, shares)
    validation._measure(RATE, object())
    assert written == [frozen]
    assert validation.state.plan.measured_others == {"100mbit": min(shares)}


def run_and_count(monkeypatch, ends):
    """Monitored runs that end so: `run_case`, `time_of` and `counts_of` raise what is given, or nothing."""
    left = iter(ends)
    now = {}

    def step(name, value=None):
        def done(*_):
            if name == "run":
                now.clear()
                now.update(next(left))
            if name in now:
                raise now[name]
            return value

        return done

    monkeypatch.setattr(rig, "run_case", step("run"))
    monkeypatch.setattr(rig, "time_of", step("time", 1.0))
    monkeypatch.setattr(rig.monitored, "variables", lambda directory: {})
    monkeypatch.setattr(rig.monitored, "counts_of", step("counts", COUNTS))


CRASH = RunFailedError("status 139: crashed in MPI_Finalize")
PARTLY = RunFailedError("recorded in part only by rank 1")
NOTHING = RankwiseError("the component left no counts of rank 0")


@pytest.mark.parametrize(
    ("ends", "pairs", "alike", "why_not"),
    [
        ([{}, {}], 1, 1, ""),
        # A crash when all is over does not matter.
        ([{"run": CRASH}, {}], 1, 1, ""),
        ([{"counts": NOTHING}], None, None, str(NOTHING)),
        ([{"run": CRASH, "time": PARTLY}], None, None, f"{CRASH}; {PARTLY}"),
        ([{}, {"time": PARTLY}], 1, None, f"with twice as many steps: {PARTLY}"),
    ],
)
def test_why_open_mpi_counted_nothing_is_kept(validation, monkeypatch, ends, pairs, alike, why_not):
    run_and_count(monkeypatch, ends)
    known = validation._monitor(None, CasePlan(ONE, "One"), CASE)
    validation.state.plan.cases.append(known)
    validation.state.save()
    (kept,) = State.resume(validation.state.directory).plan.cases
    assert (kept.monitored and kept.monitored.pairs, kept.monitored and kept.monitored.alike) == (
        pairs,
        alike,
    )
    assert kept.not_monitored == why_not


def test_what_is_not_to_be_counted_needs_no_reason(validation):
    # GIVEN a rate at which the messages are those of a lower one
    faster = CasePlan(msgspec.structs.replace(ONE, rate_bytes_per_s=2 * RATE), "One")
    assert validation._monitor(None, faster, CASE) == faster


def test_a_case_fails_whose_startup_cannot_be_counted(validation, monkeypatch):
    # GIVEN a traced run that succeeds, and ranks that only start and end MPI, which do not end
    monkeypatch.setattr(rig.workloads, "build_startup", lambda launcher: Path("/startup"))

    def run_case(prepared, environment, path, *_):
        if path.name == "startup.rw":
            raise RunFailedError("not finished after 60 s")
        return Made(1.0, 0.0, 2.0)

    monkeypatch.setattr(rig, "run_case", run_case)
    validation._record_and_predict(None, ONE, CASE)
    # THEN that is why, and nothing is predicted with wrong counts
    (case,) = State.resume(validation.state.directory).plan.cases
    assert case.failure == "ranks that only start and end MPI: not finished after 60 s"
    assert case.predicted == []


def test_which_code_predicted_a_case_is_kept_with_it(validation, monkeypatch):
    # GIVEN a validation that is resumed by another version of the code
    monkeypatch.setattr(rig, "run_case", lambda *_: Made(1.0, 0.0, 2.0))
    monkeypatch.setattr(rig.Validation, "_startup", lambda *_: [])
    monkeypatch.setattr(rig.Validation, "_load", lambda *_: None)
    monkeypatch.setattr(rig, "predict_case", lambda found, known, *_: known)
    monkeypatch.setattr(rig.Validation, "_monitor", lambda self, lab, known, case: known)
    monkeypatch.setattr(rig, "predicting_code", lambda: "b" * 64)
    # WHEN a case is predicted
    validation._record_and_predict(None, ONE, CASE)
    # THEN it has the version that did it, not the one it began with
    state = State.resume(validation.state.directory)
    assert state.plan.cases[0].failure == ""
    assert state.plan.cases[0].code == "b" * 64 != state.plan.context.get("code")


def timed(monkeypatch, begin_s, step_s):
    """Runs that take so long, by their steps; returns the words of those that were made."""
    ran = []

    def run_case(case, environment, path, trace, limit_s):
        ran.append(case.words)
        return Made(begin_s + step_s * case.steps, 0.0, 2.0)

    monkeypatch.setattr(rig, "run_case", run_case)
    return ran


@pytest.mark.parametrize(
    ("begin_s", "step_s", "told"),
    [
        (0.0, 0.03, [20, 67]),  # 0.6 s, then 2.01 s
        (0.4, 0.005, [20, 80, 200]),  # 0.5 s, 0.8 s by what does not repeat, then 1.4 s: three are all
        (0.0, 0.2, [20]),  # 4 s
        (0.0, 1.0, [20, 6]),  # 20 s
        (9.0, 1.0, [20, 4, 1]),  # never short enough
    ],
)
def test_a_case_takes_so_many_steps_that_a_run_takes_two_to_six_seconds(
    validation, monkeypatch, begin_s, step_s, told
):
    validation.state.settle(quick=False)
    ran = timed(monkeypatch, begin_s, step_s)
    case = validation._of_fitting_steps(None, ONE, CASE)
    # THEN further tries take what the last one was too short or too long by
    assert ran == [("./one", str(steps)) for steps in told]
    expected = rig.fitting_steps(told[-1], begin_s + step_s * told[-1])
    assert case.words == ("./one", str(expected))


def test_steps_stay_where_it_is_to_be_quick_or_there_are_none(validation, monkeypatch):
    ran = timed(monkeypatch, 0.0, 0.001)
    assert validation.options.quick and validation._of_fitting_steps(None, ONE, CASE) == CASE
    validation.state.settle(quick=False)
    own = Case("own", "./own", ("./own",))
    assert validation._of_fitting_steps(None, ONE, own) == own
    assert ran == []


def test_steps_are_fixed_with_the_prediction_and_runs_take_as_many_also_when_resumed(validation, monkeypatch):
    # GIVEN a program that takes 0.6 s as it comes
    validation.state.settle(quick=False)
    ran = timed(monkeypatch, 0.0, 0.03)
    monkeypatch.setattr(rig.Validation, "_startup", lambda *_: [])
    monkeypatch.setattr(rig.Validation, "_monitor", lambda self, lab, known, case: known)
    blocked = [Predicted("blocked", NOWHERE, 1.0, 0.9, 1.1, 10, 0.5)]
    monkeypatch.setattr(rig.Validation, "_load", lambda *_: None)
    monkeypatch.setattr(
        rig, "predict_case", lambda found, known, *_: msgspec.structs.replace(known, predicted=blocked)
    )
    # WHEN it is recorded, and run after a resumption that knows only the program
    validation._record_and_predict(None, ONE, CASE)
    resumed = rig.Validation(State.resume(validation.state.directory), lambda sentence: None)
    (plan,) = resumed.state.plan.cases
    ran.clear()
    resumed._validate(None, ONE, CASE, lambda done, total: None)
    # THEN plan, title and runs have as many steps as take 2 s
    assert (plan.steps, plan.title, plan.failure) == (67, "One, 67 steps", "")
    assert ran == [("./one", "67")] * OPTIONS.repetitions


def test_when_a_run_began_is_kept_with_it(validation, monkeypatch):
    # GIVEN runs of which those of `worst` fail
    def run_case(*_):
        if len(validation.state.runs()) == 1:
            raise RunFailedError("status 1")
        return Made(1.0, 0.0, 2.0)

    monkeypatch.setattr(rig, "run_case", run_case)
    placements = [Predicted(name, NOWHERE, 1.0, 0.9, 1.1, 10, 0.5) for name in ("blocked", "worst")]
    plan = CasePlan(ONE, "One", 1.0, predicted=placements)
    validation.state.plan.cases.append(plan)
    began = time.time()
    validation._run_missing(None, plan, CASE, validation.state.missing(), lambda done, total: None)
    # THEN each that was begun says when; what was not tried does not
    runs = validation.state.runs()
    assert [run.failure for run in runs] == [None, "status 1", "not tried, as it failed before", None]
    assert [run.at is None for run in runs] == [False, False, True, False]
    assert began <= runs[0].at <= runs[1].at <= runs[3].at <= time.time()


def test_what_predicts_is_part_of_the_context(monkeypatch, tmp_path):
    code = rig.context()["code"]
    assert len(code) == 64 and code == rig.context()["code"]
    # WHEN the compiled module is another one
    other = tmp_path / "_core.so"
    other.write_bytes(b"other")
    monkeypatch.setattr(rig, "_core", SimpleNamespace(__file__=str(other)))
    assert rig.context()["code"] not in ("", code)
    # AND where it cannot be read, the rest is still said
    monkeypatch.setattr(rig, "_core", SimpleNamespace(__file__=str(tmp_path / "absent.so")))
    assert rig.context()["code"] == ""
