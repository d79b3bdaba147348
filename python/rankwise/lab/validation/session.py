# SPDX-License-Identifier: BSD-3-Clause
"""The steps of a validation in their order: measure and freeze, record, predict, run; in one go or in parts."""

from __future__ import annotations

import platform
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

import rankwise
from rankwise.errors import RankwiseError
from rankwise.lab.run import LabRun, adopt, place, prepare
from rankwise.lab.state import Lab
from rankwise.lab.up import bring_up, plan_lab, take_down
from rankwise.lab.validation.cases import Case, make_case
from rankwise.lab.validation.measured_run import RunFailedError, run_case
from rankwise.lab.validation.prediction import predict_case
from rankwise.lab.validation.state import CasePlan, Options, Run, State
from rankwise.launchers.identify import identify
from rankwise.launchers.line import Launcher
from rankwise.machine.file import fingerprint, load
from rankwise.machine.topology import from_synthetic
from rankwise.measure.lab_site import LabSite
from rankwise.measure.outcome import write
from rankwise.measure.session import Session as Measurement
from rankwise.measure.steps import effort
from rankwise.placement import file as placement_file
from rankwise.replay.uncertainty import has_intervals

LAB_NAME = "validate"
MEASURE_S, QUICK_MEASURE_S = 60.0, 15.0
RUN_LIMIT_S = 20.0
ROUNDS = 3  # of runs that are missing because others disturbed them
Say = Callable[[str], None]
Progress = Callable[[int, int], None]


def find_launcher(family: str, words: list[str]) -> Launcher:
    """The `mpiexec` of an MPI: the one that was typed, else the first on PATH of that family.

    Raises:
        RankwiseError: There is none.
    """
    names = words[:1] or ["mpiexec", "mpirun", f"mpiexec.{family}"]
    found = [launcher for launcher in map(identify, names) if launcher and launcher.family == family]
    if not found:
        where = f"`{words[0]}` is not" if words else "PATH has no"
        raise RankwiseError(
            f"{where} an `mpiexec` of `{family}`", "name it: `rankwise lab validate -- /path/of/mpiexec`"
        )
    return found[0]


def context() -> dict[str, str | int]:
    """What the numbers were obtained with, besides what the machine file says."""
    return {"rankwise": rankwise.__version__, "kernel": platform.release(), "machine": platform.machine()}


def check_machine(path: Path, options: Options) -> None:
    """Raise unless a machine file describes the nodes of this lab."""
    machine = load(path)
    node = machine.node
    cores = from_synthetic(node.topology).cores if node.topology else None
    if (node.count, cores) != (options.nodes, options.cores):
        raise RankwiseError(
            f"`{path}` describes {node.count} nodes of {cores or 'an unknown number of'} cores, the lab has "
            f"{options.nodes} of {options.cores}",
            "leave `--machine` out to measure the lab, or choose `--nodes` and `--cores` to fit",
        )
    if not has_intervals(machine):
        raise RankwiseError(
            f"no number of `{path}` has a confidence interval, so predictions would have none",
            "leave `--machine` out to measure the lab",
        )


