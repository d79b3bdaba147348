# SPDX-License-Identifier: BSD-3-Clause
"""What the launchers at hand really do with what is emitted."""

import os
import shutil
import subprocess
import sys

import pytest

from rankwise.launchers import emit_environment, parse

pytestmark = pytest.mark.mpi

# Leaves a file named like each process it is preloaded into.
WITNESS = """
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void seen(void) {
    char path[4096];
    if (!getenv("WITNESS")) return;
    snprintf(path, sizeof path, "%s/%s", getenv("WITNESS"), program_invocation_short_name);
    open(path, O_CREAT | O_WRONLY, 0600);
}
"""


@pytest.fixture(scope="module")
def witness(tmp_path_factory):
    directory = tmp_path_factory.mktemp("witness")
    for name in ("ours", "theirs"):
        (directory / "w.c").write_text(WITNESS)
        command = ["cc", "-shared", "-fPIC", "w.c", "-o", f"{name}.so"]
        subprocess.run(command, check=True, cwd=directory)
    return directory


@pytest.fixture
def run_line(mpi, tmp_path):
    """Run a launch line with variables for the ranks; returns what the ranks print, sorted."""

    def run(words, variables, **environment):
        launch = emit_environment(parse(words), variables)
        done = subprocess.run(
            launch.words,
            env=launch.environment_of_first(mpi.environment() | environment),
            capture_output=True,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stderr
        return sorted(done.stdout.splitlines())

    return run


# One write a rank, because lines of ranks may be cut into each other.
SHOW = """
import os, sys
values = [os.environ.get(name, "") for name in ("RW_A", "RW_B")]
os.write(1, ("|".join([sys.argv[1], *values]) + "\\n").encode())
"""


def test_every_rank_of_every_segment_has_the_variables(mpi, run_line):
    one = mpi.launch(2, sys.executable, "-c", SHOW, "one")
    two = ["-n", "1", sys.executable, "-c", SHOW, "two"]
    variables = {"RW_A": "a,b c;d=e", "RW_B": "/x"}
    assert run_line([*one, ":", *two], variables) == [
        "one|a,b c;d=e|/x",
        "one|a,b c;d=e|/x",
        "two|a,b c;d=e|/x",
    ]


def test_the_ranks_are_preloaded_and_the_launcher_is_not(mpi, witness, tmp_path, run_line):
    # GIVEN a program of its own name, which does not end before its launcher has set up all ranks
    program = shutil.copy(shutil.which("sleep"), tmp_path / "witnessed")
    seen = tmp_path / "seen"
    seen.mkdir()
    # WHEN it is launched with a library for the ranks
    run_line(mpi.launch(2, program, "0.5"), {"LD_PRELOAD": str(witness / "ours.so")}, WITNESS=str(seen))
    # THEN the library was loaded into the program, and into no part of the launcher
    assert os.listdir(seen) == ["witnessed"]


def test_a_library_the_user_preloads_stays(mpi, witness, run_line):
    show = "import os; print(os.environ['LD_PRELOAD'])"
    options = {
        "mpich": ["-env", "LD_PRELOAD", f"{witness}/theirs.so"],
        "openmpi": ["-x", f"LD_PRELOAD={witness}/theirs.so"],
    }
    line = mpi.launch(1)
    printed = run_line(
        [*line, *options[mpi.family], sys.executable, "-c", show], {"LD_PRELOAD": f"{witness}/ours.so"}
    )
    assert printed == [f"{witness}/ours.so:{witness}/theirs.so"]
