# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise place --format`: the best placement as the files of a launcher, and the line that uses them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from pathlib import Path

    from rankwise.launchers.line import LaunchLine
    from rankwise.machine.file import Machine
    from rankwise.machine.topology import Topology
    from rankwise.placement.placement import Placement

FORMATS = {"hydra": "hydra", "openmpi4": "orterun", "openmpi5": "prterun"}
_SUFFIX = ".placement.json"


@dataclass(frozen=True)
class Format:
    """A launcher's form of a placement about to be found; everything that can be checked was."""

    line: LaunchLine
    hosts: tuple[str, ...]
    topology: Topology
    stem: Path

    @classmethod
    def prepare(
        cls, name: str, hosts: str | None, machine: Machine, topology: Topology, output: Path, force: bool
    ) -> Format:
        """Check what can be checked before the search.

        Args:
            name: One of FORMATS.
            hosts: Hosts of the nodes, separated by commas, if the user names them.
            machine: What the placement is made for.
            topology: Its nodes.
            output: The placement file; the launcher's files go beside it.
            force: Replace files that are there.

        Raises:
            RankwiseError: The hosts are not known, or a file is there already.
        """
        from rankwise.launchers import place_hydra, place_openmpi
        from rankwise.launchers.hosts import on_hosts
        from rankwise.launchers.line import Launcher, LaunchLine, Segment
        from rankwise.placement.placement import Placement, default_names

        if machine.node.host_cores is not None:
            raise RankwiseError(
                f"`{machine.name}` is an emulated machine, whose nodes exist in the lab only",
                "leave `--format` out, and run in the lab: `rankwise lab run --placement ... -- ./app`",
            )
        line = LaunchLine(Launcher(FORMATS[name], "mpiexec"), (Segment((), "./app", (), None),))
        sha256 = tuple(node.sha256 for node in topology.nodes)
        nobody = Placement(default_names(len(sha256)), sha256, [], [0], [])
        named = on_hosts(nobody, line, hosts, os.environ).node_names
        stem = output.with_name(output.name.removesuffix(_SUFFIX).removesuffix(".json"))
        for suffix in (place_hydra if name == "hydra" else place_openmpi).SUFFIXES:
            if os.path.lexists(file := f"{stem}{suffix}") and not force:
                hint = "use `--force` to replace it, or `-o` for another name"
                raise RankwiseError(f"`{file}` is there already", hint)
        return cls(line, named, topology, stem)

    def write(self, placement: Placement) -> str:
        """Write the launcher's files; returns the launch line."""
        import shlex
        from dataclasses import replace

        from rankwise.launchers import emit_placement

        placed = replace(placement, node_names=self.hosts)
        return shlex.join(emit_placement(self.line, placed, self.topology.nodes, self.stem).words)
