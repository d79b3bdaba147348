# SPDX-License-Identifier: BSD-3-Clause
"""Placements from the files of launchers: what the job that is started with them does.

Formats and their index spaces: Open MPI and PRRTE rank files (logical cores), Hydra host files with `binding=user:` (OS
numbers), host lists of `srun -m arbitrary` and of Intel MPI's machine files (ranks of a node on its cores in order),
Cray's MPICH_RANK_ORDER (slots in order), LSF's explicit resource files (either).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import NoReturn

from rankwise import regular_files
from rankwise.errors import RankwiseError
from rankwise.machine.placement import Placement
from rankwise.machine.topology import NodeTopology, Topology
from rankwise.placement import file

_RANK = re.compile(r"rank\s+(\d{1,9})\s*=\s*(\S+)\s+slots?\s*=\s*(\S+)", re.IGNORECASE)
_ERF_RANK = re.compile(r"(\d{1,9})\s*:\s*\{\s*host\s*:\s*(\d{1,9})\s*;\s*cpu\s*:\s*\{([^}]*)\}.*\}")
_HYDRA = re.compile(r"([^\s:]+)(?::(\d{1,9}))?(?:\s+binding=user:(\S+))?")
_MACHINE = re.compile(r"([^\s:*]+)(?:[:*](\d{1,9}))?")


_MOST_DIGITS = 6


class _Reader:
    """Seats of ranks as they are read, with where they stood."""

    def __init__(self, name: str, topology: Topology, hosts: Sequence[str]):
        self.name, self.topology = name, topology
        self.hosts = list(hosts)
        self.named = bool(hosts)
        self.seats: dict[int, tuple[int, tuple[int, ...]]] = {}

    def fail(self, line: int, what: str, hint: str | None = None) -> NoReturn:
        raise RankwiseError(f"`{self.name}` line {line}: {what}", hint)

    def node(self, host: str, line: int) -> int:
        """Number of a host: its place in the hosts, or in the file; `+n3` is the fourth of the allocation."""
        if match := re.fullmatch(r"\+n(\d{1,9})", host):
            node = int(match[1])
        elif host in self.hosts:
            node = self.hosts.index(host)
        elif self.named:
            self.fail(line, f"host `{host}` is none of the hosts {', '.join(self.hosts)}")
        else:
            self.hosts.append(host)
            node = len(self.hosts) - 1
        if node >= len(self.topology.nodes):
            self.fail(line, f"`{host}` is host {node + 1} of a machine of {len(self.topology.nodes)} nodes")
        return node

    def of(self, node: int) -> NodeTopology:
        return self.topology.nodes[node]

    def seat(self, rank: int, node: int, cores: Sequence[int], line: int) -> None:
        """Put a rank on cores, if they are there and it is nowhere yet."""
        if rank in self.seats:
            self.fail(line, f"rank {rank} is placed twice")
        for core in cores:
            if core >= self.of(node).cores:
                self.fail(
                    line, f"rank {rank} is placed on core {core} of a node with {self.of(node).cores} cores"
                )
        self.seats[rank] = node, tuple(dict.fromkeys(cores))

    def from_os(self, pus: Sequence[int], node: int, rank: int, line: int) -> tuple[int, ...]:
        """Logical cores of OS numbers."""
        known = {pu for each in self.of(node).pus for pu in each}
        if unknown := [pu for pu in pus if pu not in known]:
            self.fail(line, f"rank {rank} is placed on CPU {unknown[0]}, which a node does not have")
        return self.of(node).cores_of(pus)

    def placement(self) -> Placement:
        """What was read.

        Raises:
            RankwiseError: A rank is missing, or there is none.
        """
        if not self.seats:
            raise RankwiseError(f"`{self.name}` places no rank", "is it the right file?")
        for rank in range(max(self.seats) + 1):
            if rank not in self.seats:
                raise RankwiseError(f"`{self.name}` places rank {max(self.seats)}, but not rank {rank}")
        nodes = len(self.topology.nodes)
        names = [*self.hosts, *(f"node{at}" for at in range(len(self.hosts), nodes))][:nodes]
        return Placement.explicit(self.topology, [self.seats[rank] for rank in sorted(self.seats)], names)


def load_any(path: str | os.PathLike[str], topology: Topology, hosts: Sequence[str] = ()) -> Placement:
    """Read a placement file of Rankwise or of a launcher; which one is seen from what is in it.

    Args:
        path: The file.
        topology: The nodes of the machine.
        hosts: Their host names; without them, hosts are counted as the file names them.

    Raises:
        RankwiseError: It cannot be read, or it says something that the machine does not have.
    """
    try:
        text = regular_files.read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror or str(error)).lower() if isinstance(error, OSError) else "it is no text"
        raise RankwiseError(f"placement `{path}` cannot be read: {reason}") from None
    if text.lstrip().startswith("{"):
        return file.loads(text, os.fspath(path))
    return read(text, os.fspath(path), topology, hosts)


def read(text: str, name: str, topology: Topology, hosts: Sequence[str] = ()) -> Placement:
    """The placement that a launcher's file says; see `load_any`."""
    reader = _Reader(name, topology, hosts)
    lines = [(number, line) for number, line in _lines(text) if line]
    first = lines[0][1] if lines else ""
    if _RANK.match(first):
        _rank_file(reader, lines)
    elif re.match(r"(rank|cpu_index_using|overlapping_rs|skip_missing_cpus|app)\b", first):
        _resource_file(reader, lines)
    elif re.fullmatch(r"[\d,\-\s]+", first):
        _rank_order(reader, lines)
    elif any("binding=" in line for _, line in lines):
        _hydra_hosts(reader, lines)
    else:
        _host_list(reader, lines)
    return reader.placement()


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        yield number, line.partition("#")[0].strip()


