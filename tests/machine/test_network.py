# SPDX-License-Identifier: BSD-3-Clause
"""Ways through networks of switches: known ones by name, and what routing promises of all."""

from collections import Counter

import numpy as np
import pytest

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.machine.file import dumps, loads
from rankwise.machine.network import Dragonfly, FatTree, Torus
from rankwise.replay.ports import convert_switches


def network(shape):
    return convert_switches(shape, [_core.machine.Interface()] * len(shape.links()))


def way(shape, one, other):
    found = network(shape)
    return [found.describe(port) for port in found.way(one, other)]


def all_pairs(nodes):
    one, other = np.divmod(np.arange(nodes * nodes, dtype=np.uint32), np.uint32(nodes))
    return one, other


def test_a_fat_tree_goes_up_by_the_destination_and_down_to_it():
    two = FatTree(down=[4, 4], up=[4])
    assert way(two, 0, 3) == []
    assert way(two, 1, 14) == ["switch 0 of level 1, up 2", "switch 2 of level 2, down 3"]
    three = FatTree(down=[2, 2, 2], up=[2, 2])
    assert way(three, 0, 7) == [
        "switch 0 of level 1, up 1",
        "switch 1 of level 2, up 1",
        "switch 3 of level 3, down 1",
        "switch 3 of level 2, down 1",
    ]
    # AND two switches of one pair of leaves stay below the top
    assert way(three, 0, 2) == ["switch 0 of level 1, up 0", "switch 0 of level 2, down 1"]


def test_several_cables_to_one_switch_are_several_ports():
    shape = FatTree(down=[4, 2], up=[2], cables=[2])
    assert way(shape, 0, 4) == ["switch 0 of level 1, up 0", "switch 0 of level 2, down 2"]
    assert way(shape, 0, 6) == ["switch 0 of level 1, up 2", "switch 0 of level 2, down 3"]
    assert way(shape, 0, 7) == ["switch 0 of level 1, up 3", "switch 1 of level 2, down 3"]


@pytest.mark.parametrize(
    "shape", [FatTree(down=[4, 4, 3], up=[4, 4]), FatTree(down=[6, 4], up=[3], cables=[2])]
)
def test_shifts_of_all_nodes_meet_nowhere_in_a_fat_tree_as_wide_above_as_below(shape):
    # GIVEN a tree with as many cables up as down, for which D-mod-k promises that (Zahavi et al. 2010)
    found, nodes = network(shape), shape.places()
    for shift in range(1, nodes):
        # WHEN every node sends to the one `shift` further
        used = Counter(port for node in range(nodes) for port in found.way(node, (node + shift) % nodes))
        # THEN no port is passed twice
        assert max(used.values()) == 1


def test_a_torus_goes_the_shorter_way_round_dimension_by_dimension():
    shape = Torus(dimensions=[4, 3])
    assert way(shape, 0, 3) == ["router 0, dimension 1 down"]
    assert way(shape, 0, 2) == ["router 0, dimension 1 up", "router 1, dimension 1 up"]
    assert way(shape, 1, 8) == ["router 1, dimension 1 down", "router 0, dimension 2 down"]
    assert way(Torus(dimensions=[4], nodes_per_router=2), 0, 1) == []


