# SPDX-License-Identifier: BSD-3-Clause
"""A disk that gets full: the program's status comes through, and what was lost is said to be lost through the disk."""

import contextlib
import os
import re
import subprocess

import pytest
from launch_lines import launch_line
from mutants import run_cli
from raw_writer import Rank, write_recording

pytestmark = [pytest.mark.slow, pytest.mark.mpi]

STATUS = 3
RANKS = 2
# Blocks of a node's file are 64 KiB; a recording of two ranks with tables takes a few hundred KiB.
RECORDED_KB = (4, 16, 64, 128, 192, 256, 320, 384, 512, 1024, 2048)
MEASURED_KB = (4, 8, 12, 16, 24, 32, 48, 64, 128, 1024)
PROGRAM = """
#include <mpi.h>
int main(int count, char** words) {
    int rank, size, seen = 0;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 20000; i++) {
        int bytes = (i * 7919) % 5000 + 1;
        static char out[5000], in[5000];
        MPI_Sendrecv(out, bytes, MPI_CHAR, 1 - rank, i % 97, in, 5000, MPI_CHAR, 1 - rank, i % 97,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        seen += in[0];
    }
    MPI_Finalize();
    return 3 + seen;
}
"""


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    """A launch line of two ranks that return 3, and its environment."""
    return launch_line(tmp_path_factory.mktemp("program"), PROGRAM, RANKS)


@pytest.fixture
def disk(tmp_path):
    """Function: a file system of this many KiB."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small file system")
    where = tmp_path / "disk"
    where.mkdir()
    mounted = []

    def mount(size_kb):
        words = ["mount", "-t", "tmpfs", "-o", f"size={size_kb}k", "tmpfs", str(where)]
        if subprocess.run(words, capture_output=True).returncode:
            pytest.skip("no file system can be mounted here")
        mounted.append(where)
        return where

    yield mount
    for each in mounted:
        subprocess.run(["umount", "-l", str(each)], check=True)


def names_the_disk(text):
    return re.search(r"no space|disk is full|file system", text, re.IGNORECASE)


@pytest.mark.parametrize("trace", [False, True], ids=["counts", "trace"])
@pytest.mark.parametrize("size_kb", RECORDED_KB)
def test_a_full_disk_takes_of_a_recording_only_what_does_not_fit(line, disk, size_kb, trace):
    # GIVEN a disk of this size
    mpi, words = line
    path = disk(size_kb) / "a.rw"
    options = ["--trace"] if trace else []
    # WHEN a program is recorded there
    recorded = run_cli(["record", *options, "-o", path, "--", *words], seconds=200, env=mpi.environment())
    # THEN its status is its own, or nothing was started
    full = names_the_disk(recorded.err)
    if recorded.status == 125:
        assert full, recorded
        return
    assert recorded.status == STATUS, recorded
    # AND the report says of what is not there that the disk was full
    shown = run_cli(["report", path], seconds=100)
    assert shown.status in (0, 1), shown
    if shown.status == 1:
        assert names_the_disk(recorded.err + shown.err), (recorded, shown)
        return
    partial = re.search(r"partial|incomplete|missing", shown.out + shown.err)
    counted = run_cli(["report", path, "--json"], seconds=100)
    lost = counted.status == 0 and '"MPI_Sendrecv"' not in counted.out
    if partial or lost:
        assert names_the_disk(shown.out + shown.err + recorded.err), (recorded, shown)
    if not trace and size_kb == RECORDED_KB[-1]:
        assert not full and not lost, (recorded, shown)


def test_a_report_that_does_not_fit_is_one_error(line, disk, tmp_path):
    # GIVEN a whole recording
    mpi, words = line
    path = tmp_path / "a.rw"
    recorded = run_cli(["record", "-o", path, "--", *words], seconds=200, env=mpi.environment())
    assert recorded.status == STATUS
    # WHEN its report has no room THEN one error says so, and nothing half is left
    small = disk(RECORDED_KB[1])
    shown = run_cli(["report", path, "-o", small / "a.html"], seconds=100)
    assert shown.status == 1 and names_the_disk(shown.err), shown
    assert not list(small.iterdir())


@pytest.mark.parametrize("size_kb", MEASURED_KB)
def test_a_measurement_that_does_not_fit_is_one_error(line, disk, size_kb):
    mpi, words = line
    where = disk(size_kb)
    command = ["measure", "--quick", "--budget", "5s", "-o", where / "m.machine.toml", "--", *words[:-1]]
    measured = run_cli(command, seconds=300, env=mpi.environment())
    kept = sorted(each.name for each in where.iterdir())
    if measured.status:
        assert measured.status == 1, measured
        assert names_the_disk(measured.err) or "m.disturbed.machine.toml" in kept, measured
        assert "m.machine.toml" not in kept
    else:
        assert "m.machine.toml" in kept
    assert not [name for name in kept if not name.startswith("m.")], kept


def test_a_hole_on_a_full_disk_is_read(disk):
    # GIVEN a node's file with a hole, as it is where one rank found no room and the next one did, on a full disk
    path = disk(1024) / "a.rw"
    file = write_recording(path, [Rank(0, 1)]) / "raw" / "n0.rwn"
    with open(file, "r+b") as written:
        written.truncate(file.stat().st_size + 2 * 65536)
    with contextlib.suppress(OSError), open(path / "rest", "wb", buffering=0) as rest:
        rest.write(bytes(2 << 20))
    # WHEN it is read THEN there is an answer
    shown = run_cli(["report", path, "--json"], seconds=100)
    assert shown.status in (0, 1), shown
