# SPDX-License-Identifier: BSD-3-Clause
"""The adapters by kind of launcher, and what is asked of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rankwise.errors import RankwiseError
from rankwise.launchers import hydra, openmpi, singleton, slurm
from rankwise.launchers.identify import identify
from rankwise.launchers.line import Launch, Launcher, LaunchLine, Segment
from rankwise.launchers.scan import Syntax, scan

if TYPE_CHECKING:
    from rankwise.launchers.placed import Emitted
    from rankwise.machine.placement import Placement
    from rankwise.machine.topology import NodeTopology


class _Adapter(Protocol):
    """What a module gives that knows one kind of launcher."""

    SYNTAX: Syntax

    def count_ranks(self, segment: Segment) -> int | None: ...

    def emit_environment(
        self, line: LaunchLine, variables: Mapping[str, str], inherited: Mapping[str, str]
    ) -> Launch: ...


_ADAPTERS: dict[str, _Adapter] = {
    "hydra": hydra,
    "orterun": openmpi,
    "prterun": openmpi,
    "srun": slurm,
}


def parse(words: Sequence[str]) -> LaunchLine:
    """Understand a launch line.

    Args:
        words: What the user types, launcher first; at least one word.

    Returns:
        The line in its parts. A command that starts with no launcher known here becomes kind `none`.

    Raises:
        RankwiseError: The words are none.
    """
    if not words:
        raise RankwiseError("the launch line is empty", hint="for example `mpiexec -n 16`", status=2)
    launcher = identify(words[0])
    if launcher is None:
        return LaunchLine(Launcher("none"), (Segment((), words[0], tuple(words[1:]), None),))
    adapter = _ADAPTERS[launcher.kind]
    segments = []
    for piece in _pieces(words[1:]):
        options, rest = scan(piece, adapter.SYNTAX)
        segment = Segment(options, rest[0] if rest else None, tuple(rest[1:]), None)
        segments.append(replace(segment, ranks=adapter.count_ranks(segment)))
    return LaunchLine(launcher, tuple(segments))


def emit_environment(
    line: LaunchLine, variables: Mapping[str, str], inherited: Mapping[str, str] | None = None
) -> Launch:
    """The line again, with more environment variables for the ranks, never for a launcher known here.

    An LD_PRELOAD that the user has, in the environment or on the line, is kept behind ours.

    Args:
        line: A parsed line.
        variables: Names and values.
        inherited: The environment the launcher will have; ours by default.
    """
    inherited = os.environ if inherited is None else inherited
    adapter = _ADAPTERS.get(line.launcher.kind)
    if adapter is None:
        return singleton.emit_environment(line, variables, inherited)
    return adapter.emit_environment(line, variables, inherited)


def emit_placement(
    line: LaunchLine,
    placement: Placement,
    nodes: Sequence[NodeTopology] | None,
    stem: Path,
    inherited: Mapping[str, str] | None = None,
) -> Launch:
    """The line again, with the launcher's own files and options that put each rank on its cores.

    Args:
        line: A parsed line; hosts on it are replaced by those of the placement.
        placement: Where each rank runs; its node names are hosts, as of `rankwise.launchers.hosts.on_hosts`.
        nodes: The topology of each of its nodes; `None` to put ranks on their hosts only and leave them unbound.
        stem: Path of the files to write, without their suffixes; what is there is replaced.
        inherited: The environment the launcher will have; ours by default.

    Raises:
        RankwiseError: The launcher cannot place ranks, or the line places or binds them itself; nothing was written.
    """
    from rankwise.launchers import placed

    segments, emitted = _placed(line, placement, nodes, stem, inherited)
    for path, lines in emitted.files.items():
        placed.write(path, lines)
    return Launch(placed.with_options(line, segments, emitted.options))


def check_placement(
    line: LaunchLine,
    placement: Placement,
    nodes: Sequence[NodeTopology] | None,
    inherited: Mapping[str, str] | None = None,
) -> None:
    """Raise what `emit_placement` would raise, without writing anything."""
    _placed(line, placement, nodes, Path("placement"), inherited)


def _placed(
    line: LaunchLine,
    placement: Placement,
    nodes: Sequence[NodeTopology] | None,
    stem: Path,
    inherited: Mapping[str, str] | None,
) -> tuple[list[Segment], Emitted]:
    from rankwise.launchers import place_hydra, place_openmpi, place_slurm, placed

    inherited = os.environ if inherited is None else inherited
    adapters = {"hydra": place_hydra, "orterun": place_openmpi, "prterun": place_openmpi, "srun": place_slurm}
    adapter = adapters.get(line.launcher.kind)
    if adapter is None:
        word = line.launcher.word or line.program
        raise RankwiseError(
            f"placing ranks with `{word}` is not supported",
            "use mpiexec of MPICH or Open MPI, or srun, inside the same allocation; "
            "or `rankwise run --reorder`, which any launcher will do for",
        )
    adapter.refuse(line, inherited)
    segments = placed.prepared(line, placement, adapter.CONFLICTING.split())
    return segments, adapter.emit(placed.Placing(line.launcher, placement, nodes, stem, inherited))


def _pieces(words: Sequence[str]) -> list[list[str]]:
    pieces: list[list[str]] = [[]]
    for word in words:
        if word == ":":
            pieces.append([])
        else:
            pieces[-1].append(word)
    return pieces