@dataclass
class Validation:
    """A validation under way.

    Args:
        state: What is done so far.
        say: Told what happens.
        window_s: No run is begun after this time; `None` for no limit.
    """

    state: State
    say: Say
    window_s: float | None = None

    def __post_init__(self) -> None:
        self._end = time.monotonic() + self.window_s if self.window_s is not None else float("inf")
        self._launcher = find_launcher(self.options.mpi, [self.options.launcher])

    @property
    def options(self) -> Options:
        """What was asked for."""
        return self.state.plan.options

    def cases(self) -> dict[str, Case]:
        """All cases, built; nothing is measured before all of them are there."""
        directory = self.state.directory.resolve()
        return {name: make_case(name, self._launcher, directory) for name in self.options.cases}

    def take_machine(self, path: Path) -> None:
        """Freeze a machine file that was measured before, instead of measuring; or check that it is the frozen one.

        Raises:
            RankwiseError: It is not of such a lab, or another one was frozen already.
        """
        if self.state.plan.machine_sha256 is not None:
            self.state.check_machine(path)
            return
        check_machine(path, self.options)
        shutil.copyfile(path, self.state.machine_path)
        self._freeze()

    def go_on(self, progress: Progress = lambda done, total: None) -> bool:
        """Do what is still to be done, as far as the window allows; returns whether all is done."""
        cases = self.cases()
        with self._lab() as lab:
            if self.state.plan.machine_sha256 is None:
                self._measure(lab)
            for name, case in cases.items():
                if self.state.plan.case(name) is None and self._time_left():
                    self._record_and_predict(lab, case)
            if len(self.state.plan.cases) < len(cases):
                return False
            return self._run_all(lab, cases, progress)

    def _time_left(self) -> bool:
        return time.monotonic() < self._end

    @contextmanager
    def _lab(self) -> Iterator[Lab]:
        options = self.options
        lab = bring_up(plan_lab(LAB_NAME, options.nodes, options.cores, options.rate_bytes_per_s))
        try:
            yield lab
        finally:
            take_down(LAB_NAME)

    def _measure(self, lab: Lab) -> None:
        """Measure the lab and freeze the machine file."""
        measurement = Measurement(
            LabSite(lab, [self.options.launcher]),
            effort(self.options.quick, QUICK_MEASURE_S if self.options.quick else MEASURE_S),
        )
        measurement.prepare()
        measurement.measure()
        write(measurement, self.state.machine_path)
        self._freeze()

    def _freeze(self) -> None:
        self.state.plan.machine_sha256 = fingerprint(self.state.machine_path)
        self.state.plan.context["mpi"] = str(load(self.state.machine_path).context.get("mpi", ""))
        self.state.save()
        self.say(f"machine file frozen, SHA-256 {self.state.plan.machine_sha256}")

    def _record_and_predict(self, lab: Lab, case: Case) -> None:
        known = CasePlan(case.name, case.title)
        path = self.state.directory / f"{case.name}.rw"
        try:
            prepared = self._prepare(lab, case, None)
            time_s, others = run_case(prepared, dict(case.environment), path, True, RUN_LIMIT_S)
            if others > self.state.tolerated:
                self.say(f"{case.name}: others used {others:.0%} of this machine while it was recorded")
            known = predict_case(self.state, msgspec.structs.replace(known, recorded_s=time_s))
            self.say(f"{case.name}: recorded blocked, {len(known.predicted)} placements predicted")
        except (RunFailedError, RankwiseError) as error:
            known = msgspec.structs.replace(known, failure=str(error))
            self.say(f"{case.name}: failed: {error}")
        self.state.plan.cases.append(known)
        self.state.save()

    def _prepare(self, lab: Lab, case: Case, placement: placement_file.PlacementFile | None) -> LabRun:
        if placement is None:
            where = place(lab, None, "blocked")
        else:
            where = adopt(placement_file.loads(msgspec.json.encode(placement)), lab, None)
        if case.own_launcher:
            return prepare(lab, list(case.words), where)
        prepared = prepare(lab, list(case.words), where, self.options.mpi)
        return replace(prepared, launcher=self._launcher)

    def _run_all(self, lab: Lab, cases: dict[str, Case], progress: Progress) -> bool:
        """Make the missing runs, those that others disturbed again; returns whether none is missing then."""
        for _ in range(ROUNDS):
            if self._run_missing(lab, cases, progress):
                return True
            if not self._time_left():
                break
            self.say(f"{len(self.state.missing())} runs shared the machine with others")
        return False

    def _run_missing(self, lab: Lab, cases: dict[str, Case], progress: Progress) -> bool:
        missing = self.state.missing()
        total = len(missing) + len([run for run in self.state.runs() if not self.state.disturbed(run)])
        placements = {
            (case.name, each.name): each.placement
            for case in self.state.plan.cases
            for each in case.predicted
        }
        path = self.state.directory / "run.rw"
        failed = {(run.case, run.placement) for run in self.state.runs() if run.failure}
        for done, (repetition, name, placement) in enumerate(missing, total - len(missing)):
            progress(done, total)
            if (name, placement) in failed:
                self.state.add(Run(name, placement, repetition, failure="not tried, as it failed before"))
                continue
            if not self._time_left():
                return False
            case = cases[name]
            try:
                prepared = self._prepare(lab, case, placements[name, placement])
                time_s, others = run_case(prepared, dict(case.environment), path, False, RUN_LIMIT_S)
                self.state.add(Run(name, placement, repetition, time_s=time_s, other_load=others))
            except RunFailedError as error:
                failed.add((name, placement))
                self.state.add(Run(name, placement, repetition, failure=str(error)))
        shutil.rmtree(path, ignore_errors=True)
        progress(total, total)
        return not self.state.missing()
