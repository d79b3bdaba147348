# SPDX-License-Identifier: BSD-3-Clause
"""Halo exchange in mpi4py: `halo_exchange.py STEPS POINTS FIELDS`.

Ranks form a grid without wrap-around; each has FIELDS square fields of POINTS x POINTS points. A step sends the edges
to up to four neighbours, updates the fields, and every tenth step adds up the residual over all ranks. Rank 0 ends
with a line, and with status 1 if the sum of all points, which every step keeps, has changed.
"""

import sys

import numpy as np
from mpi4py import MPI


def main(steps: int, points: int, fields: int) -> int:
    """Run on all ranks of MPI_COMM_WORLD."""
    world = MPI.COMM_WORLD
    grid = world.Create_cart(MPI.Compute_dims(world.size, 2), periods=[False, False])
    up, down = grid.Shift(0, 1)
    left, right = grid.Shift(1, 1)
    neighbours = [up, down, left, right]
    field = np.full((fields, points, points), float(world.rank))
    edges = [np.empty((fields, points)) for _ in neighbours]
    halos = [np.empty((fields, points)) for _ in neighbours]
    residual = np.zeros(1)
    before = world.allreduce(float(field.sum()))
    for step in range(steps):
        own = [field[:, 0, :], field[:, -1, :], field[:, :, 0], field[:, :, -1]]
        for edge, values in zip(edges, own, strict=True):
            np.copyto(edge, values)
        receives = [grid.Irecv(halo, source=peer) for halo, peer in zip(halos, neighbours, strict=True)]
        sends = [grid.Isend(edge, dest=peer) for edge, peer in zip(edges, neighbours, strict=True)]
        MPI.Request.Waitall(receives + sends)
        # What flows over an edge is the same for both ranks with opposite sign, so the sum stays.
        for values, halo, edge, peer in zip(own, halos, edges, neighbours, strict=True):
            if peer != MPI.PROC_NULL:
                values += 0.1 * (halo - edge)
        change = 0.1 * np.diff(field, axis=1)
        field[:, :-1, :] += change
        field[:, 1:, :] -= change
        if step % 10 == 9:
            world.Allreduce(np.array([np.abs(change).max()]), residual, op=MPI.MAX)
    grid.Free()
    after = world.allreduce(float(field.sum()))
    kept = abs(after - before) <= 1e-9 * max(abs(before), 1.0)
    if world.rank == 0:
        sys.stdout.write(f"halo ranks={world.size} steps={steps} verified={'yes' if kept else 'no'}\n")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:4])))
