# SPDX-License-Identifier: BSD-3-Clause
"""The result of a validation: schema `rankwise.validation/2`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
import numpy as np

from rankwise.lab.rate import show_rate
from rankwise.lab.validation.failures import without_directories
from rankwise.lab.validation.state import CasePlan, Monitored, Options, Predicted, Run, Sent, Setting, State
from rankwise.lab.validation.statistics import Agreement, Compared, Gain, agreement
from rankwise.machine.file import load
from rankwise.measure.statistics import Median, median
from rankwise.placement.file import PlacementFile

SCHEMA = "rankwise.validation/2"
TRACED = "blocked"
# What is compared with the same runs, and what pages call it: `NAME_s` of placements, NAME of cases and documents.
PREDICTORS = {
    "predicted": "Rankwise",
    "plain": "plain replay",
    "bytes_only": "network bytes",
    "simgrid": "SimGrid",
}


class Measured(msgspec.Struct, frozen=True):
    """Median of the runs of a placement, its confidence interval, and all times in the order of the runs."""

    median_s: float
    low_s: float
    high_s: float
    times_s: list[float]


class PlacementResult(msgspec.Struct, frozen=True):
    """One placement of a case; `measured` is null where no run succeeded.

    `plain_s` is the replay, which is not anchored at the traced run; null in documents of before.
    `same_as` names the first one with the same ranks on the same cores of a node, whatever that is called; null for all
    others. Runs of both are then runs of one placement, which is compared once.
    """

    name: str
    measured: Measured | None
    predicted_s: float
    low_s: float
    high_s: float
    error: float | None
    bytes_only_s: float
    network_bytes: int
    network_share: float
    failures: list[str]
    simgrid_s: float | None = None
    plain_s: float | None = None
    same_as: str | None = None

    def compared(self, by: str = "predicted") -> Compared | None:
        """With what one of `PREDICTORS` says; `None` if that says nothing. Only Rankwise's own says an interval."""
        found, said_s = self.measured, getattr(self, f"{by}_s")
        if said_s is None:
            return None
        known = found and Median(found.median_s, found.low_s, found.high_s, len(found.times_s))
        low_s, high_s = (self.low_s, self.high_s) if by == "predicted" else (said_s, said_s)
        return Compared(known, said_s, low_s, high_s, self.name == TRACED)


class Twin(msgspec.Struct, frozen=True):
    """A placement that was run under two names: how much longer under the second, medians of as many runs each."""

    case: str
    first: str
    second: str
    difference: float


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

    `recorded_others` is the part of all cores' time that others used during the traced run. `slowness` is how many
    times as long as while the machine was measured a fixed exercise with messages took before the runs (their median),
    `compute_slowness` how many times as long as at the traced run one that computes took; null where unknown.
    `not_monitored` says why Open MPI's component counted nothing. `code` is the SHA-256 of the code that predicted, of
    which one that was resumed may have several; empty where that is known of the whole validation only.
    """

    name: str
    setting: Setting
    title: str
    recorded_s: float | None
    omitted: dict[str, int]
    failure: str
    sent: list[Sent]
    monitored: Monitored | None
    placements: list[PlacementResult]
    predicted: Summary
    bytes_only: Summary
    simgrid: Summary | None = None
    plain: Summary | None = None
    recorded_others: float | None = None
    slowness: float | None = None
    compute_slowness: float | None = None
    not_monitored: str = ""
    code: str = ""

    @property
    def distinct(self) -> list[PlacementResult]:
        """Its placements, each once."""
        return [each for each in self.placements if each.same_as is None]

    def compared(self, by: str = "predicted") -> list[Compared]:
        """All placements of which one of `PREDICTORS` says something, each once."""
        return compared(self.placements, by)

    def gain(self, over: str, by: str = "predicted") -> Gain | None:
        """What the optimised placement saves of another's time; `None`: not measured or said, or the same placement."""
        by_name = {each.name: each for each in self.placements if each.measured}
        if over not in by_name or "optimised" not in by_name:
            return None
        best, other = by_name["optimised"], by_name[over]
        if (best.same_as or best.name) == (other.same_as or other.name):
            return None
        both = best.compared(by), other.compared(by)
        return Gain.between(*both) if all(both) else None


