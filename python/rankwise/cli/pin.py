# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise pin`: become the program on the cores of this rank, for launchers that put ranks on hosts only."""

from __future__ import annotations

import argparse
import os

from rankwise.errors import RankwiseError

HELP = "bind a rank to its cores and start the program; stands between a launcher and the program"
COMMAND = "./app args"
FAILURE_STATUS = 125
# The rank as launchers tell it, the narrowest first: mpiexec may run inside a step of srun.
_VARIABLES = (
    "OMPI_COMM_WORLD_RANK",
    "PMI_RANK",
    "PMIX_RANK",
    "FLUX_TASK_RANK",
    "PALS_RANKID",
    "JSM_NAMESPACE_RANK",
    "SLURM_PROCID",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    from rankwise.cli.parsing import add_nodes

    parser.add_argument("--placement", "-p", required=True, metavar="FILE", help="the placement file")
    add_nodes(parser)


def run(args: argparse.Namespace) -> int:
    """Bind this process and become the program; returns only by raising."""
    from rankwise.placement.file import load
    from rankwise.run.placed_run import topologies

    if not args.command:
        hint = "put it after `--`, for example `srun ... rankwise pin -p P.placement.json -- ./app`"
        raise RankwiseError("no program to start", hint=hint, status=FAILURE_STATUS)
    placement = load(args.placement)
    rank = _rank(placement.ranks)
    node = topologies(placement, args.machine, args.node)[placement.node[rank]]
    pus = [pu for core in placement.cores_of(rank) for pu in node.pus[core]]
    try:
        os.sched_setaffinity(0, pus)
    except OSError as error:
        raise RankwiseError(
            f"rank {rank} cannot be bound to PUs {', '.join(map(str, pus))}: {(error.strerror or '').lower()}",
            "ask the batch system for whole nodes, and the launcher not to bind (`--cpu-bind=none`)",
            status=FAILURE_STATUS,
        ) from None
    try:
        os.execvp(args.command[0], args.command)
    except OSError as error:
        status = 127 if isinstance(error, FileNotFoundError) else 126
        raise RankwiseError(
            f"`{args.command[0]}` cannot be started: {(error.strerror or '').lower()}",
            "check its name",
            status=status,
        ) from None


def _rank(ranks: int) -> int:
    name = next((name for name in _VARIABLES if os.environ.get(name, "").isdigit()), None)
    if name is None:
        raise RankwiseError(
            f"no launcher says which rank this is: none of {', '.join(_VARIABLES)} is set",
            "put `rankwise pin` behind the launcher: `srun -n 16 rankwise pin -p P.placement.json -- ./app`",
            status=FAILURE_STATUS,
        )
    rank = int(os.environ[name])
    if rank >= ranks:
        raise RankwiseError(
            f"this is rank {rank} (`{name}`), the placement has {ranks} ranks",
            "start as many ranks as the placement has",
            status=FAILURE_STATUS,
        )
    return rank
