# SPDX-License-Identifier: BSD-3-Clause
"""Results of `python -m tune`: a part that is measured again replaces what an earlier session said of it."""

from dataclasses import replace

import pytest
from tune import page
from tune.call_cost import LOOPS, CallCost
from tune.cases import KERNEL
from tune.faults import Outcome
from tune.own_cost import OwnCost
from tune.results import FAULTS, Session, keep, resumed
from tune.runs import Run

from rankwise.errors import RankwiseError

BUSY = "busy rank on the loaded core"


def test_a_part_that_is_measured_again_replaces_the_earlier_one(tmp_path):
    file = tmp_path / "tune.json"
    # GIVEN a session that measured two parts
    first = resumed(file, Session(1, 1.0))
    first.begin("phases")
    first.rounds["phases"] = [{BUSY: Run([0.0, 1.0, 2.0], [0, 5, 10], [{"what": "seen", "at_s": 0.5}])}]
    first.begin(FAULTS)
    first.faults = Outcome(rounds={"tuner killed": 3}, threads=8)
    first.now.fails("numad ended")
    keep(file, first)
    # WHEN a second one measures one of them
    second = resumed(file, Session(2, 0.5))
    second.begin("phases")
    second.rounds["phases"] = [{BUSY: Run([0.0, 1.0, 2.0], [0, 7, 14])}]
    keep(file, second)
    # THEN the other is there still, and each has its own session
    both = resumed(file, Session(3, 1.0))
    assert (both.of("phases").seed, both.of(FAULTS).seed) == (2, 1)
    assert (both.rounds["phases"][0][BUSY].rate(), both.faults) == (7.0, first.faults)
    # AND the page names both, and what failed
    text = page.text(both)
    assert [line.split(" | ")[0] for line in text.splitlines() if " min | " in line] == [
        "| faults",
        "| phases",
    ]
    assert "- numad ended (1 times)" in text


def test_another_file_is_not_taken_for_results(tmp_path):
    file = tmp_path / "tune.json"
    file.write_text('{"sessions": 1}')
    with pytest.raises(RankwiseError, match=r"tune\.json: not the results of an earlier benchmark"):
        resumed(file, Session(1, 1.0))


def test_the_page_says_of_each_loop_of_calls_whether_the_library_costs_too_much(tmp_path):
    # GIVEN an MPI to one of whose calls the library adds more than 10 ns, as far as can be told
    results = resumed(None, Session(1, 1.0))
    without, cheap, dear = [30.0] * 8, [6.0, 7.0] * 4, [11.0, 12.0] * 4
    added = {loop: dear if loop == "window_32_self" else cheap for loop in LOOPS}
    results.call_costs = [CallCost("mpich-5.0.2", dict.fromkeys(LOOPS, without), added)]
    # THEN a row says so, and the others are met
    rows = [line for line in page.text(results).splitlines() if "below 10 ns" in line]
    assert f"| what tuning costs | {len(LOOPS) + 1} | {len(LOOPS) - 1} | 0 | 1 | 1 |" in page.text(results)
    assert [line.split(" | ")[-1] for line in rows] == ["met |"] * (len(LOOPS) - 1) + ["missed |"]
    assert "11.5 [11.0, 12.0] ns" in rows[-1]
    # AND so does one where nothing was measured
    assert "below 10 ns | - | not measured |" in page.text(resumed(None, Session(1, 1.0)))


@pytest.mark.parametrize(
    ("worst", "tuned", "verdict"),
    [
        (80, 99, "met"),
        (80, 90, "missed"),
        (97, 99, "not told: it is as good without the tuner, or may be"),
    ],
)
@pytest.mark.parametrize(
    ("way", "where"), [(BUSY, "the worst mapping"), (KERNEL, "where the kernel puts ranks")]
)
def test_what_is_good_without_the_tuner_does_not_tell_that_it_helps(worst, tuned, verdict, way, where):
    # GIVEN rounds in which a way to begin, and the tuner that begins so, have these parts of the best rate
    results = resumed(None, Session(1, 1.0))
    results.begin("one busy rank")
    best = "waiting rank on the loaded core"
    rates = {BUSY: 50, best: 100, way: worst, f"rankwise tune, from: {way}": tuned}
    results.rounds["one busy rank"] = [
        {name: Run([0.0, 8.0, 16.0], [0, 8 * rate, 16 * rate]) for name, rate in rates.items()}
        for _ in range(3)
    ]
    # WHEN the page is made, THEN the target is met only if the tuner has made up for what it lost
    (row,) = [line for line in page.text(results).splitlines() if f"from {where}: at least" in line]
    assert row.split(" | ")[-1] == f"{verdict} |"
    assert f"without the tuner {worst / 100:.3f}" in row


def test_a_cost_that_was_measured_while_it_looked_seldom_is_not_what_a_look_each_second_costs():
    results = resumed(None, Session(1, 1.0))

    def verdicts(cost):
        results.own_cost = cost
        rows = [
            line for line in page.text(results).splitlines() if "each second" in line and "of a core" in line
        ]
        return [row.split(" | ")[-1] for row in rows]

    # GIVEN windows of a tuner that looked more and more seldom THEN it is not told
    cost = OwnCost(64, [0.001] * 6, 4_000_000, 22_000_000, 0.0001, [0.14] * 7, None, 0.0017)
    assert [verdict[:8] for verdict in verdicts(cost)] == ["not told"]
    # WHEN it looked each second, THEN what it decides counts as well
    cost = replace(cost, core_share=[0.004] * 6, resting_share=[0.001] * 6)
    assert verdicts(cost) == ["met |", "missed |"]
