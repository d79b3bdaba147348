# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise lab`: an emulated cluster on this machine, to run and measure MPI programs in."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from rankwise.lab.state import Lab

HELP = "emulate a cluster on this machine, and run programs in it"
COMMAND = "./app args"
_FAILED = 125


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    from rankwise.cli import lab_validate
    from rankwise.cli.parsing import add_json

    parser.usage = "%(prog)s up|run|status|down|validate [OPTIONS] [-- ./app args]"
    # Without it what each action is called in its usage would begin with the usage above.
    actions = parser.add_subparsers(
        metavar="ACTION", dest="action", title="actions", required=True, prog=parser.prog
    )
    up = actions.add_parser("up", help="start a lab", usage="%(prog)s [OPTIONS]")
    _add_up(up)
    run = actions.add_parser(
        "run", help="run an MPI program in a lab", usage="%(prog)s [OPTIONS] -- ./app args"
    )
    _add_run(run)
    status = actions.add_parser("status", help="show the labs that are up", usage="%(prog)s [OPTIONS]")
    down = actions.add_parser("down", help="end a lab, and all that runs in it", usage="%(prog)s [OPTIONS]")
    for each in (up, run, down):
        each.add_argument("--name", default="lab", help="name of the lab; default lab")
    status.add_argument("--name", help="show this lab only")
    add_json(status)
    validate = actions.add_parser(
        "validate",
        help="compare predictions of a program with measured runs",
        usage="%(prog)s [OPTIONS] -- ./app args",
    )
    lab_validate.add_arguments(validate)


