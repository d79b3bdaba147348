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
    from rankwise.machine.machine import Machine
    from rankwise.machine.placement import Placement
    from rankwise.machine.topology import Topology

_STARTED = {"hydra": "hydra", "openmpi4": "orterun", "openmpi5": "prterun"}
# Launchers whose files are written only; rankwise.launchers.forms.FORMS, named here so that `--help` stays quick.
_WRITTEN = ("slurm", "intel", "cray", "flux", "pbs", "lsf")
FORMATS = (*_STARTED, *_WRITTEN)
_SUFFIX = ".placement.json"


@dataclass(frozen=True)
class Format:
    """A launcher's form of a placement about to be found; everything that can be checked was."""

    name: str
    line: LaunchLine | None
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
        import numpy as np

        from rankwise import whole_files
        from rankwise.launchers import forms, place_hydra, place_openmpi
        from rankwise.launchers.hosts import on_hosts
        from rankwise.launchers.line import Launcher, LaunchLine, Segment
        from rankwise.machine.placement import Placement, default_names

        if machine.node.host_cores is not None:
            raise RankwiseError(
                f"`{machine.name}` is an emulated machine, whose nodes exist in the lab only",
                "leave `--format` out, and run in the lab: `rankwise lab run --placement ... -- ./app`",
            )
        line, started = None, _STARTED.get(name)
        if started:
            line = LaunchLine(Launcher(started, "mpiexec"), (Segment((), "./app", (), None),))
        sha256 = tuple(node.sha256 for node in topology.nodes)
        named = default_names(len(sha256))
        if name not in forms.NAMELESS:
            nothing = np.zeros(0, np.int64)
            nobody = Placement(named, sha256, nothing, np.zeros(1, np.int64), nothing)
            other = LaunchLine(Launcher("srun", "srun"), (Segment((), "./app", (), None),))
            named = on_hosts(nobody, line or other, hosts, os.environ).node_names
        elif hosts:
            raise RankwiseError(f"`--format {name}` counts the job's nodes, it needs no `--hosts`")
        stem = output.with_name(output.name.removesuffix(_SUFFIX).removesuffix(".json"))
        suffixes = forms.SUFFIXES.get(name) or (place_hydra if name == "hydra" else place_openmpi).SUFFIXES
        for suffix in suffixes:
            whole_files.refuse_special(f"{stem}{suffix}")
            if os.path.lexists(file := f"{stem}{suffix}") and not force:
                hint = "use `--force` to replace it, or `-o` for another name"
                raise RankwiseError(f"`{file}` is there already", hint)
        return cls(name, line, named, topology, stem)

    def write(self, placement: Placement) -> str:
        """Write the launcher's files; returns the launch line."""
        import shlex
        from dataclasses import replace
        from pathlib import Path

        from rankwise import whole_files
        from rankwise.launchers import emit_placement, forms

        used = len(placement.node_names)
        placed, nodes = replace(placement, node_names=self.hosts[:used]), self.topology.nodes[:used]
        if self.line is None:
            form = forms.form(self.name, placed, nodes, self.stem)
            for suffix, text in form.files.items():
                whole_files.write(Path(f"{self.stem}{suffix}"), text.encode())
            return form.line
        return shlex.join(emit_placement(self.line, placed, nodes, self.stem).words)
