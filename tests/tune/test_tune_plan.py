# SPDX-License-Identifier: BSD-3-Clause
"""The plan that a tuner starts with."""

import re
from pathlib import Path

import pytest

from rankwise.errors import RankwiseError
from rankwise.machine.file import load, loads
from rankwise.machine.topology import from_synthetic
from rankwise.tune import node
from rankwise.tune.levels import ASSUMED_LINKS, CHANNELS, Costs, costs_of, links_of, pus_of
from rankwise.tune.plan import Plan

TOP = Path(__file__).resolve().parents[2]
MACHINE = """
schema = "rankwise.machine/1"
name = "small"
[node]
count = 1
topology = "package:2 core:2"
[[link_classes]]
channel = "package"
protocol = "shared-memory"
progress = "in-call"
overlap = false
[[link_classes.segments]]
up_to_bytes = 1024
L_s = { value = 1e-6, obtained = "assumed", source = "test" }
o_s = { value = 2e-6, obtained = "assumed", source = "test" }
o_receive_s = { value = 4e-6, obtained = "assumed", source = "test" }
g_s = { value = 0, obtained = "assumed", source = "test" }
G_s_per_byte = { value = 1e-9, obtained = "assumed", source = "test" }
O_s_per_byte = { value = 0, obtained = "assumed", source = "test" }
[[link_classes.segments]]
L_s = { value = 9e-6, obtained = "assumed", source = "test" }
o_s = { value = 9e-6, obtained = "assumed", source = "test" }
g_s = { value = 0, obtained = "assumed", source = "test" }
G_s_per_byte = { value = 3e-10, obtained = "assumed", source = "test" }
O_s_per_byte = { value = 0, obtained = "assumed", source = "test" }
[[resources]]
name = "memory"
kind = "memory"
discipline = "sharing"
per = "node"
channels = ["package"]
capacity_bytes_per_s = { value = 4e10, obtained = "assumed", source = "test" }
per_core_bytes_per_s = { value = 1.5e10, obtained = "assumed", source = "test" }
"""


def test_assumed_costs_are_those_of_the_machine_file():
    assert links_of(load(TOP / "machines" / "archer2.machine.toml")) == ASSUMED_LINKS
    assert len(ASSUMED_LINKS) == len(CHANNELS)


def test_costs_come_from_the_machine_file(tmp_path):
    # GIVEN a machine of one link class, and a node of two NUMA nodes
    path = tmp_path / "m.machine.toml"
    path.write_text(MACHINE)
    # WHEN its costs are taken
    costs = costs_of(str(path), from_synthetic("package:2 numa:1 core:2"))
    # THEN a small message takes L and both overheads, a byte of a large one G
    assert costs.links == ((pytest.approx(7e-6), 3e-10),) * len(CHANNELS)
    # AND the node's memory is in equal parts on its NUMA nodes
    assert (costs.memory_bytes_per_s, costs.core_memory_bytes_per_s) == (2e10, 1.5e10)
    assert costs.memory_slowdown == ()
    assert costs.source.startswith("machine file small")


def test_what_was_measured_of_one_numa_node_goes_along(tmp_path):
    # GIVEN a memory of each NUMA node, of which it was measured how much longer two cores take
    path = tmp_path / "m.machine.toml"
    slowdown = 'slowdown = { values = [1, 1.5], obtained = "assumed", source = "test" }\n'
    path.write_text(MACHINE.replace('per = "node"', 'per = "numa"') + slowdown)
    node = from_synthetic("package:2 numa:1 core:2")
    # THEN the plan has it
    assert costs_of(str(path), node).memory_slowdown == (1.0, 1.5)
    plan = Plan([], costs_of(str(path), node), Path("/tmp/s"), Path("/tmp/s/sock"))
    assert "\nmemory 40000000000.0 15000000000.0 1.0 1.5\n" in plan.text()


def test_a_machine_of_another_kind_of_node_is_said(tmp_path):
    path = tmp_path / "m.machine.toml"
    path.write_text(MACHINE)
    assert costs_of(str(path), from_synthetic("package:2 core:2")).source == "machine file small"
    other = costs_of(str(path), from_synthetic("package:1 core:2")).source
    assert other == "machine file small, which describes another kind of node than this one"


def test_what_is_wider_than_all_that_was_measured_costs_as_the_widest():
    # GIVEN a machine whose narrowest class comes last
    text = MACHINE.replace('topology = "package:2 core:2"', 'topology = "package:1 l3:1 core:4"')
    link = text[text.index("[[link_classes]]") : text.index("[[resources]]")]
    near = link.replace('"package"', '"L3"').replace("L_s = { value = 1e-6", "L_s = { value = 1e-9")
    machine = loads(text.replace(link, link + near))
    # THEN messages between nodes cost what those across the package do
    assert links_of(machine)[0] == (pytest.approx(7e-6), 3e-10)
    assert links_of(machine)[list(CHANNELS).index("l3")][0] == pytest.approx(6.001e-6)


def test_a_machine_without_link_classes_is_refused():
    machine = loads(MACHINE.split("[[link_classes]]")[0])
    with pytest.raises(RankwiseError, match="`small` has no link classes"):
        links_of(machine)


def test_processing_units_are_in_logical_order_with_what_they_share():
    # GIVEN two packages whose cores have two PUs, with their OS numbers dealt out the other way
    node = from_synthetic("package:2 l3:1 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)")
    # THEN units of a core stand together, and what only one core has is no part that is shared
    assert [(pu.os, pu.core, pu.l2, pu.l3, pu.package) for pu in pus_of(node)] == [
        (0, 0, -1, 0, 0), (4, 0, -1, 0, 0), (1, 1, -1, 0, 0), (5, 1, -1, 0, 0),
        (2, 2, -1, 1, 1), (6, 2, -1, 1, 1), (3, 3, -1, 1, 1), (7, 3, -1, 1, 1),
    ]  # fmt: skip


def test_paths_that_would_begin_another_line_are_refused():
    costs = Costs((), 0.0, 0.0, "two\nlines")
    plan = Plan([], costs, Path("/tmp/s"), Path("/tmp/s/sock"), events=Path("/tmp/a\nact 1"))
    with pytest.raises(RankwiseError, match="cannot be a tuner's path"):
        plan.text()
    # AND others are taken
    plan = Plan([], costs, Path("/tmp/s"), Path("/tmp/s/sock"), events=Path("/tmp/a\u00a0b"))
    assert "events /tmp/a\u00a0b\n" in plan.text()


def test_the_tuner_of_a_node_may_run_on_all_units_that_linux_can_have():
    (most,) = re.findall(r"most_pus = (\d+);", (TOP / "tune/pu_set.hpp").read_text())
    assert set(node._PUS) == set(range(int(most)))
