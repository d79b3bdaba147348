# SPDX-License-Identifier: BSD-3-Clause
"""Placing ranks with srun: a host a rank; each rank binds itself as it starts (`record/placement/binding.c`).

`--cpu-bind=map_cpu` has one list for all nodes, which a node's n-th task takes the n-th entry of (seen with 22.05), so
it cannot say most placements, and a core of several PUs not at all.
"""

from __future__ import annotations

from collections.abc import Mapping

from rankwise.launchers import placed
from rankwise.launchers.line import LaunchLine
from rankwise.launchers.placed import Emitted, Placing

SUFFIXES = (".hosts",)
CONFLICTING = """
    distribution m nodelist w nodefile cpu-bind cpu_bind ntasks-per-node ntasks-per-core ntasks-per-socket relative
    exclude x constraint C multi-prog
"""
_CONFLICTING_VARIABLES = ("SLURM_HOSTFILE",)


def refuse(line: LaunchLine, inherited: Mapping[str, str]) -> None:
    """Raise if the environment places ranks."""
    for name in _CONFLICTING_VARIABLES:
        if name in inherited:
            raise placed.conflict(f"{name}={inherited[name]}")


def emit(placing: Placing) -> Emitted:
    """Arbitrary distribution along a list of hosts; a name with a slash is that of a file."""
    by_host = placing.by_host
    hosts = placing.file(SUFFIXES[0]).absolute()
    options = [[f"--nodelist={hosts}"], ["--distribution=arbitrary"], ["--cpu-bind=none"]]
    return Emitted(options, {hosts: [by_host.hosts[at] for at in by_host.of_rank]})
