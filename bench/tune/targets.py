# SPDX-License-Identifier: BSD-3-Clause
"""What tuning is to reach, and whether it did."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from enum import Enum
from typing import NamedTuple

from tune.call_cost import LOOPS
from tune.cases import CASES, KERNEL, Case, Way
from tune.own_cost import LOOKS_SHARE
from tune.results import Results, best_and_worst, cell, middle_of, ratios

_OF_BEST = 0.95


class Verdict(Enum):
    """What became of a target, and the words for it."""

    MET = "met"
    MET_BY_MEDIAN = "met by the median, but not surely"
    MISSED_BY_MEDIAN = "missed by the median, but not surely"
    MISSED = "missed"
    UNTOLD = "not told"
    NOT_MEASURED = "not measured"


class Row(NamedTuple):
    """A target, what was measured, and what became of it."""

    target: str
    measured: str
    verdict: Verdict
    remark: str = ""

    @property
    def words(self) -> str:
        """The verdict, with what is to be said of it."""
        return self.verdict.value + self.remark


def _row(target: str, values: list[float], is_met: Callable[[float], bool], text: str, unit: str = "") -> Row:
    """Met or missed, if all of the interval agrees; else what the median says."""
    if not values:
        return Row(target, "-", Verdict.NOT_MEASURED)
    middle = middle_of(values)
    met = is_met(middle.value)
    if {is_met(end) for end in (middle.low, middle.high)} == {met}:
        verdict = _told(met)
    else:
        verdict = Verdict.MET_BY_MEDIAN if met else Verdict.MISSED_BY_MEDIAN
    return Row(target, cell(values, text, unit), verdict)


def _told(met: bool) -> Verdict:
    return Verdict.MET if met else Verdict.MISSED


def kinds(results: Results) -> dict[str, list[Row]]:
    """By kind of target: target, measured, met or missed."""
    found = {
        "what programs gain or lose, on real cores": [
            row for case in CASES if results.rounds.get(case.name) for row in _of_case(case, results)
        ],
        "what programs gain, on simulated nodes": [
            Row(
                f"{experiment.name}, on simulated nodes: faster than without",
                f"{experiment.gain - 1:+.1%}, the paper's mapping {experiment.best_gain - 1:+.1%}",
                _told(experiment.gain > 1),
            )
            for experiment in results.experiments
        ],
        "what tuning costs": [*_of_cost(results), *_of_calls(results)],
        "masks that are given back": list(_of_faults(results)),
    }
    return {kind: rows for kind, rows in found.items() if rows}


def _of_case(case: Case, results: Results) -> Iterator[Row]:
    rounds = results.rounds[case.name]
    found = best_and_worst(case, rounds)
    if found is None:
        return
    best, worst = found
    seconds = case.seconds * results.of(case.name).scale
    if case.phase_s:
        for name in case.tuned_from:
            way = Way(name, tuned=True).name
            values = ratios(rounds, way, best)
            yield _row(
                f"{case.name}, from `{name}`: above the best static mapping", values, lambda r: r > 1, ".3f"
            )
        return
    if case.load and KERNEL in case.tuned_from:
        values, alone = (
            ratios(rounds, way, best, seconds * 2 / 3) for way in (Way(KERNEL, tuned=True).name, KERNEL)
        )
        yield _from(case, "where the kernel puts ranks", values, alone)
    if worst != best:
        way = Way(worst, tuned=True).name
        values = ratios(rounds, way, best, seconds * 2 / 3)
        yield _from(case, "the worst mapping", values, ratios(rounds, worst, best, seconds * 2 / 3))
    way = Way(best, tuned=True).name
    values = [1 - ratio for ratio in ratios(rounds, way, best)]
    yield _row(
        f"{case.name}, from the best mapping: a loss below 1 %", values, lambda loss: loss < 0.01, ".1%"
    )


def _from(case: Case, where: str, tuned: list[float], untuned: list[float]) -> Row:
    """What is not clearly short of the target by itself tells nothing of the tuner."""
    row = _row(
        f"{case.name}, from {where}: at least {_OF_BEST} of the best, in the last third",
        tuned, lambda r: r >= _OF_BEST, ".3f",
    )  # fmt: skip
    if not untuned:
        return row
    row = row._replace(measured=f"{row.measured}, without the tuner {cell(untuned)}")
    if middle_of(untuned).high >= _OF_BEST:
        remark = ": it is as good without the tuner, or may be"
        return row._replace(verdict=Verdict.UNTOLD, remark=remark)
    return row


def _of_cost(results: Results) -> Iterator[Row]:
    cost = results.own_cost
    if cost is None:
        yield Row("own cost", "-", Verdict.NOT_MEASURED)
        return
    if not cost.resting_share:
        yield Row(
            f"{cost.ranks} ranks that call MPI, looked at each second: below 0.5 % of a core",
            cell(cost.core_share, ".2%"),
            Verdict.UNTOLD,
            ": it looked more seldom while this was measured",
        )
    else:
        yield _row(
            f"{cost.ranks} ranks that call MPI, looked at each second: below 0.5 % of a core",
            cost.core_share,
            lambda s: s < 0.005,
            ".2%",
        )
        # It decides once a second at most.
        yield _row(
            "the same, a decision each second, and looks at where ranks run: below 0.5 % of a core",
            [share + cost.decision_s + LOOKS_SHARE for share in cost.core_share],
            lambda s: s < 0.005,
            ".2%",
        )
    total = (cost.memory_bytes + cost.waiting_bytes) / 1e6
    yield Row(
        "memory below 30 MB, tuner and guard",
        f"{cost.memory_bytes / 1e6:.1f} MB",
        _told(cost.memory_bytes < 30e6),
    )
    yield Row(
        "the same with the command that waits for the job",
        f"{total:.1f} MB",
        _told(total < 30),
    )
    yield _row("start below 200 ms", [1e3 * each for each in cost.start_s], lambda ms: ms < 200, ".0f", " ms")


def _of_calls(results: Results) -> Iterator[Row]:
    if not results.call_costs:
        yield Row("what the preloaded library adds to an MPI call: below 10 ns", "-", Verdict.NOT_MEASURED)
    for cost in results.call_costs:
        for loop, what in LOOPS.items():
            yield _row(
                f"what the preloaded library adds to a call, {cost.mpi}, {what}: below 10 ns",
                cost.added[loop],
                lambda ns: ns < 10,
                ".1f",
                " ns",
            )


def _of_faults(results: Results) -> Iterator[Row]:
    if (real := results.real_faults) is not None and real.rounds:
        yield Row(
            "`rankwise tune` killed while it tried a change: no thread with a wrong mask",
            f"{real.wrong} of {real.threads} threads in {real.rounds} rounds",
            _told(not real.wrong),
        )
        if real.restored_s:
            yield _restored("the same: masks back within 50 ms of SIGKILL", real.restored_s)
    faults = results.faults
    if faults is None or not faults.rounds:
        yield Row("1 000 injected faults: no thread with a wrong mask", "-", Verdict.NOT_MEASURED)
        return
    yield Row(
        "1 000 injected faults: no thread with a wrong mask",
        f"{faults.wrong} of {faults.threads} threads in {sum(faults.rounds.values())} rounds",
        _told(not faults.wrong),
        ", fewer rounds" if sum(faults.rounds.values()) < 1000 else "",
    )
    if faults.restored_s:
        yield _restored("injected faults: masks back within 50 ms of SIGKILL", faults.restored_s)


def _restored(target: str, times: list[float]) -> Row:
    late = sum(time > 0.05 for time in times)
    return Row(
        target,
        f"median {1e3 * statistics.median(times):.1f} ms, {1e3 * max(times):.1f} at most, "
        f"{late} of {len(times)} later",
        _told(not late),
    )
