# SPDX-License-Identifier: BSD-3-Clause
"""The result of a validation: schema `rankwise.validation/2`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from rankwise.lab.validation.failures import without_directories
from rankwise.lab.validation.state import CasePlan, Monitored, Options, Predicted, Run, Sent, Setting, State
from rankwise.lab.validation.statistics import Agreement, Compared, agreement
from rankwise.machine.file import load
from rankwise.measure.statistics import Median, median

SCHEMA = "rankwise.validation/2"


class Measured(msgspec.Struct, frozen=True):
    """Median of the runs of a placement, its confidence interval, and all times in the order of the runs."""

    median_s: float
    low_s: float
    high_s: float
    times_s: list[float]


class PlacementResult(msgspec.Struct, frozen=True):
    """One placement of a case; `measured` is null where no run succeeded."""

    name: str
    measured: Measured | None
    predicted_s: float
    low_s: float
    high_s: float
    error: float | None
    scaled_s: float
    bytes_only_s: float
    network_bytes: int
    network_share: float
    failures: list[str]
    simgrid_s: float | None = None


class Gain(NamedTuple):
    """What one placement saves, as a part of another's time; `low` and `high`: where both times' intervals end."""

    measured: float
    low: float
    high: float
    predicted: float

    def is_near(self, points: float) -> bool:
        """Whether it is predicted to within this."""
        return abs(self.measured - self.predicted) <= points

    def is_sure(self, points: float) -> bool:
        """Whether the runs themselves say it to within this, on either side."""
        return max(self.measured - self.low, self.high - self.measured) <= points


class Summary(msgspec.Struct, frozen=True):
    """`rankwise.lab.validation.statistics.Agreement` with its shares."""

    pairs: int
    ordered: int
    ordered_share: float | None
    times: int
    median_error: float | None
    worst_error: float | None
    covered: int | None
    covered_share: float | None


class CaseResult(msgspec.Struct, frozen=True):
    """One case; `failure` says why nothing could be predicted, else it is empty.

    `recorded_others` is the part of all cores' time that others used during the traced run. `slowness` is how many
    times as long as while the machine was measured a fixed exercise with messages took before the runs (their median),
    `compute_slowness` how many times as long as at the traced run one that computes took; null where unknown.
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
    scaled: Summary
    bytes_only: Summary
    simgrid: Summary | None = None
    recorded_others: float | None = None
    slowness: float | None = None
    compute_slowness: float | None = None

    def gain(self, over: str) -> Gain | None:
        """What the optimised placement saves of another's time; `None`: not measured."""
        by_name = {each.name: each for each in self.placements if each.measured}
        if over not in by_name or "optimised" not in by_name:
            return None
        best, other = by_name["optimised"], by_name[over]
        return Gain(
            measured=1 - best.measured.median_s / other.measured.median_s,
            low=1 - best.measured.high_s / other.measured.low_s,
            high=1 - best.measured.low_s / other.measured.high_s,
            predicted=1 - best.predicted_s / other.predicted_s,
        )


class Document(msgspec.Struct, frozen=True):
    """The whole result.

    `complete` says whether all runs were made; `disturbed` counts runs left out because others used more than
    `tolerated_load` of all cores' time meanwhile; `median_load` is what they used in the runs that count, and
    `measured_others` while the machine was measured, by rate; none where that is not known. `simgrid` is null
    where SimGrid's replay was not installed, or none ended in time.
    """

    schema: Literal["rankwise.validation/2"]
    complete: bool
    options: Options
    context: dict[str, str | int]
    machine_sha256: dict[str, str]
    cases: list[CaseResult]
    predicted: Summary
    scaled: Summary
    bytes_only: Summary
    failures: list[str]
    disturbed: int
    tolerated_load: float
    median_load: float | None
    simgrid: Summary | None = None
    measured_others: dict[str, float] = {}


