# SPDX-License-Identifier: BSD-3-Clause
"""The page on accuracy in Markdown, with its plots beside it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rankwise import whole_files
from rankwise.errors import RankwiseError
from rankwise.lab.rate import show_rate
from rankwise.lab.validation.other_load import TOLERATED
from rankwise.lab.validation.plots import draw
from rankwise.lab.validation.result import CaseResult, Document, PlacementResult, Summary
from rankwise.measure.statistics import confidence_of

MARK = "<!-- Written by `rankwise lab validate`; edit python/rankwise/lab/validation/page.py instead. -->"
LIBRARIES = {"mpich": "MPICH", "openmpi": "Open MPI"}

_INTRODUCTION = """# Accuracy

How well predictions agree with runs. This page is written by `rankwise lab validate`: as it came out, with every case
and every failure. One sentence each:

{sentences}

## How it was done

In a [lab](lab.md) of its own the command does, in this order:

1. The lab is measured by microbenchmarks alone (`rankwise measure`). The machine file is frozen: its SHA-256 is
   printed, kept, and checked before each further step.
2. Each program is run once with its ranks dealt blocked, with a trace. This is all that predictions know of it.
3. The time of all placements is predicted from that trace and the machine file. Nothing is set for single programs.
4. Every placement is run several times. Placements take turns, and each round begins with another one. A run during
   which other programs used more than 5 % of the machine's processor time (unless said otherwise below) is repeated
   and does not count.

Times are from when the last rank has left `MPI_Init` to when the last rank enters `MPI_Finalize`, taken by the
recorder without a trace, which adds some nanoseconds a call. Placements: `blocked`, `cyclic` and `plane=2` deal ranks
to nodes in turn; `random` ones are permutations of all cores by seed; `optimised` is what `rankwise place` finds with
this machine file; `worst` is the slowest by prediction of the few that its search finds worst among 2000 random ones.
Sizes of the programs were chosen so that a run takes about a second and the network a good part of it (column
*network*), not for the result.
"""

_READING = """## How to read it

* **measured** is the median of the runs; its interval comes from order statistics and assumes no distribution.
* **interval** of a prediction comes from replays with all numbers of the machine file drawn from their confidence
  intervals, and is wider on both sides by the error of the prediction for the traced run itself. That error is known
  before any other run and moves no prediction. How much more the model is wrong at other placements, and how much a
  program's computation varies from run to run, is not in it.
* **network** is the share of the predicted time in which the busiest interface transfers.
* **pairs ordered** counts pairs of placements of one program whose measured intervals (of three runs or more) do not
  overlap: whether the faster one was predicted to be faster. Pairs that measuring cannot tell apart are not counted
  for or against.
* **covered** counts measured medians inside the predicted interval.
* **network bytes only** is what mapping tools without a machine model go by. For its order nothing but bytes between
  nodes counts. For its error it gets the traced run's own time, plus the difference in bytes at the rate of all
  interfaces together: for placements with about as many bytes as the traced one its error is small by construction.

## When not to trust a prediction

* **Cores that are shared.** A lab's cores share those of one machine, ranks sleep while they wait, and the kernel's
  protocol work runs on the same cores. Sharing is predicted as equal parts without cost of switching. On a cluster
  with a core a rank this does not arise; here it is in every number.
* **Ranks that wait where others compute.** They look for messages now and then, which takes time from ranks that
  compute on the same core; it is not modelled. With MPICH 5.0.2 and seven ranks waiting on its core, a rank that
  computed took 2.9 times as long. Programs that compute more than these are predicted too fast in a lab.
* **Memory bandwidth and caches** are not modelled: where placements differ in these, differences are missing.
* **Differences smaller than the errors above**: a gain of a few percent is not to be believed.
* **Programs whose course depends on time** (work queues, `MPI_Waitany`, `MPI_ANY_SOURCE`): the replay follows the
  recording.
* **First messages** between two ranks also set up a connection, which is not predicted; short runs have a larger
  part of it.
