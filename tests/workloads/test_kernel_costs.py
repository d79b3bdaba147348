# SPDX-License-Identifier: BSD-3-Clause
"""Files of kernel costs, and what schedules make of them."""

import numpy as np
import pytest

from rankwise import workloads
from rankwise.errors import RankwiseError
from rankwise.site_build import source_room
from rankwise.workloads import kernel_costs
from rankwise.workloads.program import KERNELS

TEXT = """schema = "rankwise.kernels/1"
name = "test"
[kernels.dgemm]
terms = { one = 1.0, mnk = 2.0 }
source = "test"
[kernels.dtrsm]
terms = { mmn = 3.0 }
source = "test"
[speeds]
kernels = ["dgemm"]
source = "test"
factors = [[1.0, 1.5], [2.0, 2.5]]
"""


def test_terms_are_multiplied_by_the_speed_of_each_rank_s_package(tmp_path):
    # GIVEN costs, and ranks on two nodes of two packages and on a third that the file does not know
    path = tmp_path / "test.kernels.toml"
    path.write_text(TEXT)
    terms = kernel_costs.load(path).terms(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 1]))
    # THEN each has its own dgemm, and all the same dtrsm
    assert terms["dgemm"][:, 0].tolist() == [1.0, 1.5, 2.0, 2.5, 1.0]
    assert terms["dgemm"][:, 7].tolist() == [2.0, 3.0, 4.0, 5.0, 2.0]
    assert terms["dtrsm"].tolist() == [0.0] * 8 + [3.0]


@pytest.mark.parametrize(
    ("what", "instead"),
    [
        ("rankwise.kernels/1", "rankwise.kernels/9"),
        ("mmn", "nnm"),
        ("[kernels.dtrsm]", "[kernels.magic]"),
        ('name = "', 'nom = "'),
    ],
)
def test_what_is_no_file_of_kernel_costs_is_refused(tmp_path, what, instead):
    path = tmp_path / "test.kernels.toml"
    path.write_text(TEXT.replace(what, instead, 1))
    with pytest.raises(RankwiseError, match="test.kernels.toml"):
        kernel_costs.load(path)


def test_one_process_computes_as_long_as_its_kernels_take():
    # GIVEN hpl on one process with kernels of which only dgemm takes time, 1 ns an element and step
    options = {"n": 64, "nb": 16, "nbmin": 16}
    costs = {"dgemm": np.eye(9)[7] * 1e-9}
    # WHEN it is replayed
    made = workloads.schedule(workloads.program("hpl", "", 1, options=options), 1e30, kernels=costs)
    time = made.replay_loggops(L_s=0, o_s=0, g_s=0, G_s_per_byte=0, O_s_per_byte=0, S_bytes=0).makespan_s
    # THEN that is 48 x 49 x 16 + 32 x 33 x 16 + 16 x 17 x 16 steps, the right-hand side being a column more
    assert time == pytest.approx(1e-9 * 16 * (48 * 49 + 32 * 33 + 16 * 17), abs=1e-11)


def test_shipped_costs_are_read_and_name_the_kernels_of_hpl():
    costs = kernel_costs.load(source_room("machines") / "dahu.kernels.toml")
    _, events = next(iter(workloads.program("hpl", "", 4, options={"p": 2, "q": 2}).each_rank()))
    used = {KERNELS[k] for k in events["peer"][events["kind"] == workloads.Kind.KERNEL].tolist()}
    assert used <= set(costs.kernels)
