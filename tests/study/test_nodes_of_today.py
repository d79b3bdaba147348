# SPDX-License-Identifier: BSD-3-Clause
"""Studies on nodes with more cores than the papers': arrangements that fill them, caches, rates and interfaces."""

import msgspec
import pytest

from rankwise.errors import RankwiseError
from rankwise.machine.topology import Topology, from_synthetic
from rankwise.study.arrangements import arrangements, full_ranks, packed, spread, usual_ranks
from rankwise.study.catalogue import names, study
from rankwise.study.cost import computation_notes
from rankwise.study.platforms import BENSLEY, MYRI_10G, Platform, shipped
from rankwise.study.program import parse_program
from rankwise.study.request import Request
from rankwise.study.studies.data_tiling import _cache, _streamed

TODAY = (
    "archer2",
    "azure-hbv3",
    "azure-hbv4",
    "dahu",
    "frontier",
    "leonardo-booster",
    "lumi-c",
    "lumi-g",
    "perlmutter-cpu",
    "perlmutter-gpu",
)


def on(name):
    from rankwise.site_build import source_room

    return source_room("machines") / f"{name}.machine.toml"


def of_cores(platform, node, nodes):
    """The platform with other nodes."""
    return Platform("test", platform.machine, Topology.of(from_synthetic(node), nodes))


def test_the_papers_nodes_have_the_papers_arrangements():
    platform = shipped(MYRI_10G)
    found = arrangements(platform, usual_ranks(platform, 16))
    assert usual_ranks(platform, 16) == 16
    seats = [(each.nodes, each.ranks_a_node) for each in found.seats.values()]
    assert list(found.seats) == [
        "1 a node",
        "2 a node, co-processor",
        "2 a node, virtual processor",
        "4 a node",
    ]
    assert seats == [(16, 1), (8, 2), (8, 2), (4, 4)]


@pytest.mark.parametrize("name", TODAY)
def test_nodes_of_today_are_filled(name):
    # WHEN ranks are arranged on a machine of today
    platform = shipped(name)
    ranks = usual_ranks(platform, 16)
    found = arrangements(platform, ranks)
    node = platform.topology.nodes[0]
    # THEN the last arrangement fills two nodes or more, and more than half of the cores of each
    full = found.seats[found.full]
    assert full.ranks_a_node == full_ranks(node) > node.cores / 2
    assert full.nodes >= 2
    # AND no arrangement has more nodes than the machine
    assert all(each.nodes <= len(platform.topology.nodes) for each in found.seats.values())
    placed = [each.on(platform.topology, ranks) for each in found.seats.values()]
    assert all(len(each.node) == ranks for each in placed)


def test_ranks_are_spread_over_packages_and_in_these_over_numa_nodes():
    node = shipped("archer2").topology.nodes[0]
    first = [int(core) for core in spread(node).split(",")][:8]
    assert [node.packages[core] for core in first] == [0, 1] * 4
    assert len({node.numa_nodes[core] for core in first}) == 8
    half = [int(core) for core in packed(node).split(",")][:64]
    assert len({node.packages[core] for core in half}) == 1


def test_one_package_is_filled_numa_node_by_numa_node():
    node = shipped("lumi-g").topology.nodes[0]
    half = [int(core) for core in packed(node).split(",")][:32]
    assert len({node.numa_nodes[core] for core in half}) == 2


@pytest.mark.parametrize("name", TODAY)
def test_machines_of_today_say_what_a_core_does(name):
    platform = shipped(name)
    core = next(each for each in platform.machine.resources if each.kind == "core")
    assert 2e10 < core.operations_per_s.value < 1e11
    assert core.operations_per_s.source
    (said,) = computation_notes(Request(), [platform])
    assert f"{core.operations_per_s.value / 1e9:g} Gflop/s" in said


