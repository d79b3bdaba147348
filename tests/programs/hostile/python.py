# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py loads its MPI late and privately, asks by weak references what it has, and calls the large-count functions."""

import os
from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
following, previous = (world.rank + 1) % world.size, (world.rank - 1) % world.size
for _ in range(5):
    world.Sendrecv(bytearray(1000), following, 0, bytearray(1000), previous, 0)
total = array("d", [0.0])
world.Bcast(total)
world.Allreduce(array("d", [1.0]), total)
large = "_c" if MPI.VERSION >= 4 else ""
with open(os.path.join(os.environ["EXPECT"], str(world.rank)), "w") as file:
    print(f"sent MPI_Sendrecv{large} {following} 5 5000", file=file)
    print(f"received MPI_Sendrecv{large} {previous} 5 5000", file=file)
    print(f"collective MPI_Bcast{large} 0 1 8", file=file)
    print(f"collective MPI_Allreduce{large} 0 1 8", file=file)
