# SPDX-License-Identifier: BSD-3-Clause
"""One run of a program in a lab: checked, placed, launched, counted."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from rankwise.errors import RankwiseError
from rankwise.lab import usage
from rankwise.lab.choose_mpi import choose_launcher
from rankwise.lab.counters import InterfaceCounters, difference, read_counters
from rankwise.lab.launch import (
    FOREIGN_VARIABLES,
    check_launcher,
    launch_line,
    library_environment,
    preload_list,
)
from rankwise.lab.state import Lab, is_alive
from rankwise.launchers import check_placement, emit_placement, parse
from rankwise.launchers.detect import MpiOfProgram, find_program, mpi_of
from rankwise.launchers.execute import Ended, execute
from rankwise.launchers.library import expected_library
from rankwise.launchers.line import Launch, Launcher, LaunchLine, Segment
from rankwise.launchers.placed import CannotDeal
from rankwise.launchers.preload import merge
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology
from rankwise.placement.simple import allocate
from rankwise.record.library import REORDER, library_directory
from rankwise.record.usage import Usage
from rankwise.run import reorder
from rankwise.run.binding import Bound, Verification, compare, read, variables

HERE = Path(__file__).parent
_PYTHON = (sys.executable, "-I", "-S")


@dataclass(frozen=True)
class LabRun:
    """A run that was checked and can be started.

    Attributes:
        lab: Where.
        words: The program and its arguments.
        program: Its file.
        mpi: The MPI that it uses.
        launcher: What starts it.
        placement: Where its ranks run.
        becomes: Which rank each of the launcher's processes becomes, where it cannot deal ranks in their order.
    """

    lab: Lab
    words: list[str]
    program: str
    mpi: MpiOfProgram
    launcher: Launcher
    placement: Placement
    becomes: list[int] | None = None

    @property
    def dealt(self) -> Placement:
        """Where the launcher's processes run."""
        return self.placement if self.becomes is None else self.placement.renumbered(self.becomes)

    @property
    def mpi_library(self) -> str | None:
        """File of the MPI library that the program will use, as far as known."""
        line = LaunchLine(self.launcher, (Segment((), self.words[0], tuple(self.words[1:]), None),))
        return self.mpi.path or expected_library(line, [self.program], None)

    def line(self, plan: Path) -> LaunchLine:
        """The launch line before its ranks are placed; `plan` tells each rank its core and environment."""
        words = [*_PYTHON, str(HERE / "pin.py"), str(plan), *self.words]
        return launch_line(self.launcher, self.lab, words, self.placement.ranks)


@dataclass(frozen=True)
class RunResult:
    """How a run ended; what else there is to know of it is found out when it is asked for.

    Attributes:
        ended: How.
        prepared: What was run.
        before: Counters of the nodes' interfaces when it started.
        said: Where the ranks said where they are.
        counted: Where they said what processors and sleeps did to them.
    """

    ended: Ended
    prepared: LabRun
    before: list[InterfaceCounters]
    said: Path
    counted: Path

    def usage(self) -> Usage | None:
        """What processors and sleeps did to the run; `None` where not all ranks said."""
        return usage.read(self.counted, self.prepared.placement.ranks)

    def counters(self) -> list[InterfaceCounters]:
        """What the nodes' interfaces counted since it started.

        Raises:
            RankwiseError: The lab is no longer up.
        """
        lab = self.prepared.lab
        if not is_alive(lab.directory):
            raise RankwiseError(f"lab `{lab.name}` went down while `{self.prepared.words[0]}` ran in it")
        return difference(self.before, read_counters(lab))

    def verify(self) -> Verification:
        """Where the ranks were, beside where they should have been."""
        seats = [Bound(seat["host"], frozenset(seat["host_pus"])) for seat in _seats(self.prepared)]
        return compare(seats, read(self.said))


