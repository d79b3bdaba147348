# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise export`: a recording in the formats of other tools."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from rankwise.exports.pairs import Weight
    from rankwise.recording import Recording

HELP = "write a recording in a format of another tool"

# What each is called beside NAME.rw.
_ENDINGS = {
    "perfetto": ".perfetto.json",
    "otf2": "-otf2",
    "csv": "-csv",
    "parquet": "-parquet",
    "metis": ".graph",
    "mtx": ".mtx",
    "mpip": ".mpiP",
    "talp": ".talp.json",
}
_DIRECTORIES = ("otf2", "csv", "parquet")
_WEIGHTED = ("metis", "mtx")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    from rankwise.cli.parsing import add_output

    parser.add_argument("recording", metavar="REC", help="the recording, a directory NAME.rw")
    parser.add_argument(
        "--format",
        choices=tuple(_ENDINGS),
        required=True,
        help="perfetto (timeline, for ui.perfetto.dev), otf2 (trace, for Vampir; needs `rankwise[otf2]`), csv, parquet "
        "(all tables), metis (graph of the ranks), mtx (communication matrix, Matrix Market), mpip (profile as text), "
        "talp (efficiencies, JSON)",
    )
    parser.add_argument(
        "--weight",
        choices=("bytes", "messages"),
        help="for metis and mtx: count what the ranks send each other in bytes (default) or messages",
    )
    add_output(
        parser,
        "the file to write, or the directory for otf2, csv and parquet; default: beside NAME.rw",
        metavar="OUT",
    )
    parser.add_argument(
        "--job",
        metavar="JOB",
        help="number or name of the MPI job to export, if several were recorded; default: the largest",
    )


def run(args: argparse.Namespace) -> int:
    """Write it."""
    from rankwise import whole_files
    from rankwise.cli.kinds import check_kind
    from rankwise.cli.terminal import Terminal
    from rankwise.exports.remarks import missing_of
    from rankwise.recording import Recording

    terminal = Terminal(args)
    if args.weight and args.format not in _WEIGHTED:
        raise RankwiseError(
            f"`--weight` is of a graph or a matrix, and `{args.format}` is none",
            f"`--format {_WEIGHTED[0]}` or `--format {_WEIGHTED[1]}`",
            status=2,
        )
    check_kind("recording", args.recording, "`rankwise export app.rw --format perfetto`", 1)
    path = Path(args.output) if args.output else _beside(Path(args.recording), args.job, args.format)
    if args.format in _DIRECTORIES:
        whole_files.check_free_directory(path, args.force)
    else:
        whole_files.check_free(path, args.force)
    if args.format == "otf2":
        from rankwise.exports import otf2

        otf2.check()
    recording = Recording.open(args.recording, args.job)
    for what in _write(args.format, recording, path, args.weight or "bytes"):
        terminal.warning(f"left out: {what}", "not-exported")
    missing = missing_of(recording)
    if missing:
        more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
        terminal.warning(
            f"what was recorded is exported: {missing[0].what}: {missing[0].why}{more}", "partial"
        )
    terminal.wrote(path)
    return 0


def _write(format: str, recording: Recording, path: Path, weight: Weight) -> list[str]:
    """Write it; what was left out."""
    from rankwise.exports import matrix_market, metis, mpip, otf2, perfetto, tables
    from rankwise.whole_files import filling

    if format == "perfetto":
        return perfetto.write(recording, path)
    if format == "otf2":
        with filling(path) as scratch:
            return otf2.write(recording, scratch)
    if format in ("csv", "parquet"):
        with filling(path) as scratch:
            {"csv": tables.write_csv, "parquet": tables.write_parquet}[format](recording, scratch)
    elif format in _WEIGHTED:
        {"metis": metis.write, "mtx": matrix_market.write}[format](recording, path, weight)
    elif format == "mpip":
        mpip.write(recording, path)
    else:
        _write_talp(recording, path)
    return []


def _write_talp(recording: Recording, path: Path) -> None:
    from rankwise.findings import efficiency, talp

    talp.write(path, recording, efficiency.of_recording(recording))


def _beside(recording: Path, job: str | None, format: str) -> Path:
    from rankwise.report.files import stem

    return recording.parent / (stem(recording, job) + _ENDINGS[format])
