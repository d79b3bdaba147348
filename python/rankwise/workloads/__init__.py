# SPDX-License-Identifier: BSD-3-Clause
"""Programs that do the communication of known applications: what they send, and how to build them.

The same C code runs as an MPI program and, without MPI, one rank at a time, so that messages can be counted at any
number of ranks.
"""

from rankwise.workloads.build import build, build_startup
from rankwise.workloads.catalogue import Option, Workload, names, workload
from rankwise.workloads.decompose import decompose
from rankwise.workloads.generate import Communication, generate
from rankwise.workloads.program import Collective, Kind, Program, program
from rankwise.workloads.schedule import schedule

__all__ = [
    "Collective",
    "Communication",
    "Kind",
    "Option",
    "Program",
    "Workload",
    "build",
    "build_startup",
    "decompose",
    "generate",
    "names",
    "program",
    "schedule",
    "workload",
]
