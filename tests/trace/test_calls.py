# SPDX-License-Identifier: BSD-3-Clause
"""The embedded list of MPI functions."""

import zlib

from rankwise._core import trace
from raw_writer import CALL_NUMBERS, CALLS_TEXT


def test_the_embedded_list_is_the_one_in_formats():
    calls = trace.calls()
    assert [name for name, _, _ in calls] == list(CALL_NUMBERS)
    assert [kind for _, kind, _ in calls] == [
        line.split("\t")[1] for line in CALLS_TEXT.decode().splitlines()
    ]
    assert trace.call_table_crc() == zlib.crc32(CALLS_TEXT)


def test_every_form_of_a_collective_names_its_operation():
    operations = {name: operation for name, kind, operation in trace.calls() if "collective" in kind}
    assert "none" not in operations.values()
    for name in ("MPI_Allreduce", "MPI_Iallreduce_c", "MPI_Allreduce_init", "MPI_Allreduce_init_c"):
        assert operations[name] == "allreduce"
    assert operations["MPI_Ineighbor_alltoallw"] == "neighbor_alltoallw"
