# SPDX-License-Identifier: BSD-3-Clause
"""Several interfaces of a node: what the machine file says of them, and which one each rank uses."""

import msgspec
import numpy as np
import pytest

from rankwise.errors import RankwiseError
from rankwise.machine.compare import compare
from rankwise.machine.drawing import draw
from rankwise.machine.file import dumps, load, loads
from rankwise.machine.interfaces import Interfaces, own_interfaces
from rankwise.machine.overrides import apply
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology, from_synthetic

ASSUMED = 'obtained = "assumed", source = "test"'
NODE = "package:2 numa:2 core:2 pu:1"  # cores 0-3 and 4-7, NUMA nodes of two


def text(
    interfaces='per = "package"\nat = [0, 1]\nuse = "nearest"', per="interface", protocol="offloaded", more=""
):
    number = f"{{ value = 1e-6, {ASSUMED} }}"
    parts = [
        f'schema = "rankwise.machine/1"\nname = "test"\n[node]\ncount = 2\ntopology = "{NODE}"',
        f"[interfaces]\n{interfaces}" if interfaces else "",
        *(
            f'[[resources]]\nname = "{kind}"\nkind = "{kind}"\ndiscipline = "fifo"\nper = "{per}"\n'
            f"capacity_bytes_per_s = {{ value = 1e9, {ASSUMED} }}"
            for kind in ("nic_tx", "nic_rx")
        ),
        f'[[link_classes]]\nchannel = "network"\nprotocol = "{protocol}"\nprogress = "independent"\noverlap = true',
        more,
        "[[link_classes.segments]]",
        *(f"{key} = {number}" for key in ("L_s", "o_s", "g_s", "G_s_per_byte", "O_s_per_byte")),
    ]
    return "\n".join(parts)


def several(use="nearest", per="package", at=(0, 1), **more):
    return Interfaces(per=per, at=list(at), use=use, **more)


def placed(*seats, node=NODE):
    """Ranks on (node, core or cores)."""
    cores = [each[1] if isinstance(each[1], tuple) else (each[1],) for each in seats]
    topology = Topology.of(from_synthetic(node), 1 + max(each[0] for each in seats))
    placement = Placement(
        node_names=tuple(f"n{at}" for at in range(len(topology.nodes))),
        topology_sha256=tuple(each.sha256 for each in topology.nodes),
        node=np.array([each[0] for each in seats]),
        core_start=np.cumsum([0, *map(len, cores)]),
        cores=np.concatenate(cores),
    )
    return topology, placement


def numbers(interfaces, *seats, node=NODE):
    own = own_interfaces(interfaces, *placed(*seats, node=node))
    return own.number.tolist(), own.is_far.tolist()


def test_nearest_is_that_of_the_rank_s_package():
    found, is_far = numbers(several(), (0, 0), (0, 5), (0, 3), (1, 7))
    assert found == [0, 1, 0, 1]
    assert is_far == [False] * 4


def test_nearest_of_numa_nodes_is_at_the_rank_s_else_in_its_package_else_any():
    # GIVEN interfaces at NUMA nodes 0 and 1, both of the first package
    found, is_far = numbers(several(per="numa"), (0, 0), (0, 2), (0, 4), (0, 6), (0, 5))
    # THEN ranks of the other package take turns at both, and are far from them
    assert found == [0, 1, 0, 1, 0]
    assert is_far == [False, False, True, True, True]
    # AND of those at NUMA nodes 1 and 2 each package has one
    assert numbers(several(per="numa", at=(1, 2)), (0, 0), (0, 2), (0, 4), (0, 6))[0] == [0, 0, 1, 1]


def test_an_interface_at_another_numa_node_of_the_package_is_far():
    # GIVEN interfaces at NUMA nodes 0 and 1 of one package, and ranks that take them in turn
    found, is_far = numbers(several("round-robin", per="numa"), (0, 0), (0, 1), (0, 2), (0, 3))
    assert found == [0, 1, 0, 1]
    # THEN those are far whose interface is at the other NUMA node
    assert is_far == [False, True, True, False]


def test_ranks_that_are_as_near_to_several_take_turns_node_by_node():
    four = several(at=(0, 0, 1, 1))
    assert numbers(four, (0, 0), (0, 4), (0, 1), (1, 1), (0, 2), (1, 5))[0] == [0, 2, 1, 0, 0, 2]


