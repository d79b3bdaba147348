# SPDX-License-Identifier: BSD-3-Clause
"""A program runs as ever where its page cannot be, and where it dies."""

import os
import signal
import subprocess
import time

import mpis
import pytest
import tune_page

from rankwise.tune.preload import tune_environment

pytestmark = [pytest.mark.mpi, mpis.only(lambda mpi: mpi.name in ("mpich-5.0.2", "openmpi-5.0.11"))]

DYING = """
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **words) {
    int sum = 0, one = 1, rank;
    const char *how = words[1];
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 100; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (strcmp(how, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "fork") == 0) {
        int status = -1;
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            execlp("sh", "sh", "-c", "exit 5", (char *)NULL);
            _exit(1);
        }
        waitpid(child, &status, 0);
        printf("child %d\\n", WEXITSTATUS(status));
    }
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    printf("sum %d\\n", sum);
    return 0;
}
"""


@pytest.fixture
def program(mpi, tmp_path_factory):
    """Ends as its argument says."""
    source = tmp_path_factory.mktemp("dying") / "dying.c"
    source.write_text(DYING)
    return mpi.compile(source, source.with_suffix(""))


def ours(text: str) -> list[str]:
    """The lines of stderr that are Rankwise's."""
    return [line for line in text.splitlines() if "rankwise" in line]


@pytest.mark.parametrize("trouble", ["missing", "a file", "a link", "full", "open to others"])
def test_a_directory_that_takes_no_page_changes_nothing(mpi, program, trouble, tmp_path):
    directory = tmp_path / "pages"
    mounted = False
    if trouble == "a file":
        directory.write_text("")
    elif trouble == "a link":
        directory.symlink_to(tmp_path / "nowhere")
    elif trouble == "open to others":
        directory.mkdir()
        directory.chmod(0o777)
    elif trouble == "full":
        directory.mkdir()
        words = ["mount", "-t", "tmpfs", "-o", "size=8k,nr_inodes=100,mode=700", "tmpfs", str(directory)]
        if os.geteuid() != 0 or subprocess.run(words, capture_output=True).returncode:
            pytest.skip("only root may mount a small file system")
        mounted = True
        (directory / "filler").write_bytes(bytes(8192))
    try:
        environment = tune_environment(directory, None, None)
        done = mpi.run(2, program, "end", environment=environment)
        left = sorted(path.name for path in directory.glob("*.page"))
    finally:
        if mounted:
            subprocess.run(["umount", str(directory)], check=True)
    # THEN the program ends as ever, and one line says why nothing is seen
    assert done.returncode == 0
    assert done.stdout.split() == ["sum", "2"] * 2
    assert len(ours(done.stderr)) == 1 and str(directory.resolve()) in ours(done.stderr)[0]
    assert left == []


def test_a_child_of_a_rank_has_no_page(mpi, program, tmp_path):
    done = mpi.run(2, program, "fork", environment=tune_environment(tmp_path, None, None))
    assert done.returncode == 0 and done.stdout.count("child 5") == 2
    assert ours(done.stderr) == [] and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("how", ["abort", "kill"])
def test_pages_of_dead_ranks_are_whole_and_say_whose_they_were(mpi, program, how, tmp_path):
    done = mpi.run(2, program, how, environment=tune_environment(tmp_path, None, None))
    assert done.returncode != 0 and ours(done.stderr) == []
    for path in tmp_path.iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
        page = tune_page.read(path)
        assert not page.ended and path.name == f"{page.rank}.{page.pid}.page"


def test_pages_of_dead_ranks_are_removed_by_the_next_ranks(mpi, program, tmp_path):
    # GIVEN pages of ranks that were killed, a page of a process that runs, and other files
    environment = tune_environment(tmp_path, None, None)
    assert mpi.run(2, program, "kill", environment=environment).returncode != 0
    (tmp_path / "0.999999999.page").touch()
    kept = {f"3.{os.getpid()}.page", "notes", "3.999999999.page.kept", "x.3.page"}
    for name in kept:
        (tmp_path / name).touch()
    # WHEN ranks of another job come THEN those are gone
    assert mpi.run(1, program, "end", environment=environment).returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == kept


def test_a_process_that_executes_another_program_gets_a_new_page(mpi, program, tmp_path):
    # GIVEN a page of the same process and rank
    environment = tune_environment(tmp_path, None, None)
    script = f'touch "{tmp_path}/0.$$.page"; exec "{program}" end'
    done = mpi.run(1, "sh", "-c", script, environment=environment)
    # THEN the program makes its own in its place
    assert done.returncode == 0 and ours(done.stderr) == []
    assert list(tmp_path.iterdir()) == []


def test_a_long_wait_is_seen_before_it_ends(mpi, program, tmp_path, compiled):
    # GIVEN barriers to which rank 0 comes 20 ms late, so that rank 1 is known to wait
    command = mpi.launch(
        2,
        compiled(mpi, "tuned.c", "-pthread"),
        "late",
        "200",
        environment=tune_environment(tmp_path, None, None),
    )
    with subprocess.Popen(command, env=mpi.environment(), stdout=subprocess.DEVNULL) as running:
        seen = 0
        while running.poll() is None and seen < 20:
            time.sleep(0.005)
            for path in tmp_path.glob("1.*.page"):
                try:
                    seen += tune_page.read(path).entered != 0
                except (AssertionError, OSError):
                    continue  # not prepared yet, or gone
        running.send_signal(signal.SIGTERM)
    # THEN its page says since when, while it waits
    assert seen == 20
