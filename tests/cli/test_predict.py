# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise predict` as it is typed."""

import json
from pathlib import Path

import msgspec
import pytest

from rankwise.cli import main
from rankwise.machine.topology import from_synthetic
from rankwise.placement.file import save
from rankwise.placement.simple import allocate
from rankwise.replay.document import Document

MACHINE = str(Path(__file__).resolve().parents[2] / "machines" / "bensley-infiniband-2007.machine.toml")
NODE = "package:2 l2:1 core:2 pu:1(indexes=0,2,1,3)"


@pytest.fixture
def goal(tmp_path):
    """Four ranks in a ring: 100 kB to the next one."""
    lines = ["num_ranks 4"]
    for rank in range(4):
        lines += [f"rank {rank} {{", f"r: recv 100000b from {(rank + 3) % 4}", "c: calc 1000000"]
        lines += [f"s: send 100000b to {(rank + 1) % 4}", "s requires c", "}"]
    path = tmp_path / "ring.goal"
    path.write_text("\n".join(lines))
    return str(path)


def predicted(capsys, *words):
    assert main(["predict", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_result_as_json_names_input_machine_model_and_times(goal, capsys):
    document = predicted(capsys, goal, "--machine", MACHINE, "--nodes", "2x2")
    assert document["schema"] == "rankwise.prediction/1"
    assert msgspec.to_builtins(msgspec.convert(document, Document)) == document
    assert document["input"] | {"path": ""} == {
        "path": "", "kind": "goal", "ranks": 4, "operations": 12, "messages": 4, "bytes": 400000,
        "collective_algorithms": None, "omitted": [],
    }  # fmt: skip
    assert len(document["machine"]["sha256"]) == 64
    assert document["model"] == {
        "interfaces": True,
        "shared_cores": True,
        "progress": True,
        "handshake": True,
    }
    (one,) = document["placements"]
    assert one["makespan_s"] == max(one["rank"]["finish_s"])
    assert one["ranks"]["computation"] == {"min_s": 0.001, "mean_s": 0.001, "max_s": 0.001}
    # THEN of the ring 1 -> 2 and 3 -> 0 cross the network
    sent = [node["bytes"] for node in one["interfaces"]["tx"]]
    assert sent == [100000, 100000]
    channels = {each["channel"]: each["messages"] for each in one["channels"]}
    assert channels == {"self": 0, "package": 2, "node": 0, "network": 2}


def test_several_allocations_are_compared(goal, capsys):
    words = [
        "predict",
        goal,
        "--machine",
        MACHINE,
        "--nodes",
        "2x2",
        "--allocation",
        "blocked",
        "--allocation",
        "cyclic",
    ]
    assert main(words) == 0
    out = capsys.readouterr()
    assert "blocked 2x2" in out.out and "cyclic 2x2" in out.out and "best" in out.out
    assert out.err.strip() == f"next: rankwise place {goal} --machine {MACHINE}"


def test_placement_files_are_compared_by_name(goal, tmp_path, capsys):
    for how in ("blocked", "cyclic"):
        save(allocate(4, 2, 2, from_synthetic(NODE), how)[0], tmp_path / f"{how}.json")
    files = [str(tmp_path / f"{how}.json") for how in ("blocked", "cyclic")]
    words = [goal, "--machine", MACHINE, "--placement", files[0], "--placement", files[1]]
    document = predicted(capsys, *words)
    assert [each["name"] for each in document["placements"]] == files
    assert document["placements"][0]["makespan_s"] < document["placements"][1]["makespan_s"]


def test_a_changed_number_changes_the_time_and_is_named(goal, capsys):
    usual = predicted(capsys, goal, "--machine", MACHINE)
    slow = predicted(capsys, goal, "--machine", MACHINE, "--set", "network.G=100ns/B", "--set", "nic.G=0ns/B")
    assert slow["machine"]["settings"] == ["network.G=100ns/B", "nic.G=0ns/B"]
    difference = slow["placements"][0]["makespan_s"] - usual["placements"][0]["makespan_s"]
    assert difference == pytest.approx(99999 * 100e-9 - 100000 / 1532e6, rel=1e-3)


def test_parts_of_the_model_can_be_left_out(goal, capsys):
    document = predicted(
        capsys, goal, "--machine", MACHINE, "--without", "shared-cores", "--without", "handshake"
    )
    assert document["model"] == {
        "interfaces": True,
        "shared_cores": False,
        "progress": True,
        "handshake": False,
    }


def test_the_schedule_can_be_written_as_goal_text(goal, tmp_path, capsys):
    target = tmp_path / "out.goal"
    assert main(["predict", goal, "--machine", MACHINE, "--goal", str(target)]) == 0
    assert target.read_text().startswith("num_ranks 4\n")
    assert main(["predict", goal, "--machine", MACHINE, "--goal", str(target)]) == 1
    assert "is there already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "status", "expected"),
    [
        (["none.goal"], 1, "`none.goal` cannot be read"),
        (["{goal}", "--nodes", "9x1"], 1, "`--nodes 9x1` asks for 9 nodes, the machine has 4"),
        (["{goal}", "--nodes", "1x2"], 1, "has room for 2 ranks, the program has 4"),
        (["{goal}", "--nodes", "4"], 1, "`4` is not a node layout"),
        (["{goal}", "--allocation", "round"], 1, "`round` is not an allocation"),
        (["{goal}", "--placement", "x.json", "--nodes", "2x2"], 2, "exclude each other"),
        (["{goal}", "--placement", "x.json"], 1, "placement file `x.json` cannot be read"),
        (["{goal}", "--set", "network.L=1"], 1, "is not a value with its unit"),
    ],
)
def test_bad_input_is_one_sentence_and_a_hint(goal, capsys, words, status, expected):
    words = [word.format(goal=goal) for word in words]
    assert main(["predict", *words, "--machine", MACHINE]) == status
    out = capsys.readouterr()
    assert out.out == ""
    assert expected in out.err and "hint:" in out.err


def test_ranks_that_the_machine_has_no_cores_for_are_refused(goal, tmp_path, capsys):
    small = tmp_path / "small.machine.toml"
    text = Path(MACHINE).read_text().replace("count = 4", "count = 1").replace(NODE, "package:2 core:1 pu:1")
    small.write_text(text)
    assert main(["predict", goal, "--machine", str(small)]) == 1
    err = capsys.readouterr().err
    assert "error: the program has 4 ranks, the machine 2 cores" in err and "`node.count`" in err


def test_a_placement_for_another_number_of_ranks_is_refused(goal, tmp_path, capsys):
    save(allocate(3, 2, 2, from_synthetic(NODE))[0], tmp_path / "p.json")
    assert main(["predict", goal, "--machine", MACHINE, "--placement", str(tmp_path / "p.json")]) == 1
    assert "the placement has 3 ranks, the program has 4" in capsys.readouterr().err
