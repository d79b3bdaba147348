# SPDX-License-Identifier: BSD-3-Clause
"""What ranks of MPICH 5.0.2 are told about who is on whose node, which is wrong for some orders of nodes.

Hydra describes the node of each rank by blocks of nodes that follow each other, and by repeated sequences of blocks
(PMI_process_mapping); ranks that read it wrongly wait in MPI_Init for neighbours that they do not have. Seen with
5.0.2, and as its sources of that version (`src/mpl/src/misc/mpl_rankmap.c`) say:

* only the first of several repeats is read as it was meant;
* a repeat is taken for a block of nodes: where the node behind it has the number of repetitions less one, and blocks
  before were of as many ranks, it is added to the repetitions and is lost.

Which blocks and repeats there are depends on the numbers of nodes, that is on the order of hosts, which is ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, permutations

import numpy as np

_LONGEST_SEARCH = 200_000  # ranks times orders: a second or so


class _Block:
    """Nodes from `first` on with as many ranks each, or a repeat (`first` is -1, `nodes` how often).

    A repeat has `ranks` where it took the place of a block of nodes.
    """

    __slots__ = ("first", "nodes", "ranks", "start", "opens")

    def __init__(self, ranks: int | None):
        self.first, self.nodes, self.ranks, self.start, self.opens = -1, 0, ranks, 0, False


def host_order(of_rank: Sequence[int], hosts: int) -> tuple[int, ...] | None:
    """An order of hosts in which ranks learn their neighbours rightly; the given one if possible.

    Args:
        of_rank: Host of each rank.
        hosts: How many there are.

    Returns:
        Which host comes first, second, ...; `None` if none was found.
    """
    tries = max(1, _LONGEST_SEARCH // len(of_rank))
    for order in islice(_orders(hosts), tries):
        number = {host: at for at, host in enumerate(order)}
        given = [number[host] for host in of_rank]
        if _understood(_described(given), len(given)) == given:
            return order
    return None


def _orders(hosts: int) -> Iterator[tuple[int, ...]]:
    if hosts <= 6:
        yield from permutations(range(hosts))
        return
    yield tuple(range(hosts))
    rng = np.random.default_rng(1)
    for _ in range(100):
        yield tuple(rng.permutation(hosts).tolist())


def _repetitions(of_rank: Sequence[int], begin: int, end: int) -> int:
    """How often the ranks from begin to end come in a row, from begin on."""
    length, count = end - begin, 1
    while of_rank[begin + count * length : begin + (count + 1) * length] == of_rank[begin:end]:
        count += 1
    return count


def _described(of_rank: list[int]) -> list[_Block]:
    """The blocks that Hydra makes of the ranks' nodes, its mistakes included."""
    # What was in a place before stays in its number of ranks when a repeat comes there; else it is anything (`None`).
    left: dict[int, int | None] = {}
    blocks: list[_Block] = []
    latest: dict[int, int] = {}
    rank = 0
    while True:
        if 0 < rank < len(of_rank) and of_rank[rank] == of_rank[rank - 1]:
            # Behind a repeat the rank is lost.
            blocks[-1].ranks = (blocks[-1].ranks or 0) + 1
            rank += 1
            continue
        if len(blocks) > 1:
            one, two = blocks[-2], blocks[-1]
            if one.ranks in (two.ranks, None) and one.first + one.nodes == two.first:
                one.nodes += 1
                latest.pop(two.first, None)
                left[len(blocks) - 1] = two.ranks
                blocks.pop()
        if rank >= len(of_rank):
            return blocks
        node = of_rank[rank]
        if node in latest:
            opening = blocks[latest[node]]
            count = _repetitions(of_rank, opening.start, rank)
            if count > 1:
                opening.opens = True
                repeat = _Block(left.get(len(blocks)))
                repeat.nodes = count
                blocks.append(repeat)
                latest.clear()
                rank = opening.start + (rank - opening.start) * count
                continue
        block = _Block(1)
        block.first, block.nodes, block.start = node, 1, rank
        latest[node] = len(blocks)
        blocks.append(block)
        rank += 1


def _understood(blocks: list[_Block], ranks: int) -> list[int] | None:
    """The node of each rank as the ranks read it; `None` if they may read it wrongly."""
    repeats = [at for at, block in enumerate(blocks) if block.first < 0]
    if len(repeats) > 1 or sum(block.opens for block in blocks) != len(repeats):
        return None
    nodes: list[int] = []
    opened = 0
    for block in blocks:
        if block.opens:
            opened = len(nodes)
        if block.first < 0:
            nodes += nodes[opened:] * (block.nodes - 1)
        else:
            nodes += [block.first + at for at in range(block.nodes) for _ in range(block.ranks or 0)]
    return nodes if len(nodes) == ranks else None
