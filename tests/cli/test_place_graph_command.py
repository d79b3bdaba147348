# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise place --graph`."""

import json
from pathlib import Path

import pytest

from rankwise.cli import main

# A ring of eight, numbered so that neighbours are four apart or so.
RING = "8 8\n5 8\n5 6\n6 7\n7 8\n1 2\n2 3\n3 4\n4 1\n"
MACHINE = ["--hierarchy", "2:2:N", "--distances", "1:3:10"]


@pytest.fixture(autouse=True)
def ring(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ring.graph").write_text(RING)


def test_the_cores_are_written_and_the_costs_said_beside_the_bound(capsys):
    assert main(["place", "--graph", "ring.graph", *MACHINE]) == 0
    out, err = capsys.readouterr()
    cores = [int(line) for line in Path("ring.cores").read_text().splitlines()]
    assert sorted(cores) == list(range(8))
    # THEN two edges join the nodes, two the packages of a node, four the cores of a package: 20 + 6 + 4
    rows = [line.split() for line in out.splitlines()]
    assert ["blocked", "80", "+166.7", "%", "8"] in rows
    assert next(row for row in rows if row[:1] == ["best:"])[-2:] == ["30", "2"]
    assert "no placement is below 16 " in out and "is 87.5 % above that" in out
    assert err == "Wrote ring.cores\n"


def test_json_has_everything(capsys):
    assert main(["place", "--graph", "ring.graph", *MACHINE, "--json", "--seed", "4", "-o", "out"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "rankwise.place-graph/1"
    assert [each["name"] for each in document["placements"][:2]] == ["blocked", "cyclic"]
    assert document["placements"][-1] == {
        "name": document["placements"][-1]["name"],
        "cost": 30.0,
        "busiest_node": 2.0,
    }
    assert (document["vertices"], document["edges"], document["seed"]) == (8, 8, 4)
    assert len(Path("out").read_text().split()) == 8


def test_the_result_is_no_worse_than_the_current_placement(capsys):
    assert main(["place", "--graph", "ring.graph", *MACHINE, "-o", "a"]) == 0
    assert main(["place", "--graph", "ring.graph", *MACHINE, "--current", "a", "--json", "-o", "b"]) == 0
    out = capsys.readouterr().out
    placements = json.loads(out[out.index("{") :])["placements"]
    assert [each["name"] for each in placements[:3]] == ["blocked", "cyclic", "given"]
    assert placements[-1]["cost"] == placements[2]["cost"] == 30


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (["--graph", "ring.graph"], 2, "`--graph` needs `--hierarchy`"),
        (["--graph", "ring.graph", "--hierarchy", "8"], 2, "`--graph` needs `--distances`"),
        (["--graph", "ring.graph", *MACHINE, "--machine", "m"], 2, "`--machine` is not for placing a graph"),
        (["rec.rw", "--machine", "m", "--grid", "2x4"], 2, "`--grid` is not for placing a recording"),
        (["rec.rw"], 2, "`rankwise place` needs `--machine`"),
        ([], 2, "`rankwise place` needs `REC`"),
        (["--graph", "ring.graph", *MACHINE, "--budget", "0s"], 2, "`0s` is no time to do anything in"),
        (["--graph", "ring.graph", *MACHINE, "--seed", "-1"], 2, "`-1` is not a whole number from 0"),
        (["--graph", "none", *MACHINE], 1, "graph `none` cannot be read: no such file or directory"),
        (["--graph", "ring.graph", *MACHINE, "--grid", "3x3"], 1, "the grid `3x3` has 9 points"),
        (["--graph", "ring.graph", *MACHINE, "-o", "ring.graph"], 1, "`ring.graph` is there already"),
        (
            ["--graph", "ring.graph", *MACHINE, "-o", "a/b"],
            1,
            "`a/b` cannot be written: there is no directory `a`",
        ),
    ],
)
def test_what_does_not_fit_is_refused(capsys, words, status, sentence):
    assert main(["place", *words]) == status
    assert sentence in capsys.readouterr().err
