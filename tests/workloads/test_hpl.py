# SPDX-License-Identifier: BSD-3-Clause
"""Messages of the workload hpl: known counts, and those of HPL itself."""

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from rankwise import workloads
from rankwise.errors import RankwiseError
from rankwise.workloads import Kind, generate, program
from rankwise.workloads.program import SENDS

RECORDED = Path(__file__).parent / "hpl_recorded.csv"


def timed_messages(rows: int, columns: int, **asked) -> Counter:
    """Messages of the timed section: (source, destination, bytes) -> how many."""
    options = {"p": rows, "q": columns, "pfact": "crout", "rfact": "right", "nbmin": 2, "ndiv": 2, **asked}
    found: Counter = Counter()
    for rank, events in program("hpl", "", rows * columns, options=options).each_rank():
        start, stop = np.flatnonzero(events["kind"] == Kind.TIMER)
        inside = {name: column[start:stop] for name, column in events.items() if name != "counts"}
        sends = np.isin(inside["kind"], SENDS)
        sizes = inside["count"] * inside["type_bytes"]
        found.update(
            zip([rank] * int(sends.sum()), inside["peer"][sends].tolist(), sizes[sends].tolist(), strict=True)
        )
    return found


def test_on_one_row_panels_go_round_rings_and_the_solution_goes_back():
    # GIVEN 12 columns in blocks of 2 on a row of three processes: six panels with 10, 8, ... 0 rows below
    found = timed_messages(1, 3, n=12, nb=2, bcast="1ring")
    # THEN each is passed on twice, with its block of 2 x 2, two pivots and a status; in the solution the last panel's
    # column has the right-hand side, which is with it, and passes on the next 4, 4, 4, 4, 2 rows to the one before
    panels = [8 * (below * 2 + 4 + 2 + 1) for below in (10, 8, 6, 4, 2, 0)]
    expected = Counter()
    for k, size in enumerate(panels):
        for step in (0, 1):
            expected[(k + step) % 3, (k + step + 1) % 3, size] += 1
    expected[0, 2, 8 * 12] += 1
    for k, rows in zip((5, 4, 3, 2, 1), (4, 4, 4, 4, 2), strict=True):
        expected[k % 3, (k - 1) % 3, 8 * rows] += 1
    assert found == expected


@pytest.mark.parametrize(("rows", "each"), [(2, 2), (4, 8), (3, 5), (8, 24), (6, 14)])
def test_each_column_is_exchanged_among_its_processes(rows, each):
    # GIVEN a column of processes; 3 are 2 that exchange and one that gives, gets the current row and hears, 6 are 4
    # and 2, of which one is told by the other what the row was
    found = timed_messages(
        rows, 1, n=64, nb=8, bcast="1ring", swap="binary-exchange", pivots="alone", first=0
    )
    # THEN every column of the panel has as many messages
    assert sum(found.values()) == 8 * each
    # AND they hold four numbers and one row of 8, or two of them, or the current row alone
    assert {size for _, _, size in found} <= {8 * 12, 8 * 20, 8 * 8}


def test_pivots_together_send_one_exchange_a_panel():
    few, many = (
        sum(timed_messages(4, 2, n=256, nb=16, swap="binary-exchange", pivots=pivots).values())
        for pivots in ("together", "each")
    )
    assert many - few == 8 * 15 * 256 // 16


def test_segments_have_the_messages_of_the_whole():
    # GIVEN a run, and the same in three parts
    options = {"n": 200, "nb": 16, "p": 2, "q": 3, "bcast": "2ring", "swap": "binary-exchange"}
    whole = generate("hpl", "", 6, options=options)
    parts = [generate("hpl", "", 6, n, {**options, "first": first}) for first, n in ((0, 4), (4, 7), (11, 2))]
    # THEN together they send the same
    assert sum(int(part.messages.sum()) for part in parts) == whole.messages.sum()
    assert (
        sum(int((part.messages * part.bytes).sum()) for part in parts) == (whole.messages * whole.bytes).sum()
    )


