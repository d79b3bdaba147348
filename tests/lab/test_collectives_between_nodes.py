# SPDX-License-Identifier: BSD-3-Clause
"""
Messages of collectives on several nodes, against what counts them below: Open MPI's monitoring component, and for
MPICH, which has none, the interfaces of the nodes.
"""

import json

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


MPICHS = [each for each in mpis.installed() if each.flavour == "mpich" and each.version >= (4, 1)]
# Headers of 66 bytes in 1514, and for each message its own and acknowledgements.
OVERHEAD, A_MESSAGE = 1.07, 300
# On both sides of where MPICH takes another algorithm, at 16 ranks.
BY_INTERFACES = [
    ("barrier", 0), ("bcast", 8000), ("bcast", 100_000), ("bcast", 1_000_000), ("reduce", 1000), ("reduce", 8000),
    ("allreduce", 8000), ("allreduce", 100_000), ("allgather", 8000), ("alltoall", 8000), ("gather", 8000),
    ("scatter", 8000), ("reduce_scatter_block", 8000), ("scan", 8000), ("scan", 100_000), ("exscan", 8000),
]  # fmt: skip


def through_interfaces(lab, library, compiled, directory, name, length):
    """Bytes that a call with root 5 by 16 ranks on four nodes sends, as the interfaces count them."""
    program, times, sent = compiled(library, "one_collective.c"), 20, []
    for number in (1, 1 + times):
        options = ("run", "-f", "-n", 16, "-o", directory / "run.json")
        done = lab(*options, "--", program, name, length, number, 5, timeout=100)
        assert done.returncode == 0, done.stderr
        interfaces = json.loads((directory / "run.json").read_text())["interfaces"]
        sent.append(sum(each["tx_bytes"] for each in interfaces))
    return (sent[1] - sent[0]) / times


def check_interfaces(lab, library, compiled, directory, name, length):
    nodes = [rank // 4 for rank in range(16)]
    pairs = modelled(name, length, 5, 16, nodes, "mpich")
    crossing = [each for (source, to), each in pairs.items() if nodes[source] != nodes[to]]
    messages, sent = (sum(column) for column in zip(*crossing, strict=True))
    counted = through_interfaces(lab, library, compiled, directory, name, length)
    assert sent <= counted <= sent * OVERHEAD + A_MESSAGE * messages


@pytest.mark.parametrize("library", MPICHS[-1:], ids=lambda library: library.name)
def test_interfaces_count_what_mpich_broadcasts_between_nodes(lab, library, compiled, tmp_path):
    # a fifth of what it would be if each rank were a node of its own
    check_interfaces(lab, library, compiled, tmp_path, "bcast", 100_000)


@pytest.mark.slow
@pytest.mark.parametrize("library", MPICHS, ids=lambda library: library.name)
@pytest.mark.parametrize(("name", "length"), BY_INTERFACES)
def test_interfaces_count_what_mpich_sends_between_nodes(lab, library, compiled, tmp_path, name, length):
    check_interfaces(lab, library, compiled, tmp_path, name, length)
