# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise workloads NAME --trace`: a recording of a workload that does not run."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from rankwise.generated.recording import Ran
    from rankwise.machine.machine import Machine
    from rankwise.machine.placement import Placement
    from rankwise.machine.topology import Topology

OPERATIONS_PER_S = 1e9


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what goes with `--trace`."""
    from rankwise.cli.parsing import flops_per_s

    group = parser.add_argument_group("a recording of it, without running it")
    group.add_argument(
        "--trace",
        action="store_true",
        help="write a recording without running the program; its times are predicted",
    )
    group.add_argument(
        "-o", "--output", metavar="DIR", help="the recording, such as cg.rw; default NAME.CLASS.Nr.rw"
    )
    group.add_argument("-f", "--force", action="store_true", help="replace what is there")
    machine = "machine file for the times; default: one node on which messages take no time"
    group.add_argument("--machine", metavar="FILE", help=machine)
    group.add_argument("--placement", metavar="FILE", help="where the ranks are; default: blocked")
    rate = "floating-point operations per second of a core, such as 2.5Gf; default 1Gf"
    group.add_argument("--flops", type=flops_per_s, metavar="RATE", help=rate)
    kernels = "file with the cost of computing kernels (formats/kernels.md); default: as --flops says"
    group.add_argument("--kernels", metavar="FILE", help=kernels)
    library = "MPI library whose collective algorithms are used: mpich (default) or openmpi"
    group.add_argument("--library", choices=("mpich", "openmpi"), metavar="MPI", help=library)


def given(args: argparse.Namespace) -> list[str]:
    """The options that are given and go with `--trace` alone."""
    names = ("output", "force", "machine", "placement", "flops", "library", "kernels")
    return [f"--{name}" for name in names if getattr(args, name)]


def run(args: argparse.Namespace) -> int:
    """Write the recording."""
    from pathlib import Path
    from shlex import quote

    from rankwise.cli.terminal import Terminal
    from rankwise.generated.recording import STEPS, generate
    from rankwise.workloads import program

    terminal = Terminal(args)
    chosen = program(args.name, args.problem_class, args.ranks, args.iterations, args.own)
    name = ".".join(filter(None, (args.name, args.problem_class, f"{args.ranks}r", "rw")))
    path = Path(args.output or name)
    with terminal.progress("recording", STEPS * args.ranks) as update:
        generate(chosen, _ran(args), path, ["rankwise", *sys.argv[1:]], args.force, update)
    terminal.wrote(path)
    terminal.next(f"rankwise report {quote(str(path))}")
    return 0


def _ran(args: argparse.Namespace) -> Ran:
    from pathlib import Path

    from rankwise.generated import ideal
    from rankwise.generated.recording import Ran
    from rankwise.machine.file import load
    from rankwise.machine.machine import topology_of
    from rankwise.workloads import kernel_costs

    machine = load(args.machine) if args.machine else ideal.machine(args.ranks)
    directory = Path(args.machine).parent if args.machine else Path(".")
    topology = topology_of(machine, directory)
    placement = _placement(args, machine, topology)
    return Ran(
        machine,
        topology,
        placement,
        args.flops or OPERATIONS_PER_S,
        library=args.library or "mpich",
        kernels=kernel_costs.load(Path(args.kernels)) if args.kernels else None,
    )


def _placement(args: argparse.Namespace, machine: Machine, topology: Topology) -> Placement:
    """As asked for, or the first cores of the first nodes."""
    from rankwise.machine.placement import Placement
    from rankwise.placement.file import load
    from rankwise.quantities import counted

    if args.placement:
        return load(args.placement)
    seats = [(node, [core]) for node, of in enumerate(topology.nodes) for core in range(of.cores)]
    if args.ranks > len(seats):
        raise RankwiseError(
            f"`{machine.name}` has {counted(len(seats), 'core')}, not `{args.ranks}` for as many ranks",
            "name a machine file of more nodes (`node.count`), or a `--placement` in which ranks share cores",
        )
    return Placement.explicit(topology, seats[: args.ranks], allocation="blocked")