def _add_up(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--nodes", type=int, default=4, metavar="N", help="number of nodes; default 4")
    parser.add_argument(
        "--cores", metavar="N", help="number of cores of each node; default 4, or as --node says"
    )
    parser.add_argument(
        "--rate",
        default="100mbit",
        help="rate of each node's interface in each direction, in kbit, mbit or gbit; default 100mbit",
    )
    parser.add_argument(
        "--node",
        action="append",
        default=[],
        metavar="TOPOLOGY",
        help="what a node is: hwloc synthetic description or XML file",
    )
    parser.add_argument(
        "--map",
        choices=("round-robin", "blocks"),
        default="round-robin",
        help="which cores share a PU of this machine, if it has fewer than the lab; default round-robin",
    )
    parser.add_argument(
        "--irq-core",
        type=int,
        metavar="K",
        help="core of each node that processes received packets (root only)",
    )
    parser.add_argument(
        "--switch",
        choices=("apart", "receiving"),
        help="with --irq-core: the emulated switch runs apart from the cores that receive (default), or on them",
    )


def _add_run(parser: argparse.ArgumentParser) -> None:
    from rankwise.cli.record import add_what

    parser.add_argument(
        "-n", "--ranks", type=int, metavar="N", help="number of ranks; default: one for each core"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--placement", metavar="FILE", help="where the ranks run: a placement file")
    where.add_argument(
        "--allocation",
        default="blocked",
        help="how ranks are distributed over nodes: blocked (default), cyclic or plane=K",
    )
    parser.add_argument(
        "--mpi",
        choices=("mpich", "openmpi"),
        help="MPI library whose mpiexec starts the program, if Rankwise does not find it",
    )
    parser.add_argument("--record", metavar="DIR", help="record the run in this directory")
    add_what(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write placement, interface counters and times as JSON"
    )
    parser.add_argument("-f", "--force", action="store_true", help="replace what is there")


def run(args: argparse.Namespace) -> int:
    """Do one action."""
    if args.action == "run":
        from rankwise.cli.lab_run import run as run_program

        try:
            return run_program(args)
        except RankwiseError as error:
            error.status = _FAILED if error.status == 1 else error.status
            raise
    if args.action == "validate":
        from rankwise.cli.lab_validate import run as validate

        return validate(args)
    if args.command is not None:
        raise RankwiseError(
            f"`rankwise lab {args.action}` takes no command after `--`",
            hint="run a program with `rankwise lab run -- ./app`",
            status=2,
        )
    return {"up": _up, "status": _status, "down": _down}[args.action](args)


def _up(args: argparse.Namespace) -> int:
    from rankwise.cli.terminal import Terminal
    from rankwise.lab.rate import parse_rate
    from rankwise.lab.state import option_of, remove_dead
    from rankwise.lab.up import bring_up, plan_lab
    from rankwise.machine.topology import describe

    terminal = Terminal(args)
    rate_bytes_per_s = parse_rate(args.rate)
    if len(args.node) > 1:
        raise _unequal(" and ".join(f"`{each}`" for each in args.node))
    node = describe(args.node[0]) if args.node else None
    cores = _cores(args.cores) if args.cores is not None else node.cores if node else 4
    plan = plan_lab(
        args.name,
        args.nodes,
        cores,
        rate_bytes_per_s,
        mapping=args.map,
        irq_core=args.irq_core,
        switch=args.switch,
        node=node,
    )
    for name in remove_dead():
        terminal.note(f"removed what was left of lab `{name}`, which was killed")
    lab = bring_up(plan)
    terminal.result(_summary(lab))
    if lab.receive_steering not in ("on", "off"):
        terminal.warning(
            f"core {lab.irq_core} will not process what its node receives: {lab.receive_steering}",
            "no-receive-steering",
            hint="as root the kernel allows it; without, leave `--irq-core` out",
        )
    terminal.next(f"rankwise lab run{option_of(lab.name)} -- ./app")
    return 0


def _cores(text: str) -> int:
    if "," in text:
        raise _unequal(f"`--cores {text}`")
    try:
        return int(text)
    except ValueError:
        raise RankwiseError(f"`{text}` is no number of cores", "for example `--cores 4`", status=2) from None


def _unequal(asked: str) -> RankwiseError:
    return RankwiseError(
        f"the nodes of a lab are all alike, so they cannot be {asked}",
        "machine files describe one kind of node; leave cores of larger nodes empty with `lab run --placement FILE`",
        status=2,
    )


def _status(args: argparse.Namespace) -> int:
    import msgspec

    from rankwise.cli.terminal import Terminal
    from rankwise.lab import state
    from rankwise.lab.counters import read_counters

    terminal = Terminal(args)
    for name in state.remove_dead():
        terminal.note(f"removed what was left of lab `{name}`, which was killed")
    labs = [state.load(name) for name in ([args.name] if args.name else state.running())]
    if args.json:
        shown = [
            msgspec.to_builtins(lab) | {"interfaces": msgspec.to_builtins(read_counters(lab))} for lab in labs
        ]
        terminal.json({"schema": "rankwise.labs/1", "labs": shown})
        return 0
    if not labs:
        terminal.result("no lab is up")
        terminal.next("rankwise lab up --nodes 4 --cores 4 --rate 100mbit")
    for lab in labs:
        terminal.result(_summary(lab))
        rows = [
            (node.host, node.address, " ".join(map(str, node.cores)), each.tx_bytes, each.rx_bytes)
            for node, each in zip(lab.nodes, read_counters(lab), strict=True)
        ]
        terminal.table(("node", "address", "host PU behind core 0 1 ...", "bytes sent", "received"), rows)
        terminal.next(f"rankwise lab run{state.option_of(lab.name)} -- ./app")
    return 0


def _down(args: argparse.Namespace) -> int:
    from rankwise.cli.terminal import Terminal
    from rankwise.lab.state import remove_dead
    from rankwise.lab.up import take_down

    terminal = Terminal(args)
    if args.name in remove_dead():
        terminal.result(f"lab `{args.name}` had been killed; removed what was left of it")
        return 0
    take_down(args.name)
    terminal.result(f"lab `{args.name}` is down")
    return 0


def _summary(lab: Lab) -> str:
    from rankwise.lab.rate import show_rate
    from rankwise.quantities import counted

    host_pus = {pu for node in lab.nodes for pu in node.cores}
    shared = f"on {counted(len(host_pus), 'PU')} of this host"
    nodes, cores = len(lab.nodes), lab.cores_per_node
    return (
        f"lab `{lab.name}`: {counted(nodes, 'node')} x {counted(cores, 'core')} {shared}, "
        f"{show_rate(lab.rate_bytes_per_s)} a node each way"
    )
