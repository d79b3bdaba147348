# SPDX-License-Identifier: BSD-3-Clause
"""A lab for tests, in a directory of its own so that no other lab of this user is in the way."""

import json
import os
import subprocess
import sys

import mpis
import pytest

from rankwise.errors import RankwiseError
from rankwise.lab.permission import needs_user_namespace

BENCH = mpis.TOP / "bench"


class LabLine:
    """Run `rankwise lab ...` with a directory of labs of its own."""

    def __init__(self, directory):
        self.directory = directory
        dropped = ("PMI", "OMPI_", "PMIX_", "RANKWISE", "MPIR_", "LD_PRELOAD")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
        self.environment = kept | {"XDG_RUNTIME_DIR": str(directory), "PYTHONPATH": str(BENCH)}

    def __call__(self, *words, timeout=60):
        return self.python("rankwise", "lab", *words, timeout=timeout)

    def python(self, *words, timeout=60):
        """Run `python -m ...`, which finds what is in bench/ too."""
        return subprocess.run(
            [sys.executable, "-m", *map(str, words)],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
        )

    def state(self, name="lab"):
        return json.loads((self.directory / "rankwise" / "labs" / name / "lab.json").read_text())

    def on(self, host, *command, name="lab"):
        """Output of a command on a host of the lab."""
        import rankwise.lab.enter as enter

        state = self.directory / "rankwise" / "labs" / name / "lab.json"
        words = [sys.executable, "-I", "-S", enter.__file__, str(state), "exec", host, *command]
        return subprocess.run(words, capture_output=True, text=True, timeout=20, check=True).stdout


def may_make_namespaces():
    try:
        needs_user_namespace()
    except RankwiseError as error:
        pytest.skip(f"{error.message}: {'; '.join(error.causes)}")


@pytest.fixture
def line(tmp_path):
    """The command with no lab up; whatever it brings up is taken down."""
    may_make_namespaces()
    lab = LabLine(tmp_path)
    yield lab
    for each in (tmp_path / "rankwise" / "labs").glob("*/lab.json"):
        lab("down", "--name", each.parent.name)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Four nodes of four cores at 100mbit."""
    may_make_namespaces()
    line = LabLine(tmp_path_factory.mktemp("labs"))
    up = line("up", "--nodes", 4, "--cores", 4, "--rate", "100mbit")
    assert up.returncode == 0, up.stderr
    yield line
    down = line("down")
    assert down.returncode == 0, down.stderr
