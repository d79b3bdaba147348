# SPDX-License-Identifier: BSD-3-Clause
"""Cases in a lab: one of the study's own, or the user's."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import msgspec

from rankwise.lab import run as lab_run
from rankwise.lab import state
from rankwise.lab.own_lab import own_lab, own_name, remove_orphans
from rankwise.lab.site import LabSite
from rankwise.lab.up import plan_lab
from rankwise.lab.validation.measured_run import run_case
from rankwise.machine.file import load
from rankwise.machine.machine import Machine, topology_of
from rankwise.machine.nodes import Node
from rankwise.machine.placement import Placement
from rankwise.machine.topology import from_synthetic
from rankwise.measure.measurement import Measurement
from rankwise.measure.node_text import synthetic_of
from rankwise.measure.outcome import write
from rankwise.measure.site import Site
from rankwise.measure.steps import effort
from rankwise.run.timed_run import Made
from rankwise.study.cases import Case
from rankwise.study.platforms import Platform
from rankwise.study.request import Request
from rankwise.study.run.programs import words_of

NODE = "package:2 core:2 pu:1"
"""A node of the papers: two chips of two cores."""

MOST_NODES = 16
COMPUTATION = 0.01
"""Share of a benchmark's operations that are done where ranks share this machine's cores, as its program's default."""

RATE_BYTES_PER_S = 12.5e6
"""Of each node's interface: 100 Mbit/s, as `rankwise lab up` has."""


@dataclass(frozen=True)
class StudyLab:
    """A lab that is up.

    Attributes:
        lab: It.
        directory: Where its machine file is kept, if anywhere.
    """

    lab: state.Lab
    directory: Path | None

    @classmethod
    def of(cls, request: Request, stack: ExitStack) -> StudyLab:
        """The lab that was asked for, or one that is taken down when `stack` is closed.

        Raises:
            RankwiseError: It is not up, or cannot be brought up.
        """
        if request.lab is not None:
            return cls(state.load(request.lab), request.directory)
        remove_orphans()
        nodes = min(request.ranks or MOST_NODES, MOST_NODES)
        node = from_synthetic(NODE)
        planned = plan_lab(own_name("study"), max(nodes, 2), node.cores, RATE_BYTES_PER_S, node=node)
        return cls(stack.enter_context(own_lab(planned)), request.directory)

    def platform(self) -> Platform:
        """Its nodes."""
        topology = self.lab.topology()
        node = Node(count=len(self.lab.nodes), topology=synthetic_of(topology.nodes[0]))
        return Platform("lab", Machine("rankwise.machine/1", "lab", node), topology)

    def words(self, case: Case) -> list[str]:
        """The program of a case with its arguments."""
        return words_of(case, share=COMPUTATION if case.program.problem_class else 1.0)

    def run(self, words: list[str], placement: Placement, path: Path, limit_s: float) -> Made:
        """One recorded run.

        Raises:
            RunFailedError: It did not end well in time.
            RankwiseError: It cannot be run here.
        """
        prepared = lab_run.prepare(self.lab, words, lab_run.adopt(placement, self.lab, None))
        return run_case(prepared, {}, path, False, limit_s)

    def measured(self) -> Platform:
        """Its machine, measured in a minute; what is kept from before is taken.

        Raises:
            RankwiseError: It cannot be measured.
        """
        return measured(LabSite(self.lab), self.directory, "lab")


def measured(site: Site, directory: Path | None, name: str) -> Platform:
    """A site's machine file, written to the study's directory unless it is there.

    Args:
        site: What is measured.
        directory: The study's; `None`: it is kept nowhere.
        name: Of the platform.

    Raises:
        RankwiseError: It cannot be measured.
    """
    from rankwise.scratch import scratch

    with ExitStack() as stack:
        place = directory or stack.enter_context(scratch("study"))
        place.mkdir(parents=True, exist_ok=True)
        path = place / f"{name}.machine.toml"
        if not path.exists():
            measurement = Measurement(site, effort(True, None))
            measurement.prepare()
            measurement.measure(lambda done, total, now: None)
            if measurement.interrupted:
                raise KeyboardInterrupt
            write(measurement, path, anyway=True)
        machine = load(path)
        return Platform(name, msgspec.structs.replace(machine, name=name), topology_of(machine, place))
