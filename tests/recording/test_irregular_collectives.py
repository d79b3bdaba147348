# SPDX-License-Identifier: BSD-3-Clause
"""Collectives out of the ordinary, recorded while Open MPI's monitoring component counts below them, call by call."""

import subprocess
import sys
from collections import Counter

import mpis
import pytest
from monitored import has_monitoring

from rankwise.recording import Recording

OPEN_MPIS = [library for library in mpis.installed() if has_monitoring(library)]
CHAPTERS = ("vectors", "in_place", "operators", "types", "neighbours")
# Where the two series of Open MPI differ, which is in `vectors`, `make test` takes both, else one.
QUICK = {
    ("openmpi-5.0.11", "vectors", 5),
    ("debian-openmpi", "vectors", 5),
    ("openmpi-5.0.11", "operators", 9),
    ("debian-openmpi", "neighbours", 5),
}
# Where a block is empty libnbc sends a message without bytes, and so does 4.1 in the last of these.
SENDS_EMPTY = ("MPI_Igatherv", "MPI_Iscatterv", "MPI_Alltoallv")


def by_pair(sent):
    """(call, source, destination) -> messages and bytes."""
    pairs = Counter()
    for call, source, destination, messages, length in sent:
        pairs[call, source, destination, "messages"] += messages
        pairs[call, source, destination, "bytes"] += length
    return +pairs


def counted(directory):
    """What the component saw, but for what is known to be in no recording (docs/internals/collectives.md)."""
    for file in directory.iterdir():
        for line in file.read_text().splitlines():
            call, destination, messages, length = line.split()
            is_copy = call == "MPI_Alltoallv" and destination == file.name
            is_empty = call in SENDS_EMPTY and length == "0"
            if not is_copy and not is_empty:
                yield call, int(file.name), int(destination), int(messages), int(length)


@pytest.mark.one_of(2)
@pytest.mark.mpi
@pytest.mark.parametrize(
    ("library", "chapter", "ranks"),
    [
        pytest.param(
            library,
            chapter,
            ranks,
            id=f"{library.name}-{chapter}-{ranks}",
            marks=() if (library.name, chapter, ranks) in QUICK else pytest.mark.slow,
        )
        for library in OPEN_MPIS
        for chapter in CHAPTERS
        for ranks in (2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17)
        if (chapter, ranks) != ("types", 2)  # an empty message more: docs/internals/collectives.md
    ],
)
def test_each_pair_exchanges_what_open_mpi_counts(library, compiled, tmp_path, chapter, ranks):
    # GIVEN collectives with unequal and empty blocks, in place, of operators that do not commute, of types with gaps,
    # or among neighbours of grids and graphs
    program = compiled(library, "irregular_collectives.c", "-rdynamic", "-Wno-stringop-overread")
    # WHEN they are recorded and counted at once
    (tmp_path / "counts").mkdir()
    line = library.launch(ranks, program, chapter, tmp_path / "counts")
    line[1:1] = ["--mca", "pml_monitoring_enable", "1", "--mca", "coll", "^monitoring"]
    record = [sys.executable, "-m", "rankwise", "record", "-o", tmp_path / "run.rw", "--", *line]
    done = subprocess.run(
        list(map(str, record)), env=library.environment(), capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stderr
    # THEN every pair has the same messages and bytes beneath every call
    rows = Recording.open(tmp_path / "run.rw").messages
    recorded = by_pair(rows.select("call", "source", "destination", "messages", "bytes").iter_rows())
    component = by_pair(counted(tmp_path / "counts"))
    different = {
        key: (recorded[key], component[key])
        for key in recorded | component
        if recorded[key] != component[key]
    }
    assert len(component) > 20 and different == {}, "(recorded, counted)"
