# SPDX-License-Identifier: BSD-3-Clause
"""One placed run from the typed line to the comparison of where its ranks were."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path

from rankwise.errors import RankwiseError
from rankwise.launchers import Launch, LaunchLine, emit_environment, emit_placement, mpi_of, parse
from rankwise.launchers.detect import find_program
from rankwise.launchers.hosts import on_hosts
from rankwise.launchers.library import expected_library
from rankwise.launchers.placed import CannotDeal
from rankwise.machine.placement import Placement, for_another_kind
from rankwise.machine.topology import NodeTopology, Topology, describe, from_this_machine
from rankwise.placement.file import load
from rankwise.record import recording_run as recorder
from rankwise.run import reorder
from rankwise.run.binding import Verification, compare, planned, read, variables
from rankwise.run.directory import make_run_directory
from rankwise.scratch import remove_scratch


@dataclass(frozen=True)
class PlacedRun:
    """A placed run, about to start or ended.

    Attributes:
        line: As typed.
        placement: On hosts.
        nodes: The topology of each of its nodes.
        launch: What to execute.
        scratch: Holds the launcher's files, and what the ranks say of themselves; removed by `close`.
        recording: The recording made meanwhile, if one was asked for.
        renumbered: The ranks are renumbered inside the program.
    """

    line: LaunchLine
    placement: Placement
    nodes: list[NodeTopology]
    launch: Launch
    scratch: Path
    recording: recorder.RecordingRun | None
    renumbered: bool

    def verify(self) -> Verification:
        """Where the ranks were, beside where they should have been."""
        return compare(planned(self.placement, self.nodes), read(self.scratch / "ranks"))

    def abandon(self) -> None:
        """Take back the recording of a run that did not start."""
        if self.recording is not None:
            recorder.abandon(self.recording)

    def close(self) -> None:
        """Remove the files of this run."""
        remove_scratch(self.scratch)


def prepare(
    words: list[str],
    path: str,
    hosts: str | None,
    machine: str | None,
    node: str | None,
    request: recorder.Request | None,
    renumbered: bool = False,
    share_cores: bool = False,
) -> PlacedRun:
    """Check everything that can be checked, write the launcher's files, and say what to execute.

    Args:
        words: The launch line, not empty.
        path: The placement file.
        hosts: Hosts of the placement's nodes, separated by commas, where they are not found rightly.
        machine: The machine file that the placement was made for, if its nodes differ from this one.
        node: The same as an hwloc XML file or synthetic description.
        request: Of a recording to be made as well.
        renumbered: The launcher starts the ranks as it likes; they are renumbered, and bind themselves. So they are
            where the launcher cannot deal ranks in the order of the placement.
        share_cores: Several ranks may be placed on a core.

    Raises:
        RankwiseError: It cannot be run so; nothing was started, and nothing is left.
    """
    line = parse(words)
    if renumbered:
        placement = reorder.with_hosts(load(path), hosts)
        reorder.check(line, placement)
    else:
        placement = on_hosts(load(path), line, hosts, os.environ)
    nodes = topologies(placement, machine, node)
    placement.check(Topology(tuple(nodes)))
    if not share_cores:
        _check_own_cores(placement)
    _check_this_host(placement, nodes)
    programs = []
    for segment in line.segments:
        moved = segment.last("wdir", "wd", "chdir")
        if segment.program is not None:
            place = moved.values[0] if moved and moved.values else None
            programs.append(find_program(segment.program, place))
    scratch = make_run_directory()
    try:
        placed = line
        if not renumbered:
            try:
                placed = parse(emit_placement(line, placement, nodes, scratch / "placement").words)
            except CannotDeal:
                reorder.check(line, placement)
                dealt = placement.renumbered(reorder.by_hosts(placement))
                placed = parse(emit_placement(line, dealt, nodes, scratch / "placement").words)
                renumbered = True
        if renumbered:
            library = next((mpi_of(each).path for each in programs), None)
            library = library or expected_library(line, programs, None)
            asked = reorder.variables(_plan(placement, nodes, scratch), scratch / "ranks", library)
        else:
            asked = variables(scratch / "ranks")
            if line.launcher.kind == "srun":
                asked |= {"RANKWISE_PIN": str(_plan(placement, nodes, scratch))}
        launch = emit_environment(placed, asked)
        recording = None
        if request is not None:
            # The recorder is preloaded before the library that renumbers, and sees the ranks as the program does.
            recording = recorder.prepare_with(launch, words, request)
            launch = recording.launch
    except BaseException:
        remove_scratch(scratch)
        raise
    return PlacedRun(line, placement, nodes, launch, scratch, recording, renumbered)


def _plan(placement: Placement, nodes: list[NodeTopology], scratch: Path) -> Path:
    """The file in which ranks that bind themselves find where."""
    path = scratch / "plan"
    path.write_text(reorder.order_of(placement, nodes), encoding="ascii")
    return path


def topologies(placement: Placement, machine: str | None, node: str | None) -> list[NodeTopology]:
    """The topology of each node of a placement: that of the machine it was made for, or of this host.

    Raises:
        RankwiseError: The placement was made for nodes of another kind.
    """
    if machine is not None:
        from rankwise.machine.file import load as load_machine
        from rankwise.machine.machine import topology_of

        described = load_machine(machine)
        if described.node.host_cores is not None:
            raise RankwiseError(
                f"`{machine}` describes an emulated machine, whose nodes exist in the lab only",
                "run it there: `rankwise lab run --placement ... -- ./app`",
            )
        kinds, called = topology_of(described, Path(machine).parent).nodes, f"in `{machine}`"
    elif node is not None:
        kinds, called = (describe(node),), "in `--node`"
    else:
        kinds, called = (from_this_machine(),), "this host"
    known = {kind.sha256: kind for kind in kinds}
    named = zip(placement.node_names, placement.topology_sha256, strict=True)
    if others := [name for name, wanted in named if wanted not in known]:
        raise RankwiseError(
            for_another_kind(others, called, {kind.kind for kind in kinds}),
            "describe the node that it was made for, for example `--node 'package:2 core:2'`, or name its machine "
            "file with `--machine FILE`",
        )
    return [known[wanted] for wanted in placement.topology_sha256]


def _check_own_cores(placement: Placement) -> None:
    """Ranks that share a core run at half their speed or less, which is seldom meant."""
    if placement.injective:
        return
    taken: dict[tuple[int, int], int] = {}
    for rank, node in enumerate(placement.node.tolist()):
        for core in placement.cores_of(rank):
            if (other := taken.setdefault((node, core), rank)) != rank:
                raise RankwiseError(
                    f"ranks {other} and {rank} are both placed on core {core} of `{placement.node_names[node]}`",
                    "give each rank cores of its own, or allow it with `--share-cores`",
                )


def _check_this_host(placement: Placement, nodes: list[NodeTopology]) -> None:
    """A placement that uses this host must find its cores here, and be allowed to use them."""
    here = socket.gethostname()
    if here not in placement.node_names:
        return
    index = placement.node_names.index(here)
    usable = from_this_machine().allowed
    for rank in (placement.node == index).nonzero()[0].tolist():
        for core in placement.cores_of(rank):
            lacking = [pu for pu in nodes[index].pus[core] if usable and pu not in usable]
            if lacking:
                raise RankwiseError(
                    f"rank {rank} is placed on core {core}, whose PU {lacking[0]} `{here}` does not have "
                    "or this job may not use",
                    "ask the batch system for whole nodes, or make a placement for what there is",
                )
