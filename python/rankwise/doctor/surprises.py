# SPDX-License-Identifier: BSD-3-Clause
"""What is wrong or surprising in where ranks run, in plain sentences, each with a way out."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from rankwise.doctor.launch import Launched
from rankwise.doctor.reports import Node, Rank, Reports
from rankwise.launchers.line import LaunchLine
from rankwise.run.binding import text_of


@dataclass(frozen=True)
class Surprise:
    """One of them.

    Attributes:
        name: Of its kind, stable for scripts.
        what: One sentence.
        hint: A way out, `None` if there is none to name.
        ranks: Whom it concerns.
    """

    name: str
    what: str
    hint: str | None
    ranks: list[int]


def find(launched: Launched, hosts: Sequence[str]) -> list[Surprise]:
    """All of them, what makes a program wrong before what makes it slow.

    Args:
        launched: What ranks said.
        hosts: Those that the launch line or the job names, in their order; empty if none does.
    """
    reports, line = launched.reports, launched.line
    found = [*_missing(launched), *_worlds(launched)]
    for kind in (_crowded, _siblings, _overlapping, _unbound, _spread, _quota, _memory):
        found += _once(kind(reports, line), len(reports.nodes))
    return [*found, *_order(reports, hosts), *_unlike(reports)]


def expected_ranks(launched: Launched) -> int | None:
    """How many ranks there should be: as the launcher says in the ranks, or as its line does."""
    said = [rank.world_size for rank in launched.reports.ranks if rank.world_size is not None]
    return max(said, default=launched.line.ranks)


def is_bound(rank: Rank, node: Node) -> bool:
    """Whether it may not use every PU of its node."""
    return frozenset(rank.pus) != node.pus


def some(ranks: Iterable[int | None]) -> str:
    """`rank 3`, `ranks 0, 1 and 4`, `ranks 0-7,9`."""
    numbers = sorted(rank for rank in ranks if rank is not None)
    if not numbers:
        return "a process without a rank"
    if len(numbers) <= 3:
        *most, last = map(str, numbers)
        return f"ranks {', '.join(most)} and {last}" if most else f"rank {last}"
    return f"ranks {text_of(numbers)}"


def _pus(pus: Iterable[int]) -> str:
    pus = list(pus)
    return f"PU {pus[0]}" if len(pus) == 1 else f"PUs {text_of(pus)}"


def _numbers(ranks: Iterable[Rank]) -> list[int]:
    return sorted(rank.rank for rank in ranks if rank.rank is not None)


def _once(found: Iterable[Surprise], nodes: int) -> Iterator[Surprise]:
    """One sentence a kind: the first, and how many more there are."""
    kinds: dict[str, list[Surprise]] = defaultdict(list)
    for each in found:
        kinds[each.name].append(each)
    for name, all_of in kinds.items():
        first, *more = all_of
        tail = f"; {len(more)} more like this" if more else ""
        ranks = sorted({rank for each in all_of for rank in each.ranks})
        yield Surprise(name, f"{first.what}{tail}", first.hint, ranks)


def _bind_hint(line: LaunchLine) -> str:
    return {
        "hydra": "bind each rank to a core: `-bind-to core`",
        "orterun": "bind each rank to a core: `--map-by core --bind-to core`",
        "prterun": "bind each rank to a core: `--map-by core --bind-to core`",
        "srun": "bind each rank to cores of its own: `--cpu-bind=cores`, with `-c` for more of them",
    }.get(line.launcher.kind, "bind each rank to cores of its own with the launcher's options")


def _missing(launched: Launched) -> Iterator[Surprise]:
    reports, word = launched.reports, launched.line.launcher.word or launched.executed[0]
    expected = expected_ranks(launched)
    present = {rank.rank for rank in reports.ranks if rank.rank is not None}
    absent = sorted(set(range(expected or 0)) - present) if len(present) == len(reports.ranks) else []
    if absent:
        yield Surprise(
            "silent",
            f"{some(absent)} of {expected} said nothing: what is shown is a part",
            f"see what `{word}` wrote above, and whether all nodes see `{sys.executable}`",
            absent,
        )
    if reports.unreadable:
        lines = "1 line" if reports.unreadable == 1 else f"{reports.unreadable} lines"
        yield Surprise(
            "unreadable",
            f"{lines} that ranks wrote came back broken: what is shown is a part",
            "work in a directory that all nodes see, and that can be written to",
            [],
        )


def _worlds(launched: Launched) -> Iterator[Surprise]:
    reports, line = launched.reports, launched.line
    word = line.launcher.word or launched.executed[0]
    if launched.unfit is not None:
        yield Surprise("unfit", launched.unfit, "start it with the launcher of its own MPI", [])
    unnamed = [rank for rank in reports.ranks if rank.rank is None]
    if unnamed and line.launcher.kind != "none":
        count = len(unnamed)
        yield Surprise(
            "unnumbered",
            f"`{word}` gave {'a process' if count == 1 else f'{count} processes'} no rank in any variable known here",
            "an MPI program may still learn it through PMI; record a short run to see",
            [],
        )
    numbers = _numbers(reports.ranks)
    twice = sorted({a for a, b in zip(numbers, numbers[1:], strict=False) if a == b})
    if twice:
        count = sum(rank.rank == twice[0] for rank in reports.ranks)
        yield Surprise(
            "twice",
            f"{count} processes call themselves rank {twice[0]}: they are several programs, not one",
            "start them with one launcher only, that of the program's own MPI",
            twice,
        )
    if line.launcher.kind == "srun" and reports.ranks and not any(rank.starts_mpi for rank in reports.ranks):
        yield Surprise(
            "no-pmi",
            f"`{word}` offers ranks neither PMI-2 nor PMIx: most MPI programs would start as "
            f"{len(reports.ranks)} programs of one rank",
            "`srun --mpi=list` says what there is: `--mpi=pmix` for Open MPI, `--mpi=pmi2` or `pmix` for MPICH",
            [],
        )


_Kind = Callable[[Reports, LaunchLine], Iterator[Surprise]]


def _by_pus(ranks: Iterable[Rank]) -> dict[tuple[int, ...], list[Rank]]:
    groups: dict[tuple[int, ...], list[Rank]] = defaultdict(list)
    for rank in ranks:
        groups[tuple(rank.pus)].append(rank)
    return groups


def _crowded(reports: Reports, line: LaunchLine) -> Iterator[Surprise]:
    """More ranks than PUs that they may use."""
    for host in reports.nodes:
        for pus, group in _by_pus(reports.of(host)).items():
            if len(group) > len(pus):
                ranks, pus_there = len(reports.of(host)), len(reports.nodes[host].pus)
                numbers = _numbers(group)
                yield Surprise(
                    "crowded",
                    f"{some(numbers)} have only {_pus(pus)} of `{host}` between them and take turns",
                    f"start at most {pus_there} ranks on `{host}`, and {_bind_hint(line)}"
                    if ranks > pus_there
                    else _bind_hint(line),
                    numbers,
                )


def _siblings(reports: Reports, line: LaunchLine) -> Iterator[Surprise]:
    """Ranks on different hardware threads of one core."""
    for host, node in reports.nodes.items():
        at: dict[tuple[int, int], list[Rank]] = defaultdict(list)
        for rank in reports.of(host):
            cores = node.cores(rank.pus)
            if len(cores) == 1:
                at[next(iter(cores))].append(rank)
        for group in at.values():
            pus = sorted({pu for rank in group for pu in rank.pus})
            if len(_by_pus(group)) > 1:
                numbers = _numbers(group)
                yield Surprise(
                    "siblings",
                    f"{some(numbers)} share one core of `{host}`, as its hardware threads ({_pus(pus)})",
                    f"{_bind_hint(line)}; a core computes little more with two threads than with one",
                    numbers,
                )


def _overlapping(reports: Reports, line: LaunchLine) -> Iterator[Surprise]:
    """Bound ranks whose PUs are partly the same."""
    for host, node in reports.nodes.items():
        groups = [each for each in _by_pus(reports.of(host)).items() if frozenset(each[0]) != node.pus]
        owner: dict[int, tuple[tuple[int, ...], list[Rank]]] = {}
        for pus, group in sorted(groups, key=lambda each: (len(each[0]), each[0])):
            for pu in pus:
                other = owner.setdefault(pu, (pus, group))
                if other[0] != pus:
                    numbers = _numbers([*other[1], *group])
                    yield Surprise(
                        "overlapping",
                        f"{some(numbers)} of `{host}` are bound to PUs that are partly the same, such as PU {pu}",
                        _bind_hint(line),
                        numbers,
                    )
                    break


def _unbound(reports: Reports, line: LaunchLine) -> Iterator[Surprise]:
    """Ranks that may move between cores."""
    for host, node in reports.nodes.items():
        for pus, group in _by_pus(reports.of(host)).items():
            cores, numbers = node.cores(pus), _numbers(group)
            if len(cores or pus) < 2 or len(group) > len(pus):
                continue
            if frozenset(pus) == node.pus:
                verb = "is" if len(group) == 1 else "are"
                yield Surprise(
                    "unbound",
                    f"{some(numbers)} of `{host}` {verb} not bound: the kernel may move each to any of its "
                    f"{len(pus)} PUs, and its memory stays behind",
                    _bind_hint(line),
                    numbers,
                )
            elif len(group) > 1 and len(group) == len(reports.of(host)):
                yield Surprise(
                    "unbound",
                    f"{some(numbers)} of `{host}` are bound to what the job has there ({_pus(pus)}), not each to "
                    "its own",
                    _bind_hint(line),
                    numbers,
                )


def _spread(reports: Reports, line: LaunchLine) -> Iterator[Surprise]:
    """Bound ranks that may use several packages or NUMA nodes."""
    for host, node in reports.nodes.items():
        for rank in reports.of(host):
            if not is_bound(rank, node):
                continue
            packages, memories = node.packages(rank.pus), node.memories(rank.pus)
            what, places = ("packages", packages) if len(packages) > 1 else ("NUMA nodes", memories)
            if len(places) > 1:
                yield Surprise(
                    "spread",
                    f"{some([rank.rank])} of `{host}` is spread over {what} {text_of(places)} ({_pus(rank.pus)}): its "
                    "threads reach each other's memory through the link between them",
                    "give a rank cores of one package: fewer cores a rank, or another order of cores",
                    _numbers([rank]),
                )


def _quota(reports: Reports, line: LaunchLine) -> Iterator[Surprise]:
    """Less processor time than the ranks' cores have."""
    for host, node in reports.nodes.items():
        limited: dict[tuple[str, float], list[Rank]] = defaultdict(list)
        for rank in reports.of(host):
            if rank.quota_of is not None and rank.quota_cores is not None:
                limited[rank.quota_of, rank.quota_cores].append(rank)
        for (_, cores), group in limited.items():
            bound = {pu for rank in group if is_bound(rank, node) for pu in rank.pus}
            loose = sum(not is_bound(rank, node) for rank in group)
            wanted = len(bound) + loose
            if cores < wanted:
                numbers = _numbers(group)
                yield Surprise(
                    "quota",
                    f"a cgroup gives {some(numbers)} of `{host}` the time of {cores:g} cores, and they have {wanted}: "
                    "the kernel stops them for the rest of each period",
                    "ask for more processor time (`--cpus`, `resources.limits.cpu`), or start fewer ranks",
                    numbers,
                )


