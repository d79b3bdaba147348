# SPDX-License-Identifier: BSD-3-Clause
"""Rank 0 hands out 400 pieces of work of unequal length, and collects what comes of them."""

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
if world.rank == 0:
    pieces, state = list(range(400)), MPI.Status()
    total, working = 0.0, world.size - 1
    while working:
        total += world.recv(status=state)
        working -= not pieces
        world.send(pieces.pop() if pieces else None, state.source)
else:
    result = 0.0
    while True:
        world.send(result, 0)
        piece = world.recv(source=0)
        if piece is None:
            break
        matrix = np.ones((40 + piece % 100, 40 + piece % 100))
        result = float((matrix @ matrix @ matrix).sum())
