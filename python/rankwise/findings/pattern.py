# SPDX-License-Identifier: BSD-3-Clause
"""The pattern of a program's communication, told from who sends how much to whom.

Patterns are those of the field: stencils, all-to-all in rows and columns of a grid, partners at power-of-two distances,
groups with exchanges at their boundary (NAS CG), trees. Ranks are taken to be numbered as programs number them: along
the rows of a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import numpy as np
import numpy.typing as npt

from rankwise.findings.data import Pattern
from rankwise.placement.simple import nodes_and_slots
from rankwise.quantities import counted
from rankwise.recording import Recording

LEAST_SINGLE = 0.1
"""Part of the bytes from which on messages from point to point are looked at without those of collectives."""

_WEAK, _COMPLETE, _SAMPLE, _MOST_OUTSIDE = 0.02, 0.9, 2000, 2
_POINTS = {2: {4: 5, 8: 9}, 3: {6: 7, 26: 27}}


@dataclass(frozen=True)
class _Pairs:
    """Pairs of ranks that talk, each once, the weak ones left out.

    Attributes:
        ranks: How many there are.
        low, high: Ranks of each pair.
        size: Bytes of each, both ways.
    """

    ranks: int
    low: npt.NDArray[np.int64]
    high: npt.NDArray[np.int64]
    size: npt.NDArray[np.float64]


def pattern_of(
    source: np.ndarray,
    destination: np.ndarray,
    size: np.ndarray,
    messages: np.ndarray,
    ranks: int,
    ranks_per_node: int | None = None,
) -> Pattern:
    """Name the pattern of messages.

    Pairs that have 2 % of the bytes together, and 2 % of the messages, are taken to be beside it.

    Args:
        source: Sending rank, by row; rows may repeat.
        destination: Receiving rank.
        size: Bytes of the row's messages together.
        messages: How many they are.
        ranks: How many ranks there are.
        ranks_per_node: On a full node, for what blocked and cyclic allocation send between nodes.
    """
    pairs = _pairs(source, destination, size, messages, ranks)
    found = _tell(pairs)
    if ranks_per_node is None or ranks_per_node >= ranks or not len(pairs.low):
        return found
    nodes = -(-ranks // ranks_per_node)
    blocked, cyclic = (
        _between_nodes(pairs, nodes_and_slots(ranks, nodes, ranks_per_node, plane)[0])
        for plane in (ranks_per_node, 1)
    )
    return replace(found, blocked=blocked, cyclic=cyclic)


def pattern_of_recording(recording: Recording) -> Pattern:
    """The pattern of a run: of messages from point to point if they have a tenth of the bytes, else of all."""
    messages = recording.messages.drop_nulls("destination")
    single = messages.filter(~messages["collective"])
    if int(single["bytes"].sum()) >= LEAST_SINGLE * int(messages["bytes"].sum()):
        messages = single
    hosts = recording.ranks["host"].value_counts()
    per_node = int(hosts["count"].to_numpy().max()) if len(hosts) > 1 else None
    source, destination, size, count = (
        messages[name].to_numpy().astype(np.int64) for name in ("source", "destination", "bytes", "messages")
    )
    return pattern_of(source, destination, size, count, recording.world_size, per_node)


def _tell(pairs: _Pairs) -> Pattern:
    if not len(pairs.low):
        return Pattern("none", "no rank sends bytes to another", [], "high", [])
    # What all ranks are in is not looked for in groups that do not talk to each other.
    whole: tuple[Callable[[_Pairs], Pattern | None], ...] = (
        (_neighbours, _tree, _power_of_two, _boundary) if _parts(pairs) == 1 else (_separate,)
    )
    for tell in (_all_to_all, _star, _groups, *whole):
        if (found := tell(pairs)) is not None:
            return found
    return _irregular(pairs)


def _pairs(
    source: np.ndarray, destination: np.ndarray, size: np.ndarray, messages: np.ndarray, ranks: int
) -> _Pairs:
    apart = (source != destination) & (destination >= 0) & (size > 0)
    low = np.minimum(source[apart], destination[apart]).astype(np.int64)
    high = np.maximum(source[apart], destination[apart]).astype(np.int64)
    pair, row = np.unique(low * ranks + high, return_inverse=True)
    bytes_, count = (
        np.bincount(row, each[apart], minlength=len(pair)).astype(np.float64) for each in (size, messages)
    )
    kept = np.flatnonzero(~(_weak(bytes_) & _weak(count)))
    return _Pairs(ranks, pair[kept] // ranks, pair[kept] % ranks, bytes_[kept])


def _weak(weight: np.ndarray) -> npt.NDArray[np.bool_]:
    """The least that are a small part of all together, and well below the least that is not."""
    order = np.argsort(weight, kind="stable")
    least = np.cumsum(weight[order]) <= _WEAK * weight.sum()
    weak = np.zeros(len(weight), bool)
    if least.any() and not least.all():
        weak[order] = least & (weight[order] < weight[order][~least].min() / 2)
    return weak


def _between_nodes(pairs: _Pairs, node: np.ndarray) -> float:
    return float(pairs.size[node[pairs.low] != node[pairs.high]].sum() / pairs.size.sum())


def _confidence(share: float) -> Literal["high", "medium"]:
    return "high" if share >= 0.99 else "medium"


def _all_to_all(pairs: _Pairs) -> Pattern | None:
    possible = pairs.ranks * (pairs.ranks - 1) // 2
    share = len(pairs.low) / possible
    if pairs.ranks == 2:
        return Pattern("all-to-all", "both ranks with each other", [], "high", [])
    if pairs.ranks < 4 or share < _COMPLETE:
        return None
    evidence = [f"{counted(len(pairs.low), 'pair')} of {possible} talk"]
    return Pattern("all-to-all", "all-to-all: every rank with every other", evidence, _confidence(share), [])


def _star(pairs: _Pairs) -> Pattern | None:
    if pairs.ranks < 4:
        return None
    of_rank = np.bincount(pairs.low, minlength=pairs.ranks) + np.bincount(pairs.high, minlength=pairs.ranks)
    centre = int(of_rank.argmax())
    if of_rank[centre] < len(pairs.low) or of_rank[centre] < _COMPLETE * (pairs.ranks - 1):
        return None
    share = int(of_rank[centre]) / (pairs.ranks - 1)
    evidence = [f"{counted(int(of_rank[centre]), 'rank')} talk to rank {centre}, and to no other"]
    return Pattern("star", f"star: all ranks with rank {centre}", evidence, _confidence(share), [])


def _groups(pairs: _Pairs) -> Pattern | None:
    """All-to-all in the rows of a grid of two dimensions, in its columns, or both."""
    if pairs.ranks < 6:
        return None
    for width in (w for w in range(2, pairs.ranks // 2 + 1) if pairs.ranks % w == 0):
        height = pairs.ranks // width
        row = pairs.low // width == pairs.high // width
        column = pairs.low % width == pairs.high % width
        if not (row | column).all():
            continue
        shares = {
            "rows": int(row.sum()) / (height * (width * (width - 1) // 2)),
            "columns": int(column.sum()) / (width * (height * (height - 1) // 2)),
        }
        sizes = {"rows": width, "columns": height}
        full = [name for name, share in shares.items() if share >= _COMPLETE and sizes[name] > 2]
        if not full or any(0 < share < _COMPLETE for share in shares.values()):
            continue
        used = [name for name, share in shares.items() if share >= _COMPLETE]
        where = " and ".join(used)
        evidence = [
            f"in {name} of {counted(sizes[name], 'rank')} all talk to all, and to no others" for name in used
        ]
        return Pattern(
            "groups-all-to-all",
            f"all-to-all in {where} of a grid of {height} x {width}",
            evidence,
            _confidence(min(shares[name] for name in used)),
            [height, width],
        )
    return None


def _separate(pairs: _Pairs) -> Pattern | None:
    """Groups of one size and pattern, of consecutive ranks or of every n-th, that do not talk to each other."""
    partners = np.bincount(pairs.low, minlength=pairs.ranks) + np.bincount(pairs.high, minlength=pairs.ranks)
    if (partners == 1).all():
        evidence = [f"each of {counted(pairs.ranks, 'rank')} talks to one other"]
        return Pattern("pairs", "pairs: each rank with one other", evidence, "high", [])
    head = _heads(pairs)
    groups, rank = len(np.unique(head)), np.arange(pairs.ranks)
    if pairs.ranks % groups:
        return None
    width = pairs.ranks // groups
    if np.array_equal(head, rank - rank % width):
        inside, which = rank % width, "consecutive ranks"
    elif np.array_equal(head, rank % groups):
        inside, which = rank // groups, f"every {groups}th rank"
    else:
        return None
    code, row, times = np.unique(
        inside[pairs.low] * width + inside[pairs.high], return_inverse=True, return_counts=True
    )
    if (times < groups).any():
        return None
    one = _tell(_Pairs(width, code // width, code % width, np.bincount(row, pairs.size).astype(np.float64)))
    return Pattern(
        "separate-groups",
        f"{groups} groups of {width} that do not talk to each other; in each: {one.words}",
        [f"a group is {which}", *one.evidence],
        one.confidence,
        one.grid,
    )


def _grids(ranks: int) -> Iterator[tuple[int, ...]]:
    """Extents of grids, slowest first: of one, two and three dimensions."""
    yield (ranks,)
    divisors = [each for each in range(2, ranks // 2 + 1) if ranks % each == 0]
    yield from ((each, ranks // each) for each in divisors)
    for one, two in product(divisors, divisors):
        if ranks % (one * two) == 0 and ranks // (one * two) >= 2:
            yield one, two, ranks // (one * two)


def _steps(pairs: _Pairs, grid: tuple[int, ...], some: slice = slice(None)) -> npt.NDArray[np.int64]:
    """By pair and dimension, how far it is from one rank to the other, the shorter way round."""
    low, high = (np.array(np.unravel_index(each[some], grid)) for each in (pairs.low, pairs.high))
    extents = np.array(grid)[:, None]
    step = (high - low) % extents
    found: npt.NDArray[np.int64] = np.where(step > extents // 2, step - extents, step)
    return found


def _neighbours(pairs: _Pairs) -> Pattern | None:
    """The grid of fewest dimensions in which only neighbours talk, and all of them."""
    if pairs.ranks < 3:
        return None
    stride = max(len(pairs.low) // _SAMPLE, 1)
    fits: list[tuple[int, float, tuple[int, ...], bool, int]] = []
    for grid in _grids(pairs.ranks):
        if fits and len(grid) > len(fits[0][2]):
            break
        if (np.abs(_steps(pairs, grid, slice(None, None, stride))) > 1).any():
            continue
        step = _steps(pairs, grid)
        if (np.abs(step) > 1).any():
            continue
        share, periodic, around = _complete(pairs, grid, step)
        if share >= _COMPLETE:
            fits.append((len(grid), -share, grid, periodic, around))
    if not fits:
        return None
    dimensions, missing, grid, periodic, around = min(fits)
    extents = " x ".join(map(str, grid))
    points = _POINTS.get(dimensions, {}).get(around)
    shape = ("ring" if periodic else "chain") if dimensions == 1 else f"grid of {extents}"
    how = f", {points} points" if points else ""
    edge = ", periodic" if periodic and dimensions > 1 else ""
    return Pattern(
        "nearest-neighbour",
        f"nearest neighbours in {counted(dimensions, 'dimension')}: {shape}{how}{edge}",
        [
            f"each rank talks to up to {counted(around, 'neighbour')} in a {shape}, and to no other",
            *_powers(pairs),
        ],
        # With extents of 2 it is a hypercube, too.
        "medium" if dimensions > 1 and max(grid) == 2 else _confidence(-missing),
        list(grid),
    )


def _powers(pairs: _Pairs) -> list[str]:
    """Whether the numbers of partners differ by powers of two only, the shorter way round."""
    apart = pairs.high - pairs.low
    apart = np.unique(np.minimum(apart, pairs.ranks - apart))
    if len(apart) < 2 or (apart & (apart - 1)).any():
        return []
    return [f"their numbers are {', '.join(map(str, apart.tolist()))} apart: power-of-two distances"]


def _complete(pairs: _Pairs, grid: tuple[int, ...], step: np.ndarray) -> tuple[float, bool, int]:
    """Part of a stencil's pairs that talk, whether it is periodic, and how many neighbours it has."""
    places = np.array(np.unravel_index(np.arange(pairs.ranks), grid))
    extents = np.array(grid)[:, None]
    low, high = places[:, pairs.low], places[:, pairs.high]
    periodic = bool((np.abs(high - low) > 1).any())
    digits = (3,) * len(grid)
    codes = np.unique(np.ravel_multi_index(tuple(step + 1), digits))
    directions = {
        tuple(part - 1 for part in each) for each in np.array(np.unravel_index(codes, digits)).T.tolist()
    }
    directions |= {tuple(-part for part in each) for each in directions}
    expected = []
    for direction in directions:
        to = places + np.array(direction)[:, None]
        there = np.ones(pairs.ranks, bool) if periodic else ((to >= 0) & (to < extents)).all(axis=0)
        peer = np.ravel_multi_index(tuple(to[:, there] % extents), grid)
        mine = np.flatnonzero(there)
        expected.append(np.minimum(mine, peer) * pairs.ranks + np.maximum(mine, peer))
    wanted = len(np.unique(np.concatenate(expected)))
    partners = np.bincount(pairs.low, minlength=pairs.ranks) + np.bincount(pairs.high, minlength=pairs.ranks)
    return len(pairs.low) / wanted, periodic, int(partners.max())


