# SPDX-License-Identifier: BSD-3-Clause
"""Studies of recordings: one, or several of a program on different numbers of ranks."""

import pytest

from rankwise.cli import main
from rankwise.errors import RankwiseError
from rankwise.study.catalogue import study
from rankwise.study.program import parse_program
from rankwise.study.request import Request


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    # GIVEN recordings of CG on 2, 4 and 8 ranks
    made = {}
    for ranks in (2, 4, 8):
        made[ranks] = tmp_path_factory.mktemp("recorded") / f"cg{ranks}.rw"
        line = ["workloads", "cg", "--trace", "--class", "S", "--iterations", "2", "--ranks", str(ranks)]
        assert main([*line, "-o", str(made[ranks])]) == 0
    return made


def asked(recorded, *ranks):
    return Request(programs=(parse_program(" ".join(str(recorded[each]) for each in ranks)),))


def test_bottleneck_takes_recordings_of_two_and_four_ranks(recorded):
    both = study("bottleneck").run(asked(recorded, 2, 4))
    assert len(both.tables) == 2
    # THEN of four alone it has the part of four
    alone = study("bottleneck").run(asked(recorded, 4))
    assert len(alone.tables) == 1
    assert alone.tables[0].rows[0][1:] == both.tables[0].rows[0][1:]


def test_scalability_takes_the_numbers_that_are_recorded(recorded):
    found = study("scalability").run(asked(recorded, 2, 4, 8))
    assert found.tables[0].columns == ["program", "2 ranks", "4 ranks", "8 ranks"]
    assert study("scalability").run(asked(recorded, 4, 8)).tables[0].columns[1:] == ["4 ranks", "8 ranks"]
    with pytest.raises(RankwiseError, match="recordings of two numbers of ranks"):
        study("scalability").run(asked(recorded, 8))


def test_a_study_of_any_number_takes_that_of_the_recording(recorded):
    found = study("message-distribution").run(asked(recorded, 8))
    assert "8 ranks" in found.tables[0].title


def test_what_was_not_recorded_is_said(recorded):
    with pytest.raises(RankwiseError, match="needs `cg8` on 4 ranks, and its recordings have 8"):
        study("bottleneck").run(asked(recorded, 8))
    twice = parse_program(f"{recorded[4]} {recorded[4]}")
    with pytest.raises(RankwiseError, match="both have 4 ranks"):
        twice.on(4)