def place(lab: Lab, ranks: int | None, allocation: str) -> Placement:
    """A simple allocation of ranks, one a core, on the nodes of a lab.

    Args:
        lab: The lab.
        ranks: How many; one for each core of the lab if `None`.
        allocation: `blocked`, `cyclic` or `plane=K`.
    """
    ranks = lab.total_cores if ranks is None else ranks
    if ranks < 1:
        raise RankwiseError(f"a program has at least one rank, not `{ranks}`", hint="for example `-n 4`")
    if ranks > lab.total_cores:
        cores = f"{len(lab.nodes)} nodes of {lab.cores_per_node} cores"
        raise RankwiseError(
            f"`{ranks}` ranks do not fit on lab `{lab.name}`: {cores} have room for {lab.total_cores}",
            hint=f"use `-n {lab.total_cores}`, or a lab with more nodes or cores",
        )
    placement, _ = allocate(ranks, len(lab.nodes), lab.cores_per_node, lab.topology().nodes[0], allocation)
    return _named(placement, lab)


def adopt(placement: Placement, lab: Lab, ranks: int | None) -> Placement:
    """A placement from a file, checked against a lab; its nodes are the lab's by name, else the first in order."""
    names, hosts = list(placement.node_names), [node.host for node in lab.nodes]
    if len(names) > len(hosts):
        raise RankwiseError(
            f"the placement has {len(names)} nodes, lab `{lab.name}` has {len(hosts)}",
            hint=f"`rankwise lab up --name larger --nodes {len(names)}` brings one up that is large enough",
        )
    try:
        placement.check(Topology(lab.topology().nodes[: len(names)]))
    except RankwiseError as error:
        again = f"`rankwise measure --lab {lab.name} -o {lab.name}.machine.toml`, then `rankwise place` with that file"
        raise RankwiseError(error.message, hint=f"make one for lab `{lab.name}`: {again}") from None
    if ranks not in (None, placement.ranks):
        raise RankwiseError(
            f"the placement has {placement.ranks} ranks, but `-n {ranks}` was asked for",
            hint="leave `-n` out: the placement says how many ranks there are",
        )
    order = [hosts.index(name) for name in names] if set(names) <= set(hosts) else range(len(names))
    both = [(order[node], placement.cores_of(rank)) for rank, node in enumerate(placement.node.tolist())]
    return Placement.explicit(lab.topology(), both, hosts, placement.allocation)


def prepare(lab: Lab, words: list[str], placement: Placement, family: str | None = None) -> LabRun:
    """Check that a program can be run in a lab; starts and writes nothing.

    Args:
        lab: A lab that is up.
        words: The program and its arguments.
        placement: Where its ranks go.
        family: `mpich` or `openmpi` where the user says it.
    """
    line = parse(words)
    if line.launcher.kind != "none":
        application = [line.program or "./app", *line.segments[0].arguments]
        example = shlex.join(["rankwise", "lab", "run", "-n", str(line.ranks or 4), "--", *application])
        raise RankwiseError(
            f"`{words[0]}` is a launcher: the lab starts the ranks by its own", hint=f"`{example}`"
        )
    program = find_program(words[0])
    mpi = mpi_of(program, words[0])
    launcher = choose_launcher(program, mpi, family)
    check_launcher(launcher)
    prepared = LabRun(lab, words, program, mpi, launcher, placement)
    line = prepared.line(Path("run.json"))
    try:
        check_placement(line, placement, None, _inherited())
    except CannotDeal:
        prepared = replace(prepared, becomes=reorder.by_hosts(placement))
        check_placement(line, prepared.dealt, None, _inherited())
    return prepared


@contextmanager
def launching(prepared: LabRun, environment: Mapping[str, str] | None = None) -> Iterator[Launch]:
    """What to execute for a run; the files that the launcher reads are there inside the `with`.

    Args:
        prepared: What to run.
        environment: Variables for the ranks alone; LD_PRELOAD goes before one that is set.
    """
    with _scratch(prepared.lab) as directory:
        yield _launch(prepared, directory, dict(environment or {}))


