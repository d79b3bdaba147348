# SPDX-License-Identifier: BSD-3-Clause
"""What Open MPI's monitoring component counts beside the recorder: how it is kept, and what is made of it."""

import ctypes
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from accuracy import monitored
from accuracy.monitored import Counts, compare

from rankwise.errors import RankwiseError
from rankwise.lab.launch import library_of_lab

COUNTED = """
import ctypes, os
library = ctypes.CDLL(os.environ["LIBRARY"])
for rank, size, tag in ((1, 100, 5), (1, 50, -12), (0, 8, -12), (7, 1, 3)):
    library.mca_common_monitoring_record_pml(rank, ctypes.c_size_t(size), tag)
os._exit(139)
"""


def test_counts_are_there_however_the_rank_ends(tmp_path, monkeypatch):
    # GIVEN rank 1 of 2, for which the component counts messages before it crashes, one of them to no rank
    library = library_of_lab(monitored.PRELOADED)
    assert ctypes.CDLL(library)
    ranks = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}
    variables = {"LIBRARY": library, "RANKWISE_MONITORED": str(tmp_path)} | ranks
    done = subprocess.run([sys.executable, "-c", COUNTED], env=os.environ | variables)
    assert done.returncode == 139
    # THEN they are kept: of the program to ranks 0 and 1, then of collectives
    kept = np.fromfile(tmp_path / "1", np.uint64).reshape(2, 2, 2).tolist()
    assert kept == [[[0, 0], [1, 100]], [[1, 8], [1, 50]]]
    # AND without those of rank 0 nothing is said
    with pytest.raises(RankwiseError, match="left no counts of rank 0"):
        monitored.counts_of(tmp_path / "run.rw", tmp_path, 2)
    # AND with them the recording is compared
    np.zeros(8, np.uint64).tofile(tmp_path / "0")
    rows = {"source": [1, 1], "destination": [1, 0], "messages": [2, 1], "bytes": [150, 9]}

    class Recorded:
        messages = pl.DataFrame(rows)

    monkeypatch.setattr(monitored.Recording, "open", lambda path: Recorded)
    found = monitored.counts_of(tmp_path / "run.rw", tmp_path, 2)
    assert (found.more((1, 1)), found.more((1, 0))) == ((0, 0), (0, -1))


def test_a_component_that_counts_nothing_is_said_to(tmp_path):
    # GIVEN two ranks whose counts are all 0
    for rank in "01":
        np.zeros(8, np.uint64).tofile(tmp_path / rank)
    with pytest.raises(RankwiseError, match="the component counted nothing"):
        monitored.counts_of(tmp_path / "run.rw", tmp_path, 2)


def test_what_is_sent_once_is_alike_in_a_longer_run():
    # GIVEN pairs of which one is equal, one differs by what is sent once, and one by more at every step
    found = Counts({(0, 1): (5, 50), (1, 0): (5, 50)}, {(0, 1): (5, 50), (1, 0): (8, 62), (1, 2): (1, 4)})
    longer = Counts({(0, 1): (9, 90), (1, 0): (9, 90)}, {(0, 1): (9, 90), (1, 0): (12, 102), (1, 2): (2, 8)})
    result = compare(found, longer)
    assert (result.pairs, result.equal, result.alike) == (3, 1, 2)
    assert (result.recorded_messages, result.counted_messages) == (10, 14)
    assert compare(found, None).alike is None
    # AND a pair that only the longer run has takes nothing from the others
    more = Counts(longer.recorded, longer.counted | {(2, 0): (1, 1)})
    assert compare(found, more).alike == 2
