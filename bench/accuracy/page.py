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

Is a placement that is predicted to be faster really faster, and by how much? Programs were recorded once, all their
placements were predicted from that, then each was run. Nothing is set for single programs, and every run that the lab
lets count is here. *Held out* are programs to which no number, no rule and no choice of Rankwise was ever fitted.
In short:

{sentences}

## What came out

{overview}

**Bold** is what Rankwise misses of what is aimed at. SimGrid and the plain replay apart, all know how long the recorded
run took: its placement is in no error and in no interval, only in pairs and gains.

* *in order*: of the pairs of placements of a case (a program with one number of ranks at one rate) whose measured
  intervals do not overlap (three runs or more), those whose faster one was predicted to be faster.
* *error*: predicted over measured, less 1. *in interval*: measured medians inside the predicted interval; *width*: of
  that, the upper end over the lower one, less 1, in the median.
* *gains*: what the optimised placement saves over blocked, cyclic and worst, as a part of their time, predicted within
  5 points. *slower*: optimised placements slower than blocked, by the intervals of both times.
* *Rankwise*: what users read, anchored at the recorded run's time ([predict.md](predict.md)). *plain replay*: the same
  without that. *network bytes*: the recorded time, and the difference in bytes between nodes at the rate of all
  interfaces together. *SimGrid*: its replay (`smpirun -replay`) of the same schedule with the same machine file.

![Predicted against measured times, {panels}; the grey band is within 15 %]({figure})

## How it was measured

In a [lab](lab.md) the machine is measured by microbenchmarks alone and its file frozen. Then, program by program, it is
run once blocked with a trace, all placements are predicted, and each is run in turn. Runs that the lab does not call
valid, or during which others used the machine, count nowhere. Times are from the last rank's end of `MPI_Init` to the
last one's call of `MPI_Finalize`, medians with intervals from order statistics. `optimised` is what `rankwise place`
finds with this file, `worst` the slowest that its search predicts, `random` ones are permutations by seed.

{validations}

{remarks}

Each time, interval and prediction is in [{results}]({results}), a list of `ValidationResult`
(bench/accuracy/result.py), and all that this page is made of. To repeat it in bench/, on a machine with
nothing else to do:

    python -m accuracy --state development -- mpiexec
    python -m accuracy --programs accuracy/held_out.toml --frozen COMMIT --state held -- mpiexec
    python -m accuracy --resume --window 0s --state held --also development -o ../docs/accuracy.md -f

## Programs

*network's share*: the part of the recorded run in which the busiest interface transfers. *measured*: medians of the
fastest and of the slowest placement.

{programs}

## What missed

Causes that are known: [where-it-misses.md](where-it-misses.md).

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
