# SPDX-License-Identifier: BSD-3-Clause
"""The recorder under sanitizers, linked with an MPI that has no processes behind it (tests/programs/fake/)."""

import subprocess
import sys
from collections import Counter
from functools import cache

import mpis
import pytest
import raw_reader

RECORD = mpis.TOP / "record"
FAKE = mpis.PROGRAMS / "fake"
APART = {"shim", "placement", "tune"}  # rooms that are not part of a recorder


@pytest.fixture(scope="module")
def drive(tmp_path_factory):
    """Function (sanitizers) -> the driver with a recorder for MPICH's ABI in it."""
    headers = [mpi for mpi in mpis.installed() if mpi.name == "mpich-5.0.2"]
    if not headers:
        pytest.fail("no MPICH 5.0.2 at hand; run `bash tests/install_mpis.sh .venv/bin`")
    directory = tmp_path_factory.mktemp("sanitized")
    calls = mpis.TOP / "formats" / "mpi_calls.txt"
    with (directory / "calls_generated.h").open("w") as generated:
        subprocess.run([sys.executable, RECORD / "generate.py", calls], check=True, stdout=generated)

    @cache
    def build(sanitizers: str):
        program = directory / f"drive.{sanitizers.replace(',', '.')}"
        sources = [
            path
            for path in sorted(RECORD.rglob("*.c"))
            if path.parent.name not in APART and path.name != "linked.c"
        ]
        flags = ["-std=gnu11", "-D_GNU_SOURCE", "-g", "-O1", "-pthread", "-fno-sanitize-recover=all", "-w"]
        includes = [f"-I{directory}", f"-I{RECORD}", "-isystem", headers[0].mpicc.parent.parent / "include"]
        subprocess.run(
            [
                "cc",
                *flags,
                f"-fsanitize={sanitizers}",
                *includes,
                *sources,
                FAKE / "drive.c",
                FAKE / "fake_mpi.c",
            ]
            + ["-o", program, "-ldl"],
            check=True,
        )
        return program

    return build


def check(program, tmp_path, seed: int, steps: int, threads: int, trace: bool) -> None:
    """Drive it; the recording is exactly what was done."""
    directory = tmp_path / f"seed{seed}"
    directory.mkdir()
    environment = {"RANKWISE_TRACE": "1"} if trace else {}
    done = subprocess.run(
        [program, directory, str(seed), str(steps), str(threads)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = raw_reader.read(directory)
    expected = {
        "sent": Counter(),
        "sent_bytes": Counter(),
        "received": Counter(),
        "received_bytes": Counter(),
    }
    for line in done.stdout.splitlines():
        peer, *values = map(int, line.split())
        for what, value in zip(expected, values, strict=True):
            expected[what][peer] = value
    for what, wanted in expected.items():
        assert wanted.total() > 0
        sums: Counter = Counter()
        for thread in found:
            for (peer, _), value in getattr(thread, what).items():
                sums[peer] += value
        assert +sums == +wanted, what
    if trace:
        for thread in found:
            assert all(event["call"] != "lost" for event in thread.events())


@pytest.mark.slow
@pytest.mark.parametrize("trace", [False, True])
def test_no_call_makes_the_recorder_touch_what_is_not_its_own(drive, tmp_path, trace):
    program = drive("address,undefined")
    for seed in range(3):
        check(program, tmp_path, seed, 300, 1, trace)


@pytest.mark.slow
@pytest.mark.parametrize("trace", [False, True])
def test_threads_that_call_at_once_race_for_nothing_and_lose_nothing(drive, tmp_path, trace):
    check(drive("thread"), tmp_path, 7, 100, 4, trace)
