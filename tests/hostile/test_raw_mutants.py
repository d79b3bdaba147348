# SPDX-License-Identifier: BSD-3-Clause
"""Damaged files of the ranks: what is read of them is what was written, or something is said to be wrong."""

import shutil
import subprocess
import sys

import mpis
import pytest
from mutants import cut, duplicate_range, flip_bits, mutant, swap_pages, zero_page

from rankwise.errors import RankwiseError
from rankwise.recording import Recording, collection
from rankwise.recording.completeness import gaps

pytestmark = pytest.mark.mpi

FEW, MANY = 8, 200
MUTATORS = (flip_bits, cut, zero_page, swap_pages, duplicate_range)
PROGRAM = """
#include <mpi.h>
int main(int count, char** words) {
    int size, rank, data[1000] = {0};
    MPI_Init(&count, &words);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm halves;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &halves);
    for (int i = 0; i < 300; i++) {
        const int right = (rank + 1) % size, left = (rank + size - 1) % size;
        MPI_Sendrecv(data, 1 + i, MPI_INT, right, 0, data + 500, 1 + i, MPI_INT, left, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Allreduce(MPI_IN_PLACE, data, 1 + i % 7, MPI_INT, MPI_SUM, i % 3 ? MPI_COMM_WORLD : halves);
    }
    MPI_Comm_free(&halves);
    MPI_Finalize();
    return 0;
}
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A recording of four ranks with an exact trace and call sites, as the ranks left it."""
    here = tmp_path_factory.mktemp("program")
    mpi = mpis.first("mpich")
    (here / "rings.c").write_text(PROGRAM)
    program = mpi.compile(here / "rings.c", here / "rings")
    path = here / "app.rw"
    options = ["--trace", "--exact-times", "--callsites", "-o", path]
    command = [sys.executable, "-m", "rankwise", "record", *options, "--", *mpi.launch(4, program)]
    subprocess.run(command, env=mpi.environment(), check=True, capture_output=True)
    return path


def everything(path) -> tuple[dict, list]:
    """All that is read of a recording, and what is said to be missing in it."""
    made = collection.make(path)
    recording = Recording(path, made.context, made.tables)
    events = [recording.events(rank) for rank in range(made.context["world_size"])]
    content = {name: table.rows() for name, table in made.tables.items()}
    content["events"] = [
        {key: value.tolist() if hasattr(value, "tolist") else value for key, value in each.items()}
        for each in events
    ]
    keep = ("world_size", "mpi", "hosts", "bindings", "executables", "recorder", "passed_through")
    return content | {key: made.context[key] for key in keep}, gaps(path, made.context)


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_no_damage_of_a_file_changes_what_is_read_in_silence(recorded, tmp_path, count):
    path = tmp_path / "app.rw"
    shutil.copytree(recorded, path)
    (victim,) = (path / "raw").glob("*.rwn")
    good = victim.read_bytes()
    content, missing = everything(path)
    outcomes = {"equal": 0, "said": 0, "refused": 0}
    silent = []
    for seed in range(count):
        victim.write_bytes(mutant(good, seed, MUTATORS))
        try:
            now, found = everything(path)
        except RankwiseError:
            outcomes["refused"] += 1
        except KeyError:  # a rank's events: it left nothing
            found = gaps(path, collection.make(path).context)
            outcomes["said"] += 1
            assert set(found) - set(missing)
        else:
            said = [gap for gap in found if gap not in missing]
            outcomes["said" if said else "equal"] += 1
            if not said and now != content:
                silent.append((seed, [key for key in content if content[key] != now[key]]))
    print(outcomes)
    assert not silent
    assert outcomes["said"] > count // 4
