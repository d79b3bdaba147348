# SPDX-License-Identifier: BSD-3-Clause
"""The machines of the papers, and those that a study was asked to be made on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rankwise.machine import file as machine_file
from rankwise.machine.machine import Machine, topology_of
from rankwise.machine.topology import Topology
from rankwise.site_build import source_room
from rankwise.study.request import Request

BENSLEY = "bensley-infiniband-2007"
SINGLE_CORE = "xeon-single-core-2007"
MYRI_10G = "opteron-myri-10g-2008"
ETHERNET_A = "ten-gigabit-ethernet-a-2007"
ETHERNET_B = "ten-gigabit-ethernet-b-2007"
IWARP_A = "ten-gigabit-iwarp-a-2007"
IWARP_B = "ten-gigabit-iwarp-b-2007"
INFINIPATH = "infinipath-2006"
ELAN_4 = "elan-4-2006"
INFINIBAND = "infiniband-4x-2006"
XD1 = "cray-xd1-2006"
OF_PAPERS = frozenset(
    {
        BENSLEY,
        SINGLE_CORE,
        MYRI_10G,
        ETHERNET_A,
        ETHERNET_B,
        IWARP_A,
        IWARP_B,
        INFINIPATH,
        ELAN_4,
        INFINIBAND,
        XD1,
    }
)


@dataclass(frozen=True)
class Platform:
    """A machine of a study.

    Attributes:
        name: The file's name without its endings.
        machine: What the file says.
        topology: Its nodes.
        of_paper: Whether it ships as a machine of the papers, whose statements can be tested on it.
    """

    name: str
    machine: Machine
    topology: Topology
    of_paper: bool = False


@lru_cache(maxsize=32)
def shipped(name: str) -> Platform:
    """A machine that ships with Rankwise."""
    return _load(source_room("machines") / f"{name}.machine.toml", name)


def platforms(request: Request, *of_paper: str) -> list[Platform]:
    """The machines asked for, or else those of the paper.

    Raises:
        RankwiseError: A file cannot be read.
    """
    if not request.machines:
        return [shipped(name) for name in of_paper]
    return [_load(path, path.name.removesuffix(".machine.toml")) for path in request.machines]


def _load(path: Path, name: str) -> Platform:
    machine = machine_file.load(path)
    own = name in OF_PAPERS and path.resolve().parent == source_room("machines").resolve()
    return Platform(name, machine, topology_of(machine, path.parent), own)