def test_round_robin_and_block_go_by_the_number_on_the_node():
    seats = [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (0, 7)]
    assert numbers(several("round-robin"), *seats)[0] == [0, 0, 1, 1, 0, 1]
    assert numbers(several("block"), *seats)[0] == [0, 0, 0, 1, 1, 1]
    # THEN the last rank of node 0 is near its interface, the one before is not
    assert numbers(several("block"), *seats)[1] == [False, False, False, True, True, False]


def test_a_rank_on_several_cores_is_where_most_of_them_are():
    assert numbers(several(), (0, (1, 2, 4)), (0, (3, 4, 5, 6)))[0] == [0, 1]


def test_the_file_is_written_as_it_was_read(tmp_path):
    machine = loads(
        text('per = "numa"\nat = [0, 2]\nuse = "block"\nfar_s = { value = 1e-7, ' + ASSUMED + " }")
    )
    assert machine.interfaces.far_s.value == 1e-7
    assert loads(dumps(machine)) == machine
    (tmp_path / "a.machine.toml").write_text(dumps(machine))
    assert load(tmp_path / "a.machine.toml").interfaces.at == [0, 2]


STRIPED = (
    'per = "package"\nat = [0, 1]\nuse = "nearest"\nstriped_from_bytes = { value = %s, ' + ASSUMED + " }"
)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"per": "node"}, "line 14: `resources[0].per`|with `[interfaces]`, nic_tx is per `interface`"),
        ({"interfaces": None}, "`resources[0].per` is `interface`, but the file has no `[interfaces]`"),
        ({"interfaces": 'per = "socket"\nat = [0]\nuse = "nearest"'}, "`socket` is not `numa` or `package`"),
        ({"interfaces": 'per = "package"\nat = []\nuse = "nearest"'}, "interfaces.at"),
        ({"interfaces": 'per = "package"\nat = [0, 1]'}, "use"),
        ({"interfaces": 'per = "package"\nat = [0, 1]\nuse = "best"'}, "`best` is not "),
        (
            {"interfaces": STRIPED % 1e6, "protocol": "host-processed"},
            "link class `network` that is `offloaded`",
        ),
        (
            {"interfaces": STRIPED % 1e6 + "\nstriped_over = 3"},
            "`striped_over` is 3, `at` lists 2 interfaces",
        ),
        (
            {"interfaces": 'per = "package"\nat = [0, 1]\nuse = "block"\nstriped_over = 2'},
            "needs `striped_from_bytes`",
        ),
        ({"interfaces": STRIPED % 0.5}, "0.5 bytes: a size is a whole number"),
        (
            {"interfaces": 'per = "package"\nat = [0, 1]\nuse = "nearest"\nports = 2'},
            "there is no key `ports`",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_key(arguments, said):
    with pytest.raises(RankwiseError) as error:
        loads(text(**arguments))
    assert all(part in error.value.message for part in said.split("|")), error.value.message
    assert "line " in error.value.message


@pytest.mark.parametrize(
    ("interfaces", "said"),
    [
        ('per = "package"\nat = [0, 2]\nuse = "nearest"', "there is no package 2; the node has 0, 1"),
        ('per = "numa"\nat = [0, 4]\nuse = "nearest"', "there is no NUMA node 4; the node has 0, 1, 2, 3"),
    ],
)
def test_an_interface_at_what_the_node_has_not_is_refused(tmp_path, interfaces, said):
    path = tmp_path / "a.machine.toml"
    path.write_text(text(interfaces))
    with pytest.raises(RankwiseError, match=f"key `interfaces.at`: {said}"):
        load(path)


def test_both_directions_are_one_bus_or_none_is():
    way = '[[resources]]\nname = "%s"\nkind = "%s"\ndiscipline = "fifo"\nper = "node"\n%s\n'
    head = 'schema = "rankwise.machine/1"\nname = "n"\n[node]\ncount = 2\ntopology = "core:1 pu:1"\n'
    one = way % ("out", "nic_tx", "half_duplex = true")
    loads(head + one + way % ("in", "nic_rx", "half_duplex = true"))
    with pytest.raises(RankwiseError, match="`half_duplex` of nic_tx and nic_rx differ"):
        loads(head + one + way % ("in", "nic_rx", ""))


def test_other_resources_are_not_per_interface():
    memory = '[[resources]]\nname = "m"\nkind = "memory"\ndiscipline = "sharing"\nper = "interface"\n'
    with pytest.raises(RankwiseError, match="is for nic_tx and nic_rx, not for memory"):
        loads(text() + "\n" + memory)


def test_settings_change_use_and_what_is_striped():
    machine = loads(text())
    changed = apply(machine, ["interfaces.use=block", "interfaces.striped_from=1MiB", "interfaces.far=0.2us"])
    assert changed.interfaces.use == "block"
    assert changed.interfaces.striped_from_bytes.value == 2**20
    assert changed.interfaces.far_s.value == pytest.approx(2e-7)
    assert apply(changed, ["interfaces.striped_from=none"]).interfaces.striped_from_bytes is None
    two = apply(changed, ["interfaces.striped_over=2"])
    assert (changed.interfaces.stripes, two.interfaces.striped_over) == (2, 2)
    assert apply(two, ["interfaces.striped_from=none"]).interfaces.stripes == 1
    for setting, said in (
        ("interfaces.at=0", "`interfaces` has no key `at`"),
        ("interfaces.use=best", "`best` in `interfaces.use=best` is not a value"),
        ("interfaces.far=2", "is not a value with its unit"),
        ("interfaces.striped_over=2", "needs `striped_from_bytes`"),
        ("interfaces.striped_over=two", "`two` in `interfaces.striped_over=two` is no number of interfaces"),
    ):
        with pytest.raises(RankwiseError, match=said):
            apply(machine, [setting])
    with pytest.raises(RankwiseError, match="no channel or resource `interfaces`"):
        apply(loads(text(None, per="node")), ["interfaces.use=block"])
    with pytest.raises(RankwiseError, match="offloaded"):
        apply(loads(text(protocol="host-processed")), ["interfaces.striped_from=1MiB"])


def test_a_byte_of_a_striped_message_follows_its_share_of_the_capacity():
    # GIVEN 1 ns a byte of one pair through interfaces of 1 ns a byte each, of which two are used from the start
    def per_byte(machine):
        return machine.link_class("network").segments[0].G_s_per_byte.value

    one = loads(text().replace("G_s_per_byte = { value = 1e-6", "G_s_per_byte = { value = 1e-9"))
    both = apply(one, ["interfaces.striped_from=0B"])
    # WHEN the capacity is halved
    # THEN the whole of it doubles where one interface carries it, and a half of it where two do
    assert per_byte(apply(one, ["nic.capacity=0.5GB/s"])) == pytest.approx(2e-9)
    assert per_byte(apply(both, ["nic.capacity=0.5GB/s"])) == pytest.approx(1.5e-9)


def test_a_drawing_shows_where_the_interfaces_are():
    node = from_synthetic(NODE)
    assert draw({"n0": node}, None, several()) == [
        "node n0: 2 packages, 8 cores, 2 interfaces",
        "├─ package 0: cores 0-3, interface 0",
        "│  ├─ NUMA node 0: cores 0-1",
        "│  └─ NUMA node 1: cores 2-3",
        "└─ package 1: cores 4-7, interface 1",
        "   ├─ NUMA node 2: cores 4-5",
        "   └─ NUMA node 3: cores 6-7",
    ]
    at_numa = draw({"n0": node}, None, several(per="numa", at=(0, 3, 3)))
    assert at_numa[2] == "│  ├─ NUMA node 0: cores 0-1, interface 0"
    assert at_numa[-1] == "   └─ NUMA node 3: cores 6-7, interfaces 1-2"
    plain = draw({"n0": from_synthetic("package:2 core:2 pu:1")}, None, several(per="package", at=(1, 1)))
    assert plain[-1] == "└─ package 1: cores 2-3, interfaces 0-1"


def test_machines_with_and_without_are_compared():
    rows = {
        (each.of, each.key): each.values for each in compare([loads(text()), loads(text(None, per="node"))])
    }
    assert rows["interfaces", "number"] == ("2", None)
    assert rows["interfaces", "use"] == ("nearest", None)


def test_files_without_interfaces_have_none():
    assert loads(text(None, per="node")).interfaces is None
    assert "interfaces" not in msgspec.to_builtins(loads(text(None, per="node")))
