# SPDX-License-Identifier: BSD-3-Clause
"""What placing ranks with Hydra and with Open MPI has in common."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rankwise import whole_files
from rankwise.errors import RankwiseError
from rankwise.launchers.hosts import FILE_OPTIONS, LIST_OPTIONS
from rankwise.launchers.line import Launcher, LaunchLine, Option, Segment
from rankwise.machine.topology import NodeTopology

if TYPE_CHECKING:
    from rankwise.machine.placement import Placement


class CannotDeal(RankwiseError):
    """A launcher starts ranks on these hosts, but not in the order of this placement; renumbering them is left."""


@dataclass(frozen=True)
class RanksByHost:
    """The hosts that have ranks, in the order of the placement's nodes.

    Attributes:
        hosts: Their names.
        nodes: Their indices in the placement.
        ranks: The ranks of each, ascending; their order on the host is that of the launcher's local ranks.
        of_rank: For each rank, an index into `hosts`.
    """

    hosts: tuple[str, ...]
    nodes: tuple[int, ...]
    ranks: tuple[tuple[int, ...], ...]
    of_rank: tuple[int, ...]

    @classmethod
    def of(cls, placement: Placement) -> RanksByHost:
        """Those of a placement."""
        by_node: dict[int, list[int]] = {}
        for rank, node in enumerate(placement.node.tolist()):
            by_node.setdefault(node, []).append(rank)
        nodes = tuple(sorted(by_node))
        index = {node: at for at, node in enumerate(nodes)}
        return cls(
            tuple(placement.node_names[node] for node in nodes),
            nodes,
            tuple(tuple(by_node[node]) for node in nodes),
            tuple(index[node] for node in placement.node.tolist()),
        )


@dataclass(frozen=True)
class Placing:
    """What a launcher is asked for.

    Attributes:
        launcher: Which one.
        placement: Where each rank runs; its node names are hosts.
        nodes: The topology of each of its nodes; `None` if the launcher has to find the hosts only, and whoever runs
            in its ranks binds them.
        stem: Path of the files to write, without their suffixes.
        inherited: The environment the launcher will have.
    """

    launcher: Launcher
    placement: Placement
    nodes: Sequence[NodeTopology] | None
    stem: Path
    inherited: Mapping[str, str]

    @property
    def by_host(self) -> RanksByHost:
        """Its hosts and their ranks."""
        return RanksByHost.of(self.placement)

    def file(self, suffix: str) -> Path:
        """The file with one of the adapter's suffixes."""
        return Path(f"{self.stem}{suffix}")


@dataclass(frozen=True)
class Emitted:
    """A launcher's form of a placement: `options`, each a list of words, and `files` with their lines."""

    options: list[list[str]]
    files: dict[Path, list[str]]


def prepared(line: LaunchLine, placement: Placement, conflicting: Collection[str]) -> list[Segment]:
    """The segments of a line without its hosts and with its number of ranks, ready for more options.

    Args:
        line: The line.
        placement: The placement.
        conflicting: Names of options that would place or bind ranks otherwise.

    Raises:
        RankwiseError: The line and the placement do not go together.
    """
    for option in (option for segment in line.segments for option in segment.options):
        if option.name in conflicting:
            words = " ".join(option.words)
            raise conflict(words)
    if any(segment.program is None for segment in line.segments):
        raise RankwiseError(
            f"no program in the launch line `{' '.join(line.words())}`",
            "ranks are placed by the launch line, so each program has to be on it",
        )
    segments = [_without_hosts(segment) for segment in line.segments]
    if len(segments) == 1 and line.ranks is None:
        count = ("-n", str(placement.ranks))
        segments[0] = replace(segments[0], options=(*segments[0].options, Option("n", count[1:], count)))
    elif line.ranks is None:
        raise RankwiseError(
            "the launch line does not say how many ranks each program has", "give each program its `-n`"
        )
    elif line.ranks != placement.ranks:
        raise RankwiseError(
            f"the launch line has {line.ranks} ranks, the placement {placement.ranks}",
            f"use `-n {placement.ranks}`, or make a placement for {line.ranks} ranks",
        )
    return segments


def conflict(words: str) -> RankwiseError:
    """The error for something that would place or bind ranks otherwise."""
    return RankwiseError(
        f"`{words}` and the placement both say where ranks run", "leave it out: the placement decides"
    )


def with_options(line: LaunchLine, segments: list[Segment], words: list[list[str]]) -> list[str]:
    """The line's words with options before those of its first segment; each option is a list of words."""
    ours = tuple(Option(each[0].lstrip("-"), tuple(each[1:]), tuple(each)) for each in words)
    first = replace(segments[0], options=(*ours, *segments[0].options))
    return line.words([first, *segments[1:]])


def write(path: Path, lines: list[str]) -> None:
    """Write a launcher's file."""
    whole_files.write(path, "".join(f"{line}\n" for line in lines).encode(), f"check `{path.parent}`")


def _without_hosts(segment: Segment) -> Segment:
    names = (*FILE_OPTIONS, *LIST_OPTIONS)
    return replace(segment, options=tuple(o for o in segment.options if o.name not in names))
