# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise tune` without a program: processes that run, the daemon, and what tuners say."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from rankwise.tune.document import Tuner


def show(args: argparse.Namespace) -> int:
    """Print the decisions of a tuner that has ended."""
    from rankwise.cli.tune_show import tuner_text
    from rankwise.tune.output import did_act, read_output

    if args.name is None:
        raise RankwiseError(
            "`rankwise tune show` needs a name", "for example `rankwise tune show NAME.tune`", status=2
        )
    path = Path(args.name)
    tuner = read_output(path)
    _print(args, [tuner], lambda: tuner_text(tuner, did_act(path)))
    return 0


def status(args: argparse.Namespace) -> int:
    """Print what tuners of this node say of themselves."""
    from rankwise.cli.tune_show import status_text
    from rankwise.tune import control
    from rankwise.tune.document import tuner_of

    _refuse_name(args)
    tuners = []
    for path in _sockets(args):
        found = control.status_of(path)
        tuners.append(tuner_of(found.recent, str(path), found))
    _print(args, tuners, lambda: status_text(tuners))
    return 0


def stop(args: argparse.Namespace) -> int:
    """Ask tuners to end; they put masks back first."""
    from rankwise.cli.terminal import Terminal
    from rankwise.tune import control

    _refuse_name(args)
    terminal = Terminal(args)
    for path in _sockets(args):
        control.ask(path, "stop")
        terminal.note(f"asked the tuner at `{path}` to end")
    return 0


def attach(args: argparse.Namespace) -> int:
    """Tune processes that run, until they end or Ctrl-C."""
    from rankwise.cli.terminal import Terminal
    from rankwise.cli.tune_show import tuner_text
    from rankwise.tune.attached import tune_processes

    terminal = Terminal(args)
    if not args.quiet:
        terminal.note("until they end or Ctrl-C" + (", changes nothing" if args.dry_run else ""))
    tuner = tune_processes(
        args.pid, not args.dry_run, args.irq, args.keep, args.machine, args.output, args.force
    )
    _print(args, [tuner], lambda: tuner_text(tuner, not args.dry_run))
    return 0


def serve(args: argparse.Namespace) -> int:
    """Become the daemon; does not return."""
    from rankwise.tune.daemon import prepare
    from rankwise.tune.tuner_process import become

    become(prepare(args.config, args.dry_run))
    return 0


def _refuse_name(args: argparse.Namespace) -> None:
    if args.name is not None:
        raise RankwiseError(
            f"`rankwise tune {args.what}` takes no name", f"`rankwise tune {args.what}`", status=2
        )


def _sockets(args: argparse.Namespace) -> list[Path]:
    """That which is named, else all that answer.

    Raises:
        RankwiseError: None does.
    """
    from rankwise.tune import control

    if args.socket is not None:
        return [Path(args.socket)]
    answering = [path for path in control.sockets() if control.answers(path)]
    if not answering:
        raise RankwiseError(
            "no tuner of this user runs on this node", "start one: `rankwise tune -- mpiexec -n 16 ./app`"
        )
    return answering


def _print(args: argparse.Namespace, tuners: list[Tuner], text: Callable[[], str]) -> None:
    from rankwise.cli.terminal import Terminal
    from rankwise.tune.document import SCHEMA, Tuning

    terminal = Terminal(args)
    if args.json:
        terminal.json(msgspec.to_builtins(Tuning(schema=SCHEMA, tuners=tuners)))
    else:
        terminal.result(text())
