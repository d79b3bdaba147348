# SPDX-License-Identifier: BSD-3-Clause
"""Launch lines: what starts an MPI program, understood and changed in the launcher's own way.

`parse` finds the launcher, the number of ranks and the program in a command line; `emit_environment` gives
the ranks, and only them, more environment variables; `emit_placement` puts each rank
on its cores; `mpi_of` finds out which MPI a program is linked with.
"""

from rankwise.launchers.adapters import check_placement, emit_environment, emit_placement, parse
from rankwise.launchers.detect import MpiOfProgram, check_family, mpi_of
from rankwise.launchers.line import Launch, LaunchLine, Segment

__all__ = [
    "Launch",
    "LaunchLine",
    "MpiOfProgram",
    "Segment",
    "check_family",
    "check_placement",
    "emit_environment",
    "emit_placement",
    "mpi_of",
    "parse",
]
