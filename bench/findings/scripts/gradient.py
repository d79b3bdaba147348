# SPDX-License-Identifier: BSD-3-Clause
"""Gradient steps: each rank computes on its own data, all add up 80 kB."""

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
data = np.random.default_rng(world.rank).random((400, 10_000 // world.size))
model, total = np.zeros(10_000), np.empty(10_000)
for _ in range(300):
    part = np.zeros(10_000)
    mine = slice(world.rank * data.shape[1], (world.rank + 1) * data.shape[1])
    part[mine] = data.T @ (data @ model[mine] - 1)
    world.Allreduce(part, total)
    model -= 1e-6 * total
