# SPDX-License-Identifier: BSD-3-Clause
"""The page of `python -m tune` in Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rankwise.lab.validation.tables import table
from rankwise.measure.fitting.statistics import confidence_of
from tune import faults, targets
from tune.cases import CASES, Case
from tune.results import Results, best_and_worst, cell, ratios
from tune.runs import Run

_HEAD = """<!-- Written by `python -m tune`; edit bench/tune/page.py instead. -->
# What `rankwise tune` gains and costs

What does a program gain from the tuner, and what does it lose where there is nothing to gain? `python -m tune` (bench/)
measured this. Two ranks may change places on two processing units. There were {rounds} rounds. In each round every
way to run a case comes once, in an order that is shuffled. A cell is a median, and in brackets an interval that
contains the true median with a probability of {sure:.0%}.
"""
_CASE = """Numbers are iterations a second, divided by those of the best static mapping (`{best}`) in the same round.
*by itself*: the rate under `rankwise tune`, divided by that of the mapping with which it began. A run takes
{seconds:.0f} s."""
_LOAD = (
    " The load is a real-time process. It takes its part of the first unit in pieces of a millisecond, as "
    "interrupts do."
)
_TITLES = [
    "",
    "whole run",
    "last third",
    "within 5 % after",
    "by itself",
    "changes kept",
    "tuner's part of a core",
]


def text(results: Results) -> str:
    """The page, of the parts that there are."""
    count = max((len(rounds) for rounds in results.rounds.values()), default=0)
    head = _HEAD.format(rounds=count, sure=confidence_of(count) if count else 0)
    parts = [head, *_sessions(results), *_targets(results), *_surroundings(results)]
    for case in CASES:
        if results.rounds.get(case.name):
            parts += [*_case(case, results), ""]
    parts += [*_experiments(results), *_cost(results), *_faults(results)]
    return "\n".join(parts).rstrip("\n") + "\n"


def _sessions(results: Results) -> Iterator[str]:
    rows = [
        [
            ", ".join(each.parts),
            each.day,
            f"{each.took_s / 60:.0f} min",
            f"{each.seed}",
            each.version,
            each.kernel,
        ]
        for each in results.sessions
        if each.parts
    ]
    yield from table(["measured", "on", "in", "seed", "Rankwise", "kernel"], rows)
    yield ""


def _targets(results: Results) -> Iterator[str]:
    yield "## Targets"
    yield ""
    yield from table(["target", "measured", ""], [list(row) for row in targets.rows(results)])
    yield ""
    yield "*by the median only*: the median says so, but not the whole interval."
    yield ""


def _surroundings(results: Results) -> Iterator[str]:
    nodes = len(list(Path("/sys/devices/system/node").glob("node[0-9]*")))
    if nodes < 2:
        yield "This machine has one NUMA node: numad and the kernel's AutoNUMA run, but have nothing to do here."
        yield ""
    failed = [(why, count) for each in results.sessions for why, count in each.failed.items()]
    if failed:
        yield "Not counted:"
        yield ""
        yield from (f"- {why} ({count} times)" for why, count in failed)
        yield ""


def _case(case: Case, results: Results) -> Iterator[str]:
    rounds, seconds = results.rounds[case.name], case.seconds * results.of(case.name).scale
    yield f"## {case.name.capitalize()}"
    yield ""
    yield f"Here {case.what}." + (_LOAD if case.load else "")
    found = best_and_worst(case, rounds)
    if found is None:
        return
    best = found[0]
    yield _CASE.format(best=best, seconds=seconds)
    yield ""
    rows = []
    for way in case.ways():
        runs = [(one[way.name], one[best]) for one in rounds if way.name in one and best in one]
        reached = [run.reaches(0.95 * top.rate()) for run, top in runs]
        times = [at for at in reached if at is not None]
        soon = cell(times, ".1f", " s") if len(times) == len(runs) else f"{len(times)} of {len(runs)} runs"
        kept = [float(sum(event["what"] == "kept" for event in run.events)) for run, _ in runs]
        shares = [run.tuner_share for run, _ in runs if run.tuner_share is not None]
        rows.append(
            [
                way.name,
                cell(ratios(rounds, way.name, best)),
                cell(ratios(rounds, way.name, best, seconds * 2 / 3)),
                "-" if case.phase_s or not runs else soon,
                cell(ratios(rounds, way.name, way.mapping)) if way.tuned else "-",
                cell(kept, ".0f") if way.tuned else "-",
                cell(shares, ".2%") if way.tuned else "-",
            ]
        )
    yield from table(_TITLES, rows)
    every = [run for one in rounds for run in one.values()]
    if case.messages and every:
        units = [cell([run.interrupt_share[at] for run in every], ".0%") for at in range(2)]
        yield ""
        yield f"Interrupts took {units[0]} of the first processing unit and {units[1]} of the second."
    if case.static:
        yield from _example(case, every)


def _example(case: Case, runs: list[Run]) -> Iterator[str]:
    """The first change that was kept, as the tuner put it."""
    for run in runs:
        kept = next((event for event in run.events if event["what"] == "kept"), None)
        if kept is None:
            continue
        before = [event for event in run.events if event["at_s"] <= kept["at_s"]]
        proposed = next((event for event in reversed(before) if event["what"] == "proposed"), None)
        if proposed is None:
            continue
        gains = [
            f"{word} {event[key]:.0%}"
            for event, key, word in (
                (proposed, "estimated_gain", "estimated"),
                (kept, "measured_gain", "measured"),
            )
            if event.get(key) is not None
        ]
        yield ""
        yield f'One of its changes, {kept["at_s"]:.1f} s after the program began: "{proposed["why"]}"; ' + (
            f"ranks {' and '.join(map(str, proposed.get('ranks', [])))} were swapped, "
            f"which saves of an iteration's time: {', '.join(gains)}."
        )
        return


def _experiments(results: Results) -> Iterator[str]:
    if not results.experiments:
        return
    yield "## S-gromacs and S-lammps"
    yield ""
    yield (
        "Section 6 of Narayanaswamy, Balaji and Feng (2007): two nodes of four cores, core 0 of each "
        "processes what the "
        "network brings. Partners on cores of equal capability need four processing units at least, so these "
        "two are on "
        "simulated nodes (tests/tune/simulated): the tuner is the real one, time and cores are not. What GROMACS "
        "showed is *one busy rank* above, too, on real cores."
    )
    for each in results.experiments:
        changes = [f'"{said}"' for said in each.said] or ["nothing"]
        swaps = [f"ranks {' and '.join(map(str, ranks))}" for ranks in each.swapped] or ["none"]
        of_gain = [
            f"{word} {value:.1%}"
            for word, value in (("estimated", each.estimated), ("measured by the tuner", each.measured))
            if value is not None
        ]
        yield ""
        yield f"**{each.name}.** {each.given}"
        yield ""
        yield f"- seen: {'; '.join(changes)}"
        yield f"- swapped: {'; '.join(swaps)}; of an iteration's time, {', '.join(of_gain) or 'nothing'}"
        yield (
            f"- gain over the whole run: {each.gain - 1:+.1%} iterations; the paper's mapping from the beginning: "
            f"{each.best_gain - 1:+.1%}"
        )
        yield f"- published: {each.published}"
    yield ""


def _cost(results: Results) -> Iterator[str]:
    cost = results.own_cost
    if cost is None:
        return
    yield "## Its own cost"
    yield ""
    rate = f" ({cost.calls_per_s[0]:.0f} {cost.calls_per_s[1]} a second)" if cost.calls_per_s else ""
    yield (
        f"Beside {cost.ranks} ranks that call MPI and sleep between{rate}: tuner and guard take "
        f"{cell(cost.core_share, '.2%')} "
        f"of one core and {cost.memory_bytes / 1e6:.1f} MB (proportional set size); the command `rankwise "
        f"tune`, which waits "
        f"for the job, {cost.waiting_share:.2%} and {cost.waiting_bytes / 1e6:.1f} MB. From the command to "
        f"the tuner's first "
        f"event pass {cell([1e3 * each for each in cost.start_s], '.0f')} ms. So many ranks share two units "
        f"here, so no mapping of them is searched: a decision for as many on a simulated node that has a core for each "
        f"takes {1e3 * cost.decision_s:.1f} ms. What the tuner takes while it acts is in the tables above."
    )
    yield ""


def _faults(results: Results) -> Iterator[str]:
    if results.real_faults is None and results.faults is None:
        return
    yield "## Faults"
    yield ""
    if (real := results.real_faults) is not None and real.rounds:
        yield (
            f"`rankwise tune` was killed in a trial of *one busy rank*, in half of {real.rounds} rounds with its "
            f"guard: "
            f"{real.wrong} of {real.threads} threads of ranks had a wrong mask after that."
        )
        yield ""
    if results.faults is not None and results.faults.rounds:
        yield (
            "The part of the tuner that changes masks, driven by a test program (tests/tune/driver.cpp) as fast "
            "as it can, "
            "and killed at random moments, together with ranks, with its guard, or while masks are changed from "
            "outside:"
        )
        yield ""
        yield faults.text(results.faults)