def _numbers(reader: _Reader, words: str, line: int) -> list[int]:
    found: list[int] = []
    for word in words.split(","):
        match = re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", word)
        if (
            not match
            or int(match[2] or match[1]) < int(match[1])
            or int(match[2] or 0) - int(match[1]) > 1 << 20
        ):
            reader.fail(line, f"`{word}` is not a number or a range of numbers")
        found += range(int(match[1]), int(match[2] or match[1]) + 1)
    return found


def _rank_file(reader: _Reader, lines: list[tuple[int, str]]) -> None:
    for number, line in lines:
        match = _RANK.fullmatch(line)
        if not match:
            reader.fail(number, f"`{line}` is not `rank N=HOST slot=CORES`")
        rank, node = int(match[1]), reader.node(match[2], number)
        package, colon, cores = match[3].rpartition(":")
        chosen = _numbers(reader, cores, number)
        if colon:
            wanted = _numbers(reader, package, number)
            of = reader.of(node).packages
            inside = [core for core in range(len(of)) if of[core] in wanted]
            if max(chosen) >= len(inside):
                reader.fail(
                    number, f"rank {rank} is placed on core {max(chosen)} of {len(inside)} in its package"
                )
            chosen = [inside[core] for core in chosen]
        reader.seat(rank, node, chosen, number)


def _resource_file(reader: _Reader, lines: list[tuple[int, str]]) -> None:
    logical = False
    for number, line in lines:
        key, _, value = (part.strip() for part in line.partition(":"))
        if key == "cpu_index_using":
            logical = value == "logical"
        elif key == "rank":
            match = _ERF_RANK.fullmatch(value)
            if not match:
                reader.fail(number, f"`{line}` is not `rank: N: {{ host: H; cpu: {{CPUS}} }}`")
            rank, node = int(match[1]), int(match[2]) - 1
            if not 0 <= node < len(reader.topology.nodes):
                reader.fail(
                    number, f"rank {rank} is on host {node + 1} of {len(reader.topology.nodes)}, from 1"
                )
            pus = _numbers(reader, match[3], number)
            if logical:  # hardware threads, counted core after core
                of_pu = [core for core, own in enumerate(reader.of(node).pus) for _ in own]
                if max(pus) >= len(of_pu):
                    reader.fail(number, f"rank {rank} is placed on CPU {max(pus)} of {len(of_pu)}")
                cores: Sequence[int] = [of_pu[pu] for pu in pus]
            else:
                cores = reader.from_os(pus, node, rank, number)
            reader.seat(rank, node, cores, number)


def _rank_order(reader: _Reader, lines: list[tuple[int, str]]) -> None:
    slots = [(node, core) for node, each in enumerate(reader.topology.nodes) for core in range(each.cores)]
    taken = 0
    for number, line in lines:
        for rank in _numbers(reader, line.strip(", "), number):
            if taken == len(slots):
                reader.fail(number, f"rank {rank} comes after all {taken} cores of the machine")
            node, core = slots[taken]
            taken += 1
            reader.seat(rank, node, [core], number)


def _hydra_hosts(reader: _Reader, lines: list[tuple[int, str]]) -> None:
    rank = 0
    for number, line in lines:
        match = _HYDRA.fullmatch(line)
        if not match:
            reader.fail(number, f"`{line}` is not `HOST:RANKS binding=user:CPUS`")
        if match[1] in reader.hosts and not reader.named:
            reader.fail(number, f"host `{match[1]}` is listed twice: Hydra counts its ranks from 0 again")
        node = reader.node(match[1], number)
        if len(match[2] or "") > _MOST_DIGITS:
            reader.fail(number, f"`{match[2]}` ranks are more than any node has")
        pus = re.split(",", match[3]) if match[3] else []
        for local in range(int(match[2] or 1)):
            if not pus:
                cores: Sequence[int] = range(reader.of(node).cores)
            elif local >= len(pus):
                reader.fail(
                    number, f"rank {rank} is rank {local} of `{match[1]}`, which binds {len(pus)} ranks only"
                )
            else:
                own = _numbers(reader, pus[local].replace("+", ","), number)
                cores = reader.from_os(own, node, rank, number)
            reader.seat(rank, node, cores, number)
            rank += 1


def _host_list(reader: _Reader, lines: list[tuple[int, str]]) -> None:
    used: dict[int, int] = {}
    rank = 0
    for number, line in lines:
        match = _MACHINE.fullmatch(line)
        if not match:
            reader.fail(number, f"`{line}` is not a host, `HOST:RANKS` or `HOST*RANKS`")
        node = reader.node(match[1], number)
        for _ in range(int(match[2] or 1)):
            core = used[node] = used.get(node, -1) + 1
            if core >= reader.of(node).cores:
                reader.fail(number, f"rank {rank} is rank {core} of `{match[1]}`, a node with {core} cores")
            reader.seat(rank, node, [core], number)
            rank += 1
