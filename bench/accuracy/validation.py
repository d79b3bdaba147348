# SPDX-License-Identifier: BSD-3-Clause
"""A validation of many programs: how many steps they take, what was really sent, and how fast the machine was."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import msgspec

from accuracy import monitored, pace
from accuracy.cases import Case, make_case
from accuracy.described import make_described
from accuracy.prediction import predict_case
from accuracy.state import CasePlan, Run, Setting, rate_name
from accuracy.steps import fitting_steps
from rankwise import _core, replay, workloads
from rankwise.errors import RankwiseError
from rankwise.lab.counters import InterfaceCounters, difference, read_counters
from rankwise.lab.run import LabRun, prepare
from rankwise.lab.state import Lab
from rankwise.lab.validation import validation
from rankwise.lab.validation.measured_run import run_case
from rankwise.lab.validation.validation import ROUNDS, TRACED_LIMIT_S, MeasuredLab
from rankwise.launchers.identify import identify
from rankwise.launchers.line import Launcher
from rankwise.placement.file import PlacementFile
from rankwise.run.failures import without_directories
from rankwise.run.timed_run import Made, RunFailedError, time_of


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
            f"{where} an `mpiexec` of `{family}`", "name it after `--`: `-- /path/of/mpiexec`"
        )
    return found[0]


def context() -> dict[str, str | int]:
    """What the numbers were obtained with, besides what the machine file says."""
    return validation.context() | {"code": predicting_code()}


def predicting_code() -> str:
    """SHA-256 of what predicts, the replay and the compiled module; empty where their files cannot be read."""
    digest = hashlib.sha256()
    try:
        for path in (*sorted(Path(replay.__file__).parent.glob("*.py")), Path(_core.__file__)):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    except (OSError, TypeError):
        return ""
    return digest.hexdigest()


@dataclass(frozen=True)
class _PacedLab(MeasuredLab):
    """With the pace meanwhile, if it was taken."""

    pace_s: float | None = None


@dataclass
class Validation(validation.Validation):
    """A validation under way."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._startups: dict[tuple[float, int], list[InterfaceCounters]] = {}
        self._counted: list[InterfaceCounters] = []  # in the traced run made last

    def _find_launcher(self) -> Launcher:
        return find_launcher(self.options.mpi, [self.options.launcher])

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
        """As in a validation of one program.

        Raises:
            RankwiseError: It is not of such a lab, another one was frozen already, or there are several rates.
        """
        if len(self.options.rates_bytes_per_s) > 1:
            raise RankwiseError(
                "a machine file is of one rate, and this validation has several",
                "name its rate: for example `--rates 200mbit --machine FILE`",
            )
        super().take_machine(path)

    def _measure_once(self, lab: Lab) -> _PacedLab:
        before, found, after = self._pace(lab), super()._measure_once(lab), self._pace(lab)
        pace_s = (before.message_s + after.message_s) / 2 if before and after else None
        return _PacedLab(found.measurement, found.others, pace_s)

    def _keep(self, rate: float, measured: _PacedLab) -> None:
        super()._keep(rate, measured)
        if measured.pace_s is not None:
            self.state.plan.pace_s[rate_name(rate)] = measured.pace_s

    def _record(self, lab: Lab, known: CasePlan, case: Case) -> CasePlan:
        case = self._of_fitting_steps(lab, known.setting, case)
        before = self._pace(lab)
        known = super()._record(lab, known, case)
        after = self._pace(lab)
        return msgspec.structs.replace(
            known,
            title=case.title,
            steps=case.steps,
            compute_s=(before.compute_s + after.compute_s) / 2 if before and after else None,
        )

    def _predict(self, lab: Lab, known: CasePlan, case: Case) -> CasePlan:
        case, counted = _of_steps(case, known), self._counted
        startup = self._startup(lab, known.setting)
        known = predict_case(self._load(lab, known, case), known, counted, startup)
        return msgspec.structs.replace(self._monitor(lab, known, case), code=predicting_code())

    def _of_fitting_steps(self, lab: Lab, setting: Setting, case: Case) -> Case:
        """The case with a number of steps that fits this lab; what does not repeat takes a second or third try."""
        if case.of_steps is None or self.options.quick:
            return case
        path = self.state.directory / "run.rw"
        for _ in range(ROUNDS):
            time_s = self._make(lab, case, setting.ranks, path, False, self.traced_limit_s).time_s
            steps = fitting_steps(case.steps, time_s)
            if steps == case.steps:
                break
            case = case.of_steps(steps)
        shutil.rmtree(path, ignore_errors=True)
        return case

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

    def _prepare(self, lab: Lab, case: Case, where: int | PlacementFile) -> LabRun:
        if not case.own_launcher:
            return super()._prepare(lab, case, where)
        return prepare(lab, list(case.words), self._placement(lab, where))

    def _make(
        self, lab: Lab, case: Case, where: int | PlacementFile, path: Path, trace: bool, limit_s: float
    ) -> Made:
        before = read_counters(lab) if trace else []
        made = run_case(self._prepare(lab, case, where), dict(case.environment), path, trace, limit_s)
        if trace:
            self._counted = difference(before, read_counters(lab))
        return made

    def _run(self, lab: Lab, plan: CasePlan, case: Case, where: PlacementFile, run: Run) -> Run:
        now = self._pace(lab)
        made = super()._run(lab, plan, _of_steps(case, plan), where, run)
        return msgspec.structs.replace(made, pace_s=now and now.message_s, compute_s=now and now.compute_s)

    def _pace(self, lab: Lab) -> pace.Pace | None:
        return pace.take(_pus(lab))


def _of_steps(case: Case, plan: CasePlan) -> Case:
    """The case with the steps that were planned."""
    return case.of_steps(plan.steps) if plan.steps and case.of_steps else case


def _pus(lab: Lab) -> set[int]:
    return {pu for node in lab.nodes for pu in node.cores}
