# SPDX-License-Identifier: BSD-3-Clause
"""What `rankwise predict` and `rankwise measure --show` say of nodes with several interfaces."""

import json
from pathlib import Path

import msgspec
import pytest

from rankwise.cli import main
from rankwise.cli.predict_document import PredictResult

ONE = Path(__file__).resolve().parents[2] / "machines" / "bensley-infiniband-2007.machine.toml"


@pytest.fixture
def several(tmp_path):
    """A machine of two packages a node, an interface at each."""
    text = ONE.read_text()
    for kind in ("nic_tx", "nic_rx"):
        before = f'kind = "{kind}"\ndiscipline = "fifo"\nper = "node"'
        assert before in text
        text = text.replace(before, before.replace("node", "interface"))
    path = tmp_path / "several.machine.toml"
    path.write_text(text + '\n[interfaces]\nper = "package"\nat = [0, 1]\nuse = "nearest"\n')
    return str(path)


@pytest.fixture
def goal(tmp_path):
    """Four ranks of which 0 and 1 send 100 kB to 2 and 3."""
    path = tmp_path / "pairs.goal"
    path.write_text(
        "num_ranks 4\n"
        + "".join(f"rank {r} {{\nsend 100000b to {r + 2}\n}}\n" for r in (0, 1))
        + "".join(f"rank {r} {{\nrecv 100000b from {r - 2}\n}}\n" for r in (2, 3))
    )
    return str(path)


def test_loads_are_told_by_node_and_by_interface(goal, several, capsys):
    # WHEN two ranks of a node are on one package each (a plane of one core a package would be 2x2 cyclic)
    assert main(["predict", goal, "--machine", several, "--nodes", "2x2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert msgspec.to_builtins(msgspec.convert(document, PredictResult)) == document
    (one,) = document["placements"]
    assert [each["bytes"] for each in one["interfaces"]["tx"]] == [200000, 0]
    rows = [(row["node"], row["interface"], row["bytes"]) for row in one["by_interface"]["tx"]]
    nodes = [each["node"] for each in one["interfaces"]["tx"]]
    assert [row[:2] for row in rows] == [(node, number) for node in nodes for number in (0, 1)]
    assert sum(row[2] for row in rows) == 200000
    # AND the table has a line for each interface
    assert main(["predict", goal, "--machine", several, "--nodes", "2x2"]) == 0
    shown = capsys.readouterr().out
    assert f"{nodes[0]} 0 " in shown
    assert f"{nodes[1]} 1 " in shown


def test_one_interface_a_node_is_told_by_node_alone(goal, capsys):
    assert main(["predict", goal, "--machine", str(ONE), "--nodes", "2x2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["placements"][0]["by_interface"] is None


def test_a_drawing_of_the_machine_has_them(several, capsys):
    assert main(["measure", "--show", several]) == 0
    shown = capsys.readouterr().out
    assert "2 interfaces" in shown
    assert ", interface 1" in shown
