# SPDX-License-Identifier: BSD-3-Clause
"""The result of a validation of many programs, with what other predictors say of the same runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

import msgspec
import numpy as np

from accuracy.gain import Gain
from accuracy.state import CasePlan, Monitored, Options, Predicted, Run, Sent, State
from rankwise.lab.validation import result
from rankwise.lab.validation.result import TRACED, Summary, counted_runs, same_placements
from rankwise.lab.validation.statistics import Compared
from rankwise.machine.file import load
from rankwise.run.failures import without_directories

# What is compared with the same runs, and what pages call it: `NAME_s` of placements, NAME of cases and documents.
PREDICTORS = {
    "predicted": "Rankwise",
    "plain": "plain replay",
    "bytes_only": "network bytes",
    "simgrid": "SimGrid",
}


class PlacementResult(result.PlacementResult, frozen=True):
    """One placement of a case; `plain_s` is the replay, which is not anchored at the traced run."""

    bytes_only_s: float
    network_share: float
    simgrid_s: float | None = None
    plain_s: float | None = None

    def compare(self, by: str = "predicted") -> Compared | None:
        """With what one of `PREDICTORS` says; `None` if that says nothing. Only Rankwise's own says an interval."""
        own, said_s = super().compare(), getattr(self, f"{by}_s")
        if by == "predicted" or said_s is None:
            return own if by == "predicted" else None
        return replace(own, predicted_s=said_s, low_s=said_s, high_s=said_s)


class Twin(msgspec.Struct, frozen=True):
    """A placement that was run under two names: how much longer under the second, medians of as many runs each."""

    case: str
    first: str
    second: str
    difference: float


class CaseResult(result.CaseResult, frozen=True):
    """One case.

    `slowness` is how many times as long as while the machine was measured a fixed exercise with messages took before
    the runs (their median), `compute_slowness` how many times as long as at the traced run one that computes took; null
    where unknown. `not_monitored` says why Open MPI's component counted nothing. `code` is the SHA-256 of the code that
    predicted, of which one that was resumed may have several; empty where that is known of the whole validation only.
    """

    placements: list[PlacementResult]
    sent: list[Sent]
    monitored: Monitored | None
    bytes_only: Summary
    simgrid: Summary | None = None
    plain: Summary | None = None
    slowness: float | None = None
    compute_slowness: float | None = None
    not_monitored: str = ""
    code: str = ""

    def compare(self, by: str = "predicted") -> list[Compared]:
        """All placements of which one of `PREDICTORS` says something, each once."""
        return compare(self.placements, by)

    def gain(self, over: str, by: str = "predicted") -> Gain | None:
        """What the optimised placement saves of another's time; `None`: not measured or said, or the same placement."""
        by_name = {each.name: each for each in self.placements if each.measured}
        if over not in by_name or "optimised" not in by_name:
            return None
        best, other = by_name["optimised"], by_name[over]
        if (best.same_as or best.name) == (other.same_as or other.name):
            return None
        both = best.compare(by), other.compare(by)
        return Gain.between(*both) if all(both) else None


class ValidationResult(result.ValidationResult, frozen=True):
    """The whole result.

    `simgrid` is null where SimGrid's replay was not installed, or none ended in time; `unanswered` counts placements of
    which it alone says nothing. `twins` are placements found under two names.
    """

    schema: Literal["rankwise.accuracy/1"]
    options: Options
    cases: list[CaseResult]
    bytes_only: Summary
    simgrid: Summary | None = None
    plain: Summary | None = None
    unanswered: int = 0
    twins: list[Twin] = []

    @property
    def codes(self) -> list[str]:
        """SHA-256 of each version of the code that predicted; one is empty where that is not known."""
        known = str(self.context.get("code", ""))
        return list(dict.fromkeys(case.code or known for case in self.cases if case.placements))


def compare(placements: Iterable[PlacementResult], by: str = "predicted") -> list[Compared]:
    """All placements of which one of `PREDICTORS` says something, each once."""
    said = (each.compare(by) for each in placements if each.same_as is None)
    return [each for each in said if each]


def summary(cases: Sequence[Sequence[Compared]], by: str) -> Summary | None:
    """Of all cases and one of `PREDICTORS`; null where SimGrid or the plain replay says nothing."""
    if by in ("simgrid", "plain") and not any(cases):
        return None
    found = result.summary(cases)
    if by == "predicted":
        return found
    return msgspec.structs.replace(found, covered=None, covered_share=None, to_cover=0)


def evaluate(state: State) -> ValidationResult:
    """Compare what was predicted with what was measured so far."""
    found, runs = result.evaluate(state), counted_runs(state)
    cases, twins = [], []
    for case, of_case in zip(state.plan.cases, found.cases, strict=True):
        own = [run for run in runs if run.case == case.name]
        cases.append(_case(state, case, of_case, own))
        twins += _twins(case, own)
    asked = [each for case in cases for each in case.distinct]
    silent = sum(each.simgrid_s is None for each in asked)
    every = {by: summary([case.compare(by) for case in cases], by) for by in PREDICTORS}
    more = {"schema": "rankwise.accuracy/1", "cases": cases, **every, "twins": twins}
    more["unanswered"] = silent if silent < len(asked) else 0
    return ValidationResult(**msgspec.structs.asdict(found) | more)


def bytes_only_s(case: CasePlan, each: Predicted, nodes: int, rate_bytes_per_s: float) -> float:
    """What a predictor says that counts bytes between nodes and nothing else.

    Its scale is the traced run: that time, and the difference in bytes at the rate of all interfaces together. Only
    errors depend on it; the order of placements is that of their bytes.
    """
    recorded = next(other for other in case.predicted if other.name == TRACED)
    more = (each.network_bytes - recorded.network_bytes) / (nodes * rate_bytes_per_s)
    return max((case.recorded_s or 0.0) + more, 0.0)


def _case(state: State, case: CasePlan, found: result.CaseResult, runs: list[Run]) -> CaseResult:
    rate = _interface_rate(state, case.setting.rate_bytes_per_s)
    placements = [
        PlacementResult(
            **msgspec.structs.asdict(of_placement),
            bytes_only_s=bytes_only_s(case, each, state.plan.options.nodes, rate),
            network_share=each.busiest_interface_s / each.makespan_s if each.makespan_s else 0.0,
            simgrid_s=each.simgrid_s,
            plain_s=each.plain_s,
        )
        for each, of_placement in zip(case.predicted, found.placements, strict=True)
    ]
    more = {
        "placements": placements,
        **{by: summary([compare(placements, by)], by) for by in PREDICTORS},
        "sent": case.sent,
        "monitored": case.monitored,
        "not_monitored": without_directories(case.not_monitored),
        "slowness": _median_of(map(state.slowness, runs)),
        "compute_slowness": _median_of(map(state.compute_slowness, runs)),
        "code": case.code,
    }
    return CaseResult(**msgspec.structs.asdict(found) | more)


def _interface_rate(state: State, set_bytes_per_s: float) -> float:
    path = state.machine_path(set_bytes_per_s)
    if not path.is_file():
        return set_bytes_per_s
    rates = [each.capacity_bytes_per_s for each in load(path).resources if each.kind == "nic_tx"]
    return rates[0].value if rates and rates[0] else set_bytes_per_s


def _twins(case: CasePlan, runs: list[Run]) -> list[Twin]:
    found = []
    for second, first in same_placements(case.predicted).items():
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
