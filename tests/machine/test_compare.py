# SPDX-License-Identifier: BSD-3-Clause
"""Machines side by side: which numbers, and which differences are said to be real."""

import json
from pathlib import Path

import msgspec
import pytest

from rankwise.cli import main
from rankwise.machine.compare import compare
from rankwise.machine.estimate import Estimate
from rankwise.machine.file import save
from rankwise.machine.machine import LinkClass, Machine, Segment
from rankwise.machine.nodes import Node

MACHINES = Path(__file__).resolve().parents[2] / "machines"
SHIPPED = sorted(map(str, MACHINES.glob("*.machine.toml")))


def measured(value, width=0.1):
    return Estimate(value, "measured", low=value * (1 - width), high=value * (1 + width), samples=9)


def machine(latency: Estimate, **more) -> Machine:
    none = measured(0.0)
    segment = Segment(latency, none, none, measured(1e-9), none)
    link = LinkClass("network", "offloaded", "in-call", True, [segment])
    return Machine("rankwise.machine/1", "x", Node(2, topology="core:2"), [link], **more)


def line(machines, of, key):
    return next(q for q in compare(machines) if (q.of, q.key) == (of, key))


@pytest.mark.parametrize(
    ("first", "second", "differs"),
    [
        (measured(1e-6), measured(2e-6), True),
        (measured(1e-6), measured(1.15e-6), False),
        (measured(2e-6), measured(1e-6), True),
        (measured(1e-6), Estimate(2e-6, "published", source="x"), None),
        (Estimate(1e-6, "assumed", source="x"), measured(2e-6), None),
    ],
)
def test_only_intervals_that_do_not_meet_are_a_difference(first, second, differs):
    quantity = line([machine(first), machine(second)], "network", "t(1 B)")
    assert quantity.significant(1) is differs


def test_a_number_is_as_sure_as_the_least_of_those_it_follows_from():
    quantity = line(
        [machine(measured(1e-6)), machine(Estimate(1e-6, "assumed", source="x"))], "network", "t(64 KiB)"
    )
    assert [value.obtained for value in quantity.values] == ["measured", "assumed"]
    assert quantity.values[0].value == pytest.approx(1e-6 + 65535e-9)
    assert quantity.values[0].low == pytest.approx(0.9 * quantity.values[0].value)
    assert quantity.values[1].low is None


def test_all_that_ship_fit_a_terminal_side_by_side(capsys):
    assert main(["measure", "--compare", *SHIPPED]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    for word in ("independent progress", "offloaded matching", "t(1 MiB)", "capacity", "2.83 us"):
        assert any(word in each for each in lines), word
    assert not any("…" in each for each in lines)
    # THEN columns are aligned: marks of numbers stand below each other
    ends = {len(each) for each in lines if each.startswith("  t(") and each.endswith("~")}
    assert len(ends) <= 3


def test_as_json(capsys, tmp_path):
    paths = [tmp_path / "a.machine.toml", tmp_path / "b.machine.toml"]
    for path, value in zip(paths, (1e-6, 3e-6), strict=True):
        save(machine(measured(value)), path)
    assert main(["measure", "--json", "--compare", *map(str, paths)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "rankwise.machine-comparison/1"
    assert [each["name"] for each in document["machines"]] == ["x", "x"]
    quantity = next(q for q in document["quantities"] if q["key"] == "t(1 B)")
    assert quantity["differs_from_first"] == [False, True]
    assert quantity["values"][1]["value"] == pytest.approx(3e-6)


def test_one_machine_or_a_missing_one_is_refused(capsys):
    assert main(["measure", "--compare", SHIPPED[0]]) == 2
    assert "nothing to be compared with" in capsys.readouterr().err
    assert main(["measure", "--compare", SHIPPED[0], "none.toml"]) == 1
    assert "`none.toml` cannot be read" in capsys.readouterr().err


def test_what_only_one_has_is_shown_too():
    other = msgspec.structs.replace(machine(measured(1e-6)), link_classes=[])
    assert line([machine(measured(1e-6)), other], "network", "o").values[1] is None
