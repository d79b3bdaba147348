# SPDX-License-Identifier: BSD-3-Clause
"""Collectives with named algorithms on Leonardo and LUMI, on machine files that one of them calibrates."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from rankwise.errors import RankwiseError
from rankwise.study.measured import measured
from rankwise.study.named_algorithms import (
    IN_BLOCKS,
    NamedAlgorithms,
    NamedCall,
    on_two_rails,
    our_name,
    slowness_of,
)
from rankwise.study.platforms import Platform, shipped
from rankwise.study.request import Request
from rankwise.study.result import Cell, Figure, Series, StudyResult, Table, Target, microseconds
from rankwise.study.run.kept import KeptPredictions

SUMMARY = "collectives by named algorithms on two systems, beside what was measured"
CLAIMS = ()
MODES = ("machine",)
TAKES: tuple[str, ...] = ("--ranks",)

USUAL_RANKS = 1024
"""As many at most, unless a number of ranks is asked for."""
CALIBRATED_BY = ("allgather", "ring")
CALIBRATED_AT = 262144
"""Integers: the size nearest to it, in the job with the fewest nodes. Each rank talks to its neighbours only, nothing
is combined, and a block of it is neither so small that only latency counts nor so large that only bytes do."""
CUT_IN_BLOCKS = ("ring", "rabenseifner", "scatter_ring_allgather", "scatter_recursive_doubling_allgather")
MANY_MESSAGES = ("linear", "linear_sync", "neighbor_exchange", "pairwise", "ring", "rules", "sparbit")
"""Algorithms that send a message for each pair, or as many rounds as ranks: left out for many ranks on shared nodes."""
FEW, MANY = 4096, 262144
MISSING = [
    "the machine has one state: on Leonardo small messages took three times as long in some jobs as in others, for"
    " which nothing in the file stands",
    "other jobs' messages, and switches between groups of the dragonfly, which are in neither file",
    "on Leonardo buffers beyond the caches, and memory that a library has to ask the system for: large reductions take"
    " two to four times as long as predicted",
    "Open MPI sends broadcasts and reductions over trees in segments when their algorithm is forced; here they go"
    " whole",
    "algorithms of PICO's own on Bine trees but for recursive doubling, and Cray's defaults",
]


@dataclass(frozen=True)
class Time:
    """Times of a call in a job: measured over its iterations, and predicted."""

    system: str
    job: str
    name: str
    call: NamedCall
    least_s: float
    median_s: float
    most_s: float
    predicted_s: float = 0.0

    @property
    def ratio(self) -> float:
        """Predicted over measured."""
        return self.predicted_s / self.median_s


def run(request: Request) -> StudyResult:
    """The study.

    Raises:
        RankwiseError: A machine file is given, nothing was measured on the number of ranks, or a machine cannot be
            calibrated.
    """
    if request.machines:
        raise RankwiseError(
            "the study `collectives` is made on the two systems that were measured",
            "leave out the machine file",
            status=2,
        )
    request.check_measured(row.call.ranks for system in _platforms() for row in _measured(system))
    times: list[Time] = []
    machines: list[list[Cell]] = []
    asked = {
        system: [row for row in _measured(system) if _is_asked(row.call, request)] for system in _platforms()
    }
    number = sum(map(len, asked.values()))
    for system, platform in _platforms().items():
        known = [row for row in _measured(system) if row.call.ranks <= USUAL_RANKS]
        chosen = calibrating(known)
        slowness = slowness_of(platform, chosen.call, chosen.median_s)
        predictor = NamedAlgorithms(platform, slowness)
        machines.append(_machine(system, platform, chosen, slowness))
        kept = KeptPredictions(request.directory, float, predictor.machine)
        predicted: dict[NamedCall, float] = {}
        for row in asked[system]:
            if row == chosen:
                continue
            if row.call not in predicted:
                doing = f"{system}: {row.call.collective} by {row.name} on {row.call.ranks} ranks"
                request.progress(doing, len(times) / number)
                predicted[row.call] = kept.get(predictor.time_s, row.call)
            times.append(_with(row, predicted[row.call]))
    systems = list(dict.fromkeys(time.system for time in times))
    return StudyResult(
        study="collectives",
        title="Collectives with named algorithms on Leonardo and LUMI",
        on=[platform.name for platform in _platforms().values()],
        how="predicted",
        verdict="; ".join(
            _sentence(system, [each for each in times if each.system == system]) for system in systems
        )
        + ".",
        targets=[target for system in systems for target in _targets(system, times)],
        tables=[
            Table(
                "Machines, calibrated by one call each",
                [
                    "system",
                    "machine file",
                    "by",
                    "job",
                    "ranks",
                    "integers",
                    "measured (us)",
                    "slower than published",
                ],
                machines,
            ),
            _summary(times),
            _by_job(times),
            _rows(times),
        ],
        figures=[_figure(system, [each for each in times if each.system == system]) for system in systems],
        missing=MISSING,
    )


def _platforms() -> dict[str, Platform]:
    return {"leonardo": on_two_rails(shipped("leonardo-booster")), "lumi": shipped("lumi-g")}


def _measured(system: str) -> list[Time]:
    """What was measured of algorithms that are ours."""
    rows = []
    for row in measured("named_collectives").filter(system=system).iter_rows(named=True):
        name = our_name(row["collective"], row["algorithm"])
        if name is None:
            continue
        call = NamedCall(row["collective"], name, row["nodes"], row["tasks_per_node"], row["count"])
        in_blocks = call.collective in IN_BLOCKS or name in CUT_IN_BLOCKS
        if in_blocks and call.count < call.ranks:
            continue
        least_s, median_s, most_s = (row[key] * 1e-6 for key in ("min_us", "median_us", "p95_us"))
        rows.append(Time(system, row["job"], row["algorithm"], call, least_s, median_s, most_s))
    return rows


def _is_asked(call: NamedCall, request: Request) -> bool:
    if request.ranks is not None:
        return call.ranks == request.ranks
    many = call.ranks > USUAL_RANKS or (
        call.ranks > USUAL_RANKS // 2 and call.each > 1 and call.algorithm in MANY_MESSAGES
    )
    return not many


def calibrating(rows: Iterable[Time]) -> Time:
    """The measurement that a machine is calibrated by: one algorithm at one size."""
    of_kind = [row for row in rows if (row.call.collective, row.call.algorithm) == CALIBRATED_BY]
    fewest = min(row.call.ranks for row in of_kind)
    return min(
        (row for row in of_kind if row.call.ranks == fewest and row.call.each == 1),
        key=lambda row: (abs(math.log(row.call.count / CALIBRATED_AT)), row.job, row.name),
    )


def _with(row: Time, predicted_s: float) -> Time:
    return Time(row.system, row.job, row.name, row.call, row.least_s, row.median_s, row.most_s, predicted_s)


def _machine(system: str, platform: Platform, chosen: Time, slowness: float) -> list[Cell]:
    call = chosen.call
    return [
        system,
        platform.name,
        f"{call.collective} by {chosen.name}",
        chosen.job,
        call.ranks,
        call.count,
        microseconds(chosen.median_s),
        round(slowness, 3),
    ]


def orders(times: list[Time]) -> tuple[int, int]:
    """Pairs of algorithms, of one call in one job, whose times do not overlap: those in the right order, and all."""
    calls: dict[tuple[str, str, str, int, int, int], list[Time]] = {}
    for each in times:
        call = each.call
        calls.setdefault(
            (each.system, each.job, call.collective, call.nodes, call.each, call.count), []
        ).append(each)
    right = apart = 0
    for alike in calls.values():
        for one, other in combinations(alike, 2):
            if one.call.algorithm == other.call.algorithm:
                continue
            if one.most_s < other.least_s or other.most_s < one.least_s:
                apart += 1
                right += (one.median_s < other.median_s) == (one.predicted_s < other.predicted_s)
    return right, apart


def errors(times: list[Time]) -> list[float]:
    """How far each prediction is off; nothing where it is within what several jobs measured."""
    jobs: dict[tuple[str, NamedCall, str], list[float]] = {}
    for each in times:
        jobs.setdefault((each.system, each.call, each.name), []).append(each.median_s)
    found = []
    for each in times:
        medians = jobs[each.system, each.call, each.name]
        nearest = min(max(each.predicted_s, min(medians)), max(medians))
        found.append(abs(each.predicted_s / nearest - 1))
    return found


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2] if values else math.nan


def _sentence(system: str, times: list[Time]) -> str:
    right, apart = orders(times)
    share = f"{100 * right / apart:.0f} %" if apart else "none"
    return (
        f"{system}: {right} of {apart} orders of two algorithms right ({share}), median error"
        f" {100 * _median(errors(times)):.0f} % of {len(times)} times"
    )


def _targets(system: str, times: list[Time]) -> list[Target]:
    own = [each for each in times if each.system == system]
    right, apart = orders(own)
    share = round(100 * right / apart, 1) if apart else None
    error = round(100 * _median(errors(own)), 1) if own else None
    return [
        Target.of(f"{system}: orders of two algorithms right", share, "at least", 90),
        Target.of(f"{system}: median error", error, "at most", 25),
    ]


def _summary(times: list[Time]) -> Table:
    rows: list[list[Cell]] = []
    keys = dict.fromkeys((each.system, each.call.collective) for each in times)
    for system, name in sorted(keys):
        part = [each for each in times if (each.system, each.call.collective) == (system, name)]
        right, apart = orders(part)
        found = sorted(each.ratio for each in part)
        rows.append(
            [
                system,
                name,
                len(part),
                right,
                apart,
                round(_median(errors(part)), 3),
                round(found[0], 3),
                round(_median(found), 3),
                round(found[-1], 3),
            ]
        )
    columns = [
        "system",
        "collective",
        "times",
        "orders right",
        "of",
        "median error",
        "least ratio",
        "median ratio",
    ]
    notes = [
        "orders count where all iterations of one algorithm, up to the 95th percentile, were faster than the other's",
        "ratios are predicted over measured; the error of a time that several jobs measured is that to the nearest",
    ]
    return Table("By collective", [*columns, "largest ratio"], rows, notes)


def _by_job(times: list[Time]) -> Table:
    """Jobs beside each other: whether one was slower than the machine, and in what."""
    jobs: dict[tuple[str, str, int, int], list[Time]] = {}
    for each in times:
        jobs.setdefault((each.system, each.job, each.call.nodes, each.call.each), []).append(each)
    rows: list[list[Cell]] = []
    for (system, job, nodes, ranks), part in jobs.items():
        ratios = [
            [each.ratio for each in part if low < each.call.count <= high]
            for low, high in ((0, FEW), (FEW, MANY), (MANY, math.inf))
        ]
        rows.append([system, job, nodes, ranks, *(round(_median(of), 3) if of else None for of in ratios)])
    columns = ["system", "job", "nodes", "ranks a node", f"up to {FEW} integers", f"up to {MANY}", "more"]
    return Table("Predicted over measured in each job, median", columns, rows)


def _rows(times: list[Time]) -> Table:
    rows: list[list[Cell]] = [
        [
            each.system,
            each.job,
            each.call.collective,
            each.name,
            each.call.algorithm,
            each.call.nodes,
            each.call.each,
            each.call.count,
            microseconds(each.median_s),
            microseconds(each.predicted_s),
            round(each.ratio, 3),
        ]
        for each in times
    ]
    columns = ["system", "job", "collective", "measured as", "algorithm", "nodes", "ranks a node", "integers"]
    return Table("All times", [*columns, "measured (us)", "predicted (us)", "ratio"], rows)


def _figure(system: str, times: list[Time]) -> Figure:
    """Predicted beside measured, a series a collective."""
    series = []
    for name in sorted({each.call.collective for each in times}):
        part = sorted(
            (each for each in times if each.call.collective == name), key=lambda each: each.median_s
        )
        series.append(
            Series(
                name,
                [microseconds(each.median_s) for each in part],
                [microseconds(each.predicted_s) for each in part],
            )
        )
    ends = [microseconds(most(each.median_s for each in times)) for most in (min, max)]
    series.append(Series("as measured", ends, list(ends), True))
    return Figure(
        name=f"collectives-{system}",
        title=f"Collectives on {system}: predicted and measured",
        x_label="measured (us)",
        y_label="predicted (us)",
        series=series,
        x_scale="log",
        y_scale="log",
    )
