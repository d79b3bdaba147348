# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise run`: run a program with its ranks where a placement says, and check that they are there."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from rankwise.launchers.execute import Ended
    from rankwise.run.placed_run import PlacedRun

HELP = "run a program with its ranks where a placement says"
COMMAND = "mpiexec -n 16 ./app args"
FAILURE_STATUS = 125
_EXAMPLE = "`rankwise run --placement P.placement.json -- mpiexec -n 16 ./app`"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    from rankwise.cli.parsing import add_nodes
    from rankwise.cli.record import add_record

    parser.add_argument("--placement", "-p", required=True, metavar="FILE", help="the placement file")
    parser.add_argument(
        "--hosts",
        metavar="A,B,...",
        help="the hosts, in the order of the placement's nodes; default: those of the launch line, else the names in "
        "the placement, else the hosts of the batch job, else this host",
    )
    add_nodes(parser)
    parser.add_argument(
        "--reorder",
        action="store_true",
        help="for any launcher: it starts the ranks as it likes; inside the program they get new numbers and bind "
        "themselves",
    )
    parser.add_argument(
        "--share-cores", action="store_true", help="allow a placement with several ranks on a core"
    )
    add_record(parser)
    parser.add_argument("-f", "--force", action="store_true", help="replace the recording of --record")


def run(args: argparse.Namespace) -> int:
    """Run; returns the program's own exit status."""
    from rankwise.cli.kinds import check_kind
    from rankwise.cli.record import record_request
    from rankwise.cli.record_end import run_to_end
    from rankwise.run.placed_run import prepare

    if not args.command:
        hint = f"put it after `--`, for example {_EXAMPLE}"
        raise RankwiseError("no program to run", hint=hint, status=FAILURE_STATUS)
    request = record_request(args)
    line = "`rankwise run --placement P.placement.json --machine M.machine.toml -- ...`"
    check_kind("placement", args.placement, line, FAILURE_STATUS)
    if args.machine:
        check_kind("machine", args.machine, line, FAILURE_STATUS)
    session = prepare(
        args.command,
        args.placement,
        args.hosts,
        args.machine,
        args.node,
        request,
        args.reorder,
        args.share_cores,
    )
    return run_to_end(session, lambda ended: _lines(session, ended, args))


def _lines(session: PlacedRun, ended: Ended, args: argparse.Namespace) -> list[str]:
    """What there is to say, the most important first; what fails here is said, never raised."""
    from rankwise.cli.record_end import tell, verified_apart
    from rankwise.cli.verified import RENUMBERED, verified

    lines = verified_apart(
        lambda: verified(session.verify(), args.placement, ended, args.quiet, session.renumbered)
    )
    if session.placement.partial and not args.quiet:
        lines.append(f"`{args.placement}` was searched for a part of a run: {session.placement.partial[0]}")
    if session.renumbered and not args.reorder and not args.quiet:
        lines.append(RENUMBERED)
    if session.recording is not None:
        lines += tell(session.recording, ended, args.quiet)
    return lines
