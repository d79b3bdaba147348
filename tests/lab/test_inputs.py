# SPDX-License-Identifier: BSD-3-Clause
"""What a lab is asked for: rates, cores, names; bad input is answered before anything is created."""

import os

import pytest

from rankwise.cli import main
from rankwise.errors import RankwiseError
from rankwise.lab import state
from rankwise.lab.cores import map_cores
from rankwise.lab.launch import check_launcher
from rankwise.lab.network import switch_pus
from rankwise.lab.rate import parse_rate, show_rate
from rankwise.lab.run import adopt, prepare
from rankwise.lab.up import plan_lab
from rankwise.launchers.line import Launcher
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology, from_synthetic


@pytest.fixture(autouse=True)
def own_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


@pytest.mark.parametrize(
    ("text", "bytes_per_s"),
    [("100mbit", 12.5e6), ("1gbit", 125e6), ("800kbit", 1e5), ("2.5Gbit", 312.5e6), ("1000000bit", 125e3)],
)
def test_a_rate_is_bits_a_second_in_decimal_units(text, bytes_per_s):
    assert parse_rate(text) == bytes_per_s


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("100", "the rate `100` has no unit"),
        ("100mb", "`mb` is not a unit of a rate, which takes `bit`, `kbit`, `mbit`, `gbit`"),
        ("100mbit/s", "`mbit/s` is not a unit of a rate, which takes `bit`, `kbit`, `mbit`, `gbit`"),
        ("fast", "`fast` is not a rate"),
        ("-5mbit", "`-5mbit` is not a rate"),
        ("10bit", "the rate `10bit` is outside what an interface of the lab can have, 100kbit to 34gbit"),
        ("100gbit", "the rate `100gbit` is outside what an interface of the lab can have, 100kbit to 34gbit"),
    ],
)
def test_what_is_no_rate_is_said_in_one_sentence(text, sentence):
    with pytest.raises(RankwiseError) as error:
        parse_rate(text)
    assert error.value.message == sentence
    assert "mbit`" in error.value.hint


def test_a_rate_is_shown_in_the_largest_unit_that_fits():
    assert [show_rate(parse_rate(text)) for text in ("100mbit", "1000mbit", "1500kbit")] == [
        "100mbit",
        "1gbit",
        "1.5mbit",
    ]


def lab_of(nodes):
    """A lab of nodes with four cores, as its file says."""
    node = from_synthetic("package:1 core:4")
    front = state.Front("rw-lab-front", "", 0)
    at = [state.Node(f"rw-lab-node{each}", "", "", 0, [0] * 4) for each in range(nodes)]
    return state.Lab(
        state.SCHEMA, "lab", 12.5e6, 1500, node.to_dict(), "blocks", None, "off", False, front, at
    )


def placed(names, spots):
    topology = Topology.of(from_synthetic("package:1 core:4"), len(names))
    return Placement.explicit(topology, [(node, [core]) for node, core in spots], names)


@pytest.mark.parametrize(
    ("names", "nodes"),
    [
        (["a", "b", "c"], [2, 0, 1]),
        (["rw-lab-node3", "rw-lab-node0", "rw-lab-node1"], [1, 3, 0]),
    ],
)
def test_a_placement_may_leave_nodes_of_the_lab_empty(names, nodes):
    # GIVEN a placement on three nodes, named for themselves or as those of the lab, and a lab of four
    adopted = adopt(placed(names, [(2, 1), (0, 3), (1, 0)]), lab_of(4), None)
    # THEN its nodes are the lab's by name, else the first ones
    assert adopted.node.tolist() == nodes
    assert adopted.cores.tolist() == [1, 3, 0]
    assert adopted.node_names == tuple(f"rw-lab-node{each}" for each in range(4))


def test_a_placement_on_more_nodes_than_the_lab_has_is_refused():
    with pytest.raises(RankwiseError, match="the placement has 3 nodes, lab `lab` has 2") as error:
        adopt(placed(["a", "b", "c"], [(0, 0)]), lab_of(2), None)
    assert "`rankwise lab up --name larger --nodes 3`" in error.value.hint


def test_a_launcher_is_no_program_of_a_lab(tmp_path, monkeypatch):
    launcher = tmp_path / "mpiexec"
    launcher.write_text("#!/bin/sh\necho 'HYDRA build details:'; echo '    Version: 5.0.2'\n")
    launcher.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    words = ["mpiexec", "-n", "6", "./ring", "100"]
    with pytest.raises(RankwiseError, match="`mpiexec` is a launcher") as error:
        prepare(lab_of(2), words, placed(["a", "b"], [(0, 0), (1, 0)]))
    assert error.value.hint == "`rankwise lab run -n 6 -- ./ring 100`"


