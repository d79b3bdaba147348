# SPDX-License-Identifier: BSD-3-Clause
"""Launch lines: what starts an MPI program, understood and changed in the launcher's own way.

`parse` finds the launcher, the number of ranks and the program in a command line; `emit_environment` gives
the ranks, and only them, more environment variables; `mpi_of` finds out which MPI a program is linked with.
"""

from rankwise.launchers.adapters import emit_environment, parse
from rankwise.launchers.detect import MpiOfProgram, check_family, mpi_of
from rankwise.launchers.line import Launch, LaunchLine, Segment

__all__ = [
    "Launch",
    "LaunchLine",
    "MpiOfProgram",
    "Segment",
    "check_family",
    "emit_environment",
    "mpi_of",
    "parse",
]
