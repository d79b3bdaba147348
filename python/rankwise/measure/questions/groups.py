# SPDX-License-Identifier: BSD-3-Clause
"""Groups of ranks for tests that more than two do together, each rank on a core of its own where there are enough."""

from __future__ import annotations

from collections.abc import Callable

from rankwise.measure.plan import End, Plan, Rank

MOST_RANKS = 1024  # as many as the microbenchmarks take in one step


def members(
    plan: Plan, nodes: int, per_node: int, wanted: Callable[[End], bool] = lambda end: True
) -> list[End]:
    """The first `per_node` ranks of each of the first `nodes` nodes, on cores that as few others use as possible.

    Args:
        plan: Who is there.
        nodes: How many nodes.
        per_node: How many ranks on each.
        wanted: Which cores may be used.

    Returns:
        Node by node; empty if there are not so many.
    """
    used: dict[tuple[str, int], int] = {}
    chosen: list[End] = []
    hosts = [host for host, ranks in plan.by_host.items() if len(ranks) >= per_node][:nodes]
    if len(hosts) < nodes or nodes * per_node > MOST_RANKS:
        return []
    for host in hosts:
        here = _match(plan.by_host[host], per_node, used, "" if plan.one_machine else host, wanted)
        if len(here) < per_node:
            return []
        chosen += here
    return chosen


def _match(
    ranks: list[Rank],
    count: int,
    used: dict[tuple[str, int], int],
    machine: str,
    wanted: Callable[[End], bool],
) -> list[End]:
    chosen: list[End] = []
    # Ranks with little choice first: they may have to have what others could do without.
    for rank in sorted(ranks, key=lambda r: (len(r.cores), r.number)):
        ends = [End(rank.number, rank.host, c, p) for c, p in zip(rank.cores, rank.pu, strict=True)]
        ends = [end for end in ends if wanted(end)]
        if not ends or len(chosen) == count:
            continue
        best = min(ends, key=lambda end: (used.get((machine, end.pu), 0), end.core))
        used[machine, best.pu] = used.get((machine, best.pu), 0) + 1
        chosen.append(best)
    return sorted(chosen, key=lambda end: end.rank)


def own_cores(plan: Plan, group: list[End]) -> bool:
    """Whether no two ranks of a group share a core of the machine."""
    return len({("" if plan.one_machine else end.host, end.pu) for end in group}) == len(group)


def may_run(plan: Plan, group: list[End]) -> bool:
    """Whether a group makes sense: ranks that share a core and spin while they wait would measure the scheduler.

    In labs, whose nodes are one machine, ranks that wait sleep.
    """
    return len(group) > 1 and (plan.one_machine or own_cores(plan, group))


def counts_to(most: int) -> list[int]:
    """1, 2, 4, ... and `most` itself."""
    counts = {1 << k for k in range(most.bit_length()) if 1 << k <= most}
    return sorted(counts | {most}) if most else []


def sizes_for(plan: Plan, sizes: tuple[int, ...], most: int) -> tuple[int, ...]:
    """The sizes that are worth their time: in labs, whose networks are slow, those up to `most`."""
    return tuple(size for size in sizes if size <= most) if plan.one_machine else sizes


def shapes(plan: Plan, quick: bool) -> list[tuple[int, int]]:
    """(nodes, ranks on each) of the groups that are tried: all ranks, and fewer on each node or on one node.

    In labs, where everything takes longer, only one rank of each node and all of one node besides.
    """
    per_host = [len(ranks) for ranks in plan.by_host.values()]
    nodes, most = len(per_host), min(per_host, default=0)
    tried = {(nodes, most)}
    if not quick and plan.one_machine:
        tried |= {(nodes, 1), (1, most)}
    elif not quick:
        tried |= {(nodes, k) for k in counts_to(most)} | {(1, k) for k in counts_to(max(per_host, default=0))}
    return sorted(
        shape for shape in tried if shape[0] * shape[1] > 1 and may_run(plan, members(plan, *shape))
    )


def no_group(plan: Plan) -> str:
    """Why no group can be tried; empty if one can."""
    return "" if shapes(plan, False) else "the ranks do not have cores of their own"
