# SPDX-License-Identifier: BSD-3-Clause
"""The result of a validation: schema `rankwise.validation/3`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from rankwise.lab.rate import show_rate
from rankwise.lab.validation.state import CasePlan, Options, Predicted, Run, Setting, State
from rankwise.lab.validation.statistics import Compared, agreement
from rankwise.machine.file import load
from rankwise.measure.fitting.statistics import Median, median
from rankwise.placement.file import PlacementFile
from rankwise.run.failures import without_directories

TRACED = "blocked"


class Measured(msgspec.Struct, frozen=True):
    """Median of the runs of a placement, its confidence interval, and all times in the order of the runs."""

    median_s: float
    low_s: float
    high_s: float
    times_s: list[float]


class PlacementResult(msgspec.Struct, frozen=True):
    """One placement of a case; `measured` is null where no run succeeded.

    `same_as` names the first one with the same ranks on the same cores of a node, whatever that is called; null for all
    others. Runs of both are then runs of one placement, which is compared once.
    """

    name: str
    measured: Measured | None
    predicted_s: float
    low_s: float
    high_s: float
    error: float | None
    network_bytes: int
    failures: list[str]
    same_as: str | None

    def compare(self) -> Compared:
        """What was predicted beside what was measured."""
        found = self.measured
        known = (
            None if found is None else Median(found.median_s, found.low_s, found.high_s, len(found.times_s))
        )
        return Compared(known, self.predicted_s, self.low_s, self.high_s, self.name == TRACED)


class Summary(msgspec.Struct, frozen=True):
    """`rankwise.lab.validation.statistics.Agreement` with its shares; `to_cover` is what `covered` is out of."""

    pairs: int
    ordered: int
    ordered_share: float | None
    times: int
    median_error: float | None
    worst_error: float | None
    covered: int | None
    covered_share: float | None
    to_cover: int = 0


class CaseResult(msgspec.Struct, frozen=True):
    """One case; `failure` says why nothing could be predicted, else it is empty.

    `recorded_others` is the part of all cores' time that others used during the traced run.
    """

    name: str
    setting: Setting
    title: str
    recorded_s: float | None
    omitted: dict[str, int]
    failure: str
    placements: list[PlacementResult]
    predicted: Summary
    recorded_others: float | None

    @property
    def distinct(self) -> list[PlacementResult]:
        """Its placements, each once."""
        return [each for each in self.placements if each.same_as is None]


class ValidationResult(msgspec.Struct, frozen=True):
    """The whole result.

    `complete` says whether all runs were made; `disturbed` counts runs left out because others used more than
    `tolerated_load` of all cores' time meanwhile; `median_load` is what they used in the runs that count, and
    `measured_others` while the machine was measured, by rate; none where that is not known; `left_out` is what that
    measurement did not come to. `invalid` names runs that the lab does not let count, and why; where it is the recorded
    one, no run of its case counts. `evaluate` leaves `verdict` empty, which says of a user's own program whether
    Rankwise is right about it.
    """

    schema: Literal["rankwise.validation/3"]
    complete: bool
    options: Options
    context: dict[str, str | int]
    machine_sha256: dict[str, str]
    cases: list[CaseResult]
    predicted: Summary
    failures: list[str]
    disturbed: int
    tolerated_load: float
    median_load: float | None
    measured_others: dict[str, float]
    left_out: dict[str, str]
    invalid: list[str]
    verdict: str


def evaluate(state: State) -> ValidationResult:
    """Compare what was predicted with what was measured so far."""
    quiet = quiet_runs(state)
    runs = counted_runs(state)
    loads = [run.other_load for run in runs if run.other_load is not None]
    results = [_case(case, [run for run in runs if run.case == case.name]) for case in state.plan.cases]
    return ValidationResult(
        schema="rankwise.validation/3",
        complete=len(state.plan.cases) == len(state.plan.options.settings()) and not state.missing(),
        options=state.plan.options,
        context=state.plan.context | _processors(state),
        machine_sha256=state.plan.machine_sha256,
        cases=results,
        predicted=summary([compare(case.placements) for case in results]),
        failures=_failures(state.plan.cases, quiet),
        disturbed=len(state.runs()) - len(quiet),
        tolerated_load=state.tolerated,
        median_load=float(np.median(loads)) if loads else None,
        measured_others=state.plan.measured_others,
        left_out=_left_out(state),
        invalid=_invalid(state.plan.cases, quiet),
        verdict="",
    )


def quiet_runs(state: State) -> list[Run]:
    """Runs that shared the machine with nobody."""
    return [run for run in state.runs() if not state.disturbed(run)]


def counted_runs(state: State) -> list[Run]:
    """Of these, those that the lab lets count, and the traced run that they are compared with."""
    unfounded = {case.name for case in state.plan.cases if case.invalid}
    return [run for run in quiet_runs(state) if not run.invalid and run.case not in unfounded]


def compare(placements: Iterable[PlacementResult]) -> list[Compared]:
    """All placements, each once."""
    return [each.compare() for each in placements if each.same_as is None]


def summary(cases: Sequence[Sequence[Compared]]) -> Summary:
    """Of all cases."""
    found = agreement(cases)
    return Summary(
        pairs=found.pairs,
        ordered=found.ordered,
        ordered_share=found.ordered_share,
        times=found.times,
        median_error=found.median_error,
        worst_error=found.worst_error,
        covered=found.covered,
        covered_share=found.covered_share,
        to_cover=found.to_cover,
    )


def same_placements(predicted: Sequence[Predicted]) -> dict[str, str]:
    """Placements that are one before, by another name: name -> the first one's name. Nodes are all alike."""
    first: dict[tuple[object, ...], str] = {}
    same: dict[str, str] = {}
    for each in predicted:
        other = first.setdefault(_where(each.placement), each.name)
        if other != each.name:
            same[each.name] = other
    return same