def test_cores_are_dealt_round_robin_or_in_blocks():
    # GIVEN two nodes of four cores on a host with two PUs
    # THEN the PUs are dealt core by core, or neighbours share one
    assert map_cores(2, 4, [0, 1], "round-robin") == [[0, 1, 0, 1], [0, 1, 0, 1]]
    assert map_cores(2, 4, [0, 1], "blocks") == [[0, 0, 0, 0], [1, 1, 1, 1]]
    # AND where the host has enough, each core has a PU of its own either way
    assert map_cores(2, 2, [3, 5, 6, 9], "blocks") == [[3, 5], [6, 9]]


@pytest.mark.parametrize(
    ("of_nodes", "receiving", "apart", "together"),
    [
        ({0, 1}, {0}, {2, 3}, {0}),  # some are behind no core of a node
        ({0, 1, 2, 3}, {0, 2}, {1, 3}, {0, 2}),
        ({0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}),
    ],
)
def test_the_switch_is_apart_from_the_cores_that_receive_or_on_them(of_nodes, receiving, apart, together):
    assert switch_pus({0, 1, 2, 3}, of_nodes, receiving, "apart") == apart
    assert switch_pus({0, 1, 2, 3}, of_nodes, receiving, "receiving") == together


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"nodes": 0}, "a lab has 1 to 256 nodes, not `0`"),
        ({"cores": -1}, "a node has 1 to 1024 cores, not `-1`"),
        ({"irq_core": 4}, "a node of 4 cores has no core `4`"),
        ({"switch": "receiving"}, "the switch is `receiving` by the cores that receive, and none is chosen"),
        (
            {"node": from_synthetic("package:2 core:4")},
            "`package:2 core:4` has 8 cores, but `--cores 4` was asked for",
        ),
        ({"name": "My Lab"}, "`My Lab` cannot name a lab: it becomes part of host names"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_created(tmp_path, wrong, sentence):
    arguments = {"name": "lab", "nodes": 4, "cores": 4, "rate_bytes_per_s": 12.5e6} | wrong
    with pytest.raises(RankwiseError) as error:
        plan_lab(**arguments)
    assert error.value.message == sentence
    assert list(tmp_path.iterdir()) == []


def test_a_name_in_use_is_refused(tmp_path):
    # GIVEN a lab that is coming up
    lock = state.create("lab")
    # WHEN another wants its name
    with pytest.raises(RankwiseError) as error:
        state.create("lab")
    assert error.value.message == "a lab `lab` is up already"
    assert "`rankwise lab down`" in error.value.hint
    # THEN the first is untouched, until whoever brings it up is gone
    assert state.running() == ["lab"]
    os.close(lock)
    assert state.remove_dead() == ["lab"]
    assert state.running() == []


def test_a_directory_that_others_may_write_to_is_not_trusted(tmp_path):
    (tmp_path / "rankwise").mkdir(mode=0o777)
    (tmp_path / "rankwise").chmod(0o777)
    with pytest.raises(RankwiseError, match="is not a directory of this user alone"):
        state.labs_directory()


def test_a_launcher_whose_ranks_would_not_end_is_refused():
    with pytest.raises(RankwiseError, match=r"MPICH 4\.0\.2 does not run in a lab"):
        check_launcher(Launcher("hydra", "mpiexec", "/usr/bin/mpiexec", "4.0.2", "MPICH"))
    check_launcher(Launcher("hydra", "mpiexec", "/usr/bin/mpiexec", "4.1", "MPICH"))


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("away/run.json", "`away/run.json` cannot be written: there is no directory `away`"),
        ("run.json", "`run.json` is there already"),
        (".", "`.` is a directory"),
    ],
)
def test_a_file_that_a_run_could_not_leave_is_refused_before_it(
    tmp_path, monkeypatch, capsys, path, sentence
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.json").write_text("mine")
    force = ["--force"] if path == "." else []
    assert main(["lab", "run", "-o", path, *force, "--", "true"]) == 125
    assert capsys.readouterr().err.startswith(f"error: {sentence}")


@pytest.mark.parametrize(
    "words",
    [["--cores", "4,2"], ["--node", "package:1 core:2", "--node", "package:1 core:4"]],
)
def test_unequal_nodes_are_refused_with_what_can_be_done_instead(words, capsys):
    assert main(["lab", "up", "--nodes", "2", *words]) == 2
    said = capsys.readouterr().err
    assert "the nodes of a lab are all alike" in said
    assert "--placement" in said
    assert not state.running()