class Document(msgspec.Struct, frozen=True):
    """The whole result.

    `complete` says whether all runs were made; `disturbed` counts runs left out because others used more than
    `tolerated_load` of all cores' time meanwhile; `median_load` is what they used in the runs that count, and
    `measured_others` while the machine was measured, by rate; none where that is not known; `left_out` is what that
    measurement did not come to. `simgrid` is null where SimGrid's replay was not installed, or none ended in time;
    `invalid` names runs that the lab does not let count, and why; where it is the recorded one, no run of its case
    counts; `unanswered` counts placements of which it alone says nothing. `twins` are placements found under two names;
    `evaluate` leaves `verdict` empty, which says of a user's own program whether Rankwise is right about it.
    """

    schema: Literal["rankwise.validation/2"]
    complete: bool
    options: Options
    context: dict[str, str | int]
    machine_sha256: dict[str, str]
    cases: list[CaseResult]
    predicted: Summary
    bytes_only: Summary
    failures: list[str]
    disturbed: int
    tolerated_load: float
    median_load: float | None
    simgrid: Summary | None = None
    plain: Summary | None = None
    measured_others: dict[str, float] = {}
    left_out: dict[str, str] = {}
    unanswered: int = 0
    twins: list[Twin] = []
    invalid: list[str] = []
    verdict: str = ""

    @property
    def codes(self) -> list[str]:
        """SHA-256 of each version of the code that predicted; one is empty where that is not known."""
        known = str(self.context.get("code", ""))
        return list(dict.fromkeys(case.code or known for case in self.cases if case.placements))


def compared(placements: Iterable[PlacementResult], by: str = "predicted") -> list[Compared]:
    """All placements of which one of `PREDICTORS` says something, each once."""
    said = (each.compared(by) for each in placements if each.same_as is None)
    return [each for each in said if each]


def evaluate(state: State) -> Document:
    """Compare what was predicted with what was measured so far."""
    quiet = [run for run in state.runs() if not state.disturbed(run)]
    unfounded = {case.name for case in state.plan.cases if case.invalid}
    runs = [run for run in quiet if not run.invalid and run.case not in unfounded]
    loads = [run.other_load for run in runs if run.other_load is not None]
    results, every, twins = [], {by: [] for by in PREDICTORS}, []
    for case in state.plan.cases:
        own = [run for run in runs if run.case == case.name]
        same = _same(case.predicted)
        placements = _placements(state, case, own, same)
        found = {by: compared(placements, by) for by in PREDICTORS}
        for by in PREDICTORS:
            every[by].append(found[by])
        twins += _twins(case, own, same)
        results.append(
            CaseResult(
                name=case.name,
                setting=case.setting,
                title=case.title,
                recorded_s=case.recorded_s,
                omitted=case.omitted,
                failure=without_directories(case.failure),
                sent=case.sent,
                monitored=case.monitored,
                placements=placements,
                **{by: summary([found[by]], by) for by in PREDICTORS},
                recorded_others=case.recorded_others,
                slowness=_median_of(map(state.slowness, own)),
                compute_slowness=_median_of(map(state.compute_slowness, own)),
                not_monitored=without_directories(case.not_monitored),
                code=case.code,
            )
        )
    asked = [each for case in results for each in case.distinct]
    silent = sum(each.simgrid_s is None for each in asked)
    return Document(
        schema=SCHEMA,
        complete=len(state.plan.cases) == len(state.plan.options.settings()) and not state.missing(),
        options=state.plan.options,
        context=state.plan.context | _processors(state),
        machine_sha256=state.plan.machine_sha256,
        cases=results,
        **{by: summary(every[by], by) for by in PREDICTORS},
        failures=_failures(state.plan.cases, quiet),
        disturbed=len(state.runs()) - len(quiet),
        tolerated_load=state.tolerated,
        median_load=float(np.median(loads)) if loads else None,
        measured_others=state.plan.measured_others,
        left_out=_left_out(state),
        unanswered=silent if silent < len(asked) else 0,
        twins=twins,
        invalid=_invalid(state.plan.cases, quiet),
    )