def test_hops_of_a_torus_are_the_distances_of_its_rings():
    shape = Torus(dimensions=[5, 4, 3])
    one, other = all_pairs(shape.places())
    expected = np.zeros(len(one), dtype=np.int64)
    stride = 1
    for size in shape.dimensions:
        apart = np.abs(one.astype(int) // stride % size - other.astype(int) // stride % size)
        expected += np.minimum(apart, size - apart)
        stride *= size
    assert network(shape).hops(one, other).tolist() == expected.tolist()


def test_a_dragonfly_takes_one_global_cable_and_at_most_one_local_one_on_each_side():
    shape = Dragonfly(groups=5, routers=2, global_links=2, nodes_per_router=2)
    # GIVEN group 0, whose cables go to groups 1, 2 (router 0) and 3, 4 (router 1)
    assert way(shape, 0, 1) == []
    assert way(shape, 0, 3) == ["group 0, router 0, to router 1"]
    # WHEN node 0 sends to group 4, whose first cable (of router 0) leads to group 0
    assert way(shape, 0, 16) == ["group 0, router 0, to router 1", "group 0, router 1, global 1"]
    assert way(shape, 0, 18) == [
        "group 0, router 0, to router 1",
        "group 0, router 1, global 1",
        "group 4, router 0, to router 1",
    ]


def test_several_cables_between_two_groups_are_used_in_turn():
    shape = Dragonfly(groups=2, routers=2, global_links=2, nodes_per_router=2)
    used = [port for to in range(4, 8) for port in way(shape, 0, to) if "global" in port]
    assert used == [f"group 0, router {router}, global {cable}" for router in (0, 1) for cable in (0, 1)]


@pytest.mark.parametrize(
    "shape",
    [
        FatTree(down=[3, 2, 2], up=[2, 3], cables=[1, 2]),
        Torus(dimensions=[2, 3, 4], nodes_per_router=2),
        Dragonfly(groups=4, routers=3, global_links=2, nodes_per_router=2),
    ],
)
def test_names_of_ports_differ_and_hops_are_the_lengths_of_ways(shape):
    found = network(shape)
    assert len({found.describe(port) for port in range(found.ports)}) == found.ports
    one, other = all_pairs(shape.places())
    lengths = [len(found.way(a, b)) for a, b in zip(one.tolist(), other.tolist(), strict=True)]
    assert found.hops(one, other).tolist() == lengths
    assert all(
        port < found.ports for a in range(4) for b in range(shape.places()) for port in found.way(a, b)
    )


def test_nodes_lie_where_their_slots_are():
    shape = FatTree(down=[4, 4], up=[1], slots=[0, 15, 1])
    assert way(shape, 0, 2) == []
    assert way(shape, 0, 1) == ["switch 0 of level 1, up 0", "switch 0 of level 2, down 3"]


def test_sixty_four_thousand_nodes_need_no_table_of_pairs():
    found = network(FatTree(down=[32, 32, 64], up=[32, 32]))
    assert found.slots == 65536
    assert len(found.way(0, 65535)) == 4


NUMBER = '{{ value = {}, obtained = "assumed", source = "test" }}'


def text(keys, ports=1, links=None):
    """A machine file of four nodes, its network from line 7 on."""
    head = 'schema = "rankwise.machine/1"\nname = "x"\n\n[node]\ncount = 4\ntopology = "pu:2"\n'
    of = f"links = {links!r}\n" if links else ""
    port = (
        f'[[resources]]\nname = "port{{}}"\nkind = "switch_port"\ndiscipline = "fifo"\nper = "switch"\n{of}'
    )
    return head + f"[network]\n{keys}\n" + "".join(port.format(n or "") for n in range(ports))


FAT_TREE = 'shape = "fat-tree"\ndown = [2, 2]\nup = [1]\nhop_s = ' + NUMBER.format(1e-7)


def test_a_machine_with_a_network_is_read_and_written():
    machine = loads(text(FAT_TREE))
    assert machine.network == FatTree(down=[2, 2], up=[1], hop_s=machine.network.hop_s)
    assert loads(dumps(machine)) == machine
    assert [port.name for port in machine.ports()] == ["port"]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ('shape = "fat-tree"\ndown = [2, 2]', "line 7 key `network`: `up` has 0 numbers"),
        ('shape = "fat-tree"\nup = [2]', "line 7 key `network`: `down` is missing"),
        ('shape = "fat-tree"\ndown = [2, 0]\nup = [1]', "line 9 key `network.down"),
        ('shape = "mesh"', "line 8 key `network.shape`"),
        ('shape = "torus"\ndimensions = [3]', "line 5: `node.count` is 4, the network has room for 3 nodes"),
        ('shape = "torus"\ndimensions = [9]\nslots = [1, 2]', "line 10: `network.slots` places 2 nodes"),
        ('shape = "torus"\ndimensions = [9]\nslots = [1, 1, 2, 3]', "`slots` has two nodes in one slot"),
        ('shape = "torus"\ndimensions = [9]\nslots = [1, 9, 2, 3]', "names slot 9, the network has 9"),
        ('shape = "dragonfly"\ngroups = 4\nrouters = 1\nglobal_links = 2', "reach fewer than the 3 other groups"),
        ('shape = "torus"\ndimensions = [9]\nwidth = 2', "there is no key `width`"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_network_is_named(keys, expected):
    with pytest.raises(RankwiseError) as caught:
        loads(text(keys))
    assert expected in caught.value.message


def test_ports_are_described_once_and_exist():
    with pytest.raises(
        RankwiseError, match=r"line \d+: `resources\[0\].links` names `level 7`, the network has `level 1`"
    ):
        loads(text(FAT_TREE, links=["level 7"]))
    with pytest.raises(RankwiseError, match=r"`resources\[1\].links`: `port` has all cables"):
        loads(text(FAT_TREE, ports=2))
