# SPDX-License-Identifier: BSD-3-Clause
"""The steps of a validation in their order: measure and freeze, record, predict, run; in one go or in parts."""

from __future__ import annotations

import os
import platform
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

import rankwise
from rankwise.errors import RankwiseError
from rankwise.lab.choose_mpi import first_on_path
from rankwise.lab.own_lab import own_lab, own_name
from rankwise.lab.run import LabRun, adopt, place, prepare
from rankwise.lab.site import LabSite
from rankwise.lab.state import Lab
from rankwise.lab.up import plan_lab
from rankwise.lab.validation.measured_run import run_case
from rankwise.lab.validation.other_load import OtherLoad, hosts_of
from rankwise.lab.validation.prediction import RecordedCase
from rankwise.lab.validation.state import CasePlan, Options, Run, Setting, State, rate_name
from rankwise.launchers.identify import identify
from rankwise.launchers.line import Launcher
from rankwise.machine.file import fingerprint, load
from rankwise.machine.placement import Placement
from rankwise.machine.topology import from_synthetic
from rankwise.measure.measurement import Measurement
from rankwise.measure.outcome import write
from rankwise.measure.steps import effort
from rankwise.placement import file as placement_file
from rankwise.placement.file import PlacementFile
from rankwise.quantities import share_text
from rankwise.replay.uncertainty import has_intervals
from rankwise.run.timed_run import Made, RunFailedError

LAB_NAME = own_name("validate")
MEASURE_S, QUICK_MEASURE_S = 90.0, 12.0
TRACED_LIMIT_S = 60.0
# A run may take so many times what the launch of the traced one took, and so much longer: placements differ by less
# than 4 times, and what hangs hangs for ever.
LIMIT_FACTOR, LIMIT_MORE_S = 6.0, 5.0
ROUNDS = 3  # of runs that are missing because others disturbed them
Say = Callable[[str], None]
Progress = Callable[[int, int], None]


def context() -> dict[str, str | int]:
    """What the numbers were obtained with, besides what the machine file says."""
    return {
        "rankwise": rankwise.__version__,
        "kernel": platform.release(),
        "machine": platform.machine(),
    }


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


@dataclass(frozen=True)
class Case:
    """One program that is ready to be run.

    Attributes:
        name: Short name.
        title: What it is, for people.
        words: The program and its arguments.
    """

    name: str
    title: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class MeasuredLab:
    """A lab that was measured, and the part of all cores' time that others used meanwhile."""

    measurement: Measurement
    others: float


