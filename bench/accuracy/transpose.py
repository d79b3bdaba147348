# SPDX-License-Identifier: BSD-3-Clause
"""Transpose of a matrix that is divided by rows, in mpi4py: `transpose.py TIMES ROWS`.

Each rank has ROWS rows of a square matrix, which is transposed and back so many times. A transposition sends each rank
its block (MPI_Alltoall), puts the transposed blocks together and adds 1 to each element. Rank 0 ends with a line, and
with status 1 if the matrix is not what that leaves.
"""

import sys

import numpy as np
from mpi4py import MPI


def main(times: int, rows: int) -> int:
    """Run on all ranks of MPI_COMM_WORLD."""
    world = MPI.COMM_WORLD
    start = np.arange(rows * rows * world.size, dtype=np.float64).reshape(rows, -1) + world.rank
    matrix = start.copy()
    sent = np.empty((world.size, rows, rows))
    received = np.empty_like(sent)
    for _ in range(2 * times):
        np.copyto(sent, matrix.reshape(rows, world.size, rows).transpose(1, 0, 2))
        world.Alltoall(sent, received)
        np.copyto(matrix.reshape(rows, world.size, rows), received.transpose(2, 0, 1))
        matrix += 1.0
    # Of an object (allreduce) mpi4py would make a communicator, on whose end Open MPI 5 crashes while it is monitored.
    right = np.array([np.array_equal(matrix, start + 2 * times)], np.int32)
    world.Allreduce(MPI.IN_PLACE, right, op=MPI.LAND)
    if world.rank == 0:
        sys.stdout.write(
            f"transpose ranks={world.size} times={times} verified={'yes' if right[0] else 'no'}\n"
        )
    return 0 if right[0] else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3])))
