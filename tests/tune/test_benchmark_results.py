# SPDX-License-Identifier: BSD-3-Clause
"""Results of `python -m tune`: a part that is measured again replaces what an earlier session said of it."""

import pytest
from tune import page
from tune.faults import Outcome
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
