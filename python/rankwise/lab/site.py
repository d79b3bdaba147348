# SPDX-License-Identifier: BSD-3-Clause
"""The nodes of a lab: emulated hosts on this machine, whose cores stand for the machine's own."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rankwise import site_build
from rankwise.errors import RankwiseError
from rankwise.lab import run as lab_run
from rankwise.lab.counters import COUNTERS
from rankwise.lab.state import Lab
from rankwise.machine.machine import Waiting
from rankwise.machine.topology import NodeTopology
from rankwise.measure.node_text import synthetic_of
from rankwise.measure.samples import Launch
from rankwise.measure.site import Site, build, numbers


class LabSite(Site):
    """A lab that is up, one rank on each of its cores.

    Args:
        lab: The lab.
        words: The launcher whose MPI is measured; none for that of the `mpicc` on PATH.
    """

    waiting: Waiting = "yield"  # the lab sets the libraries so

    def __init__(self, lab: Lab, words: Sequence[str] = ()):
        super().__init__(words)
        self.lab = lab
        self._environment: dict[str, str] | None = None

    @property
    def description(self) -> str:
        """The lab, for people."""
        return f"lab {self.lab.name}, one rank a core"

    def prepare(self) -> None:
        """Compile the microbenchmarks for the MPI that was asked for.

        Raises:
            RankwiseError: There is one core only, or the nodes are of a kind that a machine file cannot describe.
        """
        if sum(len(node.cores) for node in self.lab.nodes) < 2:
            raise RankwiseError(
                f"lab `{self.lab.name}` has one core, whose rank has nobody to talk to",
                f"bring up one with more: `rankwise lab up --name {self.lab.name} --nodes 2 --cores 1`, after "
                f"`rankwise lab down --name {self.lab.name}`",
            )
        if synthetic_of(self.lab.topology().nodes[0]) is None:
            raise RankwiseError(
                f"the nodes of lab `{self.lab.name}` are too irregular for hwloc's synthetic descriptions, and a "
                "machine file has no other way to describe emulated nodes",
                "bring up one with `--node 'package:2 core:4'` or the like",
            )
        self.program = build(site_build.find_mpicc(self.words[0] if self.words else None))

    @contextmanager
    def command(self, arguments: Sequence[str]) -> Iterator[list[str]]:
        """The whole command of one launch; the launcher's host file is there inside the `with`."""
        placement = lab_run.place(self.lab, None, "blocked")
        prepared = lab_run.prepare(self.lab, [str(self.program), *arguments], placement)
        with lab_run.launching(prepared, {"RANKWISE_HELPERS": str(self.lab.directory / COUNTERS)}) as launch:
            self._environment = launch.environment_of_first(os.environ)
            yield launch.words

    def environment(self) -> dict[str, str] | None:
        """Ours, less what belongs to another job, with the lab's settings of the library."""
        return self._environment

    def topologies(self, census: Launch) -> tuple[dict[str, NodeTopology], list[str]]:
        """The topology that the lab's nodes are meant to have."""
        node = self.lab.topology().nodes[0]
        return {about["host"]: node for about in census.ranks.values()}, []

    def cores(self, node: NodeTopology, about: dict[str, str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The rank's virtual core, and the PU of this machine behind it."""
        return tuple(numbers(about["lab_cores"]))[:1], tuple(numbers(about["allowed"]))[:1]

    def host_cores(self) -> list[list[int]]:
        """The map of the lab: many cores of nodes to one PU of this machine."""
        return [list(node.cores) for node in self.lab.nodes]

    @property
    def lab_rate_bytes_per_s(self) -> float | None:
        """Of the lab."""
        return self.lab.rate_bytes_per_s

    def same_machine(self, one: str, other: str) -> bool:
        """All nodes of a lab are this machine."""
        return True
