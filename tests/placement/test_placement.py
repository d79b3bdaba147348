# SPDX-License-Identifier: BSD-3-Clause
"""Placements: simple allocations, their identities, the file."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.errors import RankwiseError
from rankwise.machine import topology
from rankwise.machine.placement import Placement
from rankwise.machine.topology import NodeTopology, Topology
from rankwise.placement import file
from rankwise.placement.simple import allocate, nodes_and_slots, parse_allocation, parse_nodes

NODE = topology.from_synthetic("package:2 core:2")
OS_NODE = topology.from_synthetic("package:2 core:2(indexes=0,2,1,3)")


def plain_node(cores: int) -> NodeTopology:
    return NodeTopology(tuple((core,) for core in range(cores)), (0,) * cores, (0,) * cores)


@pytest.mark.parametrize(
    ("allocation", "nodes", "cores"),
    [
        ("blocked", [0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 2, 3, 0, 1, 2, 3]),
        ("cyclic", [0, 1, 0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 2, 2, 3, 3]),
        ("plane=2", [0, 0, 1, 1, 0, 0, 1, 1], [0, 1, 0, 1, 2, 3, 2, 3]),
        ("plane=3", [0, 0, 0, 1, 1, 1, 0, 1], [0, 1, 2, 0, 1, 2, 3, 3]),
    ],
)
def test_allocations_of_8_ranks_on_2_nodes(allocation, nodes, cores):
    placement, _ = allocate(8, 2, 4, NODE, allocation)
    assert placement.node.tolist() == nodes
    assert placement.cores.tolist() == cores


def test_os_core_order_follows_the_kernels_numbers():
    # GIVEN OS cores 0, 2 in the first package and 1, 3 in the second
    placement, _ = allocate(4, 1, 4, OS_NODE, core_order="os")
    # THEN ranks 0..3 take OS cores 0..3, which alternate between the packages
    assert [OS_NODE.pus[core][0] for core in placement.cores] == [0, 1, 2, 3]
    assert [OS_NODE.packages[core] for core in placement.cores] == [0, 1, 0, 1]


shapes = st.tuples(st.integers(1, 9), st.integers(1, 9)).flatmap(
    lambda shape: st.tuples(st.just(shape[0]), st.just(shape[1]), st.integers(1, shape[0] * shape[1]))
)


@given(shapes, st.integers(1, 12))
def test_no_two_ranks_share_a_core(shape, plane):
    nodes, per_node, ranks = shape
    placement, all_nodes = allocate(
        ranks, nodes, per_node, plain_node(per_node), f"plane={min(plane, per_node)}"
    )
    assert placement.injective
    placement.check(all_nodes)


@given(shapes)
def test_plane_1_is_cyclic_and_plane_q_is_blocked(shape):
    nodes, per_node, ranks = shape
    for name, plane in (("cyclic", 1), ("blocked", per_node)):
        named = nodes_and_slots(ranks, nodes, per_node, parse_allocation(name, per_node))
        assert np.array_equal(named, nodes_and_slots(ranks, nodes, per_node, plane))
    rank = np.arange(ranks)
    assert np.array_equal(nodes_and_slots(ranks, nodes, per_node, 1), (rank % nodes, rank // nodes))
    assert np.array_equal(
        nodes_and_slots(ranks, nodes, per_node, per_node), (rank // per_node, rank % per_node)
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [("4", "not a node layout"), ("0x4", "not a node layout"), ("4xx4", "not a node layout")],
)
def test_a_wrong_layout_is_said_so(text, words):
    with pytest.raises(RankwiseError, match=words):
        parse_nodes(text)


def test_an_impossible_layout_says_what_would_do():
    with pytest.raises(RankwiseError, match="`4x3` has room for 12 ranks, the program has 16") as caught:
        allocate(16, 4, 3, NODE)
    assert caught.value.hint == "use `--nodes 4x4` or `--nodes 6x3`"


def test_more_ranks_than_cores_of_a_node_is_said_so():
    with pytest.raises(
        RankwiseError, match="`2x8` puts 8 ranks on a node, but `package:2 core:2` has 4 cores"
    ):
        allocate(16, 2, 8, NODE)


@pytest.mark.parametrize("text", ["random", "plane=0", "plane=", "plane=-1"])
def test_an_unknown_allocation_is_said_so(text):
    with pytest.raises(RankwiseError, match="is not an allocation"):
        parse_allocation(text, 4)


def test_a_placement_file_comes_back_as_it_was(tmp_path):
    # GIVEN a placement with a rank of several cores
    nodes = Topology.of(NODE, 2)
    placement = Placement.explicit(nodes, [(1, [0]), (0, [2, 3]), (0, [1])], ["alpha", "beta"])
    # WHEN it is written and read
    file.save(placement, tmp_path / "a.placement.json")
    again = file.load(tmp_path / "a.placement.json")
    # THEN it is the same
    assert file.to_dict(again) == file.to_dict(placement)
    assert again.cores_of(1) == (2, 3)
    assert [path.name for path in tmp_path.iterdir()] == ["a.placement.json"]


def valid() -> dict:
    return file.to_dict(allocate(4, 2, 2, NODE)[0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": "rankwise.placement/9"}, "key `schema`"),
        ({"ranks": [{"node": -1, "cores": [0]}]}, "key `ranks\\[0\\].node`|key `ranks\\[...\\].node`"),
        ({"ranks": [{"node": 0, "cores": []}]}, "cores`: expected `array` of length >= 1"),
        ({"ranks": [{"node": 7, "cores": [0]}]}, "rank 0 is on node 7, but there are 2 nodes"),
        ({"ranks": [{"node": 0, "cores": [1, 1]}]}, "rank 0 has a core twice"),
        ({"colour": "red"}, "there is no key `colour`"),
    ],
)
def test_a_broken_placement_file_names_the_key(change, words):
    with pytest.raises(RankwiseError, match=words):
        file.loads(json.dumps({**valid(), **change}), "p.json")


def test_text_that_is_not_json_is_said_so():
    with pytest.raises(RankwiseError, match="is not JSON"):
        file.loads("rank 0=host slot=1", "p.json")


def test_a_placement_for_other_nodes_is_refused():
    placement, _ = allocate(4, 2, 2, NODE)
    with pytest.raises(RankwiseError) as refused:
        placement.check(Topology.of(OS_NODE, 2))
    # THEN nodes have their names, what is here is told in words, and the hint leads on
    assert refused.value.message == (
        "`node0`, `node1`: the placement was made for nodes of another kind (here: package:2 core:2(indexes=0,2,1,3))"
    )
    assert "`--node " in refused.value.hint
    with pytest.raises(RankwiseError, match="2 nodes, the topology 3"):
        placement.check(Topology.of(NODE, 3))


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        ([(0, [4])], "rank 0 is placed on core 4 of a node with 4 cores"),
        ([(0, [0]), (2, [0])], "rank 1 is placed on node 2"),
        ([(0, [0]), (0, [])], "rank 1 has no core"),
    ],
)
def test_an_explicit_placement_is_checked(ranks, words):
    with pytest.raises(RankwiseError, match=words):
        Placement.explicit(Topology.of(NODE, 2), ranks)


def test_the_schemas_in_formats_are_those_of_the_types():
    formats = Path(__file__).resolve().parents[2] / "formats"
    sys.path.insert(0, str(formats))
    try:
        import generate_schemas
    finally:
        sys.path.remove(str(formats))
    for name, schema in generate_schemas.SCHEMAS.items():
        assert (formats / name).read_text() == generate_schemas.text_of(schema()), (
            f"run {formats}/generate_schemas.py"
        )


@pytest.mark.parametrize("nodes", [1_000_000, 99_999_999])
def test_a_machine_of_far_more_nodes_than_ranks_is_refused_at_once(nodes):
    with pytest.raises(RankwiseError, match="most would be empty") as error:
        allocate(16, nodes, 4, NODE)
    assert error.value.hint == "use `--nodes 4x4`"


def test_a_core_of_each_package_in_turn_is_co_processor_mode():
    # GIVEN two nodes of two packages of two cores, with two ranks each
    node = NODE
    spread, _ = allocate(4, 2, 2, node, core_order="packages")
    together, _ = allocate(4, 2, 2, node, core_order="logical")
    # THEN they have a package each, or share one
    assert spread.cores.tolist() == [0, 2, 0, 2]
    assert together.cores.tolist() == [0, 1, 0, 1]


def test_cores_are_taken_in_the_order_given():
    placement, _ = allocate(4, 1, 4, NODE, core_order="3,0,2,1")
    assert placement.cores.tolist() == [3, 0, 2, 1]


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ("sockets", "`sockets` is not a core order"),
        ("0,1,4,2", "names core 4 of a node with 4 cores"),
        ("0,1,1,2", "names core 1 twice"),
        ("0,1", "names 2 cores, `1x4` needs 4"),
    ],
)
def test_a_core_order_that_cannot_be_is_refused(order, message):
    with pytest.raises(RankwiseError, match=message):
        allocate(4, 1, 4, NODE, core_order=order)