def json_schema() -> dict[str, Any]:
    """JSON schema of the document."""
    return msgspec.json.schema(ValidationResult)


def _case(case: CasePlan, runs: list[Run]) -> CaseResult:
    placements = _placements(case, runs)
    return CaseResult(
        name=case.name,
        setting=case.setting,
        title=case.title,
        recorded_s=case.recorded_s,
        omitted=case.omitted,
        failure=without_directories(case.failure),
        placements=placements,
        predicted=summary([compare(placements)]),
        recorded_others=case.recorded_others,
    )


def _placements(case: CasePlan, runs: list[Run]) -> list[PlacementResult]:
    same = same_placements(case.predicted)
    results = []
    for each in case.predicted:
        alike = [
            run for run in runs if same.get(run.placement, run.placement) == same.get(each.name, each.name)
        ]
        times = [run.time_s for run in alike if run.time_s is not None]
        found = median(np.array(times)) if times else None
        failures = [
            f"repetition {run.repetition}: {without_directories(run.failure)}"
            for run in runs
            if run.placement == each.name and run.failure
        ]
        results.append(
            PlacementResult(
                name=each.name,
                measured=Measured(found.value, found.low, found.high, times) if found else None,
                predicted_s=each.makespan_s,
                low_s=each.low_s,
                high_s=each.high_s,
                error=each.makespan_s / found.value - 1 if found else None,
                network_bytes=each.network_bytes,
                failures=failures,
                same_as=same.get(each.name),
            )
        )
    return results


def _where(placement: PlacementFile) -> tuple[object, ...]:
    numbers: dict[int, int] = {}
    return tuple((numbers.setdefault(each.node, len(numbers)), tuple(each.cores)) for each in placement.ranks)


def _processors(state: State) -> dict[str, str | int]:
    """What stands behind the cores of the lab: how many processors, of which model, as machine files have it."""
    paths = map(state.machine_path, state.plan.options.rates_bytes_per_s)
    machine = next((load(path) for path in paths if path.is_file()), None)
    if machine is None:
        return {}
    count = len({pu for cores in machine.node.host_cores or () for pu in cores})
    model = machine.context.get("processor")
    return ({"processors": count} if count else {}) | ({"processor": str(model)} if model else {})


def _left_out(state: State) -> dict[str, str]:
    """Of each rate, what there was no time for when its machine was measured."""
    found = {}
    for rate in state.plan.options.rates_bytes_per_s:
        path = state.machine_path(rate)
        said = load(path).context.get("left_out") if path.is_file() else None
        if said:
            found[show_rate(rate)] = str(said)
    return found


def _invalid(cases: list[CasePlan], runs: list[Run]) -> list[str]:
    recorded = [
        f"{case.name}, recorded run, and so all that is predicted from it: {case.invalid}"
        for case in cases
        if case.invalid
    ]
    return recorded + [
        f"{run.case} {run.placement}, repetition {run.repetition}: {run.invalid}"
        for run in runs
        if run.invalid
    ]


def _failures(cases: list[CasePlan], runs: list[Run]) -> list[str]:
    whole = [f"{case.name}: {case.failure}" for case in cases if case.failure]
    single = [
        f"{run.case} {run.placement}, repetition {run.repetition}: {run.failure}"
        for run in runs
        if run.failure
    ]
    return list(map(without_directories, whole + single))
