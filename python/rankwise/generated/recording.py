# SPDX-License-Identifier: BSD-3-Clause
"""A recording of a workload that did not run: its calls, as long as a replay says that they take."""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

import rankwise
from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.explain.explanation import explain
from rankwise.generated import node_file, relays, tables
from rankwise.generated.calls import Calls
from rankwise.generated.times import Replayed, by_rank, times_of
from rankwise.machine.machine import Machine
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology
from rankwise.quantities import counted
from rankwise.record import directory
from rankwise.record.manifest import Generated, LauncherUsed, Manifest, MpiFound, write
from rankwise.recording import layouts
from rankwise.replay.predictor import Predictor
from rankwise.schedule.source import load
from rankwise.workloads.catalogue import workload
from rankwise.workloads.generate import Groups
from rankwise.workloads.kernel_costs import KernelCosts, costed
from rankwise.workloads.program import Program
from rankwise.workloads.schedule import schedule
from rankwise.workloads.size import MOST_RECORDED, check_size

TICK_S = 1e-12
STEPS = 3  # each rank is looked at, written without times and written with them
# So much before MPI_Init clocks and ticks are read the first time: their relation is exact.
_BEFORE_PS = 10**12
_PS_IN_NS = 1000
_FLAVOURS = {"mpich": layouts.MPI_MPICH, "openmpi": layouts.MPI_OPENMPI}
_MEMORY_BYTES = 1 << 40  # the schedule is needed as a whole


@dataclass(frozen=True)
class Ran:
    """What a workload is taken to have run on.

    Attributes:
        machine: Says how long calls take.
        topology: Its nodes.
        placement: Where its ranks are.
        operations_per_s: Floating-point operations a second of a core.
        computation: Share of the original's operations that are done.
        library: Whose collective algorithms, `mpich` or `openmpi`.
        kernels: What computing kernels cost instead of their operations.
    """

    machine: Machine
    topology: Topology
    placement: Placement
    operations_per_s: float = 1e9
    computation: float = 1.0
    library: Literal["mpich", "openmpi"] = "mpich"
    kernels: KernelCosts | None = None

    @property
    def terms(self) -> dict[str, np.ndarray]:
        """Of each kernel that has a cost, as `rankwise.workloads.schedule` takes them."""
        if self.kernels is None:
            return {}
        where = self.placement.node.tolist()
        cores = [int(self.placement.cores_of(rank)[0]) for rank in range(len(where))]
        package = [self.topology.nodes[node].packages[core] for node, core in zip(where, cores, strict=True)]
        return self.kernels.terms(np.asarray(where), np.array(package))

    @property
    def seconds_per_operation(self) -> float:
        """Of what is done, for each of the original's."""
        return self.computation / self.operations_per_s


