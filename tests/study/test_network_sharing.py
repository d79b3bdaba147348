# SPDX-License-Identifier: BSD-3-Clause
"""What the papers say of shared interfaces comes out on their machine: whole programs, from rates of the hardware."""

import pytest

from rankwise.study.catalogue import study
from rankwise.study.compared import EQUAL
from rankwise.study.program import parse_program
from rankwise.study.request import Request


@pytest.fixture(scope="module")
def shared():
    # GIVEN three programs of class B on the paper's 16 nodes, without being told how they behave
    programs = tuple(parse_program(name) for name in ("cg", "ft", "mg"))
    return study("network-sharing").run(Request(programs=programs))


def ratios(result, program, what):
    columns = {name: at for at, name in enumerate(result.tables[0].columns)}
    return {row[1]: row[columns[what]] for row in result.tables[0].rows if row[0] == program}


@pytest.mark.parametrize("program", ["CG", "FT", "MG"])
def test_a_second_rank_a_node_costs_time(shared, program):
    assert 1 < ratios(shared, program, "time")["2 a node, co-processor / 1 a node"] < 1.27
    assert ratios(shared, program, "network time")["2 a node, co-processor / 1 a node"] > 1


def test_four_ranks_a_node_cost_cg_and_ft_and_spare_mg(shared):
    # THEN N-4x4 and N-time: MG keeps half its bytes in the node, CG none
    four = "4 a node / 2 a node, virtual processor"
    assert ratios(shared, "CG", "time")[four] > 1 + EQUAL
    assert ratios(shared, "FT", "time")[four] > 1 + EQUAL
    assert ratios(shared, "MG", "time")[four] < 1 + EQUAL
    assert ratios(shared, "MG", "network time")[four] < 1 < ratios(shared, "CG", "network time")[four]
    assert ratios(shared, "CG", "network bytes")[four] == pytest.approx(1, abs=0.001)


def test_its_bytes_are_those_of_the_whole_program(shared):
    # THEN FT loses the one of 15 partners that is in the node
    assert ratios(shared, "FT", "network bytes")["2 a node, co-processor / 1 a node"] == pytest.approx(
        14 / 15, abs=1e-4
    )
