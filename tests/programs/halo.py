# SPDX-License-Identifier: BSD-3-Clause
"""Each rank sends 1000 bytes to its successor 5 times; then all add up 8 bytes."""

from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
successor, predecessor = (world.rank + 1) % world.size, (world.rank - 1) % world.size
for _ in range(5):
    world.Sendrecv(bytearray(1000), successor, 0, bytearray(1000), predecessor, 0)
total = array("d", [0.0])
world.Allreduce(array("d", [1.0]), total)
if world.rank == 0:
    print(total[0])
