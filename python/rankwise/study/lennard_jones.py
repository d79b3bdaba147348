# SPDX-License-Identifier: BSD-3-Clause
"""The Lennard-Jones benchmark of LAMMPS: how much of its atoms goes to a neighbour."""

from __future__ import annotations

import math

from rankwise.study.program import StudyProgram, workload_program

_DENSITY, _REACH, _ATOM_BYTES = (
    0.8442,
    2.5 + 0.3,
    24,
)  # of `bench/in.lj`: lattice; cut-off and skin; three numbers


def face_bytes(atoms: int) -> int:
    """Bytes of the positions of the atoms that a cubic brick sends through one face.

    Args:
        atoms: Of the brick.
    """
    face = math.pow(atoms / _DENSITY, 2 / 3)
    return round(face * _REACH * _DENSITY) * _ATOM_BYTES


def lennard_jones(atoms: int) -> StudyProgram:
    """The workload with this many atoms a rank."""
    return workload_program("lammps", options=(("atoms", str(atoms)), ("bytes", str(face_bytes(atoms)))))
