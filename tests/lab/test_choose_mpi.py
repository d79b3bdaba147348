# SPDX-License-Identifier: BSD-3-Clause
"""Which launcher a program in a lab is started with."""

import pytest

from rankwise.lab import choose_mpi
from rankwise.launchers.detect import MpiOfProgram
from rankwise.launchers.line import Launcher

OLD, NEW = (
    Launcher("hydra", "mpiexec", f"{place}/mpiexec", version, "MPICH")
    for version, place in (("4.0.2", "/usr/bin"), ("5.0.2", "/opt/mpich/bin"))
)


@pytest.fixture
def found(monkeypatch):
    """Beside the program an old MPICH, which labs refuse; a newer one on PATH."""
    monkeypatch.setattr(choose_mpi, "_candidates", lambda *_: ["old", "new"])
    monkeypatch.setattr(choose_mpi, "identify", {"old": OLD, "new": NEW}.get)
    return choose_mpi.choose_launcher


def test_a_script_is_started_with_the_first_launcher_that_labs_take(found):
    assert found("/usr/bin/script", MpiOfProgram(None, None, None, "nothing is linked"), None) is NEW


def test_a_linked_program_is_started_with_its_own(found):
    assert (
        found("/usr/bin/app", MpiOfProgram("mpich", "MPICH", "/usr/lib/libmpich.so", "linked"), None) is OLD
    )
