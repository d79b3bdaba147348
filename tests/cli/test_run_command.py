# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise run` on the MPIs at hand."""

import os
import socket
import subprocess
import sys

import mpis
import pytest
from fake_launchers import fake_launcher

from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology, from_synthetic
from rankwise.placement.file import save

pytestmark = pytest.mark.skipif(not {0, 1} <= os.sched_getaffinity(0), reason="needs PUs 0 and 1")
NODE = "package:1 core:2"
SAY = """
import os, sys
rank = os.environ.get("PMI_RANK") or os.environ.get("OMPI_COMM_WORLD_RANK")
os.write(1, f"{rank} {sorted(os.sched_getaffinity(0))}\\n".encode())
sys.exit(int(sys.argv[1]))
"""


@pytest.fixture
def place(tmp_path):
    """Function (placement, words of the line) -> how `rankwise run` ended, in a directory of its own."""
    node = from_synthetic(NODE)
    for name, cores in (("forth", [0, 1]), ("back", [1, 0]), ("both", [1, 1])):
        placement = Placement.explicit(Topology.of(node, 1), [(0, [core]) for core in cores])
        save(placement, tmp_path / f"{name}.json")

    def run(placement, *line, options=("--node", NODE), environment=None):
        command = [sys.executable, "-m", "rankwise", "run", "-p", f"{placement}.json", *options, "--"]
        return subprocess.run(
            [*command, *map(str, line)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
            cwd=tmp_path,
        )

    return run


own_launcher = mpis.only(mpis.has_its_own_launcher)


@pytest.fixture
def rankwise(mpi, place):
    """The same with the launcher of the MPI at hand, on two ranks."""

    def run(placement, *words, **keywords):
        return place(placement, mpi.mpiexec, "-n", "2", *words, environment=mpi.environment(), **keywords)

    return run


def ours(done):
    return [line for line in done.stderr.splitlines() if line.startswith("rankwise:")]


@pytest.mark.parametrize(("placement", "seen"), [("forth", ["0 [0]", "1 [1]"]), ("back", ["0 [1]", "1 [0]"])])
@own_launcher
def test_ranks_are_where_the_placement_says_and_the_status_is_the_programs(rankwise, placement, seen):
    done = rankwise(placement, sys.executable, "-c", SAY, "0")
    assert sorted(done.stdout.splitlines()) == seen
    assert ours(done) == [f"rankwise: verified: 2 ranks on 1 host ran as {placement}.json says"]
    assert done.returncode == 0


@own_launcher
def test_ranks_share_a_core_where_the_user_allows_it(rankwise):
    done = rankwise("both", sys.executable, "-c", SAY, "0", options=("--node", NODE, "--share-cores"))
    assert sorted(done.stdout.splitlines()) == ["0 [1]", "1 [1]"], done.stderr
    assert ours(done) == ["rankwise: verified: 2 ranks on 1 host ran as both.json says"]


@pytest.mark.mpi
def test_an_mpi_program_is_placed_recorded_and_verified(mpi, rankwise, compiled, tmp_path):
    from rankwise.recording import Recording

    program = compiled(mpi, "ring.c")
    done = rankwise("back", program, options=("--node", NODE, "--record", "r.rw"))
    assert done.returncode == 0, done.stderr
    lines = ours(done)
    assert lines[0] == "rankwise: verified: 2 ranks on 1 host ran as back.json says"
    assert lines[1].startswith("rankwise: wrote r.rw: 2 ranks, ")
    # AND the recorder, in MPI_Init, saw the same, and keeps the line as it was typed
    context = Recording.open(tmp_path / "r.rw").context
    assert context["run"]["command"] == [str(mpi.mpiexec), "-n", "2", str(program)]
    bindings = context["bindings"]
    assert [each["pus"] for each in sorted(bindings, key=lambda each: each["rank"])] == [[1], [0]]


@pytest.mark.mpi
@mpis.only(mpis.has_its_own_launcher, quick=("mpich-5.0.2", "openmpi-5.0.11"))
def test_a_program_that_binds_itself_elsewhere_is_reported_and_keeps_its_status(rankwise, tmp_path):
    # GIVEN a program that undoes its binding before it becomes another
    astray = "import os; os.sched_setaffinity(0, [0, 1]); os.execv('/bin/sh', ['sh', '-c', 'exit 3'])"
    done = rankwise("back", sys.executable, "-c", astray)
    assert done.returncode == 3
    [line] = ours(done)
    assert line.startswith("rankwise: rank ")
    assert "but runs on PUs 0-1 of" in line
    # AND nothing of the run is left behind
    assert sorted(each.name for each in tmp_path.iterdir()) == ["back.json", "both.json", "forth.json"]


@pytest.mark.parametrize(
    ("sentence", "placement", "options", "line"),
    [
        (
            f"`{socket.gethostname()}`: the placement was made for nodes of another kind (in `--node`: core:3)",
            "back",
            ["--node", "core:3"],
            ["{}", "true"],
        ),
        ("placement file `absent.json` cannot be read", "absent", [], ["{}", "true"]),
        ("the launch line has 3 ranks, the placement 2", "back", [], ["{}", "-n", "3", "true"]),
        ("there is no program `./nothing`", "back", [], ["{}", "-n", "2", "./nothing"]),
        ("`-bind-to core` and the placement both say", "back", [], ["{}", "-bind-to", "core", "true"]),
        ("placing ranks with `echo` is not supported", "back", [], ["echo"]),
        ("ranks 0 and 1 are both placed on core 1 of `", "both", [], ["{}", "-n", "2", "true"]),
        ("ranks 0 and 1 are both placed on core 1 of `", "both", ["--reorder"], ["{}", "-n", "2", "true"]),
        ("`--trace` is about a recording, and none is made", "back", ["--trace"], ["{}", "true"]),
        ("`--exact-times` is about a recording", "back", ["--exact-times"], ["{}", "true"]),
        ("`--exact-times` is for traces", "back", ["--record", "x.rw", "--exact-times"], ["{}", "true"]),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_starts(
    place, tmp_path, sentence, placement, options, line
):
    launcher = fake_launcher(tmp_path / "bin", "mpiexec", "hydra", does="echo started")
    if "--node" not in options:
        options = [*options, "--node", NODE]
    done = place(placement, *(word.format(launcher) for word in line), options=options)
    assert f"error: {sentence}" in done.stderr
    assert "\n\nhint: " in done.stderr
    assert done.stdout == ""
    assert done.returncode == (127 if "./nothing" in sentence else 125)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["back.json", "bin", "both.json", "forth.json"]


def test_no_command_is_refused(tmp_path):
    command = [sys.executable, "-m", "rankwise", "run", "-p", "x.json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 125
    assert done.stderr.startswith("error: no program to run\n")
