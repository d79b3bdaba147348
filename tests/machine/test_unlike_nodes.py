# SPDX-License-Identifier: BSD-3-Clause
"""Machines whose nodes are of several kinds: the file, predictions on it, placements for it."""

import json

import pytest

from rankwise.cli import main
from rankwise.errors import RankwiseError
from rankwise.machine.file import dumps, load, loads
from rankwise.machine.machine import topology_of
from rankwise.placement.simple import allocate_unlike
from rankwise.run.placed_run import topologies

NODES = """
[node]
count = 3
topology = "package:2 core:2 pu:1"

[[node.others]]
nodes = [1]
topology = "package:1 l2:1 core:2 pu:1"
"""
SOURCE = 'obtained = "assumed", source = "for a test"'
SEGMENT = "".join(
    f"{key} = {{ value = {value}, {SOURCE} }}\n"
    for key, value in (
        ("L_s", 1e-6),
        ("o_s", 1e-7),
        ("g_s", 0.0),
        ("G_s_per_byte", 1e-9),
        ("O_s_per_byte", 0.0),
    )
)


def machine_text(nodes=NODES, channels=("package", "node", "network")) -> str:
    links = [
        f'[[link_classes]]\nchannel = "{channel}"\nprotocol = "offloaded"\nprogress = "independent"\n'
        f"overlap = true\n[[link_classes.segments]]\n{SEGMENT.replace('1e-06', f'{10.0**at}e-06')}"
        for at, channel in enumerate(channels)
    ]
    return 'schema = "rankwise.machine/1"\nname = "unlike"\n' + nodes + "\n".join(links)


@pytest.fixture
def machine(tmp_path):
    path = tmp_path / "unlike.machine.toml"
    path.write_text(machine_text())
    return path


@pytest.fixture
def goal(tmp_path):
    """Ranks 0 and 1 of six talk, the others do nothing."""
    path = tmp_path / "pair.goal"
    first = ["rank 0 {", "l1: send 100b to 1", "}", "rank 1 {", "l1: recv 100b from 0", "}"]
    others = [line for rank in range(2, 6) for line in (f"rank {rank} {{", "l1: calc 10", "}")]
    path.write_text("\n".join(["num_ranks 6", *first, *others]) + "\n")
    return path


def test_kinds_of_nodes_are_read_and_written(machine):
    loaded = load(machine)
    nodes = topology_of(loaded, machine.parent).nodes
    assert [node.cores for node in nodes] == [4, 2, 4]
    assert loads(dumps(loaded)) == loaded
    # THEN nodes that are alike are one object
    assert nodes[0] is nodes[2]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("nodes = [1]", "nodes = [3]", "names node 3, nodes are 0 to 2"),
        ("nodes = [1]", "nodes = [1, 1]", "names node 1 twice"),
        ("nodes = [1]", "nodes = []", "nodes"),
        ('topology = "package:1 l2:1 core:2 pu:1"', "", "either `topology` or `topology_xml` is needed"),
        ('topology = "package:1 l2:1 core:2 pu:1"', 'topology = "nonsense:2"', "others"),
        ("nodes = [1]", "nodes = [1]\nsorts = 2", "sorts"),
    ],
)
def test_nodes_that_cannot_be_are_refused(tmp_path, old, new, said):
    path = tmp_path / "bad.machine.toml"
    path.write_text(machine_text(NODES.replace(old, new)))
    with pytest.raises(RankwiseError) as caught:
        load(path)
    assert said in caught.value.message
    assert "line" in caught.value.message


def test_cores_and_channels_are_those_of_any_kind(tmp_path):
    path = tmp_path / "m.machine.toml"
    one = NODES.replace("l2:1 core:2", "l2:2 core:2")
    path.write_text(machine_text(one, ("L2", "network")))
    assert load(path).link_class("L2")
    path.write_text(machine_text(NODES + "[node.x]\n"))
    with pytest.raises(RankwiseError):
        load(path)
    cores = NODES.replace("[[node", "host_cores = [[0, 1, 0, 1], [0, 1, 0, 1], [0, 1, 0, 1]]\n[[node")
    path.write_text(machine_text(cores))
    with pytest.raises(RankwiseError, match="node 1 of `host_cores` has 4 cores, its `topology` has 2"):
        load(path)


def test_a_prediction_takes_the_channels_of_the_node_that_ranks_are_on(machine, goal, tmp_path, capsys):
    def predicted(seats) -> float:
        nodes = topology_of(load(machine), tmp_path).nodes
        placement = {
            "schema": "rankwise.placement/1",
            "allocation": "explicit",
            "nodes": [{"name": f"n{at}", "topology_sha256": node.sha256} for at, node in enumerate(nodes)],
            "ranks": [{"node": node, "cores": [core]} for node, core in seats],
        }
        path = tmp_path / "p.placement.json"
        path.write_text(json.dumps(placement))
        capsys.readouterr()
        assert (
            main(["predict", str(goal), "--machine", str(machine), "--placement", str(path), "--json"]) == 0
        )
        return json.loads(capsys.readouterr().out)["placements"][0]["makespan_s"]

    rest = [(2, core) for core in range(4)]
    # Cores 0 and 1 are a package of nodes of both kinds; 1 and 2 are in two packages of the first.
    assert predicted([(0, 0), (0, 1), *rest]) == predicted([(1, 0), (1, 1), *rest])
    assert predicted([(0, 0), (0, 1), *rest]) < predicted([(0, 1), (0, 2), *rest])
    assert predicted([(0, 1), (0, 2), *rest]) < predicted([(0, 1), (1, 1), *rest])


def test_allocations_pass_over_full_nodes_and_a_run_takes_each_nodes_own_description(machine, goal, capsys):
    words = [
        "--machine",
        str(machine),
        "--nodes",
        "3",
        "--json",
        "--allocation",
        "blocked",
        "--allocation",
        "cyclic",
    ]
    assert main(["predict", str(goal), *words]) == 0
    both = json.loads(capsys.readouterr().out)["placements"]
    assert {each["name"] for each in both} == {"blocked on 3 nodes", "cyclic on 3 nodes"}
    placement = allocate_unlike(9, topology_of(load(machine), machine.parent).nodes, 4)
    assert placement.node.tolist() == [0, 0, 0, 0, 1, 1, 2, 2, 2]
    assert [node.cores for node in topologies(placement, str(machine), None)] == [4, 2, 4]


def test_more_ranks_than_all_kinds_have_cores_are_refused(machine, tmp_path, capsys):
    path = tmp_path / "many.goal"
    path.write_text("num_ranks 11\n" + "".join(f"rank {rank} {{\nl1: calc 10\n}}\n" for rank in range(11)))
    assert main(["predict", str(path), "--machine", str(machine)]) == 1
    assert "11 ranks do not fit: 3 nodes of several kinds have room for 10" in capsys.readouterr().err
