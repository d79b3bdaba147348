# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise lab run`: a program in a lab, with its own streams and exit status."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from rankwise.errors import RankwiseError
from rankwise.whole_files import check_free, replacing

if TYPE_CHECKING:
    from rankwise.lab.counters import InterfaceCounters
    from rankwise.lab.run import LabRun, RunResult
    from rankwise.record.library import What
    from rankwise.record.recording_run import RecordingRun
    from rankwise.record.usage import Usage

SCHEMA = "rankwise.lab-run/1"
_NODES_SHOWN = 8
_UNKNOWN = (
    "whether the run is valid is not known: not all ranks came to MPI_Finalize with the lab's library in them"
)


def run(args: argparse.Namespace) -> int:
    """Run; returns the program's own exit status."""
    from rankwise.cli.record_end import say, say_untied
    from rankwise.lab import state
    from rankwise.lab.record import begin
    from rankwise.lab.run import running
    from rankwise.launchers.execute import pass_on
    from rankwise.record.recording_run import abandon

    what = _what(args)
    prepared = _prepare(args, state)
    session, variables = None, None
    if args.record:
        session, variables = begin(prepared, Path(args.record), what, args.force, _options(args, prepared))
    with ExitStack() as stack:
        try:
            result = stack.enter_context(running(prepared, variables, say_untied))
        except RankwiseError:
            if session is not None:
                abandon(session)
            raise
        say(lambda: _lines(args, result, session, what), most=None)
    return pass_on(result.ended)


def _lines(
    args: argparse.Namespace, result: RunResult, session: RecordingRun | None, what: What
) -> list[str]:
    """What there is to say, the most important first; what fails here is said, never raised."""
    from dataclasses import replace

    import msgspec

    from rankwise.cli.record_end import tell, verified_apart
    from rankwise.cli.verified import RENUMBERED, verified

    where = args.placement or args.allocation
    lines = verified_apart(lambda: verified(result.verify(), where, result.ended, args.quiet))
    if result.prepared.becomes is not None and not args.quiet:
        lines.append(RENUMBERED)
    used = result.usage()
    if not args.quiet:
        lines.append(used.sentence() if used else _UNKNOWN)
    if session is not None:
        session = replace(session, manifest=msgspec.structs.replace(session.manifest, usage=used))
    try:
        counters = result.counters()
        lines += [] if args.quiet else _passed(counters)
        if args.output:
            _write(args.output, result, counters, used, what)
    except (RankwiseError, OSError, MemoryError) as error:
        lines.append(f"what the interfaces carried is not known: {' '.join(str(error).split())}")
    return lines + (tell(session, result.ended, args.quiet) if session is not None else [])


def _prepare(args: argparse.Namespace, state: ModuleType) -> LabRun:
    from rankwise.lab.run import adopt, place, prepare
    from rankwise.placement import file

    if not args.command:
        raise RankwiseError(
            "no program to run in the lab", hint="put it after `--`: `rankwise lab run -- ./app`"
        )
    if args.output:
        check_free(args.output, args.force)
    state.remove_dead()
    lab = state.load(args.name)
    if args.placement:
        placement = adopt(file.load(args.placement), lab, args.ranks)
    else:
        placement = place(lab, args.ranks, args.allocation)
    return prepare(lab, args.command, placement, args.mpi)


def _what(args: argparse.Namespace) -> What:
    from rankwise.cli.record import what_of

    if args.keep_arguments and not (args.record or args.output) and args.command:
        raise RankwiseError("`--keep-arguments` keeps them in a file", hint="add `--record DIR` or `-o FILE`")
    asked = [
        option
        for option in ("--trace", "--counts", "--exact-times", "--trace-calls", "--phase", "--callsites")
        if getattr(args, option[2:].replace("-", "_")) not in (False, None)
    ]
    if asked and not args.record and args.command:
        raise RankwiseError(
            f"`{asked[0]}` needs a recording to be kept in",
            hint="add `--record DIR`, for example `--record app.rw`",
        )
    return what_of(args)


def _options(args: argparse.Namespace, prepared: LabRun) -> list[str]:
    """What the recording says of how it was started: enough to run it again."""
    where = ["--placement", args.placement] if args.placement else ["--allocation", args.allocation]
    return ["-n", str(prepared.placement.ranks), *where, *(["--mpi", args.mpi] if args.mpi else [])]


def _passed(counters: list[InterfaceCounters]) -> list[str]:
    from rankwise.quantities import bytes_text, count_text

    shown = counters
    lines = []
    if len(shown) > _NODES_SHOWN:
        shown = sorted(shown, key=lambda each: -each.tx_bytes - each.rx_bytes)[:_NODES_SHOWN]
        lines = [f"the busiest {_NODES_SHOWN} of {len(counters)} nodes:"]
    for each in shown:
        sent = f"sent {bytes_text(each.tx_bytes)} ({count_text(each.tx_packets)} packets)"
        received = f"received {bytes_text(each.rx_bytes)} ({count_text(each.rx_packets)})"
        lines.append(f"{each.host} {sent}, {received}")
    return lines


def _write(
    path: str, result: RunResult, counters: list[InterfaceCounters], used: Usage | None, what: What
) -> None:
    import msgspec

    from rankwise.cli.record_end import say
    from rankwise.placement.file import to_dict

    ended, prepared = result.ended, result.prepared
    launcher = prepared.launcher
    document = {
        "schema": SCHEMA,
        "lab": msgspec.to_builtins(prepared.lab),
        "command": what.command(prepared.words),
        "launcher": {"vendor": launcher.vendor, "version": launcher.version, "path": launcher.path},
        "exit_status": ended.status,
        "start_s": ended.start_s,
        "end_s": ended.end_s,
        "placement": to_dict(prepared.placement),
        "interfaces": msgspec.to_builtins(counters),
        "usage": msgspec.to_builtins(used) | {"valid": used.valid, "reasons": used.reasons} if used else None,
    }
    try:
        with replacing(Path(path)) as scratch:
            scratch.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        say(lambda: [f"`{path}` cannot be written: {reason}"])
