# SPDX-License-Identifier: BSD-3-Clause
"""The reader under the address and undefined-behaviour sanitizers, on thousands of damaged files."""

import random
import subprocess
import sysconfig
from pathlib import Path

import pytest
from raw_writer import CHUNK_BYTES, HEADER_BYTES, Rank, RawFile, gaps_example, u, z

TOP = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_no_damage_makes_the_reader_touch_what_is_not_its_own(tmp_path):
    # GIVEN the reader built with sanitizers
    build = tmp_path / "build"
    subprocess.run(
        ["cmake", "-S", TOP, "-B", build, "-DRANKWISE_SANITIZE=ON", "-DCMAKE_BUILD_TYPE=Debug"],
        check=True,
        capture_output=True,
        env={"PATH": f"{sysconfig.get_path('scripts')}:/usr/local/bin:/usr/bin:/bin"},
    )
    subprocess.run(
        ["cmake", "--build", build, "--target", "read_files", "-j", "2"], check=True, capture_output=True
    )
    # WHEN it reads a good file and 2000 damaged ones
    file = RawFile()
    for me in range(2):
        rank = Rank(me, 2)
        rank.send(1 - me, 100)
        rank.collective("MPI_Allreduce", 8)
        for i in range(20):
            rank.event("MPI_Send", i, 5, u(0) + z(1 - me) + z(0) + u(100))
            rank.event("MPI_Waitall", i, 5, u(2) + u(1) + u(1) + z(0) + z(0) + u(8) + u(2) + u(0))
        file.add(rank, events_a_run=7)
    coded = Rank(0, 1, coding=(6, 4), modules=["/bin/app"], sites=[(0, "MPI_Send", 64, 3, 100, 24)])
    coded.trace.append(gaps_example())
    file.add(coded)
    good = file.bytes()
    structures = [8, *range(HEADER_BYTES, len(good), CHUNK_BYTES)]
    dice = random.Random(23)
    names = [file.write(tmp_path / "good.rwn")]
    for number in range(2000):
        content = bytearray(good)
        for _ in range(dice.randint(1, 8)):
            at = dice.choice(structures) + dice.randint(0, 200)
            content[at : at + 4] = dice.choice(
                [dice.randbytes(4), b"\xff" * 4, bytes(4), dice.randbytes(1) + bytes(3)]
            )
        names.append(tmp_path / f"{number % 50}.rwn")
        names[-1].write_bytes(content[: dice.choice([len(good), dice.randint(0, len(good))])])
        if len(names) == 51:
            # THEN it ends well
            subprocess.run([build / "tests" / "read_files", *names], check=True, timeout=300)
            del names[1:]
