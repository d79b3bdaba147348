# SPDX-License-Identifier: BSD-3-Clause
"""Which hosts stand behind the nodes of a placement."""

from __future__ import annotations

import itertools
import re
import socket
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from rankwise import regular_files
from rankwise.errors import RankwiseError
from rankwise.launchers.line import LaunchLine

if TYPE_CHECKING:
    from rankwise.machine.placement import Placement

# Options that name a file of hosts, or the hosts; Hydra and Open MPI.
FILE_OPTIONS = ("f", "hostfile", "machinefile")
LIST_OPTIONS = ("hosts", "hostlist", "host", "H")


_MOST_HOSTS = 1 << 20


def on_hosts(
    placement: Placement, line: LaunchLine, given: str | None, environment: Mapping[str, str]
) -> Placement:
    """A placement whose node names are hosts.

    The first of these that says something decides: what the user gives, the launch line, the names in the
    placement itself, the job's allocation, and for one node this host.

    Args:
        placement: The placement; its nodes may be called `node0`, `node1`, ...
        line: The launch line.
        given: Hosts that the user names, separated by commas.
        environment: Where the batch system describes the allocation.

    Raises:
        RankwiseError: There are too few hosts, one comes twice, or none is known.
    """
    from rankwise.machine.placement import default_names

    count = len(placement.node_names)
    allocated = allocation(environment)
    if given is not None:
        hosts, source = distinct(given.split(","), "--hosts"), "`--hosts`"
    elif of_line := line_hosts(line):
        hosts, source = of_line, "the launch line"
    elif placement.node_names != default_names(count):
        hosts, source = list(placement.node_names), "the placement"
        absent = [host for host in hosts if allocated and host not in allocated]
        if absent:
            raise RankwiseError(
                f"the placement names host `{absent[0]}`, which is not in this job's allocation",
                f"name this job's hosts: `--hosts {','.join(allocated[:count])}`",
            )
    elif allocated:
        hosts, source = allocated, "this job's allocation"
    elif count == 1:
        hosts, source = [socket.gethostname()], "this machine"
    else:
        raise RankwiseError(
            f"nothing says which hosts the placement's {count} nodes are",
            f"name them in order: `--hosts {','.join('abcdefgh'[: min(count, 8)])}{',...' * (count > 8)}`",
        )
    if len(hosts) < count:
        raise RankwiseError(
            f"the placement has {count} nodes, {source} {len(hosts)} host{'s' * (len(hosts) != 1)}",
            "name one host for each node with `--hosts`, or make a placement for fewer nodes",
        )
    return replace(placement, node_names=tuple(hosts[:count]))


def line_hosts(line: LaunchLine) -> list[str]:
    """Hosts on a launch line, each once, in order."""
    found: list[str] = []
    for option in (option for segment in line.segments for option in segment.options if option.values):
        if option.name in FILE_OPTIONS:
            found += _hosts_in_file(option.values[0])
        elif option.name in LIST_OPTIONS:
            found += [_bare(word) for word in option.values[0].split(",") if word]
    return list(dict.fromkeys(found))


def allocation(environment: Mapping[str, str]) -> list[str]:
    """Hosts of the batch job that this is part of, each once, in order; empty outside of one."""
    nodes = environment.get("SLURM_JOB_NODELIST")
    if nodes:
        return expand(nodes)
    file = environment.get("PBS_NODEFILE")
    return list(dict.fromkeys(_hosts_in_file(file))) if file else []


def expand(nodes: str) -> list[str]:
    """Host names of a Slurm node list: `n[01-03,7],login` is n01, n02, n03, n7, login."""
    hosts: list[str] = []
    for word in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", nodes):
        pieces = re.split(r"\[([^\]]*)\]", word)
        choices = [_numbers(piece) if at % 2 else [piece] for at, piece in enumerate(pieces)]
        hosts += ["".join(parts) for parts in itertools.product(*choices)]
    return hosts


def _numbers(ranges: str) -> list[str]:
    numbers = []
    for part in ranges.split(","):
        match = re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", part)
        if not match or int(match[2] or match[1]) - int(match[1]) > _MOST_HOSTS:
            raise RankwiseError(
                f"`[{ranges}]` is not a range of hosts",
                "write node lists as Slurm does, for example `n[01-03,7]`",
            )
        first = match[1]
        end = int(match[2] or first)
        numbers += [f"{number:0{len(first)}d}" for number in range(int(first), end + 1)]
    return numbers


def _hosts_in_file(path: str) -> Iterable[str]:
    try:
        text = regular_files.read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not text"
        raise RankwiseError(
            f"the host file `{path}` cannot be read: {reason.lower()}", "check its name"
        ) from None
    lines = (line.partition("#")[0].split() for line in text.splitlines())
    return [_bare(words[0]) for words in lines if words]


def _bare(word: str) -> str:
    """A host without its number of slots (`host:4`)."""
    return re.sub(r":\d+$", "", word)


def distinct(words: list[str], option: str) -> list[str]:
    """Hosts that an option names, each once.

    Raises:
        RankwiseError: One comes twice, or is no host name.
    """
    hosts = [word.strip() for word in words]
    twice = next((host for at, host in enumerate(hosts) if host in hosts[:at]), None)
    if twice:
        raise RankwiseError(f"`{option}` has `{twice}` twice", "name one host for each node of the placement")
    wrong = next((host for host in hosts if not re.fullmatch(r"[A-Za-z0-9_.:%-]+", host)), None)
    if wrong is not None:
        raise RankwiseError(
            f"`{option}` has `{wrong}`, which is no host name", "for example `--hosts n01,n02`"
        )
    return hosts