def test_a_rate_that_is_assumed_is_said():
    platform = shipped("lumi-c")
    plain = [
        msgspec.structs.replace(each, operations_per_s=None) if each.kind == "core" else each
        for each in platform.machine.resources
        if each.kind != "memory"
    ]
    machine = msgspec.structs.replace(platform.machine, resources=plain)
    (said,) = computation_notes(Request(), [Platform("mine", machine, platform.topology)])
    assert "mine" in said
    assert "assumed to do 1 Gflop/s" in said
    assert "no `per_core_bytes_per_s`" in said
    # AND where times are measured, nothing is
    assert computation_notes(Request(mode="lab"), [platform]) == []


def test_a_tile_fits_the_cache_of_the_machine():
    # GIVEN 4 MiB for two cores, 16 MiB for four, and a node whose caches have no size
    bensley, archer2 = _cache(shipped(BENSLEY)), _cache(shipped("archer2"))
    unknown = _cache(of_cores(shipped(BENSLEY), "package:2 l2:1 core:2", 2))
    assert (bensley.bytes, archer2.bytes, unknown.bytes) == (2 << 20, 4 << 20, 2 << 20)
    assert "does not say" in unknown.said
    # THEN a tile of 2 MiB is streamed on the first only
    assert _streamed(2 << 20, bensley) > 0
    assert _streamed(2 << 20, archer2) == 0


def test_network_bytes_are_shown_by_interface():
    # WHEN a program runs on nodes with four interfaces
    request = Request(machines=(on("lumi-g"),), programs=(parse_program("cg.A"),), ranks=64)
    result = study("network-sharing").run(request)
    table = next(each for each in result.tables if each.title == "Network bytes by interface")
    rows = {row[1]: row[2:] for row in table.rows}
    # THEN a rank alone uses the first one, and one at each NUMA node, or more, all of them
    assert [size > 0 for size in rows["1 a node"]] == [True, False, False, False]
    assert all(size > 0 for size in rows["4 a node, one an interface"])
    assert sum(rows["1 a node"]) == pytest.approx(sum(rows["4 a node, one an interface"]), rel=0.5)
    assert any("32 Gflop/s" in note for note in result.notes)


def test_a_node_of_two_cores_has_its_own_arrangements():
    from rankwise.study.studies import bottleneck

    platform = of_cores(shipped(BENSLEY), "package:2 core:1", 2)
    assert list(bottleneck._full(platform)) == ["1x2", "2x1"]
    # AND what cannot be made is refused with a hint that can be followed
    with pytest.raises(RankwiseError, match="too small") as refused:
        bottleneck._full(of_cores(shipped(BENSLEY), "package:2 core:1", 1))
    assert "--nodes" not in refused.value.hint


def test_bottleneck_fills_a_node_of_today():
    result = study("bottleneck").run(Request(machines=(on("archer2"),), programs=(parse_program("cg.S"),)))
    assert result.tables[0].columns == ["program", "1x128", "2x64", "128x1"]
    assert result.tables[1].columns[1:] == ["intra-CMP", "inter-CMP", "inter-node"]


def test_scalability_grows_with_the_ranks_and_shows_few_a_node():
    # WHEN the paper's machines are asked for four ranks
    result = study("scalability").run(Request(ranks=4))
    titles = [table.title for table in result.tables]
    # THEN there are full nodes, 1 and 2 ranks a node, and a growing problem, on both machines
    assert sum("1 a node" in title for title in titles) == 1
    assert sum("2 a node" in title for title in titles) == 1
    growing = [table for table in result.tables if "same work a rank" in table.title]
    assert len(growing) == 2
    assert all(0 < value <= 101 for row in growing[0].rows for value in row[1:] if value is not None)


def test_figures_of_the_interconnects_are_in_the_papers_order():
    from rankwise.study.studies.interconnect import _BENCHMARKS, _COLLECTIVES, _number

    known = [*_BENCHMARKS, *_COLLECTIVES, "exchange (MB/s)", "availability (%)"]
    assert sorted(map(_number, known)) == list(range(1, 11))


def test_the_list_fits_80_columns():
    assert all(len(study(name).summary) <= 76 for name in names())