def _memory(reports: Reports, line: LaunchLine) -> Iterator[Surprise]:
    """Ranks whose memory is not beside their cores."""
    for host, node in reports.nodes.items():
        for rank in reports.of(host):
            beside = node.memories(rank.pus)
            if beside and rank.memory_nodes and not set(beside) <= set(rank.memory_nodes):
                yield Surprise(
                    "memory",
                    f"{some([rank.rank])} of `{host}` runs beside NUMA node {text_of(beside)} and may allocate on "
                    f"{text_of(rank.memory_nodes)} only",
                    "bind memory where cores are: the job's cpuset, or `numactl --membind`, says otherwise",
                    _numbers([rank]),
                )
            elif rank.memory_policy and rank.memory_policy.startswith("bind:"):
                only = {
                    int(word)
                    for word in rank.memory_policy[5:].replace("-", ",").split(",")
                    if word.isdigit()
                }
                if beside and not set(beside) & only:
                    yield Surprise(
                        "memory",
                        f"{some([rank.rank])} of `{host}` runs beside NUMA node {text_of(beside)} and its memory is "
                        f"bound to {text_of(only)}",
                        "leave `numactl --membind` off, or name that node",
                        _numbers([rank]),
                    )


def dealt(reports: Reports) -> str | None:
    """How ranks are dealt to nodes: `in blocks`, `in turn`, or neither; `None` on one node."""
    hosts = [rank.host for rank in reports.ranks if rank.rank is not None]
    names = list(dict.fromkeys(hosts))
    if len(names) < 2:
        return None
    if sum(a != b for a, b in zip(hosts, hosts[1:], strict=False)) == len(names) - 1:
        return "in blocks"
    if len(set(hosts.count(name) for name in names)) == 1 and hosts == names * (len(hosts) // len(names)):
        return "in turn"
    return "in no regular order"


def _order(reports: Reports, hosts: Sequence[str]) -> Iterator[Surprise]:
    """An order of nodes that is not that of the hosts."""
    used = [host.partition(".")[0] for host in reports.nodes]
    named = [host.partition(".")[0] for host in hosts]
    wanted = [host for host in named if host in used]
    if sorted(wanted) == sorted(used) and wanted != used:
        yield Surprise(
            "order",
            f"hosts are named in the order {', '.join(wanted[:4])}{', ...' * (len(wanted) > 4)}, and ranks use them in "
            f"the order {', '.join(used[:4])}{', ...' * (len(used) > 4)}",
            "a placement file says which rank goes where: `rankwise place`, then `rankwise run`",
            [],
        )
    if dealt(reports) == "in no regular order":
        yield Surprise(
            "order",
            "ranks are distributed over nodes neither in blocks nor in turn",
            "a placement file says which rank goes where: `rankwise place`, then `rankwise run`",
            [],
        )


def _unlike(reports: Reports) -> Iterator[Surprise]:
    """Nodes that differ."""
    if len(reports.nodes) < 2:
        return
    sizes = {host: str(len(node.pus)) for host, node in reports.nodes.items()}
    libraries = {host: (node.mpi and node.mpi.path) or "none" for host, node in reports.nodes.items()}
    up = {host: _up(node) for host, node in reports.nodes.items()}
    kinds = (
        ("nodes", "PUs", sizes, "name nodes of one kind, or give each as many ranks as it has cores"),
        (
            "libraries",
            "MPI library",
            libraries,
            "load the same modules on all nodes, in the job and not in a login file",
        ),
        (
            "interfaces",
            "interfaces that are up",
            up,
            "leave that node out, or tell MPI which interfaces to use",
        ),
    )
    for name, what, values, hint in kinds:
        (first, own), *others = values.items()
        other = next((each for each in others if each[1] != own), None)
        if other is not None:
            yield Surprise(
                name, f"nodes differ in {what}: `{first}` has {own}, `{other[0]}` {other[1]}", hint, []
            )


def _up(node: Node) -> str:
    return ", ".join(each.name for each in node.interfaces if each.state not in ("down", None)) or "none"
