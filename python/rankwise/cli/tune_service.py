# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise tune` without a program: processes that run, the daemon, and what tuners say."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from rankwise.tune.document import Tuner
    from rankwise.tune.session import Asked


def show(args: argparse.Namespace) -> int:
    """Print the decisions of a tuner that has ended."""
    from rankwise.cli.tune_show import tuner_text
    from rankwise.tune.summary import read_output

    if args.name is None:
        raise RankwiseError(
            "`rankwise tune show` needs a name", "for example `rankwise tune show NAME.tune`", status=2
        )
    tuners = read_output(Path(args.name))
    # The launching host may have none of the job's ranks.
    seeing = [tuner for tuner in tuners if tuner.ranks_seen] or tuners
    _print(args, tuners, lambda: "\n\n".join(tuner_text(tuner, len(tuners) > 1) for tuner in seeing))
    return 0


def status(args: argparse.Namespace) -> int:
    """Print what tuners of this node say of themselves; 1 if one did not answer."""
    from rankwise.cli.terminal import Terminal
    from rankwise.cli.tune_show import status_text
    from rankwise.tune import control
    from rankwise.tune.document import tuner_of
    from rankwise.tune.events import Log

    terminal = Terminal(args)
    tuners, silent = [], []
    for path in _sockets(args):
        try:
            found = control.status_of(path)
        except RankwiseError as error:
            silent.append(error)
            continue
        tuners.append(tuner_of(Log(found.recent), str(path), found))
    if silent and not tuners:
        raise silent[0]
    for each in silent:
        terminal.warning(each.message, "no-answer", each.hint)
    _print(args, tuners, lambda: status_text(tuners))
    return 1 if silent else 0


def stop(args: argparse.Namespace) -> int:
    """End a tuner; it has put masks back when this returns. 1 if it could not do so everywhere."""
    from rankwise.cli.terminal import Terminal
    from rankwise.tune import control

    found = _sockets(args)
    if len(found) > 1:
        raise RankwiseError(
            f"{len(found)} tuners run on this node: {', '.join(f'`{path}`' for path in found)}",
            f"say which one: `rankwise tune stop --socket {quote(str(found[0]))}`",
        )
    stopped = control.stop(found[0])
    if stopped.left:
        raise RankwiseError(
            f"the tuner at `{found[0]}` has ended, but not all is as it was ({stopped.said})",
            "start a tuner again, as the same user: it tries to give back what is left",
        )
    said = f" ({stopped.said})" if stopped.said else ""
    Terminal(args).note(f"the tuner at `{found[0]}` has ended{said}")
    return 0


def attach(args: argparse.Namespace) -> int:
    """Tune processes that run, until they end or Ctrl-C; 1 if the tuner ended before, or not all could be put back."""
    from rankwise.child import uninterrupted

    if not args.pid:
        raise RankwiseError(
            "`--pid` names no process: perhaps none runs",
            "look with `pgrep -a app`: `-x` compares 15 letters of a name only",
            status=2,
        )
    with uninterrupted():
        tuner = _tuned(args)
    from rankwise.cli.tune_show import tuner_text  # the tuner did not wait for it

    _print(args, [tuner], lambda: tuner_text(tuner))
    return 1 if tuner.ended_early or tuner.left else 0


def _tuned(args: argparse.Namespace) -> Tuner:
    from rankwise.cli.terminal import Terminal
    from rankwise.tune.attached import tune_processes

    terminal = Terminal(args)
    count = len(set(args.pid))
    what = "tuning " + ("1 process until it ends" if count == 1 else f"{count} processes until they end")
    what += " or Ctrl-C"
    if args.dry_run:
        what += "; nothing is changed"

    def begun(left: list[str]) -> None:
        for problem in left:
            terminal.warning(problem, "tuner-left-masks")
        if not args.quiet:
            terminal.note(what)

    return tune_processes(args.pid, asked_of(args), args.keep, begun)


def asked_of(args: argparse.Namespace) -> Asked:
    """How a program or processes are to be tuned."""
    from rankwise.tune.session import Asked

    if args.machine:
        from rankwise.cli.kinds import check_kind

        check_kind("machine", args.machine, "`rankwise tune --machine M.machine.toml -- ...`", 1)
    return Asked(not args.dry_run, args.irq, args.machine, args.output, args.force)


def serve(args: argparse.Namespace) -> int:
    """Become the daemon; does not return."""
    from rankwise.tune.daemon import prepare
    from rankwise.tune.tuner_process import become

    become(prepare(args.config, args.dry_run))
    return 0


def _sockets(args: argparse.Namespace) -> list[Path]:
    """That which is named, else all that answer.

    Raises:
        RankwiseError: None does.
    """
    from rankwise.tune import control

    if args.socket is not None:
        return [Path(args.socket)]
    if args.config is not None:
        from rankwise.tune.daemon import read

        return [Path(read(args.config).socket)]
    answering = [path for path in control.sockets() if control.answers(path)]
    if not answering:
        raise RankwiseError(
            "no tuner of this user runs on this node", "start one: `rankwise tune -- mpiexec -n 16 ./app`"
        )
    return answering


def _print(args: argparse.Namespace, tuners: list[Tuner], text: Callable[[], str]) -> None:
    import msgspec

    from rankwise.cli.terminal import Terminal
    from rankwise.tune.document import SCHEMA, Tuning

    terminal = Terminal(args)
    if args.json:
        terminal.json(msgspec.to_builtins(Tuning(schema=SCHEMA, tuners=tuners)))
    else:
        terminal.result(text())
