# SPDX-License-Identifier: BSD-3-Clause
"""The page of `python -m tune` in Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rankwise.lab.validation.tables import table
from rankwise.measure.fitting.statistics import confidence_of
from rankwise.quantities import counted
from tune import faults, targets
from tune.call_cost import LOOPS, PAIRS
from tune.cases import CASES, Case
from tune.own_cost import LOOKS_SHARE
from tune.results import Results, best_and_worst, cell, ratios
from tune.runs import Run
from tune.targets import Verdict

_HEAD = """<!-- Written by `python -m tune`; edit bench/tune/page.py instead. -->
# What `rankwise tune` gains and costs

What does a program gain from the tuner, and what does it lose where there is nothing to gain?
"""
_HOW = """`python -m tune` (bench/) measured this. Two ranks may change places on two PUs (hardware threads). A case has
several rounds. In each round, every way to run the case comes once, in shuffled order. A cell of a table is a median;
in brackets is an interval around it. How likely it contains the true median depends on the number of rounds, and is
said with each case.
"""
_CASE = """Numbers are iterations a second, divided by those of the best static mapping (`{best}`) in the same round.
*reached 95 % of the best after*: seconds until the rate stays above 95 % of that mapping's. If some runs never get
there, the column says how many do. *by itself*: the rate under `rankwise tune`, divided by that of the mapping with
which it began. A run takes {seconds:.0f} s. There were {rounds} rounds, so intervals contain the true median
with a probability of {sure:.0%}."""
_LOAD = (
    " The load is a real-time process. It takes its part of the first PU in pieces of a millisecond, as "
    "interrupts do."
)
_TITLES = [
    "",
    "whole run",
    "last third",
    "reached 95 % of the best after",
    "by itself",
    "changes kept",
    "tuner's part of a core",
]


def text(results: Results) -> str:
    """The page, of the parts that there are."""
    parts = [
        _HEAD,
        *_summary(results),
        _HOW,
        *_sessions(results),
        *_targets(results),
        *_surroundings(results),
    ]
    for case in CASES:
        if results.rounds.get(case.name):
            parts += [*_case(case, results), ""]
    parts += [*_experiments(results), *_cost(results), *_calls(results), *_faults(results)]
    return "\n".join(parts).rstrip("\n") + "\n"


def _summary(results: Results) -> Iterator[str]:
    """How many targets of each kind were reached, and how surely."""
    titles = [
        "targets",
        "number",
        "surely met",
        "met by the median only",
        "missed, at least by the median",
        "could not be judged",
    ]
    rows = []
    for kind, found in targets.kinds(results).items():
        verdicts = [row.verdict for row in found]
        met, by_median = verdicts.count(Verdict.MET), verdicts.count(Verdict.MET_BY_MEDIAN)
        missed = verdicts.count(Verdict.MISSED) + verdicts.count(Verdict.MISSED_BY_MEDIAN)
        rows.append(
            [kind, *map(str, (len(found), met, by_median, missed, len(found) - met - by_median - missed))]
        )
    yield "How many of the [targets](#targets) are met?"
    yield ""
    yield from table(titles, rows)
    yield ""
    yield (
        "*met by the median only*: the median reaches the target, but one end of the interval around it does not."
    )
    yield ""


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
    found = [
        [row.target, row.measured, row.words] for rows in targets.kinds(results).values() for row in rows
    ]
    yield from table(["target", "measured", ""], found)
    yield ""
    sure = [
        f"{confidence_of(len(results.rounds[case.name])):.0%} (*{case.name}*)"
        for case in CASES
        if results.rounds.get(case.name)
    ]
    if sure:
        yield f"In brackets: an interval that contains the true median with a probability of {', '.join(sure)}."
        yield ""
    if results.experiments:
        yield (
            "*S-gromacs*, *S-lammps*: the ranks of GROMACS and LAMMPS as in Narayanaswamy et al., on simulated nodes "
            "([below](#s-gromacs-and-s-lammps))."
        )
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
    count = len(rounds)
    yield _CASE.format(best=best, seconds=seconds, rounds=count, sure=confidence_of(count))
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
        yield f"Interrupts took {units[0]} of the first PU and {units[1]} of the second."
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
        said = f'One of its changes, {kept["at_s"]:.1f} s after the program began: "{proposed["why"]}".'
        ranks = " and ".join(map(str, proposed.get("ranks", [])))
        said += f" Ranks {ranks} changed places." if ranks else ""
        if proposed.get("estimated_gain") is not None:
            said += f" An iteration should get {proposed['estimated_gain']:.0%} shorter"
            measured = kept.get("measured_gain")
            said += "." if measured is None else f"; measured were {measured:.0%}."
        yield ""
        yield said
        return


def _experiments(results: Results) -> Iterator[str]:
    if not results.experiments:
        return
    yield "## S-gromacs and S-lammps"
    yield ""
    yield (
        "Section 6 of Narayanaswamy, Balaji and Feng (2007): two nodes of four cores, core 0 of each processes what "
        "the network brings. These two cases need at least four PUs, and this machine has two. So the nodes are "
        "simulated (tests/tune/simulated). The tuner is the real one. What GROMACS showed is *one busy rank* above, "
        "too, on real cores."
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
    seldom = (
        " while the tuner looks at the ranks each second. Where nothing is to be gained, it soon looks every four "
        f"seconds, and they take {cell(cost.resting_share, '.2%')}"
        if cost.resting_share
        else " while the tuner looks more and more seldom"
    )
    rate = f" ({cost.calls_per_s[0]:.0f} {cost.calls_per_s[1]} a second)" if cost.calls_per_s else ""
    yield (
        f"Beside {cost.ranks} ranks that call MPI and sleep between the calls{rate}, tuner and guard take "
        f"{cell(cost.core_share, '.2%')} of one core{seldom}. Their memory is {cost.memory_bytes / 1e6:.1f} MB "
        f"(proportional set size). The "
        f"command `rankwise tune`, which waits for the job, takes {cost.waiting_share:.2%} and "
        f"{cost.waiting_bytes / 1e6:.1f} MB. The tuner's first event comes "
        f"{cell([1e3 * each for each in cost.start_s], '.0f')} ms after the command. On two PUs, no mapping of "
        f"{cost.ranks} ranks is better than another, so the tuner searched for none. On a simulated node with a core "
        f"for each of as many ranks, a decision takes {1e3 * cost.decision_s:.1f} ms. Before ranks that are not bound "
        f"are moved, the tuner looks where they run: at most {LOOKS_SHARE:.1%} of the time. What the tuner takes while "
        "it acts is in the tables above."
    )
    yield ""


def _calls(results: Results) -> Iterator[str]:
    if not results.call_costs:
        return
    yield "## Cost of a call"
    yield ""
    yield (
        "One rank calls MPI as fast as it can, with calls that do nearly nothing (bench/record_overhead.c). "
        f"It ran {PAIRS} times without the preloaded library and with it, one after the other. Nanoseconds a call:"
    )
    yield ""
    rows = [
        [cost.mpi, what, cell(cost.without[loop], ".1f"), cell(cost.added[loop], ".1f")]
        for cost in results.call_costs
        for loop, what in LOOPS.items()
    ]
    yield from table(["MPI", "calls", "without", "more with the library"], rows)
    yield ""


def _faults(results: Results) -> Iterator[str]:
    if (real := results.real_faults) is not None and real.rounds:
        yield "## Killed while it tried a change"
        yield ""
        alone = len(real.restored_s)
        yield (
            f"`rankwise tune` was killed while it tried a change in *one busy rank*, {counted(real.rounds, 'time')}: "
            f"{counted(alone, 'time')} the tuner alone, {counted(real.rounds - alone, 'time')} its guard, too. After "
            f"that, {real.wrong} of {real.threads} threads of ranks had a wrong mask."
        )
        yield ""
    if results.faults is not None and results.faults.rounds:
        yield "## Injected faults"
        yield ""
        yield (
            "The part of the tuner that changes masks, driven by a test program (tests/tune/driver.cpp) as fast "
            "as it can, "
            "and killed at random moments, together with ranks, with its guard, or while masks are changed from "
            "outside:"
        )
        yield ""
        yield faults.text(results.faults)
