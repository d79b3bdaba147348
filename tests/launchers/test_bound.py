# SPDX-License-Identifier: BSD-3-Clause
"""Launch lines that bind each rank to cores of its own, by launcher and version."""

import subprocess

import pytest

from rankwise.launchers.bound import Asked, alone, asked, bound, in_order, on_pus, with_settings, yielding
from rankwise.launchers.line import Launcher

HYDRA = Launcher("hydra", "", "/usr/bin/mpiexec", "5.0.2", "MPICH")
INTEL = Launcher("hydra", "", "/opt/mpirun", "2021.18", "Intel MPI")
OPEN4 = Launcher("orterun", "", "/usr/bin/mpirun", "4.1.8", "Open MPI")
OPEN5 = Launcher("prterun", "", "/usr/bin/mpirun", "5.0.11", "Open MPI")
SRUN = Launcher("srun", "", "/usr/bin/srun", "22.05.8", "Slurm")
OTHER = Launcher("none")


def old(launcher, version):
    return Launcher(launcher.kind, "", launcher.path, version, launcher.vendor)


@pytest.mark.parametrize(
    ("launcher", "line", "expected"),
    [
        (HYDRA, "mpiexec -n 4 ./app", "mpiexec -bind-to core -n 4 ./app"),
        (
            HYDRA,
            "timeout 60 /usr/bin/mpiexec -n 4 ./app",
            "timeout 60 /usr/bin/mpiexec -bind-to core -n 4 ./app",
        ),
        (HYDRA, "mpiexec -bind-to none -n 4 ./app", "mpiexec -bind-to core -n 4 ./app"),
        (HYDRA, "mpiexec -n 1 ./a : -n 2 ./b", "mpiexec -bind-to core -n 1 ./a : -n 2 ./b"),
        (HYDRA, "mpiexec -n 4 ./app -bind-to none", "mpiexec -bind-to core -n 4 ./app -bind-to none"),
        (HYDRA, "mpiexec -rankmap 0,1 -n 2 ./app", None),
        (HYDRA, "sh script.sh", None),
        (old(HYDRA, "1.4.1"), "mpiexec -n 4 ./app", None),
        (INTEL, "mpirun -n 4 ./app", "mpirun -genv I_MPI_PIN 1 -genv I_MPI_PIN_DOMAIN core -n 4 ./app"),
        (INTEL, "mpirun -genv I_MPI_PIN 0 -n 4 ./app", None),
        (OPEN4, "mpirun -np 4 ./app", "mpirun --map-by core --bind-to core -np 4 ./app"),
        (OPEN5, "mpirun -np 4 ./app", "mpirun --map-by core --bind-to core -np 4 ./app"),
        (OPEN5, "mpirun --map-by node --bind-to none ./app", "mpirun --bind-to core --map-by node ./app"),
        (OPEN4, "mpirun --map-by ppr:1:node:pe=4 ./app", None),
        (OPEN4, "mpirun -rf ranks -n 4 ./app", None),
        (OPEN4, "mpirun --mca hwloc_base_binding_policy none -n 4 ./app", None),
        (old(OPEN4, "1.6.5"), "mpirun -n 4 ./app", None),
        (SRUN, "srun -n 4 ./app", "srun --cpu-bind=cores -n 4 ./app"),
        (SRUN, "srun --cpu_bind=none -n 4 ./app", "srun --cpu-bind=cores -n 4 ./app"),
        (old(SRUN, "17.02.1"), "srun -n 4 ./app", "srun --cpu_bind=cores -n 4 ./app"),
        (SRUN, "srun --hint=nomultithread -n 4 ./app", None),
        (SRUN, "srun -n 1 ./a : -n 2 ./b", None),
        (OTHER, "aprun -n 4 ./app", "aprun -cc cpu -n 4 ./app"),
        (OTHER, "aprun -cc none -n 4 ./app", None),
        (OTHER, "jsrun -n 4 ./app", "jsrun --bind packed:1 -n 4 ./app"),
        (OTHER, "flux run -n 4 ./app", "flux run -o cpu-affinity=per-task -n 4 ./app"),
        (OTHER, "./app", None),
    ],
)
def test_each_launcher_is_asked_in_its_own_words(launcher, line, expected):
    assert bound(line.split(), launcher) == (expected and expected.split())


@pytest.mark.parametrize(
    ("launcher", "expected"),
    [
        (HYDRA, "mpirun -bind-to core:3 -n 2 ./app"),
        (OPEN5, "mpirun --map-by slot:PE=3 --bind-to core -n 2 ./app"),
        (INTEL, None),
        (SRUN, None),
    ],
)
def test_ranks_with_threads_get_several_cores(launcher, expected):
    launcher = Launcher(launcher.kind, "", "/usr/bin/mpirun", launcher.version, launcher.vendor)
    assert bound(["mpirun", "-n", "2", "./app"], launcher, cores=3) == (expected and expected.split())


@pytest.mark.parametrize(
    ("launcher", "line", "expected"),
    [
        (HYDRA, "mpiexec -bind-to core -n 4 ./app", Asked("-bind-to core", 1)),
        (HYDRA, "mpiexec -bind-to core:2 -n 4 ./app", Asked("-bind-to core:2", 2)),
        (HYDRA, "mpiexec -bind-to none -n 4 ./app", Asked("-bind-to none", 0)),
        (HYDRA, "mpiexec -bind-to user:0,1 -n 4 ./app", None),
        (HYDRA, "mpiexec -n 4 ./app -bind-to none", None),
        (OPEN5, "mpirun --bind-to core -n 4 ./app", Asked("--bind-to core", 1)),
        (OPEN5, "mpirun --map-by slot:PE=2 --bind-to core -n 4 ./app", None),
        (OPEN4, "mpirun -n 4 ./app", None),
        (SRUN, "srun -n 4 -c 8 ./app", Asked("-c 8", None, 8)),
        (SRUN, "srun -n 4 --cpus-per-task=8 --cpu-bind=cores ./app", Asked("--cpus-per-task=8", None, 8)),
        (SRUN, "srun -n 4 -c 8 --cpu-bind=map_cpu:0,1 ./app", None),
        (SRUN, "srun -n 4 --cpu-bind=none ./app", Asked("--cpu-bind=none", 0)),
        (OTHER, "./app", None),
    ],
)
def test_what_a_line_asks_for(launcher, line, expected):
    assert asked(line.split(), launcher) == expected