def generate(
    program: Program,
    ran: Ran,
    path: Path,
    command: list[str],
    replace: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> None:
    """Write a recording with an exact trace.

    Where calls depend on time (messages that are passed on when they are found), they are those of a replay of the
    program. Computation takes as long as its operations at the given rate, calls as long as a replay of the recording's
    own schedule on the machine says. So a prediction for this machine and placement gives the recorded time.

    Args:
        program: The workload.
        ran: What it is taken to have run on.
        path: The recording's directory, which is made.
        command: What asked for it.
        replace: Take the place of a recording that is there.
        progress: Called with the number of steps done; `STEPS` for each rank.

    Raises:
        RankwiseError: The placement does not fit the program or the machine, the program sends too much to be held in
            memory (`check_size`), or the directory cannot be made.
    """
    run = directory.new_run()
    writer = _Writer(program, ran, path, run, progress)
    writer.survey()
    claim = directory.create(path, replace, run)
    try:
        writer.write(command)
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise
    finally:
        if claim.lock is not None:
            os.close(claim.lock)


@dataclass
class _Writer:
    program: Program
    ran: Ran
    path: Path
    run: str
    progress: Callable[[int], None]
    done: int = 0
    groups: Groups = field(default_factory=Groups)
    colors: list[dict[int, int]] = field(default_factory=list)
    terms: dict[str, np.ndarray] = field(default_factory=dict)
    settle: Callable[[int, relays.Events], relays.Events] = lambda rank, events: events

    def survey(self) -> None:
        """Check what can be checked before anything is written, and find the communicators."""
        ranks, placement = self.program.ranks, self.ran.placement
        if placement.ranks != ranks:
            raise RankwiseError(
                f"the placement has {counted(placement.ranks, 'rank')}, the program has {ranks}",
                "make a placement for as many ranks, or leave it out",
            )
        placement.check(Topology(self.ran.topology.nodes[: len(placement.node_names)]))
        check_size(self.program, MOST_RECORDED)
        self.terms = self.ran.terms
        depends_on_time = False
        for rank, events in self.program.each_rank():
            depends_on_time = depends_on_time or relays.passes_on(events)
            self.colors.append(self.groups.add(rank, events))
            self._step()
        if depends_on_time:
            ran = self.ran
            own = schedule(self.program, ran.operations_per_s, ran.library, ran.computation, self.terms)
            self.settle = relays.settled(own, ran.machine, ran.topology, placement, ran.seconds_per_operation)

    def _step(self) -> None:
        self.done += 1
        self.progress(self.done)

    def write(self, command: list[str]) -> None:
        # First with calls of no time: what is replayed is what a reader makes of the recording.
        self._write_files(lambda calls: (calls.gap_ps, np.zeros(len(calls.call), dtype=np.int64)))
        self._write_manifest(command, 0.0)
        replayed = self._replay()
        longest = self._write_files(lambda calls: times_of(calls, replayed(calls.rank)))
        self._write_manifest(command, longest * TICK_S)

    def _replay(self) -> Callable[[int], Replayed]:
        ran, source = self.ran, load(self.path, memory_bytes=_MEMORY_BYTES)
        predictor = Predictor.of(source, ran.machine, ran.topology, plain=True)
        predictor = predictor.in_canonical_order(ran.placement)
        schedule = predictor.schedules.in_order_on(ran.placement)
        assert isinstance(schedule, _core.schedule.Schedule)
        return by_rank(explain(predictor, ran.placement).timeline, schedule.origin)

    def _write_files(self, times: Callable[[Calls], tuple[np.ndarray, np.ndarray]]) -> int:
        """Write all nodes' files; `times` gives each call's computation before it and its time.

        Returns:
            How long the longest rank ran, in picoseconds.
        """
        longest = 0

        def records(node: int) -> Iterator[node_file.RankRecord]:
            nonlocal longest
            for rank in np.flatnonzero(self.ran.placement.node == node).tolist():
                calls = self._calls(rank)
                gaps, durations = times(calls)
                longest = max(longest, int(gaps.sum() + durations.sum()))
                yield self._record(calls, gaps, durations)
                self._step()

        for node in np.unique(self.ran.placement.node).tolist():
            name = f"{self.ran.placement.node_names[node]}.{node}.{self.run[:8]}.rwn"
            node_file.write(self.path / "raw" / name, self.run, records(node))
        return longest

    def _calls(self, rank: int) -> Calls:
        world = self.program.ranks
        members = {
            group: np.array(self.groups.ranks(group, color, world))
            for group, color in [(0, 0), *self.colors[rank].items()]
        }
        events = costed(self.program.events(rank), self.terms, rank, self.ran.operations_per_s)
        events = self.settle(rank, events)
        return Calls.of(rank, events, members, self.ran.seconds_per_operation)

    def _record(self, calls: Calls, gaps: np.ndarray, durations: np.ndarray) -> node_file.RankRecord:
        shapes, of = calls.shapes()
        return node_file.RankRecord(
            head=self._head(calls.rank, int(gaps.sum() + durations[:-1].sum())),
            calls=tables.totals(calls, durations),
            peers=tables.peers(calls),
            collectives=tables.collectives(calls, durations),
            communicators=tables.communicators(calls),
            histograms=tables.histograms(calls, durations),
            events=_core.trace.pack(shapes, of, gaps.astype(np.uint64), durations.astype(np.uint64)),
        )

    def _head(self, rank: int, run_ps: int) -> np.ndarray:
        placement = self.ran.placement
        node = self.ran.topology.nodes[placement.node[rank]]
        pus = [pu for core in placement.cores_of(rank) for pu in node.pus[core]]
        last_ns = (_BEFORE_PS + run_ps) // _PS_IN_NS + 1
        head = np.zeros((), layouts.RANK)
        values = {
            "world_rank": rank,
            "world_size": self.program.ranks,
            "pid": rank + 1,
            "flavour": _FLAVOURS[self.ran.library],
            "flags": layouts.FINALIZED | layouts.TRACED,
            "cpu_at_start": pus[0],
            "last_ticks": last_ns * _PS_IN_NS,
            "last_monotonic_ns": last_ns,
            "last_realtime_ns": last_ns,
            "init_ticks": _BEFORE_PS,
            "finalize_ticks": _BEFORE_PS + run_ps,
            "host": placement.node_names[placement.node[rank]].encode(),
            "mpi_version": f"no MPI, collectives as of {'MPICH' if self.ran.library == 'mpich' else 'Open MPI'}",
            "executable": self.program.name.encode(),
            "trace_coding": layouts.TRACE_EXACT,
        }
        for name, value in values.items():
            head[name] = value
        for pu in pus:
            head["affinity"][pu // 64] |= np.uint64(1 << pu % 64)
        return head

    def _write_manifest(self, command: list[str], time_s: float) -> None:
        ran, program = self.ran, self.program
        used = np.unique(ran.placement.node).tolist()
        generated = Generated(
            workload=program.name,
            problem_class=program.problem_class if program.problem_class != "-" else None,
            options={
                option.name: option.text(value)
                for option, value in zip(workload(program.name).options, program.options, strict=True)
                if value != option.usual
            },
            iterations=program.iterations,
            machine=ran.machine.name,
            operations_per_s=float(ran.operations_per_s),
            computation=ran.computation,
            library=ran.library,
            nodes={ran.placement.node_names[node]: ran.topology.nodes[node].to_dict() for node in used},
        )
        now = time.time()
        manifest = Manifest(
            rankwise=rankwise.__version__,
            command=command,
            directory=os.getcwd(),
            host=socket.gethostname(),
            ranks=program.ranks,
            programs=[program.name],
            launcher=LauncherUsed("none", "none", None, None),
            mpi=MpiFound(ran.library, None, None, "generated, not measured"),
            trace=True,
            job=None,
            start_s=now,
            end_s=now + time_s,
            run=self.run,
            generated=generated,
        )
        write(manifest, self.path)
