# SPDX-License-Identifier: BSD-3-Clause
"""Whoever is killed of a recorded run: no rank is left, and what was recorded can be read."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import mpis
import pytest
from waiting import until

from rankwise.recording import Recording
from rankwise.recording.check import check

pytestmark = [pytest.mark.slow, pytest.mark.mpi]

TRIES = 30
PROGRAM = """
#include <mpi.h>
#include <unistd.h>
int main(int count, char** words) {
    MPI_Init(&count, &words);
    for (;;) { MPI_Barrier(MPI_COMM_WORLD); usleep(1000); }
}
"""


@pytest.fixture(scope="module", params=mpis.installed(), ids=lambda mpi: mpi.name)
def endless(request, tmp_path_factory):
    """An MPI, and a program that never ends."""
    here = tmp_path_factory.mktemp("program")
    (here / "endless.c").write_text(PROGRAM)
    return request.param, request.param.compile(here / "endless.c", here / "endless")


def processes(program: Path) -> list[int]:
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(each / "exe") == str(program):
                found.append(int(each.name))
        except OSError:
            continue
    return found


def child_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def _victim(victim: str, record: int, program: Path) -> int:
    if victim == "rank":
        return processes(program)[0]
    return record if victim == "record" else child_of(record)


# What a launcher leaves that is killed by SIGKILL is its own matter.
@pytest.mark.parametrize(
    ("victim", "number"),
    [
        (victim, number)
        for victim in ("record", "launcher", "rank")
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
        if (victim, number) != ("launcher", signal.SIGKILL)
    ],
    ids=lambda each: getattr(each, "name", each),
)
def test_no_rank_is_left_and_the_recording_is_read(endless, tmp_path, victim, number):
    mpi, program = endless
    program = program.resolve()
    for attempt in range(TRIES):
        path = tmp_path / f"{attempt}.rw"
        command = [
            sys.executable,
            "-m",
            "rankwise",
            "record",
            "-o",
            str(path),
            "--",
            *mpi.launch(2),
            str(program),
        ]
        record = subprocess.Popen(
            command, env=mpi.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        assert until(lambda: len(processes(program)) == 2)
        assert until(lambda at=path: any(file.stat().st_size for file in at.glob("raw/*.rwn")))
        time.sleep(1.0 + attempt * 0.02)
        os.kill(_victim(victim, record.pid, program), number)
        record.wait(60)
        assert until(lambda: not processes(program)), f"ranks are left: {processes(program)}"
        assert Recording.open(path).world_size == 2
        # What was written last may not be covered by a checksum; none of it is damaged.
        assert [each for each in check(path) if each.state == "damaged"] == []
