# SPDX-License-Identifier: BSD-3-Clause
"""Placements read from the files of launchers: one irregular map, said in each of their ways."""

import pytest

from rankwise.errors import RankwiseError
from rankwise.machine.topology import Topology, from_synthetic
from rankwise.placement import file
from rankwise.placement.launcher_files import load_any, read

NODES = Topology.of(from_synthetic("package:2 core:2"), 2)
# The kernel numbers the cores of these nodes 0 2 1 3.
OS_NODES = Topology.of(from_synthetic("package:2 core:2(indexes=0,2,1,3)"), 2)
SEATS = [(0, 2), (1, 0), (1, 3), (0, 0), (0, 1), (1, 1), (0, 3), (1, 2)]
RANKFILE = "".join(f"rank {rank}=node{'AB'[node]} slot={core}\n" for rank, (node, core) in enumerate(SEATS))
ERF = "cpu_index_using: logical\noverlapping_rs: error\n" + "".join(
    f"rank: {rank}: {{ host: {node + 1}; cpu: {{{core}}} }}\n" for rank, (node, core) in enumerate(SEATS)
)


def seats(placement):
    return [(int(placement.node[rank]), *placement.cores_of(rank)) for rank in range(placement.ranks)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(RANKFILE, SEATS, id="rank file"),
        pytest.param(
            "# by package\nrank 0=+n1 slot=1:0\nrank 1=+n0 slot=0-1\n",
            [(1, 2), (0, 0, 1)],
            id="packages and ranges",
        ),
        pytest.param(ERF, SEATS, id="explicit resource file"),
        pytest.param("3,4,0,6,1,5,7,2\n", SEATS, id="MPICH_RANK_ORDER"),
        pytest.param("# two lines\n3,4\n0, 6,1,5,7,2\n", SEATS, id="MPICH_RANK_ORDER on lines"),
        pytest.param("0-3\n", [(0, 0), (0, 1), (0, 2), (0, 3)], id="ranges of ranks"),
        pytest.param(
            "nodeA\nnodeB\nnodeB\nnodeA*2\n", [(0, 0), (1, 0), (1, 1), (0, 1), (0, 2)], id="srun arbitrary"
        ),
        pytest.param(
            "nodeA:1\nnodeB:2\nnodeA:2\n", [(0, 0), (1, 0), (1, 1), (0, 1), (0, 2)], id="machine file"
        ),
        pytest.param(
            "nodeA:2 binding=user:2,0\nnodeB:2 binding=user:3,1+2\n",
            [(0, 2), (0, 0), (1, 3), (1, 1, 2)],
            id="Hydra",
        ),
    ],
)
def test_a_launchers_file_says_where_each_rank_is(text, expected):
    assert seats(read(text, "map", NODES)) == expected


def test_numbers_of_the_kernel_become_logical_cores():
    # GIVEN CPUs 2 and 1, which are the second core of the first package and the first of the second
    assert seats(read("nodeA:2 binding=user:2,1\n", "map", OS_NODES)) == [(0, 1), (0, 2)]
    physical = "cpu_index_using: physical\nrank: 0: { host: 2; cpu: {2} }\n"
    assert seats(read(physical, "map", OS_NODES)) == [(1, 1)]


def test_hosts_are_counted_as_told():
    assert seats(read("nodeB\nnodeA\n", "map", NODES, ["nodeA", "nodeB"])) == [(1, 0), (0, 0)]


def test_the_own_format_is_known_too(tmp_path):
    placement = read(RANKFILE, "map", NODES)
    file.save(placement, tmp_path / "p.json")
    (tmp_path / "rankfile").write_text(RANKFILE)
    for name in ("p.json", "rankfile"):
        again = load_any(tmp_path / name, NODES)
        assert seats(again) == SEATS
        assert again.node_names == ("nodeA", "nodeB")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rank 0=a slot=0\nrank 0=a slot=1\n", "`map` line 2: rank 0 is placed twice"),
        ("rank 0=a slot=0\nrank 2=a slot=1\n", "`map` places rank 2, but not rank 1"),
        ("rank 0=a slot=4\n", "line 1: rank 0 is placed on core 4 of a node with 4 cores"),
        ("rank 0=a slot=1:2\n", "line 1: rank 0 is placed on core 2 of 2 in its package"),
        ("rank 0=a slot=1:7,0\n", "line 1: rank 0 is placed on core 7 of 2 in its package"),
        ("rank 0=a slot=0\nrank 1 a slot=0\n", "line 2: `rank 1 a slot=0` is not `rank N=HOST slot=CORES`"),
        ("rank 0=a slot=x\n", "line 1: `x` is not a number"),
        ("rank 0=+n2 slot=0\n", "line 1: `+n2` is host 3 of a machine of 2 nodes"),
        ("a\nb\nc\n", "line 3: `c` is host 3 of a machine of 2 nodes"),
        ("a:5\n", "line 1: rank 4 is rank 4 of `a`, a node with 4 cores"),
        ("0-8\n", "line 1: rank 8 comes after all 8 cores of the machine"),
        ("0,1,1\n", "line 1: rank 1 is placed twice"),
        ("a:2 binding=user:0\n", "line 1: rank 1 is rank 1 of `a`, which binds 1 ranks only"),
        ("a:1 binding=user:9\n", "line 1: rank 0 is placed on CPU 9, which a node does not have"),
        ("a:1 binding=user:0\na:1 binding=user:1\n", "line 2: host `a` is listed twice"),
        ("rank: 0: { host: 3; cpu: {0} }\n", "line 1: rank 0 is on host 3 of 2, from 1"),
        ("rank: 0: host 1\n", "line 1: `rank: 0: host 1` is not"),
        ("\n# nothing\n", "`map` places no rank"),
    ],
)
def test_what_the_machine_does_not_have_is_refused_with_rank_and_core(text, message):
    with pytest.raises(RankwiseError) as caught:
        read(text, "map", NODES)
    assert message in str(caught.value)


def test_a_host_that_is_not_one_of_the_jobs_is_refused():
    with pytest.raises(RankwiseError, match="host `c` is none of the hosts a, b"):
        read("c\n", "map", NODES, ["a", "b"])
