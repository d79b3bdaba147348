# SPDX-License-Identifier: BSD-3-Clause
"""Communication graphs of known patterns for `bench/place.py`, ranks numbered as the applications number them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Edges = tuple[np.ndarray, np.ndarray, np.ndarray]


def compressed(ranks: int, edges: Edges) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compressed rows of an undirected graph from edges (from, to, weight); edges between the same ranks are added up.

    Returns:
        Where each rank's neighbours begin, the neighbours, the weights.
    """
    a, b, weight = (np.asarray(each, dtype=np.int64) for each in edges)
    kept = a != b
    a, b, weight = a[kept], b[kept], weight[kept]
    key = np.concatenate([a * ranks + b, b * ranks + a])
    order = np.argsort(key, kind="stable")
    key, weight = key[order], np.concatenate([weight, weight])[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    key, weight = key[first], np.add.reduceat(weight, first) if len(first) else weight
    offsets = np.searchsorted(key // ranks, np.arange(ranks + 1))
    return offsets.astype(np.int64), (key % ranks).astype(np.int32), weight.astype(np.int64)


def _grid(shape: tuple[int, ...], steps: list[tuple[tuple[int, ...], int]], periodic: bool) -> Edges:
    index = np.arange(np.prod(shape)).reshape(shape)
    parts = []
    for step, weight in steps:
        to = np.roll(index, [-s for s in step], axis=range(len(shape)))
        inside = np.ones(shape, dtype=bool)
        if not periodic:
            for axis, (s, size) in enumerate(zip(step, shape, strict=True)):
                place = np.arange(size) + s
                fits = ((place >= 0) & (place < size)).reshape(
                    [-1 if k == axis else 1 for k in range(len(shape))]
                )
                inside &= fits
        parts.append((index[inside], to[inside], np.full(int(inside.sum()), weight)))
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def halo2d(ranks: int) -> Edges:
    """9-point stencil on a square: sides 16, corners 1."""
    side = round(ranks**0.5)
    return _grid((side, ranks // side), [((0, 1), 16), ((1, 0), 16), ((1, 1), 1), ((1, -1), 1)], False)


def _cube(ranks: int) -> tuple[int, int, int]:
    side = round(ranks ** (1 / 3))
    if side**3 == ranks:
        return side, side, side
    bits = ranks.bit_length() - 1
    return 2 ** ((bits + 2) // 3), 2 ** ((bits + 1) // 3), 2 ** (bits // 3)


def halo3d(ranks: int) -> Edges:
    """27-point stencil on a cube: faces 64, edges 4, corners 1."""
    steps = []
    for code in range(14, 27):
        step = (code // 9 - 1, code // 3 % 3 - 1, code % 3 - 1)
        steps.append((step, (64, 4, 1)[sum(map(abs, step)) - 1]))
    return _grid(_cube(ranks), steps, False)


def halo3da(ranks: int) -> Edges:
    """7-point stencil on a torus, with 4 : 2 : 1 as much along the dimensions."""
    return _grid(_cube(ranks), [((1, 0, 0), 16), ((0, 1, 0), 8), ((0, 0, 1), 4)], True)


def cg(ranks: int) -> Edges:
    """NPB CG: sums over a row of processes by recursive doubling, and the exchange with the transposed process."""
    bits = ranks.bit_length() - 1
    rows = 2 ** (bits // 2)
    columns = ranks // rows
    rank = np.arange(ranks)
    row, column = rank // columns, rank % columns
    parts = [
        (rank, row * columns + (column ^ (1 << k)), np.full(ranks, 4))
        for k in range(columns.bit_length() - 1)
    ]
    square, half = column * columns + row, column // 2 * columns + 2 * row + column % 2
    partner = square if rows == columns else half
    parts.append((rank, partner, np.full(ranks, 4)))
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def mg(ranks: int) -> Edges:
    """NPB MG: neighbours on a torus at distances that are powers of two, a quarter as much at each coarser grid."""
    shape = _cube(ranks)
    steps = []
    for axis, size in enumerate(shape):
        distance, weight = 1, 1024
        while distance < size:
            steps.append((tuple(distance if k == axis else 0 for k in range(3)), max(weight, 1)))
            distance, weight = 2 * distance, weight // 4
    return _grid(shape, steps, True)


def ft(ranks: int) -> Edges:
    """NPB FT with two dimensions: all-to-all in each row and in each column of a square."""
    side = round(ranks**0.5)
    a, b = np.triu_indices(side, 1)
    line = np.arange(side)[:, None]
    rows = (line * side + a).ravel(), (line * side + b).ravel()
    columns = (a * side + line).ravel(), (b * side + line).ravel()
    edges = np.concatenate([rows, columns], axis=1)
    return edges[0], edges[1], np.ones(edges.shape[1], dtype=np.int64)


def rgg(ranks: int) -> Edges:
    """Random geometric graph in the unit square, about 8 neighbours each, numbered at random."""
    rng = np.random.default_rng(7)
    points = rng.random((ranks, 2))
    return _near(points, (8 / (np.pi * ranks)) ** 0.5)


def rggkd(ranks: int) -> Edges:
    """The same, numbered as recursive bisection of the points does."""
    rng = np.random.default_rng(7)
    points = rng.random((ranks, 2))
    return _near(points[_kd(points, np.arange(ranks), 0)], (8 / (np.pi * ranks)) ** 0.5)


def _kd(points: np.ndarray, members: np.ndarray, axis: int) -> np.ndarray:
    if len(members) <= 1:
        return members
    order = members[np.argsort(points[members, axis], kind="stable")]
    half = len(order) // 2
    return np.concatenate([_kd(points, order[:half], 1 - axis), _kd(points, order[half:], 1 - axis)])


def _near(points: np.ndarray, radius: float) -> Edges:
    cells = max(1, int(1 / radius))
    cell = np.minimum((points * cells).astype(np.int64), cells - 1)
    key = cell[:, 0] * cells + cell[:, 1]
    order = np.argsort(key, kind="stable")
    start = np.searchsorted(key[order], np.arange(cells * cells + 1))
    found = []
    for dx, dy in ((0, 0), (0, 1), (1, -1), (1, 0), (1, 1)):
        x, y = cell[:, 0] + dx, cell[:, 1] + dy
        there = np.flatnonzero((x >= 0) & (x < cells) & (y >= 0) & (y < cells))
        other = x[there] * cells + y[there]
        count = start[other + 1] - start[other]
        a = np.repeat(there, count)
        within = np.arange(len(a)) - np.repeat(np.cumsum(count) - count, count)
        b = order[np.repeat(start[other], count) + within]
        kept = np.sum((points[a] - points[b]) ** 2, axis=1) < radius**2
        if (dx, dy) == (0, 0):
            kept &= a < b
        found.append((a[kept], b[kept]))
    a, b = (np.concatenate(column) for column in zip(*found, strict=True))
    return a, b, np.ones(len(a), dtype=np.int64)


def plaw(ranks: int) -> Edges:
    """Power law (Chung and Lu 2002): degrees with exponent 2.5, about 8 neighbours each, weights 1 to 16."""
    rng = np.random.default_rng(7)
    wish = (1 + np.arange(ranks)) ** (-1 / 1.5)
    wish /= wish.sum()
    who = rng.permutation(ranks)
    a, b = (who[rng.choice(ranks, 4 * ranks, p=wish)] for _ in range(2))
    return a, b, rng.integers(1, 17, 4 * ranks)


def shape_of(name: str, ranks: int) -> tuple[int, ...] | None:
    """Extents of a pattern that is a grid, slowest first; `None` for others."""
    if name in ("halo2d", "ft"):
        side = round(ranks**0.5)
        return side, ranks // side
    if name == "cg":
        rows = 2 ** ((ranks.bit_length() - 1) // 2)
        return rows, ranks // rows
    return _cube(ranks) if name in ("halo3d", "halo3da", "mg") else None


PATTERNS: dict[str, Callable[[int], Edges]] = {
    each.__name__: each for each in (halo2d, halo3d, halo3da, cg, mg, ft, rgg, rggkd, plaw)
}
