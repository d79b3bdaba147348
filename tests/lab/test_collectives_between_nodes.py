# SPDX-License-Identifier: BSD-3-Clause
"""Messages of collectives on several nodes, against what Open MPI's monitoring component counts below them."""

import mpis
import pytest
from monitored import OPERATIONS, calls_of, found, has_monitoring, modelled, write_calls

pytestmark = [pytest.mark.root, pytest.mark.mpi]

OPEN_MPIS = [each for each in mpis.installed() if each.version >= (5,) and has_monitoring(each)]
# Ranks, how they are dealt to four nodes of four cores, and the node of each.
LAYOUTS = {
    "blocked": (8, "blocked", [rank // 4 for rank in range(8)]),
    "cyclic": (12, "cyclic", [rank % 4 for rank in range(12)]),
    "whole": (16, "blocked", [rank // 4 for rank in range(16)]),
    "pairs": (16, "plane=2", [rank // 2 % 4 for rank in range(16)]),
    "one each": (4, "cyclic", [0, 1, 2, 3]),
    "uneven": (7, "blocked", [0, 0, 0, 0, 1, 1, 1]),
    "uneven cyclic": (13, "cyclic", [rank % 4 for rank in range(13)]),
}
# What goes by nodes, and lengths on both sides of what a piece is.
QUICK = [
    (name, length, 5)
    for name in ("bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "allgatherv")
    for length in (8, 9000, 150000)
] + [("barrier", 0, 0)]


def check(lab, library, compiled, directory, calls, layout):
    size, allocation, nodes = LAYOUTS[layout]
    # The first call of an operation makes the communicators of nodes: it is made before those that are compared.
    warm = [(name, 0 if name.endswith("barrier") else 8, 0) for name in OPERATIONS]
    arguments = write_calls(warm + calls, directory)
    program = compiled(library, "monitored_collectives.c", "-rdynamic")
    variables = {"OMPI_MCA_pml": "^cm,ucx,v", "OMPI_MCA_pml_monitoring_enable": "1"}
    if len({nodes.count(node) for node in nodes}) > 1 or len(set(nodes)) == size:
        # Where nodes make no difference, Open MPI puts other functions in place of those that go by nodes. Monitored
        # collectives undo that and ask anew at every call. Without them Open MPI crashes when all is over.
        variables["OMPI_MCA_coll"] = "^monitoring"
    before = lab.environment
    lab.environment = before | variables
    try:
        done = lab("run", "-n", size, "--allocation", allocation, "--", program, *arguments, timeout=200)
    finally:
        lab.environment = before
    if "OMPI_MCA_coll" not in variables:
        assert done.returncode == 0, done.stderr
    pairs = found(warm + calls, directory)[len(warm) :]
    different = [
        call for call, sent in zip(calls, pairs, strict=True) if sent != modelled(*call, size, nodes)
    ]
    assert different == []


@pytest.mark.parametrize("library", OPEN_MPIS, ids=lambda library: library.name)
def test_open_mpi_5_sends_what_its_component_for_nodes_does(lab, library, compiled, tmp_path):
    check(lab, library, compiled, tmp_path, QUICK, "blocked")


@pytest.mark.slow
@pytest.mark.parametrize("library", OPEN_MPIS, ids=lambda library: library.name)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_pair_exchanges_what_open_mpi_counts_on_several_nodes(lab, library, compiled, tmp_path, layout):
    check(lab, library, compiled, tmp_path, calls_of(LAYOUTS[layout][0]), layout)
