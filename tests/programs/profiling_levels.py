# SPDX-License-Identifier: BSD-3-Clause
"""As profiling_levels.c."""

from mpi4py import MPI


def barriers(count):
    for _ in range(count):
        MPI.COMM_WORLD.Barrier()


barriers(1)
MPI.Pcontrol(0)
barriers(2)
MPI.Pcontrol(1)
barriers(4)
MPI.Pcontrol(2)
barriers(8)
MPI.Pcontrol(0)
barriers(16)
