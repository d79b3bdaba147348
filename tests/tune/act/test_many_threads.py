# SPDX-License-Identifier: BSD-3-Clause
"""What a tuner and its guard take where ranks have as many threads as they may have."""

from pathlib import Path

import pytest
import tune_driver

RANKS, THREADS, MOST_MB = 4, 1024, 16


def memory_mb(process: int) -> float:
    """Its proportional set size."""
    rows = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return next(int(row.split()[1]) * 1024e-6 for row in rows if row.startswith("Pss:"))


@pytest.mark.slow
@pytest.mark.usefixtures("two_pus")
def test_masks_of_many_threads_take_little_room(start, tmp_path):
    # GIVEN ranks of many threads
    ranks = [start(THREADS - 1, pus={number % 2}) for number in range(RANKS)]
    lines = [f"pid {rank.pid}" for rank in ranks]
    with tune_driver.Driver(tmp_path, lines, tune_driver.program(tune_driver.FAST)) as driver:
        driver.sample()
        # WHEN they are moved, there and back, and one change is taken back
        for turn in range(3):
            moves = (
                (rank.pid, str((at + turn) % 2), str((at + turn + 1) % 2)) for at, rank in enumerate(ranks)
            )
            assert driver.move(*moves) == ""
            driver.sample()
        assert driver.ask("undo") == ""
        driver.sample()
        # THEN tuner and guard take no more than they may
        assert memory_mb(driver.process.pid) + memory_mb(driver.guard) < MOST_MB
        assert {*tune_driver.masks(ranks[0].pid).values()} == {frozenset({0})}
        assert len(tune_driver.masks(ranks[0].pid)) == THREADS
