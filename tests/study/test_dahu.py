# SPDX-License-Identifier: BSD-3-Clause
"""HPL predicted some panels at a time, and what the study of Dahu makes of times."""

from pathlib import Path

import pytest

from rankwise.machine.machine import topology_of
from rankwise.machine.placement import Placement
from rankwise.site_build import source_room
from rankwise.study import linpack
from rankwise.study.linpack import Linpack, LinpackModel
from rankwise.study.measured import measured
from rankwise.study.platforms import shipped
from rankwise.study.studies import dahu
from rankwise.workloads import kernel_costs


@pytest.fixture
def model():
    machine = shipped("dahu").machine
    costs = kernel_costs.load(source_room("machines") / "dahu.kernels.toml")
    return LinpackModel(machine, topology_of(machine, Path()), costs)


def placed(model, ranks: int) -> Placement:
    return Placement.explicit(model.topology, [(rank // 32, (rank % 32,)) for rank in range(ranks)])


@pytest.mark.parametrize("grid", [(4, 12), (12, 4), (48, 1), (1, 48)])
def test_parts_of_a_run_take_as_long_as_the_whole(model, monkeypatch, grid):
    # GIVEN a run on two nodes
    run = Linpack(6000, 128, *grid, dahu.OPTIONS)
    whole = model.time_s(run, placed(model, 48))
    # WHEN seven panels are replayed at a time
    monkeypatch.setattr(linpack, "OPERATIONS_AT_ONCE", 7 * 16 * 48)
    # THEN it is the same but for interfaces that are still busy at a cut
    assert model.time_s(run, placed(model, 48)) == pytest.approx(whole, rel=2e-3)


@pytest.mark.parametrize(("grid", "order"), [((4, 4), 4000), ((16, 4), 6000)])
def test_pivots_that_are_computation_cost_about_as_much_as_their_messages(model, grid, order):
    run = Linpack(order, 128, *grid, dahu.OPTIONS)
    together = model.time_s(run, placed(model, run.ranks))
    each = LinpackModel(model.machine, model.topology, model.costs, each=True).time_s(
        run, placed(model, run.ranks)
    )
    assert together == pytest.approx(each, rel=0.04)


def test_errors_and_pairs_are_counted():
    # GIVEN three grids of which the first two are measured alike, and a prediction that swaps the others
    times = [(100.0, 90.0), (101.0, 95.0), (110.0, 94.0)]
    grids = [dahu.Grid(k + 1, 1, real, real, 2 * real, ours) for k, (real, ours) in enumerate(times)]
    found = dahu.result("test", grids)
    # THEN one of two pairs is right: 100 < 110 is, 101 < 110 is not
    ours, optimistic, realistic = found.tables[1].rows
    assert len(set(found.tables[0].columns)) == len(found.tables[0].columns)
    # AND the targets say so: 50 is not 98, 17 % is more than 15, each grid is further off than SMPI's
    assert [(each.value, each.met) for each in found.targets] == [
        (50.0, False),
        (11.1, False),
        (17.0, False),
        (3, False),
        (1, True),
    ]
    assert ours == ["Rankwise", 50.0, 11.1, 17.0, "3x1"]
    assert optimistic[1:4] == [100.0, 0.0, 0.0]
    assert realistic[1:4] == [100.0, 50.0, 50.0]


def test_measured_times_are_of_28_grids_of_960():
    table = measured("dahu_geometries")
    assert table.height == 28
    assert (table["p"] * table["q"] == dahu.RANKS).all()
