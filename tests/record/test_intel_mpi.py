# SPDX-License-Identifier: BSD-3-Clause
"""Intel MPI, which has MPICH's ABI: the same programs with the same known answers."""

import subprocess

import expected
import mpis
import pytest
import raw_reader

from rankwise.record.library import library_directory

pytestmark = [pytest.mark.mpi, pytest.mark.slow]
PREFIX = mpis.TOP / ".mpi" / "intel"
PROGRAMS = [
    *(
        f"calls/{name}.c"
        for name in ("point_to_point", "partitioned", "collectives", "neighbours", "one_sided")
    ),
    *(
        f"hostile/{name}.c"
        for name in ("freed_communicators", "many_splits", "in_place", "session", "threads")
    ),
]


@pytest.mark.parametrize("ranks", [1, 2, 5])
@pytest.mark.parametrize("source", PROGRAMS)
def test_a_program_of_intel_mpi_is_counted_exactly(tmp_path, source, ranks):
    if not (PREFIX / ".installed").exists():
        pytest.skip("not installed: `bash tests/install_mpis.sh .venv/bin intel`")
    library, program = PREFIX / "lib", tmp_path / "program"
    subprocess.run(
        ["cc", "-O2", "-pthread", "-DHAVE_MPI_Send_c", f"-I{PREFIX / 'include'}", mpis.PROGRAMS / source]
        + [f"-L{library}", "-lmpi", f"-Wl,-rpath,{library}", "-o", program],
        check=True,
    )
    recorder = library_directory() / "librankwise_record.so"
    environment = [f"LD_PRELOAD={recorder}", f"RANKWISE_DIR={tmp_path}", f"EXPECT={tmp_path}"]
    done = subprocess.run(
        [PREFIX / "bin" / "mpiexec.hydra", "-n", str(ranks), "env", *environment, program],
        env={
            "PATH": "/usr/bin:/bin",
            "I_MPI_ROOT": str(PREFIX),
            "I_MPI_FABRICS": "shm",
            "I_MPI_WAIT_MODE": "1",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    threads = raw_reader.read(tmp_path)
    assert all(thread.info["mpi_version"].startswith("Intel(R) MPI Library") for thread in threads)
    for rank in range(ranks):
        of_rank = [thread for thread in threads if thread.info["world_rank"] == rank]
        expected.check(of_rank, expected.read(tmp_path / str(rank)))
