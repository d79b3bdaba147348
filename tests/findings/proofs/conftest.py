# SPDX-License-Identifier: BSD-3-Clause
"""Programs with a planted defect (tests/programs/defects), and one core a rank to run them on."""

import os

import pytest

from rankwise.errors import RankwiseError
from rankwise.lab.permission import needs_user_namespace


@pytest.fixture(scope="session")
def defective(compiled):
    """Function (mpi, name) -> the compiled program tests/programs/defects/NAME.c."""

    def build(mpi, name):
        return compiled(mpi, f"defects/{name}.c", "-lm")

    return build


@pytest.fixture
def two_cores():
    """Skip where two ranks cannot have a core each."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two PUs: on one, ranks share it, which is a defect of its own")


@pytest.fixture
def lab_allowed(monkeypatch, tmp_path):
    """Skip where no lab can be started; its state is in the test's own folder."""
    try:
        needs_user_namespace()
    except RankwiseError as error:
        pytest.skip(error.message)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