@dataclass
class Validation(ABC):
    """A validation under way.

    Args:
        state: What is done so far.
        say: Called with what happens.
        window_s: No run is begun after this time; `None` for no limit.
        traced_limit_s: Most time for the launch of a traced run.
    """

    state: State
    say: Say
    window_s: float | None = None
    traced_limit_s: float = TRACED_LIMIT_S

    def __post_init__(self) -> None:
        self._end = time.monotonic() + self.window_s if self.window_s is not None else float("inf")
        self._launcher = self._find_launcher()

    def _find_launcher(self) -> Launcher:
        launcher, family = identify(self.options.launcher), self.options.mpi
        if launcher is None or launcher.family != family:
            raise RankwiseError(
                f"`{self.options.launcher}` is not an `mpiexec` of `{family}` any more",
                "begin another validation with `--state`",
            )
        return launcher

    @property
    def options(self) -> Options:
        """What was asked for."""
        return self.state.plan.options

    @abstractmethod
    def programs(self) -> dict[str, Case]:
        """All programs, ready to be run; nothing is measured before all of them are there."""

    def take_machine(self, path: Path) -> None:
        """Freeze a machine file that was measured before, instead of measuring; or check that it is the frozen one.

        Raises:
            RankwiseError: It is not of such a lab, or another one was frozen already.
        """
        (rate,) = self.options.rates_bytes_per_s
        if self.state.plan.machine_sha256:
            self.state.check_machine(rate, path)
            return
        check_machine(path, self.options)
        shutil.copyfile(path, self.state.machine_path(rate))
        self._freeze(rate)

    def go_on(self, progress: Progress = lambda done, total: None) -> bool:
        """Do what is still to be done, as far as the window allows; returns whether all is done.

        The runs of a program follow its recording, and recordings the machine file: processors of a virtual machine
        are not as fast an hour later.
        """
        programs = self.programs()
        for rate in self.options.rates_bytes_per_s:
            settings = [each for each in self.options.settings() if each.rate_bytes_per_s == rate]
            if any(map(self._is_left, settings)) and self._time_left():
                with self._lab(rate) as lab:
                    if rate_name(rate) not in self.state.plan.machine_sha256:
                        self._measure(rate, lab)
                    for setting in settings:
                        self._validate(lab, setting, programs[setting.program], progress)
        return not any(map(self._is_left, self.options.settings()))

    def _is_left(self, setting: Setting) -> bool:
        plan = self.state.plan.case(setting)
        return plan is None or bool(self.state.missing(plan.name))

    def _validate(self, lab: Lab | None, setting: Setting, case: Case, progress: Progress) -> None:
        """Record and predict a case unless that is done, then run it, as far as time is left."""
        if self._time_left() and self.state.plan.case(setting) is None:
            self._record_and_predict(lab, setting, case)
        plan = self.state.plan.case(setting)
        for _ in range(ROUNDS):
            left = self.state.missing(plan.name) if plan else []
            if plan is None or not left or not self._time_left():
                break
            self._run_missing(lab, plan, case, left, progress)
            if self._time_left() and (again := len(self.state.missing(plan.name))):
                self.say(f"{plan.name}: {again} runs shared the machine with others")

    def _time_left(self) -> bool:
        return time.monotonic() < self._end

    def _lab(self, rate: float) -> AbstractContextManager[Lab | None]:
        return own_lab(plan_lab(LAB_NAME, self.options.nodes, self.options.cores, rate))

    def _measure(self, rate: float, lab: Lab | None) -> None:
        """Measure the lab, again a few times while others disturb it, and freeze the machine file disturbed least."""
        found: list[MeasuredLab] = []
        for _ in range(ROUNDS):
            found.append(self._measure_once(lab))
            others = found[-1].others
            if others <= self.state.tolerated:
                break
            self.say(
                f"{rate_name(rate)}: others used {share_text(others)} of this machine while it was measured"
            )
        least = min(found, key=lambda each: each.others)
        self._keep(rate, least)
        write(least.measurement, self.state.machine_path(rate), anyway=True)
        self._freeze(rate)

    def _keep(self, rate: float, measured: MeasuredLab) -> None:
        self.state.plan.measured_others[rate_name(rate)] = measured.others

    def _measure_once(self, lab: Lab | None) -> MeasuredLab:
        assert lab is not None  # but `OnCluster` has its own
        measurement = Measurement(
            LabSite(lab, [self.options.launcher]), effort(self.options.quick, self._measure_s())
        )
        measurement.prepare()
        load = OtherLoad.begin(frozenset({os.getpid()}), hosts_of(lab))
        measurement.measure()
        if measurement.interrupted:
            # A part of it would be frozen for all runs to come.
            raise KeyboardInterrupt
        return MeasuredLab(measurement, load.share())

    def _measure_s(self) -> float:
        return QUICK_MEASURE_S if self.options.quick else MEASURE_S

    def _freeze(self, rate: float) -> None:
        path = self.state.machine_path(rate)
        self.state.plan.machine_sha256[rate_name(rate)] = fingerprint(path)
        self.state.plan.context["mpi"] = str(load(path).context.get("mpi", ""))
        self.state.save()
        self.say(f"{rate_name(rate)}: machine file frozen, SHA-256 {fingerprint(path)}")

    def _record_and_predict(self, lab: Lab | None, setting: Setting, case: Case) -> None:
        known = self.state.case_type(setting, case.title)
        try:
            known = self._record(lab, known, case)
            known = self._predict(lab, known, case)
            self.say(f"{known.name}: recorded blocked, {len(known.predicted)} placements predicted")
        except (RunFailedError, RankwiseError) as error:
            known = msgspec.structs.replace(known, failure=str(error))
            self.say(f"{known.name}: failed: {error}")
        self.state.plan.cases.append(known)
        self.state.save()

    def _record(self, lab: Lab | None, known: CasePlan, case: Case) -> CasePlan:
        """The case with its traced run, made again a few times while others disturb it; the last one stays."""
        path = self.state.directory / f"{known.name}.rw"
        for _ in range(ROUNDS):
            made = self._make(lab, case, known.setting.ranks, path, True, self.traced_limit_s)
            if made.others is None or made.others <= self.state.tolerated:
                break
            self.say(
                f"{known.name}: others used {share_text(made.others)} of this machine while it was recorded"
            )
        return msgspec.structs.replace(
            known,
            invalid=made.invalid,
            recorded_s=made.time_s,
            launch_s=made.launch_s,
            recorded_others=made.others,
        )

    def _predict(self, lab: Lab | None, known: CasePlan, case: Case) -> CasePlan:
        """The case with all its placements predicted."""
        found = self._load(lab, known, case)
        predicted = [found.predict(name)[0] for name in found.placements]
        return msgspec.structs.replace(known, predicted=predicted, omitted=found.source.omitted)

    def _load(self, lab: Lab | None, known: CasePlan, case: Case) -> RecordedCase:
        return RecordedCase.load(self.state, known, lambda where: self._can_run(lab, case, where))

    def _can_run(self, lab: Lab | None, case: Case, placement: Placement) -> bool:
        """Whether the launcher can do it; some orders of ranks MPICH's cannot (docs/place-and-run.md)."""
        try:
            self._prepare(lab, case, msgspec.convert(placement_file.to_dict(placement), PlacementFile))
        except RankwiseError:
            return False
        return True

    def _prepare(self, lab: Lab | None, case: Case, where: int | PlacementFile) -> LabRun:
        """A run of so many ranks dealt blocked, or of a placement."""
        assert lab is not None  # but `OnCluster` has its own
        placement = self._placement(lab, where)
        # Of another MPI on PATH that labs cannot use nothing is to be said.
        with first_on_path(self._launcher):
            prepared = prepare(lab, list(case.words), placement, self.options.mpi)
        return replace(prepared, launcher=self._launcher)

    def _placement(self, lab: Lab, where: int | PlacementFile) -> Placement:
        if isinstance(where, int):
            return place(lab, where, "blocked")
        return adopt(placement_file.loads(msgspec.json.encode(where)), lab, None)

    def _make(
        self, lab: Lab | None, case: Case, where: int | PlacementFile, path: Path, trace: bool, limit_s: float
    ) -> Made:
        """One run of a case, recorded into `path`; the arguments are those of `_prepare` and `run_case`."""
        return run_case(self._prepare(lab, case, where), {}, path, trace, limit_s)

    def _run_missing(
        self,
        lab: Lab | None,
        plan: CasePlan,
        case: Case,
        missing: list[tuple[int, str, str]],
        progress: Progress,
    ) -> None:
        """Make these runs of a case as far as time is left."""
        made, total = self._progress()
        failed = {(run.case, run.placement) for run in self.state.runs() if run.failure}
        for done, (repetition, name, placement) in enumerate(missing, made):
            progress(done, total)
            if (name, placement) in failed:
                self.state.add(
                    self.state.run_type(name, placement, repetition, failure="not tried, as it failed before")
                )
                continue
            if not self._time_left():
                return
            where = next(each.placement for each in plan.predicted if each.name == placement)
            at = time.time()
            try:
                run = self.state.run_type(name, placement, repetition, at=at)
                self.state.add(self._run(lab, plan, case, where, run))
            except (RunFailedError, RankwiseError) as error:
                failed.add((name, placement))
                self.state.add(self.state.run_type(name, placement, repetition, failure=str(error), at=at))
        shutil.rmtree(self._run_path, ignore_errors=True)
        progress(made + len(missing), total)

    def _run(self, lab: Lab | None, plan: CasePlan, case: Case, where: PlacementFile, run: Run) -> Run:
        """One run, made."""
        found = self._make(lab, case, where, self._run_path, False, _limit_s(plan))
        return msgspec.structs.replace(
            run, time_s=found.time_s, other_load=found.others, invalid=found.invalid
        )

    @property
    def _run_path(self) -> Path:
        return self.state.directory / "run.rw"

    def _progress(self) -> tuple[int, int]:
        """Runs that are made, and how many there will be, about."""
        made = len([run for run in self.state.runs() if not self.state.disturbed(run)])
        unplanned = len(self.options.settings()) - len(self.state.plan.cases)
        later = unplanned * self.options.placements * self.options.repetitions
        return made, made + len(self.state.missing()) + later


def _limit_s(case: CasePlan) -> float:
    """Most time for a launch, from what that of the traced run took."""
    return LIMIT_FACTOR * (case.launch_s or TRACED_LIMIT_S) + LIMIT_MORE_S
