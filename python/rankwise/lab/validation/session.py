# SPDX-License-Identifier: BSD-3-Clause
"""The steps of a validation in their order: measure and freeze, record, predict, run; in one go or in parts."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

import rankwise
from rankwise import _core, replay, workloads
from rankwise.errors import RankwiseError
from rankwise.lab.choose_mpi import first_on_path
from rankwise.lab.counters import InterfaceCounters, difference, read_counters
from rankwise.lab.own_lab import own_lab, own_name
from rankwise.lab.run import LabRun, adopt, place, prepare
from rankwise.lab.state import Lab
from rankwise.lab.up import plan_lab
from rankwise.lab.validation import monitored, pace
from rankwise.lab.validation.cases import Case, make_case
from rankwise.lab.validation.described import make_described
from rankwise.lab.validation.failures import without_directories
from rankwise.lab.validation.measured_run import Made, RunFailedError, run_case, time_of
from rankwise.lab.validation.other_load import OtherLoad, hosts_of
from rankwise.lab.validation.prediction import predict_case
from rankwise.lab.validation.state import CasePlan, Options, Run, Setting, State, rate_name
from rankwise.lab.validation.steps import fitting_steps
from rankwise.launchers.identify import identify
from rankwise.launchers.line import Launcher
from rankwise.machine.file import fingerprint, load
from rankwise.machine.placement import Placement
from rankwise.machine.topology import from_synthetic
from rankwise.measure.lab_site import LabSite
from rankwise.measure.outcome import write
from rankwise.measure.session import Session as Measurement
from rankwise.measure.steps import effort
from rankwise.placement import file as placement_file
from rankwise.placement.file import PlacementFile
from rankwise.replay.uncertainty import has_intervals

LAB_NAME = own_name("validate")
MEASURE_S, QUICK_MEASURE_S = 90.0, 12.0
TRACED_LIMIT_S = 60.0
# A run may take so many times what the launch of the traced one took, and so much longer: placements differ by less
# than 4 times, and what hangs hangs for ever.
LIMIT_FACTOR, LIMIT_MORE_S = 6.0, 5.0
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
    return {
        "rankwise": rankwise.__version__,
        "code": predicting_code(),
        "kernel": platform.release(),
        "machine": platform.machine(),
    }


def predicting_code() -> str:
    """SHA-256 of what predicts, the replay and the compiled module; empty where their files cannot be read."""
    digest = hashlib.sha256()
    try:
        for path in (*sorted(Path(replay.__file__).parent.glob("*.py")), Path(_core.__file__)):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    except (OSError, TypeError):
        return ""
    return digest.hexdigest()


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
class _Measured:
    """A lab that was measured, part of all cores' time that others used meanwhile, and the pace if it was taken."""

    measurement: Measurement
    others: float
    pace_s: float | None