@pytest.mark.parametrize(
    ("launcher", "expected"),
    [
        (HYDRA, "mpiexec -genv MPIR_CVAR_ENABLE_HEAVY_YIELD 1 -n 4 ./app"),
        (old(HYDRA, "3.2"), None),
        (OPEN5, "mpiexec --mca mpi_yield_when_idle 1 -n 4 ./app"),
        (INTEL, None),
        (SRUN, None),
    ],
)
def test_ranks_that_wait_give_up_their_core_where_the_library_is_known_to(launcher, expected):
    launcher = Launcher(launcher.kind, "", "/usr/bin/mpiexec", launcher.version, launcher.vendor)
    words = yielding(["mpiexec", "-n", "4", "./app"], launcher)
    assert words == (expected and expected.split())
    assert words is None or yielding(words, launcher) is None


@pytest.mark.mpi
@pytest.mark.parametrize("cores", [1, 2])
def test_the_launchers_take_these_words(mpi, cores):
    """GIVEN a line with the binding that is said of it; THEN the launcher starts it."""
    kind = "hydra" if mpi.family == "mpich" else "prterun" if mpi.version >= (5,) else "orterun"
    launcher = Launcher(kind, "", str(mpi.mpiexec), ".".join(map(str, mpi.version)), "")
    words = bound(
        [str(mpi.mpiexec), "-n", "1", "grep", "Cpus_allowed_list", "/proc/self/status"], launcher, cores
    )
    done = subprocess.run(words, env=mpi.environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    ((_, pus),) = [line.split() for line in done.stdout.splitlines()]
    assert len(pus.replace(",", "-").split("-")) == cores


@pytest.mark.parametrize(
    ("launcher", "line", "expected"),
    [
        (HYDRA, "mpiexec -bind-to core -n 2 ./app -x", "mpiexec -bind-to user:1,0 -n 2 ./app -x"),
        (SRUN, "srun --cpu-bind=cores -n 2 ./app", "srun --cpu-bind=map_cpu:1,0 -n 2 ./app"),
        (SRUN, "srun -m cyclic -n 2 ./app", None),
        (HYDRA, "mpiexec -n 1 ./a : -n 1 ./b", None),
        (INTEL, "mpirun -n 2 ./app", None),
        (OPEN5, "mpirun -n 2 ./app", None),
    ],
)
def test_each_rank_is_put_on_a_hardware_thread_of_its_own(launcher, line, expected):
    assert on_pus(line.split(), launcher, [1, 0]) == (expected and expected.split())


@pytest.mark.parametrize(
    ("launcher", "line", "expected"),
    [
        (HYDRA, "mpiexec -hosts a,b -n 4 -ppn 2 ./app -n 9", "mpiexec -hosts a,b -n 4 -ppn 2"),
        (OPEN5, "nice mpirun --host a:2,b:2 -np 4 ./app", "mpirun --host a:2,b:2 -np 4"),
        (SRUN, "srun -N 2 -n 4 ./app x", "srun -N 2 -n 4"),
        (HYDRA, "mpiexec -n 1 ./a : -n 2 ./b", None),
        (OTHER, "./app", None),
    ],
)
def test_the_launcher_alone_keeps_its_hosts(launcher, line, expected):
    assert alone(line.split(), launcher) == (expected and expected.split())


@pytest.mark.parametrize(
    ("launcher", "line", "expected"),
    [
        (HYDRA, "mpiexec -n 2 ./a", "mpiexec -genv OMPI_MCA_x 1 -n 2 ./a"),
        (OPEN4, "mpirun -n 2 ./a", "mpirun --mca x 1 -n 2 ./a"),
        (OPEN5, "mpirun --mca x 2 -n 2 ./a", None),
        (INTEL, "mpirun -n 2 ./a", None),
        (SRUN, "srun -n 2 ./a", None),
    ],
)
def test_settings_go_into_the_line_where_they_are_known_to_count(launcher, line, expected):
    assert with_settings(line.split(), launcher, {"OMPI_MCA_x": "1"}) == (expected and expected.split())


@pytest.mark.parametrize(
    ("launcher", "line", "expected"),
    [
        (SRUN, "srun -m cyclic -n 4 ./a", "srun --distribution=block:block -n 4 ./a"),
        (SRUN, "srun -n 4 ./a", "srun --distribution=block:block -n 4 ./a"),
        (OPEN5, "mpirun --map-by node -n 4 ./a", "mpirun --map-by core -n 4 ./a"),
        (OPEN4, "mpirun -n 4 ./a", None),
        (HYDRA, "mpiexec -ppn 1 -n 4 ./a", "mpiexec -n 4 ./a"),
        (HYDRA, "mpiexec -rankmap 0,1 -ppn 1 -n 2 ./a", None),
        (OTHER, "aprun -n 4 ./a", None),
    ],
)
def test_ranks_fill_one_node_after_the_other(launcher, line, expected):
    assert in_order(line.split(), launcher) == (expected and expected.split())