def evaluate(state: State) -> Document:
    """Compare what was predicted with what was measured so far."""
    runs = [run for run in state.runs() if not state.disturbed(run)]
    loads = [run.other_load for run in runs if run.other_load is not None]
    results, ours, scaled, theirs, simulated = [], [], [], [], []
    for case in state.plan.cases:
        own = [run for run in runs if run.case == case.name]
        rate = _interface_rate(state, case.setting.rate_bytes_per_s)
        placements, compared, by_simgrid = [], ([], [], []), []
        for each in case.predicted:
            of_placement = [run for run in own if run.placement == each.name]
            times = [run.time_s for run in of_placement if run.time_s is not None]
            found = median(np.array(times)) if times else None
            bytes_s = bytes_only_s(case, each, state.plan.options.nodes, rate)
            compared[0].append(Compared(found, each.makespan_s, each.low_s, each.high_s))
            scaled_s = scaled_by_traced_run_s(case, each)
            compared[1].append(Compared(found, scaled_s, scaled_s, scaled_s))
            compared[2].append(Compared(found, bytes_s, bytes_s, bytes_s))
            if each.simgrid_s is not None:
                by_simgrid.append(Compared(found, each.simgrid_s, each.simgrid_s, each.simgrid_s))
            failures = [
                f"repetition {run.repetition}: {without_directories(run.failure)}"
                for run in of_placement
                if run.failure
            ]
            placements.append(_placement(each, found, times, compared, failures))
        ours.append(compared[0])
        scaled.append(compared[1])
        theirs.append(compared[2])
        simulated.append(by_simgrid)
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
                predicted=_summary(agreement([compared[0]]), True),
                scaled=_summary(agreement([compared[1]]), False),
                bytes_only=_summary(agreement([compared[2]]), False),
                simgrid=_summary(agreement([by_simgrid]), False) if by_simgrid else None,
                recorded_others=case.recorded_others,
                slowness=_median_of(map(state.slowness, own)),
                compute_slowness=_median_of(map(state.compute_slowness, own)),
            )
        )
    return Document(
        schema=SCHEMA,
        complete=len(state.plan.cases) == len(state.plan.options.settings()) and not state.missing(),
        options=state.plan.options,
        context=state.plan.context,
        machine_sha256=state.plan.machine_sha256,
        cases=results,
        predicted=_summary(agreement(ours), True),
        scaled=_summary(agreement(scaled), False),
        bytes_only=_summary(agreement(theirs), False),
        failures=_failures(state.plan.cases, runs),
        disturbed=len(state.runs()) - len(runs),
        tolerated_load=state.tolerated,
        median_load=float(np.median(loads)) if loads else None,
        simgrid=_summary(agreement(simulated), False) if any(simulated) else None,
        measured_others=state.plan.measured_others,
    )


def json_schema() -> dict:
    """JSON schema of the document."""
    return msgspec.json.schema(Document)


def scaled_by_traced_run_s(case: CasePlan, each: Predicted) -> float:
    """The prediction, times what the traced run took over what is predicted of it.

    What the predictor of bytes gets to know too; the order of placements is that of the predictions.
    """
    recorded = next(other for other in case.predicted if other.name == "blocked")
    if not recorded.makespan_s or not case.recorded_s:
        return each.makespan_s
    return each.makespan_s * case.recorded_s / recorded.makespan_s


def bytes_only_s(case: CasePlan, each: Predicted, nodes: int, rate_bytes_per_s: float) -> float:
    """What a predictor says that counts bytes between nodes and nothing else.

    Its scale is the traced run: that time, and the difference in bytes at the rate of all interfaces together. Only
    errors depend on it; the order of placements is that of their bytes.
    """
    recorded = next(other for other in case.predicted if other.name == "blocked")
    more = (each.network_bytes - recorded.network_bytes) / (nodes * rate_bytes_per_s)
    return max((case.recorded_s or 0.0) + more, 0.0)


def _interface_rate(state: State, set_bytes_per_s: float) -> float:
    path = state.machine_path(set_bytes_per_s)
    if not path.is_file():
        return set_bytes_per_s
    rates = [each.capacity_bytes_per_s for each in load(path).resources if each.kind == "nic_tx"]
    return rates[0].value if rates and rates[0] else set_bytes_per_s


def _placement(
    each: Predicted,
    found: Median | None,
    times: list[float],
    compared: tuple[list[Compared], ...],
    failures: list[str],
) -> PlacementResult:
    ours, scaled, theirs = (predictor[-1] for predictor in compared)
    measured = Measured(found.value, found.low, found.high, times) if found else None
    return PlacementResult(
        name=each.name,
        measured=measured,
        predicted_s=each.makespan_s,
        low_s=each.low_s,
        high_s=each.high_s,
        error=ours.error,
        scaled_s=scaled.predicted_s,
        bytes_only_s=theirs.predicted_s,
        network_bytes=each.network_bytes,
        network_share=each.busiest_interface_s / each.makespan_s if each.makespan_s else 0.0,
        failures=failures,
        simgrid_s=each.simgrid_s,
    )


def _median_of(ratios: Iterable[float | None]) -> float | None:
    known = [each for each in ratios if each is not None]
    return float(np.median(known)) if known else None


def _summary(found: Agreement, with_interval: bool) -> Summary:
    return Summary(
        pairs=found.pairs,
        ordered=found.ordered,
        ordered_share=found.ordered_share,
        times=found.times,
        median_error=found.median_error,
        worst_error=found.worst_error,
        covered=found.covered if with_interval else None,
        covered_share=found.covered_share if with_interval else None,
    )


def _failures(cases: list[CasePlan], runs: list[Run]) -> list[str]:
    whole = [f"{case.name}: {case.failure}" for case in cases if case.failure]
    single = [
        f"{run.case} {run.placement}, repetition {run.repetition}: {run.failure}"
        for run in runs
        if run.failure
    ]
    return list(map(without_directories, whole + single))