@dataclass
class Validation:
    """A validation under way.

    Args:
        state: What is done so far.
        say: Told what happens.
        window_s: No run is begun after this time; `None` for no limit.
        traced_limit_s: Most time for the launch of a traced run.
    """

    state: State
    say: Say
    window_s: float | None = None
    traced_limit_s: float = TRACED_LIMIT_S

    def __post_init__(self) -> None:
        self._end = time.monotonic() + self.window_s if self.window_s is not None else float("inf")
        self._startups: dict[tuple[float, int], list[InterfaceCounters]] = {}
        self._launcher = self._find_launcher()

    def _find_launcher(self) -> Launcher:
        return find_launcher(self.options.mpi, [self.options.launcher])

    @property
    def options(self) -> Options:
        """What was asked for."""
        return self.state.plan.options

    def programs(self) -> dict[str, Case]:
        """All programs, built; nothing is measured before all of them are there."""
        directory = self.state.directory.resolve()
        ranks = self.options.ranks
        described = {each.name: each for each in self.options.described}
        return {
            name: make_described(described[name], self._launcher, directory)
            if name in described
            else make_case(name, self._launcher, directory, ranks)
            for name in self.options.programs
        }

    def take_machine(self, path: Path) -> None:
        """Freeze a machine file that was measured before, instead of measuring; or check that it is the frozen one.

        Raises:
            RankwiseError: It is not of such a lab, another one was frozen already, or there are several rates.
        """
        if len(self.options.rates_bytes_per_s) > 1:
            raise RankwiseError(
                "a machine file is of one rate, and this validation has several",
                "name its rate: for example `--rates 200mbit --machine FILE`",
            )
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

    def _validate(self, lab: Lab, setting: Setting, case: Case, progress: Progress) -> None:
        """Record and predict a case unless that is done, then run it, as far as time is left."""
        if self._time_left() and self.state.plan.case(setting) is None:
            self._record_and_predict(lab, setting, case)
        plan = self.state.plan.case(setting)
        if plan and plan.steps and case.of_steps:
            case = case.of_steps(plan.steps)
        for _ in range(ROUNDS):
            left = self.state.missing(plan.name) if plan else []
            if not left or not self._time_left():
                break
            self._run_missing(lab, plan, case, left, progress)
            if self._time_left() and (again := len(self.state.missing(plan.name))):
                self.say(f"{plan.name}: {again} runs shared the machine with others")

    def _time_left(self) -> bool:
        return time.monotonic() < self._end

    def _lab(self, rate: float) -> AbstractContextManager[Lab]:
        return own_lab(plan_lab(LAB_NAME, self.options.nodes, self.options.cores, rate))

    def _measure(self, rate: float, lab: Lab) -> None:
        """Measure the lab, again a few times while others disturb it, and freeze the machine file disturbed least."""
        found: list[_Measured] = []
        for _ in range(ROUNDS):
            found.append(self._measured(lab))
            others = found[-1].others
            if others <= self.state.tolerated:
                break
            self.say(f"{rate_name(rate)}: others used {others:.0%} of this machine while it was measured")
        least = min(found, key=lambda each: each.others)
        if least.pace_s is not None:
            self.state.plan.pace_s[rate_name(rate)] = least.pace_s
        self.state.plan.measured_others[rate_name(rate)] = least.others
        write(least.measurement, self.state.machine_path(rate), anyway=True)
        self._freeze(rate)

    def _measured(self, lab: Lab) -> _Measured:
        measurement = Measurement(
            LabSite(lab, [self.options.launcher]), effort(self.options.quick, self._measure_s())
        )
        measurement.prepare()
        before = self._pace(lab)
        load = OtherLoad.begin(frozenset({os.getpid()}), hosts_of(lab))
        measurement.measure()
        if measurement.interrupted:
            # A part of it would be frozen for all runs to come.
            raise KeyboardInterrupt
        others = load.share()
        after = self._pace(lab)
        pace_s = (before.message_s + after.message_s) / 2 if before and after else None
        return _Measured(measurement, others, pace_s)

    def _measure_s(self) -> float:
        return QUICK_MEASURE_S if self.options.quick else MEASURE_S

    def _freeze(self, rate: float) -> None:
        path = self.state.machine_path(rate)
        self.state.plan.machine_sha256[rate_name(rate)] = fingerprint(path)
        self.state.plan.context["mpi"] = str(load(path).context.get("mpi", ""))
        self.state.save()
        self.say(f"{rate_name(rate)}: machine file frozen, SHA-256 {fingerprint(path)}")

    def _record_and_predict(self, lab: Lab, setting: Setting, case: Case) -> None:
        known = CasePlan(setting, case.title)
        path = self.state.directory / f"{setting.key}.rw"
        try:
            case = self._of_fitting_steps(lab, setting, case)
            before = self._pace(lab)
            made, counted = self._record(lab, setting, case, path)
            after = self._pace(lab)
            known = msgspec.structs.replace(
                known,
                title=case.title,
                steps=case.steps,
                invalid=made.invalid,
                recorded_s=made.time_s,
                launch_s=made.launch_s,
                recorded_others=made.others,
                compute_s=(before.compute_s + after.compute_s) / 2 if before and after else None,
            )
            startup = self._startup(lab, setting)
            known = predict_case(
                self.state, known, counted, lambda where: self._can_run(lab, case, where), startup
            )
            known = msgspec.structs.replace(self._monitor(lab, known, case), code=predicting_code())
            self.say(f"{known.name}: recorded blocked, {len(known.predicted)} placements predicted")
        except (RunFailedError, RankwiseError) as error:
            known = msgspec.structs.replace(known, failure=str(error))
            self.say(f"{known.name}: failed: {error}")
        self.state.plan.cases.append(known)
        self.state.save()

    def _of_fitting_steps(self, lab: Lab, setting: Setting, case: Case) -> Case:
        """The case with a number of steps that fits this lab; what does not repeat takes a second or third try."""
        if case.of_steps is None or self.options.quick:
            return case
        path = self.state.directory / "run.rw"
        for _ in range(ROUNDS):
            time_s = self._made(lab, case, setting.ranks, path, False, self.traced_limit_s).time_s
            steps = fitting_steps(case.steps, time_s)
            if steps == case.steps:
                break
            case = case.of_steps(steps)
        shutil.rmtree(path, ignore_errors=True)
        return case

    def _record(
        self, lab: Lab, setting: Setting, case: Case, path: Path
    ) -> tuple[Made, list[InterfaceCounters]]:
        """The traced run, made again a few times while others disturb it; the last one stays."""
        for _ in range(ROUNDS):
            before = read_counters(lab)
            made = self._made(lab, case, setting.ranks, path, True, self.traced_limit_s)
            counted = difference(before, read_counters(lab))
            if made.others <= self.state.tolerated:
                break
            self.say(f"{setting.key}: others used {made.others:.0%} of this machine while it was recorded")
        return made, counted

    def _startup(self, lab: Lab, setting: Setting) -> list[InterfaceCounters]:
        """What the interfaces count while so many ranks start and end MPI and do nothing between.

        Raises:
            RunFailedError: They did not: what was counted would be subtracted from the traced run's.
        """
        key = setting.rate_bytes_per_s, setting.ranks
        if key not in self._startups:
            program = workloads.build_startup(self._launcher.path)
            prepared = self._prepare(lab, Case("startup", "", (str(program),)), setting.ranks)
            path = (self.state.directory / "startup.rw").resolve()
            before = read_counters(lab)
            try:
                run_case(prepared, {}, path, False, TRACED_LIMIT_S)
            except RunFailedError as error:
                raise RunFailedError(f"ranks that only start and end MPI: {error}") from None
            finally:
                shutil.rmtree(path, ignore_errors=True)
            self._startups[key] = difference(before, read_counters(lab))
        return self._startups[key]

    def _monitor(self, lab: Lab, known: CasePlan, case: Case) -> CasePlan:
        """The case with what Open MPI counts in further runs, or why not; messages are the same at each rate."""
        lowest = min(self.options.rates_bytes_per_s)
        if self.options.mpi != "openmpi" or known.setting.rate_bytes_per_s != lowest:
            return known
        counts, why_not = [], ""
        for each in (case, *([case.of_steps(2 * case.steps)] if case.of_steps else [])):
            try:
                counts.append(self._monitored(lab, known.setting, each))
            except (RunFailedError, RankwiseError) as error:
                which = "with twice as many steps: " if counts else ""
                why_not = which + without_directories(str(error))
                self.say(f"{known.name}: not counted by Open MPI's monitoring component: {why_not}")
                break
        found = monitored.compare(*counts) if counts else None
        return msgspec.structs.replace(known, monitored=found, not_monitored=why_not)

    def _monitored(self, lab: Lab, setting: Setting, case: Case) -> monitored.Counts:
        """A recorded run that the component counts.

        Raises:
            RunFailedError: It did not count, or the run did not come to its end.
        """
        path = (self.state.directory / "monitored.rw").resolve()
        with tempfile.TemporaryDirectory(
            prefix="monitored-", dir=self.state.directory.resolve()
        ) as directory:
            prepared = self._prepare(lab, case, setting.ranks)
            variables = dict(case.environment) | monitored.variables(Path(directory))
            ended = ""
            try:
                run_case(prepared, variables, path, False, TRACED_LIMIT_S)
            except RunFailedError as error:
                # With the component Open MPI 5 often crashes when all is over; all was counted by then.
                ended = f"{error}; "
            try:
                time_of(path)
                return monitored.counts_of(path, Path(directory), setting.ranks)
            except (RunFailedError, RankwiseError) as error:
                raise RunFailedError(f"{ended}{error}") from None
            finally:
                shutil.rmtree(path, ignore_errors=True)

    def _can_run(self, lab: Lab, case: Case, placement: Placement) -> bool:
        """Whether the launcher can do it; some orders of ranks MPICH's cannot (docs/run.md)."""
        try:
            self._prepare(lab, case, msgspec.convert(placement_file.to_dict(placement), PlacementFile))
        except RankwiseError:
            return False
        return True

    def _prepare(self, lab: Lab, case: Case, where: int | PlacementFile) -> LabRun:
        """A run of so many ranks dealt blocked, or of a placement."""
        if isinstance(where, int):
            placement = place(lab, where, "blocked")
        else:
            placement = adopt(placement_file.loads(msgspec.json.encode(where)), lab, None)
        if case.own_launcher:
            return prepare(lab, list(case.words), placement)
        # Of another MPI on PATH that labs cannot use nothing is to be said.
        with first_on_path(self._launcher):
            prepared = prepare(lab, list(case.words), placement, self.options.mpi)
        return replace(prepared, launcher=self._launcher)

    def _made(
        self, lab: Lab, case: Case, where: int | PlacementFile, path: Path, trace: bool, limit_s: float
    ) -> Made:
        """One run of a case, recorded into `path`; the arguments are those of `_prepare` and `run_case`."""
        return run_case(self._prepare(lab, case, where), dict(case.environment), path, trace, limit_s)

    def _pace(self, lab: Lab) -> pace.Pace | None:
        return pace.take(_pus(lab))

    def _run_missing(
        self,
        lab: Lab,
        plan: CasePlan,
        case: Case,
        missing: list[tuple[int, str, str]],
        progress: Progress,
    ) -> None:
        """Make these runs of a case as far as time is left."""
        made, total = self._progress()
        path = self.state.directory / "run.rw"
        failed = {(run.case, run.placement) for run in self.state.runs() if run.failure}
        for done, (repetition, name, placement) in enumerate(missing, made):
            progress(done, total)
            if (name, placement) in failed:
                self.state.add(Run(name, placement, repetition, failure="not tried, as it failed before"))
                continue
            if not self._time_left():
                return
            where = next(each.placement for each in plan.predicted if each.name == placement)
            at = time.time()
            try:
                now = self._pace(lab)
                found = self._made(lab, case, where, path, False, _limit_s(plan))
                run = Run(
                    name,
                    placement,
                    repetition,
                    time_s=found.time_s,
                    other_load=found.others,
                    pace_s=now and now.message_s,
                    compute_s=now and now.compute_s,
                    at=at,
                    invalid=found.invalid,
                )
                self.state.add(run)
            except (RunFailedError, RankwiseError) as error:
                failed.add((name, placement))
                self.state.add(Run(name, placement, repetition, failure=str(error), at=at))
        shutil.rmtree(path, ignore_errors=True)
        progress(made + len(missing), total)

    def _progress(self) -> tuple[int, int]:
        """Runs that are made, and how many there will be, about."""
        made = len([run for run in self.state.runs() if not self.state.disturbed(run)])
        unplanned = len(self.options.settings()) - len(self.state.plan.cases)
        later = unplanned * self.options.placements * self.options.repetitions
        return made, made + len(self.state.missing()) + later


def _pus(lab: Lab) -> set[int]:
    return {pu for node in lab.nodes for pu in node.cores}


def _limit_s(case: CasePlan) -> float:
    """Most time for a launch, from what that of the traced run took."""
    return LIMIT_FACTOR * (case.launch_s or TRACED_LIMIT_S) + LIMIT_MORE_S