def recorded() -> dict[tuple, dict[tuple[int, int], tuple[int, int]]]:
    cases: dict[tuple, dict[tuple[int, int], tuple[int, int]]] = {}
    with RECORDED.open() as file:
        for row in csv.DictReader(line for line in file if line[0] != "#"):
            case = tuple(row[key] for key in ("n", "nb", "p", "q", "pmap", "bcast", "depth", "swap"))
            pair = int(row["source"]), int(row["destination"])
            cases.setdefault(case, {})[pair] = int(row["messages"]), int(row["bytes"])
    return cases


@pytest.mark.parametrize("case", recorded(), ids="-".join)
def test_messages_of_every_pair_are_those_of_hpl(case):
    # GIVEN what HPL 2.0 sent between entering and leaving HPL_pdgesv
    theirs = recorded()[case]
    n, nb, p, q, pmap, bcast, depth, swap = case
    asked = {"n": int(n), "nb": int(nb), "pmap": pmap, "bcast": bcast, "depth": int(depth), "swap": swap}
    # WHEN the workload's are counted
    messages, sizes = Counter(), Counter()
    for (source, destination, size), times in timed_messages(int(p), int(q), **asked).items():
        messages[source, destination] += times
        sizes[source, destination] += size * times
    # THEN there are as many of every pair
    assert messages == {pair: counted for pair, (counted, _) in theirs.items()}
    # AND as many bytes, but for the rows that pivoting happened to choose
    tolerance = 0 if p == "1" else 0.02
    ours, all_theirs = sum(sizes.values()), sum(size for _, size in theirs.values())
    assert ours == pytest.approx(all_theirs, rel=tolerance, abs=0)
    if p == "1":
        assert sizes == {pair: size for pair, (_, size) in theirs.items()}


def test_hpl_of_chai_gao_and_panda_stays_in_nodes_and_is_small_messages_and_large_bytes():
    # GIVEN HPL on 16 ranks in nodes of four, of which the rows of the grid are the nodes
    found = timed_messages(4, 4, n=8192, nb=128, bcast="1ringM", pmap="column")
    count = sum(found.values())
    in_node = sum(
        times for (source, destination, _), times in found.items() if source // 4 == destination // 4
    )
    # THEN nearly all messages stay in a node, most are of 256 B to 4 KB, most bytes are in messages above 256 KB
    assert in_node / count > 0.9
    assert sum(times for (_, _, size), times in found.items() if 256 <= size <= 4096) / count > 0.5
    by_size = Counter()
    for (_, _, size), times in found.items():
        by_size[size > 256 * 1024] += size * times
    assert by_size[True] > by_size[False]


def test_grids_that_are_not_the_ranks_are_refused():
    with pytest.raises(RankwiseError, match="grid of 2x3 runs on 6 ranks"):
        program("hpl", "", 4, options={"p": 2, "q": 3})


def test_kernels_of_the_update_have_the_operations_of_the_factorisation():
    # GIVEN one process: all operations are 2/3 n^3, but for what is of lower order
    counted = sum(
        float(events["operations"][events["kind"] == Kind.KERNEL].sum())
        for _, events in program("hpl", "", 1, options={"n": 1024, "nb": 32}).each_rank()
    )
    assert counted == pytest.approx(2 / 3 * 1024**3, rel=0.05)


def test_a_schedule_of_hpl_ends():
    chosen = program("hpl", "", 12, options={"n": 400, "nb": 16, "p": 3, "q": 4, "bcast": "2ring"})
    made = workloads.schedule(chosen, 1e9)
    time = made.replay_loggops(L_s=1e-6, o_s=1e-7, g_s=0, G_s_per_byte=1e-9, O_s_per_byte=0, S_bytes=1 << 16)
    assert float(time.makespan_s) > 2 / 3 * 400**3 / 1e9 / 12