def _power_of_two(pairs: _Pairs) -> Pattern | None:
    """Partners that are a power of two away, by number or along one dimension of a grid, at three distances or more."""
    if pairs.ranks < 8:
        return None
    xor = pairs.low ^ pairs.high
    if ((xor & (xor - 1)) == 0).all() and len(np.unique(xor)) >= 3:
        return _at_powers(np.unique(xor), [], "numbers differ in one bit (hypercube)")
    best = None
    stride = max(len(pairs.low) // _SAMPLE, 1)
    for grid in _grids(pairs.ranks):
        if not _along_one(np.abs(_steps(pairs, grid, slice(None, None, stride)))):
            continue
        step = np.abs(_steps(pairs, grid))
        if not _along_one(step):
            continue
        far = np.unique(step.max(axis=0))
        if len(far) >= 2 and (best is None or len(grid) < len(best[1])):
            best = far, grid
    if best is None:
        return None
    far, grid = best
    return _at_powers(far, list(grid), f"along one dimension of a grid of {' x '.join(map(str, grid))}")


def _along_one(step: np.ndarray) -> bool:
    """Whether all steps are along one dimension, and a power of two long."""
    length = step.max(axis=0)
    return not (((step > 0).sum(axis=0) > 1).any() or ((length & (length - 1)) > 0).any())


def _at_powers(far: np.ndarray, grid: list[int], where: str) -> Pattern:
    distances = ", ".join(str(int(each)) for each in far[:6]) + (", ..." if len(far) > 6 else "")
    return Pattern(
        "power-of-two",
        f"partners at power-of-two distances: {distances}",
        [f"all partners are {distances} away, {where}"],
        "high" if len(far) >= 3 else "medium",
        grid,
    )


def _tree(pairs: _Pairs) -> Pattern | None:
    """As many pairs as ranks less one, which reach all ranks."""
    if pairs.ranks < 4 or len(pairs.low) != pairs.ranks - 1 or _parts(pairs) != 1:
        return None
    of_rank = np.bincount(pairs.low, minlength=pairs.ranks) + np.bincount(pairs.high, minlength=pairs.ranks)
    evidence = [
        f"{counted(pairs.ranks - 1, 'pair')} reach all ranks without a circle; a rank has up to "
        f"{counted(int(of_rank.max()), 'partner')}"
    ]
    return Pattern("tree", "tree", evidence, "high", [])


def _parts(pairs: _Pairs) -> int:
    """How many parts the ranks are in, between which nobody talks."""
    return len(np.unique(_heads(pairs)))


def _heads(pairs: _Pairs) -> npt.NDArray[np.int64]:
    """By rank, the first one of its part."""
    head = np.arange(pairs.ranks)
    while True:
        least = head.copy()
        np.minimum.at(least, pairs.low, head[pairs.high])
        np.minimum.at(least, pairs.high, head[pairs.low])
        least = least[least]
        if np.array_equal(least, head):
            return head
        head = least


def _boundary(pairs: _Pairs) -> Pattern | None:
    """Groups of consecutive ranks that talk inside, and to few outside (NAS CG)."""
    best = None
    for width in (w for w in range(3, pairs.ranks // 2 + 1) if pairs.ranks % w == 0):
        inside = pairs.low // width == pairs.high // width
        outside = np.bincount(pairs.low[~inside], minlength=pairs.ranks)
        outside += np.bincount(pairs.high[~inside], minlength=pairs.ranks)
        groups = pairs.ranks // width
        within = replace(pairs, low=pairs.low[inside], high=pairs.high[inside], size=pairs.size[inside])
        share = float(pairs.size[inside].sum() / pairs.size.sum())
        if share < 0.5 or outside.max() > _MOST_OUTSIDE or not outside.any() or _parts(within) != groups:
            continue
        # Of those with as many partners outside the narrowest: wider groups hold it whole.
        if best is None or outside.max() < best[2]:
            best = width, share, int(outside.max())
    if best is None:
        return None
    width, share, most = best
    return Pattern(
        "groups-with-boundary",
        f"groups of {width} with boundary exchanges",
        [
            f"{share * 100:.0f} % of the bytes stay in groups of {counted(width, 'consecutive rank')}; each rank has "
            f"up to {counted(most, 'partner')} outside"
        ],
        "medium",
        [pairs.ranks // width, width],
    )


def _irregular(pairs: _Pairs) -> Pattern:
    partners = np.bincount(pairs.low, minlength=pairs.ranks) + np.bincount(pairs.high, minlength=pairs.ranks)
    evidence = [
        f"a rank has {partners.mean():.1f} partners on average, {int(partners.min())} to {int(partners.max())}; "
        "they are in no grid, group or tree by their numbers"
    ]
    return Pattern("irregular", "irregular", evidence, "medium", [])
