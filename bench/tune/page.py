# SPDX-License-Identifier: BSD-3-Clause
"""The page of `python -m tune` in Markdown."""

from __future__ import annotations

import platform

import numpy as np

import rankwise
from rankwise.lab.validation.tables import table
from rankwise.measure.fitting.statistics import confidence_of, median
from tune.cases import CASES, MAPPINGS, Case
from tune.idle import IdleCost
from tune.runs import Run

_HEAD = """<!-- Written by `python -m tune`; edit bench/tune/page.py instead. -->
# What `rankwise tune` gains and costs

Written by `python -m tune` (bench/). Two ranks run on two processing units of this machine. One unit loses a part of
its time to a real-time process, which takes it in pieces of a millisecond, as interrupts do. In each round every way
to run a case comes once, one after the other; {rounds} rounds of {seconds:.0f} s a run. A cell is a median, and in
brackets an interval that holds {sure:.0%}. Rates are iterations a second by that of the best static mapping of the same
round. Kernel {kernel}, Rankwise {version}.
"""

_WHOLE, _END, _REACHED, _CHANGES = "whole run", "last third", "within 5 % after", "changes kept"


def _of(values: list[float], text: str, unit: str = "") -> str:
    if not values:
        return "-"
    middle = median(np.array(values))
    if len(values) < 3:
        return f"{middle.value:{text}}{unit}"
    return f"{middle.value:{text}} [{middle.low:{text}}, {middle.high:{text}}]{unit}"


def _case(case: Case, rounds: list[dict[str, Run]], seconds: float) -> list[str]:
    """A case's table, and what it says of the targets."""
    static = [name for name, pus in MAPPINGS.items() if pus is not None]
    best = [max(one[name].rate() for name in static) for one in rounds]
    rows = []
    for way in rounds[0]:
        runs = [one[way] for one in rounds]
        whole = [run.rate() / top for run, top in zip(runs, best, strict=True)]
        end = [run.rate(seconds * 2 / 3) / top for run, top in zip(runs, best, strict=True)]
        reached = [run.reaches(0.95 * top) for run, top in zip(runs, best, strict=True)]
        times = [at for at in reached if at is not None]
        kept = [float(sum(event["what"] == "kept" for event in run.events)) for run in runs]
        tuned = way.startswith("rankwise")
        rows.append(
            [
                way,
                _of(whole, ".3f"),
                _of(end, ".3f"),
                (_of(times, ".1f", " s") if len(times) == len(runs) else f"{len(times)} of {len(runs)} runs")
                if not case.phase_s
                else "-",
                _of(kept, ".0f") if tuned else "-",
            ]
        )
    return [
        f"## {case.name.capitalize()}",
        f"Here {case.what}.",
        "",
        table(["", _WHOLE, _END, _REACHED, _CHANGES], rows),
    ]


def text(rounds: dict[str, list[dict[str, Run]]], seconds: float, idle: IdleCost, missing: list[str]) -> str:
    """The page.

    Args:
        rounds: By case, of each round, by way.
        seconds: Of a run.
        idle: What the tuner takes itself.
        missing: Other tools that are not installed here.
    """
    count = len(next(iter(rounds.values())))
    parts = [
        _HEAD.format(
            rounds=count,
            seconds=seconds,
            sure=confidence_of(count),
            kernel=platform.release(),
            version=rankwise.__version__,
        )
    ]
    if missing:
        parts.append(f"Not installed here, so not beside it: {', '.join(missing)}.\n")
    for case in (case for case in CASES if case.name in rounds):
        parts += [*_case(case, rounds[case.name], seconds), ""]
    used = [
        run.tuner_s
        for of_case in rounds.values()
        for one in of_case
        for run in one.values()
        if run.tuner_s is not None
    ]
    parts += [
        "## Its own cost",
        "",
        f"Beside {idle.ranks} ranks that sleep: {idle.core_share:.2%} of one core and {idle.memory_bytes / 1e6:.1f} MB "
        f"(tuner and guard, proportional set size). It starts in {idle.start_s * 1e3:.0f} ms.",
    ]
    if used:
        parts.append(f"In the runs above: {_of([each / seconds for each in used], '.2%')} of a core.")
    return "\n".join(parts) + "\n"