* **Sizes or numbers of ranks other than recorded**: a prediction is for the recorded run elsewhere, not another run.
"""


def check(path: Path, force: bool) -> None:
    """Make sure that the page can be written, before anything is measured.

    Raises:
        RankwiseError: Something that is no such page is there, its directory is not, or matplotlib is missing.
    """
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise RankwiseError(
            f"`{path}` cannot be written", "name a file with `-o`, for example `-o accuracy.md`"
        )
    if path.exists() and not force and MARK not in path.read_text(encoding="utf-8", errors="replace"):
        raise RankwiseError(f"`{path}` exists and is no such page", "add `--force` to replace it")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise RankwiseError(
            "the page has plots, for which matplotlib is not installed",
            "`pip install matplotlib`, or leave `-o` out",
        ) from None


def write(path: Path, documents: Sequence[Document]) -> list[Path]:
    """Write page and plots; returns their paths, the page first."""
    sentences, sections, plots = [], [], []
    for document in documents:
        sentences.append("* " + sentence(document))
        plot = path.with_name(f"{path.stem}.{document.options.mpi}.svg")
        draw(document, plot)
        plots.append(plot)
        sections.append(_section(document, plot.name))
    introduction = _INTRODUCTION.format(sentences="\n".join(sentences))
    text = "\n".join([MARK, introduction, *sections, _READING])
    whole_files.write(path, text.encode())
    return [path, *plots]


def sentence(document: Document) -> str:
    """What came out, in one sentence."""
    found, bytes_only = document.predicted, document.bytes_only
    quiet = "" if document.tolerated_load <= TOLERATED else ", on a machine that others used meanwhile"
    return (
        f"{LIBRARIES[document.options.mpi]}: of {found.pairs} pairs of placements that measuring tells apart, "
        f"{_share(found.ordered_share)} are ordered rightly (by network bytes alone: "
        f"{_share(bytes_only.ordered_share)}); the median error of the predicted time is {_share(found.median_error)}, "
        f"the worst {_share(found.worst_error, '+')}; {_share(found.covered_share)} of the measured times lie in the "
        f"predicted interval{quiet}."
    )


def _section(document: Document, plot: str) -> str:
    options, context = document.options, document.context
    where = f"{options.nodes * options.cores} ranks on {options.nodes} nodes of {options.cores} cores"
    lines = [
        f"## {LIBRARIES[options.mpi]}",
        "",
        f"{where}, {show_rate(options.rate_bytes_per_s)} a node each way; {_runs(document)}; seed {options.seed}.",
        f"Kernel {context.get('kernel', 'unknown')}, Rankwise {context.get('rankwise', 'unknown')}.",
        "",
        f"Machine file, frozen before the runs: SHA-256 `{document.machine_sha256}`.",
        "",
    ]
    lines += _others(document)
    if not document.complete:
        lines += ["**Not all planned runs were made.**", ""]
    lines += ["| | pairs ordered | median error | worst error | covered |", "|---|---|---|---|---|"]
    lines += [
        _summary("predicted", document.predicted),
        _summary("network bytes only", document.bytes_only),
        "",
    ]
    lines += [f"![measured and predicted times]({plot})", ""]
    for case in document.cases:
        lines += _case(case)
    failed = [f"* {each}" for each in document.failures] or ["No run failed."]
    return "\n".join([*lines, "### Failures", "", *failed, ""])


def _runs(document: Document) -> str:
    planned = document.options.repetitions
    counts = [
        len(each.measured.times_s) for case in document.cases for each in case.placements if each.measured
    ]
    if not counts:
        return f"{planned} runs of each placement planned, none made"
    sure = f"measured intervals hold {confidence_of(min(counts)):.0%} or more"
    made = str(planned) if min(counts) == planned else f"{min(counts)} to {max(counts)} of {planned} planned"
    return f"{made} runs of each placement ({sure})"


def _others(document: Document) -> list[str]:
    tolerated, found = document.tolerated_load, document.median_load
    lines = []
    if document.disturbed:
        count = f"{document.disturbed} runs during which others used more than {tolerated:.0%} of the machine"
        lines += [f"Left out, whatever their time was: {count}.", ""]
    if tolerated > TOLERATED and found is not None:
        shared = f"others used up to {tolerated:.0%} of this machine (median {found:.0%}), which makes times longer"
        lines += [f"**The machine was not quiet:** runs count during which {shared}.", ""]
    return lines


def _case(case: CaseResult) -> list[str]:
    lines = [f"### {case.name}", "", f"{case.title}."]
    if case.failure:
        return [*lines, "", f"Failed: {case.failure}", ""]
    lines[-1] += f" The traced run took {case.recorded_s:.3f} s."
    if case.omitted:
        left = "; ".join(f"{what} ({count})" for what, count in case.omitted.items())
        lines.append(f"Not replayed: {left}.")
    heads = ("placement", "measured", "interval", "predicted", "interval", "error", "network", "bytes only")
    lines += ["", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    return [*lines, *map(_row, case.placements), ""]


def _row(each: PlacementResult) -> str:
    measured = each.measured
    cells = [
        each.name,
        f"{measured.median_s:.3f} s" if measured else "failed",
        f"{measured.low_s:.3f} - {measured.high_s:.3f}" if measured else "",
        f"{each.predicted_s:.3f} s",
        f"{each.low_s:.3f} - {each.high_s:.3f}",
        _share(each.error, "+"),
        _share(each.network_share),
        f"{each.bytes_only_s:.3f} s",
    ]
    return f"| {' | '.join(cells)} |"


def _summary(name: str, summary: Summary) -> str:
    covered = f"{summary.covered} of {summary.times}" if summary.covered is not None else ""
    cells = [name, f"{summary.ordered} of {summary.pairs}", _share(summary.median_error)]
    return f"| {' | '.join([*cells, _share(summary.worst_error, '+'), covered])} |"


def _share(value: float | None, sign: str = "") -> str:
    return "unknown" if value is None else f"{100 * value:{sign}.0f} %"
