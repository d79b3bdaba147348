# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise workloads`, and compiling a workload with the site's own MPI."""

import json
import subprocess

import mpis
import pytest

import rankwise.cli
from rankwise.workloads import build, names
from rankwise.workloads.build import sources_of

AT_HAND = {mpi.name: mpi for mpi in mpis.installed()}


@pytest.fixture
def line(capsys, tmp_path, monkeypatch):
    """Run `rankwise workloads ARGS` with an empty cache: exit status, stdout, stderr."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("RANKWISE_MPICC", raising=False)

    def run(*arguments):
        status = rankwise.cli.main(["workloads", *arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return run


def test_without_a_name_all_are_listed_in_80_columns(line):
    status, out, err = line()
    assert (status, err) == (0, "")
    assert [row.split()[0] for row in out.splitlines() if row and row[0] != " "] == [*names(), "next:"]
    assert max(map(len, out.splitlines())) <= 80


def test_counts_are_printed_with_what_to_do_next(line):
    assert line("cg", "--count", "--class", "S", "--ranks", "2") == (
        0,
        "cg class S on 2 ranks (1 x 2 x 1)\n"
        "\n"
        "  3360 point-to-point messages, 9.33 MB\n"
        "       bytes   messages\n"
        "           8       1664\n"
        "          16         32\n"
        "        5600       1664\n"
        "\n"
        "  collective calls\n"
        "       bytes      calls\n"
        "           0          1 MPI_Barrier of all ranks\n"
        "           4          1 MPI_Bcast of all ranks\n"
        "           8          1 MPI_Reduce of all ranks\n"
        "\n"
        "  pattern of point-to-point messages: both ranks with each other\n"
        "\n"
        "next: rankwise record -- mpiexec -n 2 $(rankwise workloads cg) --class S\n",
        "",
    )


@pytest.mark.parametrize(
    ("name", "ranks", "pattern"),
    [
        ("is", 16, "all-to-all: every rank with every other"),
        ("ft", 64, "all-to-all: every rank with every other"),
        ("ft", 128, "all-to-all in rows and columns of a grid of 64 x 2"),
    ],
)
def test_a_program_of_collectives_has_their_pattern(line, name, ranks, pattern):
    """Claim N-pattern: IS and FT of slabs are all-to-all, FT of pencils in rows and columns."""
    status, out, _ = line(name, "--count", "--class", "S", "--ranks", str(ranks))
    assert status == 0
    assert f"  pattern with collectives, by MPICH's algorithms: {pattern}\n" in out


def test_json_is_one_object_with_every_row(line):
    status, out, _ = line("mg", "--count", "--class", "S", "--ranks", "8", "--json")
    found = json.loads(out)
    assert status == 0
    assert found["schema"] == "rankwise.workload/1"
    assert {"source": 0, "destination": 1, "bytes": 2048, "messages": 38} in found["messages"]
    assert {c["call"] for c in found["collectives"]} == {
        "MPI_Barrier",
        "MPI_Bcast",
        "MPI_Allreduce",
        "MPI_Reduce",
    }


@pytest.mark.parametrize(
    ("arguments", "status", "error"),
    [
        (
            ["none"],
            1,
            f"error: there is no workload `none`\n\nhint: the workloads are {', '.join(names())}\n",
        ),
        (
            ["cg", "--count", "--ranks", "12"],
            1,
            "error: cg of class B runs on a power of two of ranks, as 8 or 16, not on `12`\n\n"
            "hint: rankwise workloads cg --count --class B --ranks 8\n",
        ),
        (
            ["cg", "--json"],
            2,
            "error: `--json` goes with the list or with `--count`\n\nhint: rankwise workloads cg --count --json\n",
        ),
    ],
)
def test_what_does_not_fit_is_answered(line, arguments, status, error):
    assert line(*arguments) == (status, "", error)


@pytest.mark.mpi
@pytest.mark.parametrize("library", ["mpich-5.0.2", "openmpi-5.0.11"])
def test_the_path_printed_is_a_program_of_the_launchers_mpi(line, library):
    # GIVEN a launcher named in full
    mpi = AT_HAND[library]
    # WHEN the workload is compiled for it
    status, out, err = line("mg", "--launcher", str(mpi.mpiexec))
    assert (status, err) == (0, "")
    # THEN it runs under that launcher on as many ranks as asked
    done = subprocess.run(
        mpi.launch(2, out.strip()), env=mpi.environment(), capture_output=True, text=True, timeout=60
    )
    assert "ranks=2" in done.stdout and "verified=yes" in done.stdout


@pytest.mark.mpi
def test_a_workload_is_compiled_once_for_each_library(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    launchers = [str(AT_HAND[name].mpiexec) for name in ("mpich-4.3.2", "openmpi-4.1.8")]
    first = [build("cg", launcher) for launcher in launchers]
    stamps = [path.stat().st_mtime_ns for path in first]
    assert len(set(first)) == 2
    again = [build("cg", launcher) for launcher in launchers]
    assert again == first and [path.stat().st_mtime_ns for path in again] == stamps


def test_a_program_is_made_of_its_own_folder_and_what_all_have_in_common():
    for name in names():
        folders = {path.rpartition("/")[0] for path in sources_of(name)}
        assert folders >= {"", "mpi"} and len(folders) == 3 and "startup" not in folders
