# SPDX-License-Identifier: BSD-3-Clause
"""Topologies drawn for terminals, with the pairs that would measure each channel."""

import json

import pytest

from rankwise.cli import main
from rankwise.machine.drawing import draw, ranges
from rankwise.machine.file import load
from rankwise.machine.network import Dragonfly, FatTree, Torus
from rankwise.machine.topology import from_synthetic

BENSLEY = from_synthetic("package:2 l2:1 core:2 pu:1(indexes=0,2,1,3)")


def test_numbers_in_a_row_are_ranges():
    assert ranges([0, 1, 2, 5, 7, 8]) == "0-2,5,7-8"
    assert ranges([]) == ""


def test_nodes_that_are_alike_are_drawn_once_and_os_numbers_where_they_differ():
    lines = draw({"a": BENSLEY, "b": BENSLEY, "c": from_synthetic("core:2")})
    assert lines == [
        "2 nodes alike: a, b: 2 packages, 4 cores",
        "├─ package 0: cores 0-1 (OS 0,2)",
        "└─ package 1: cores 2-3 (OS 1,3)",
        "node c: 1 package, 2 cores",
        "└─ package 0: cores 0-1",
    ]


@pytest.mark.parametrize(
    ("network", "shape", "first"),
    [
        (FatTree(down=[2, 2], up=[1]), "fat tree, 2 over 2 down, 1 up", "├─ switch 0: n0, n1"),
        (Torus(dimensions=[2, 2]), "torus of 2 x 2 routers", "├─ router 0: n0"),
        (
            Dragonfly(groups=2, routers=2, global_links=1),
            "dragonfly of 2 groups with 2 routers each",
            "├─ router 0: n0",
        ),
        (
            FatTree(down=[2, 2], up=[1], slots=[2, 3, 0, 1]),
            "fat tree, 2 over 2 down, 1 up",
            "├─ switch 1: n0, n1",
        ),
    ],
)
def test_switches_between_nodes(network, shape, first):
    lines = draw({f"n{at}": BENSLEY for at in range(4)}, network)
    assert lines[:2] == [shape, first]


def test_show_takes_descriptions_xml_and_machine_files(capsys, tmp_path):
    assert main(["measure", "--show", "package:2 l3:2 core:2 pu:2", "core:4"]) == 0
    said = capsys.readouterr().out
    assert "node n0: 2 packages, 8 cores, 16 hardware threads" in said
    assert "node n1: 1 package, 4 cores" in said
    # THEN each channel has its pair
    pairs = {line.split()[0]: line for line in said.partition("pairs\n")[2].splitlines()}
    assert list(pairs) == ["L3", "package", "node", "network"]
    assert "n1 core" in pairs["network"]
    assert max(map(len, said.splitlines())) <= 80
    xml = tmp_path / "node.xml"
    from rankwise.machine import hwloc

    xml.write_bytes(hwloc.xml_of_this_machine())
    assert main(["measure", "--show", str(xml)]) == 0
    assert "node n0:" in capsys.readouterr().out
    machine = tmp_path / "m.machine.toml"
    machine.write_text(
        'schema = "rankwise.machine/1"\nname = "m"\n[node]\ncount = 4\ntopology = "core:2"\n'
        '[network]\nshape = "fat-tree"\ndown = [2, 2]\nup = [1]\n'
    )
    assert load(machine).network is not None
    assert main(["measure", "--show", str(machine)]) == 0
    assert "switch 1: n2, n3" in capsys.readouterr().out


def test_show_without_words_is_this_machine_and_json(capsys):
    assert main(["measure", "--json", "--show"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "rankwise.topology/1"
    assert document["nodes"][0]["names"] == ["here"]
    assert "network" in document["not_reached"]


def test_a_wrong_description_is_refused(capsys):
    assert main(["measure", "--show", "frob:3"]) == 1
    assert "frob:3" in capsys.readouterr().err