@contextmanager
def running(
    prepared: LabRun, environment: Mapping[str, str] | None = None, untied: Callable[[], None] | None = None
) -> Iterator[RunResult]:
    """Run to the end with this process's streams; the arguments are those of `launching` and `execute`.

    What the ranks said is there inside the `with`.
    """
    with _scratch(prepared.lab) as directory:
        said, counted = directory / "said", directory / "counted"
        said.mkdir()
        counted.mkdir()
        telling, given = variables(said) | usage.variables(counted), dict(environment or {})
        preload = _preload(given.get("LD_PRELOAD"), telling["LD_PRELOAD"])
        launch = _launch(prepared, directory, telling | given | preload)
        before = read_counters(prepared.lab)
        yield RunResult(execute(launch, untied), prepared, before, said, counted)


@contextmanager
def _scratch(lab: Lab) -> Iterator[Path]:
    """A directory for the files of one run, which all nodes see."""
    directory = Path(tempfile.mkdtemp(prefix="run-", dir=lab.directory))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _seats(prepared: LabRun) -> list[dict[str, Any]]:
    """For each rank its host, its node and cores in the lab, and the PUs of this machine behind these."""
    nodes, placement = prepared.lab.nodes, prepared.placement
    seats = []
    for rank, at in enumerate(placement.node.tolist()):
        cores = placement.cores_of(rank)
        host_pus = sorted({nodes[at].cores[core] for core in cores})
        seats.append({"host": nodes[at].host, "node": at, "cores": cores, "host_pus": host_pus})
    return seats


def _launch(prepared: LabRun, directory: Path, environment: dict[str, str]) -> Launch:
    lab, seats = prepared.lab, _seats(prepared)
    if prepared.becomes is not None:
        environment |= _renumbering(prepared, directory, seats, environment.get("LD_PRELOAD"))
        seats = [seats[rank] for rank in prepared.becomes]
    environment |= _preload(environment.get("LD_PRELOAD"), preload_list())
    plan = directory / "run.json"
    plan.write_bytes(msgspec.json.encode({"ranks": seats, "environment": environment}))
    placed = emit_placement(prepared.line(plan), prepared.dealt, None, directory / "ranks", _inherited())
    inherited = os.environ.get("LD_PRELOAD")
    words = [*_PYTHON, str(HERE / "enter.py"), str(lab.directory / "lab.json"), "exec", lab.front.host]
    words += ["env", f"LD_PRELOAD={merge('LD_PRELOAD', preload_list(), inherited)}", *placed.words]
    family = prepared.launcher.family or "mpich"
    foreign = tuple(name for name in os.environ if name.startswith(FOREIGN_VARIABLES))
    return Launch(words, library_environment(family, os.environ), foreign)


def _renumbering(
    prepared: LabRun, directory: Path, seats: list[dict[str, Any]], preload: str | None
) -> dict[str, str]:
    """Variables of processes that find their ranks themselves; a recorder comes first, and sees these ranks."""
    plan = directory / "renumbered"
    where = [(seat["node"], seat["host_pus"]) for seat in seats]
    plan.write_text(reorder.order_text(prepared.placement.node_names, where), encoding="ascii")
    library = prepared.mpi_library
    return (
        _preload(preload, str(library_directory() / REORDER))
        | {"RANKWISE_REORDER": str(plan)}
        | ({"RANKWISE_MPI": library} if library else {})
    )


def _preload(first: str | None, last: str) -> dict[str, str]:
    return {"LD_PRELOAD": merge("LD_PRELOAD", first, last) if first else last}


def _inherited() -> dict[str, str]:
    """Our environment without that of a batch job or an outer MPI job."""
    return {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN_VARIABLES)}


def _named(placement: Placement, lab: Lab) -> Placement:
    return Placement(
        node_names=tuple(node.host for node in lab.nodes),
        topology_sha256=placement.topology_sha256,
        node=placement.node,
        core_start=placement.core_start,
        cores=placement.cores,
        allocation=placement.allocation,
    )