def json_schema() -> dict:
    """JSON schema of the document."""
    return msgspec.json.schema(Document)


def bytes_only_s(case: CasePlan, each: Predicted, nodes: int, rate_bytes_per_s: float) -> float:
    """What a predictor says that counts bytes between nodes and nothing else.

    Its scale is the traced run: that time, and the difference in bytes at the rate of all interfaces together. Only
    errors depend on it; the order of placements is that of their bytes.
    """
    recorded = next(other for other in case.predicted if other.name == TRACED)
    # A cluster of one host has no interface, and all placements have no bytes there.
    more = (
        (each.network_bytes - recorded.network_bytes) / (nodes * rate_bytes_per_s)
        if rate_bytes_per_s
        else 0.0
    )
    return max((case.recorded_s or 0.0) + more, 0.0)


def _interface_rate(state: State, set_bytes_per_s: float) -> float:
    path = state.machine_path(set_bytes_per_s)
    if not path.is_file():
        return set_bytes_per_s
    rates = [each.capacity_bytes_per_s for each in load(path).resources if each.kind == "nic_tx"]
    return rates[0].value if rates and rates[0] else set_bytes_per_s


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


def _same(predicted: list[Predicted]) -> dict[str, str]:
    """Placements that are one before, by another name: name -> the first one's name. Nodes are all alike."""
    first, same = {}, {}
    for each in predicted:
        other = first.setdefault(_where(each.placement), each.name)
        if other != each.name:
            same[each.name] = other
    return same


def _where(placement: PlacementFile) -> tuple:
    numbers: dict[int, int] = {}
    return tuple((numbers.setdefault(each.node, len(numbers)), tuple(each.cores)) for each in placement.ranks)


def _placements(state: State, case: CasePlan, runs: list[Run], same: dict[str, str]) -> list[PlacementResult]:
    rate = _interface_rate(state, case.setting.rate_bytes_per_s)
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
                plain_s=each.plain_s,
                bytes_only_s=bytes_only_s(case, each, state.plan.options.nodes, rate),
                network_bytes=each.network_bytes,
                network_share=each.busiest_interface_s / each.makespan_s if each.makespan_s else 0.0,
                failures=failures,
                simgrid_s=each.simgrid_s,
                same_as=same.get(each.name),
            )
        )
    return results


def _twins(case: CasePlan, runs: list[Run], same: dict[str, str]) -> list[Twin]:
    found = []
    for second, first in same.items():
        of_both = [
            [run.time_s for run in runs if run.placement == name and run.time_s] for name in (first, second)
        ]
        if all(of_both):
            one, other = (float(np.median(times)) for times in of_both)
            found.append(Twin(case.name, first, second, other / one - 1))
    return found


def _median_of(ratios: Iterable[float | None]) -> float | None:
    known = [each for each in ratios if each is not None]
    return float(np.median(known)) if known else None


def summary(cases: Sequence[Sequence[Compared]], by: str) -> Summary | None:
    """Of all cases and one of `PREDICTORS`; null where SimGrid or the plain replay says nothing."""
    if by in ("simgrid", "plain") and not any(cases):
        return None
    found: Agreement = agreement(cases)
    has_intervals = by == "predicted"
    return Summary(
        pairs=found.pairs,
        ordered=found.ordered,
        ordered_share=found.ordered_share,
        times=found.times,
        median_error=found.median_error,
        worst_error=found.worst_error,
        covered=found.covered if has_intervals else None,
        covered_share=found.covered_share if has_intervals else None,
        to_cover=found.to_cover if has_intervals else 0,
    )


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
