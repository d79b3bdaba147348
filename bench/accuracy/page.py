# SPDX-License-Identifier: BSD-3-Clause
"""The page on accuracy in Markdown, with its figure and all results beside it."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from accuracy import sections
from accuracy.overview import HELD_OUT, halves, overview, sentence
from accuracy.plots import draw
from accuracy.result import ValidationResult
from rankwise import whole_files
from rankwise.errors import RankwiseError

MARK = "<!-- Written by `make accuracy`; edit bench/accuracy/page.py instead. -->"
RESULTS = ".json.gz"

_PAGE = """{mark}
# Accuracy

If Rankwise predicts that a placement is faster, is it, and by how much? In short:

{sentences}

*Held out* programs were not used to make Rankwise: no number, no rule and no choice was fitted to them. So only their
errors say what to expect of your program. *Development* programs were used while the model was made. *By network bytes*
and *by SimGrid* are two other ways to predict ([below](#what-came-out)).

Each program was recorded once. All its placements were predicted from this recording, and then run. No setting was
chosen for a single program. Runs that the [lab](lab.md) does not call valid, or that others disturbed, do not count.
All others are on this page.

## What came out

{overview}

If a number of held-out programs misses its aim, it is **bold**. We chose the aims; they do not come from an experiment.
80 to 95 % of the times should lie in their interval. If more do, the intervals are wider than they need be. A case is a
program with a certain number of ranks and a certain rate of the network.

| column | meaning |
|---|---|
| in order | in how many pairs of placements the prediction is right about which one is faster. \
A pair counts if the measured intervals of its two times do not overlap |
| median error, worst | an error is predicted time / measured time - 1: the median (without sign), and the largest one |
| in interval | how often the measured median lies in the predicted interval |
| width | how wide this interval is: upper end / lower end - 1, in the median |
| gains | how often the saving of `optimised` over blocked, cyclic and worst is predicted within 5 percentage points |
| slower | how many optimised placements were slower than blocked |

| row | meaning |
|---|---|
| Rankwise | what `rankwise predict` says, corrected by the recorded run ([predict](predict.md#how-sure-is-it)) |
| plain replay | the same without this correction |
| network bytes | recorded time + (bytes between nodes with the predicted placement - those with the \
recorded one) / rate of all interfaces together |
| SimGrid | the replay of SimGrid (`smpirun -replay`), of the same schedule with the same machine file |

Rankwise and *network bytes* know how long the recorded run took. So to predict the recorded placement would be too
easy: it does not count in errors and intervals. It counts in pairs and gains.

![Predicted against measured times, {panels}; the grey band is within 15 %]({figure})

## On real clusters

Rankwise itself did not run on a real cluster yet, but times of three clusters are published. There the median error is
7 % for HPL, and 18 to 45 % for single MPI calls ([studies](studies.md#how-the-three-real-clusters-came-out)).

## How it was measured

1. The machine is measured by microbenchmarks alone. After that, its file is not changed any more.
2. Each program runs once with a trace, placed blocked. All its placements are predicted.
3. Each placement is run in turn.

A run does not count if the lab does not call it [valid](lab.md#is-a-run-valid), or if others used the machine. The
time of a run begins when the last rank leaves `MPI_Init`, and ends when the last rank calls `MPI_Finalize`. Of several
runs the median counts.

Which placements? `optimised` is what `rankwise place` finds, `worst` is the slowest one that its search predicts, and
`random` ones have the ranks in random order. The table counts the runs. (*Machine file*: its rate, and the beginning of
its SHA-256.)

{validations}

{remarks}

All times, intervals and predictions are in [{results}]({results}) ([how to read it](formats.md#json-of-each-command)).
The page is made from this file alone. To repeat the experiment, on a machine that does nothing else:

    cd bench
    python -m accuracy --state development -- mpiexec
    python -m accuracy --programs accuracy/held_out.toml --frozen COMMIT --state held -- mpiexec
    python -m accuracy --resume --window 0s --state held --also development -o ../docs/accuracy.md -f

## Programs

*network's share*: the part of the recorded run in which the busiest interface transfers bytes. *measured*: the median
time of the fastest and of the slowest placement.

{programs}

## What missed

{largest}
[Why predictions miss](internals/where-it-misses.md) says what is known of the reasons.

{missed}

## Not run

{not_run}

## Not valid

{not_valid}

## Failed

{failed}
"""
_NONE_HELD = f"{HELD_OUT}: no run of a program to which nothing was fitted is in these results yet."


def check(path: Path, force: bool) -> None:
    """Make sure that the page can be written, before anything is measured.

    Raises:
        RankwiseError: Something that is no such page is there, its directory is not, or matplotlib is missing.
    """
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise RankwiseError(
            f"`{path}` cannot be written", "name a file with `-o`, for example `-o accuracy.md`"
        )
    figure, results = path.with_suffix(".svg"), path.with_suffix(RESULTS)
    if path in (figure, results):
        raise RankwiseError(
            f"`{path}` would be both the page and a file beside it",
            "name the page, for example `-o accuracy.md`: accuracy.svg and accuracy.json.gz are written beside it",
        )
    is_ours = path.is_file() and MARK in path.read_text(encoding="utf-8", errors="replace")
    for there in (path, figure, results):
        whole_files.refuse_special(there)
        if there.exists() and not force and not is_ours:
            raise RankwiseError(f"`{there}` exists and is not of such a page", "add `--force` to replace it")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise RankwiseError(
            "the page has a figure, for which matplotlib is not installed",
            "`pip install 'rankwise[figures]'`, or leave `-o` out",
        ) from None


def write(path: Path, documents: Sequence[ValidationResult]) -> list[Path]:
    """Write the page, and beside it its figure and all results as JSON; the same documents give the same bytes.

    Args:
        path: Of the page.
        documents: One validation each.

    Returns:
        Paths of the page, of the figure and of the results.
    """
    published = [_without_places(each) for each in documents]
    figure, results = path.with_suffix(".svg"), path.with_suffix(RESULTS)
    whole_files.write(figure, draw(halves(published)))
    lines = b",\n".join(map(msgspec.json.encode, published))
    whole_files.write(results, gzip.compress(b"[\n" + lines + b"\n]\n", mtime=0))
    whole_files.write(path, render(path.stem, published).encode())
    return [path, figure, results]


def read_results(path: Path) -> list[ValidationResult]:
    """What a page was made of, from the file beside it.

    Raises:
        RankwiseError: There is none, or it is no such file.
    """
    hint = f"name the FILE{RESULTS} that lies beside a page"
    try:
        return msgspec.json.decode(gzip.decompress(path.read_bytes()), type=list[ValidationResult])
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise RankwiseError(f"`{path}` is not compressed by gzip, or damaged", hint) from None
    except OSError as error:
        raise RankwiseError(
            f"`{path}` cannot be read: {(error.strerror or str(error)).lower()}", hint
        ) from None
    except msgspec.DecodeError as error:
        raise RankwiseError(f"`{path}`: {str(error)[0].lower()}{str(error)[1:]}", hint) from None


def renewed(
    earlier: Sequence[ValidationResult], documents: Sequence[ValidationResult]
) -> list[ValidationResult]:
    """Validations of an earlier page, those that were made anew in their place, and new kinds after them.

    One is anew if MPI, ranks, rates and programs are the same.
    """
    new: dict[tuple, list[ValidationResult]] = {}
    for each in documents:
        new.setdefault(_kind(each), []).append(each)
    kinds, out = set(new), []
    for each in earlier:
        out += new.pop(_kind(each), []) if _kind(each) in kinds else [each]
    return out + [each for alike in new.values() for each in alike]


def _kind(document: ValidationResult) -> tuple:
    options = document.options
    return options.mpi, *(
        frozenset(each) for each in (options.ranks, options.rates_bytes_per_s, options.programs)
    )


def render(stem: str, documents: Sequence[ValidationResult]) -> str:
    """The page.

    Args:
        stem: Its file name without suffix, which the files beside it have too.
        documents: One validation each.
    """
    groups = halves(documents)
    said = [sentence(each) for each in groups]
    if not any(each.name == HELD_OUT for each in groups):
        said.insert(0, _NONE_HELD)
    parts = {
        "sentences": [f"* {each}" for each in said],
        "overview": overview(groups),
        "validations": sections.validations(groups),
        "remarks": sections.remarks(documents),
        "programs": [
            line for each in groups for line in ("", f"### {each.name}", "", *sections.programs(each))
        ][1:],
        "missed": sections.missed(groups),
        "largest": sections.largest(groups),
        "not_run": sections.not_run(documents),
        "not_valid": sections.not_valid(groups),
        "failed": sections.failed(groups),
    }
    return _PAGE.format(
        mark=MARK,
        panels=" and ".join(each.name.lower() for each in groups),
        figure=f"{stem}.svg",
        results=f"{stem}{RESULTS}",
        **{name: "\n".join(lines) for name, lines in parts.items()},
    )


def _without_places(document: ValidationResult) -> ValidationResult:
    """Without directories of the machine that it comes from."""
    options = msgspec.structs.replace(document.options, launcher=Path(document.options.launcher).name)
    context = document.context | {"mpi": str(document.context.get("mpi", "")).split(",")[0]}
    return msgspec.structs.replace(document, options=options, context=context)
