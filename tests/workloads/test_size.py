# SPDX-License-Identifier: BSD-3-Clause
"""What is counted without all events, and what is too much to be counted."""

import shlex

import numpy as np
import pytest

import rankwise.cli
from rankwise.cli.terminal import Terminal
from rankwise.errors import RankwiseError
from rankwise.workloads import generate, names, program, workload
from rankwise.workloads.program import CALLS, SENDS, Kind
from rankwise.workloads.size import check_size


@pytest.mark.parametrize("name", names())
def test_counts_of_a_rank_are_those_of_its_events(name):
    # GIVEN a rank's events
    of = program(name, "S" if workload(name).classes else "", 16, 3)
    events = of.events(5)
    # WHEN its messages are counted
    sent, others = of.counts(5)
    # THEN they are as many, and no call of all is lost
    chosen = np.isin(events["kind"], SENDS)
    rows = np.column_stack([events["peer"], events["count"] * events["type_bytes"]])[chosen]
    distinct, times = np.unique(rows, axis=0, return_counts=True)
    assert np.array_equal(np.column_stack([sent["destination"], sent["bytes"]]), distinct.reshape(-1, 2))
    assert np.array_equal(sent["messages"], times)
    kept = np.isin(events["kind"], [*CALLS, Kind.SPLIT, Kind.DUP])
    for column in ("kind", "peer", "tag", "group", "type_bytes", "count", "m"):
        assert np.array_equal(others[column], events[column][kept]), column
    assert np.array_equal(others["counts"], events["counts"])


@pytest.mark.parametrize(
    ("name", "ranks", "iterations", "sentence"),
    [
        (
            "alltoall",
            1_000_000,
            None,
            "alltoall on `1000000` ranks has about 1000000000000 pairs of ranks that talk, more than the limit of "
            "50000000",
        ),
        (
            "ring",
            16,
            10**9,
            "ring on `16` ranks sends about 16000000000 messages in `1000000000` iterations, more than the limit of "
            "10000000000",
        ),
    ],
)
def test_what_would_not_end_is_refused_with_the_limit(name, ranks, iterations, sentence):
    with pytest.raises(RankwiseError) as refused:
        generate(name, "", ranks, iterations)
    assert str(refused.value) == sentence


def test_a_size_at_the_limit_is_not_refused():
    # GIVEN a program of 16 x 15 pairs, on which each talks in 20 iterations
    of = program("alltoall", "", 16)
    # WHEN just as much is possible
    check_size(of, 16 * 15 * 20, 16 * 15)
    # THEN only less is refused
    with pytest.raises(RankwiseError, match="messages"):
        check_size(of, 16 * 15 * 20 - 1, 16 * 15)
    with pytest.raises(RankwiseError, match="pairs"):
        check_size(of, 16 * 15 * 20, 16 * 15 - 1)


def test_the_estimate_of_many_panels_is_near_what_is_sent():
    # GIVEN HPL of 200 panels, of which the first 32 are looked at
    options = {"n": 6400, "nb": 32}
    of, sent = program("hpl", "", 12, None, options), generate("hpl", "", 12, None, options).messages.sum()
    # THEN a limit of half as many refuses it, and twice as many do not
    with pytest.raises(RankwiseError):
        check_size(of, int(sent) // 2)
    check_size(of, int(sent) * 2)


WRONG = [
    "hpl --count --ranks 8 --q 3",
    "hpl --count --ranks 16 --p 4 --q 3",
    "hpl --count --nb 0",
    "hpl --count --n=",
    "hpl --count --bcast nonsense",
    "hpl --count --depth 9",
    "hpl --count --first 99",
    "hpl --count --iterations 1000000000000",
    "hpl --count --iterations 0",
    "hpl --count --ranks 16777216",
    "hpl --count --ranks 4000000",
    "alltoall --count --bytes -1",
    "alltoall --count --ranks 0",
    "random --count --ranks 2",
    "random --count --least 10 --most 5",
    "cg --count --class S --ranks 15",
    "cg --count --class Z",
    "lu --count --class S --ranks 100000",
]


@pytest.mark.parametrize("words", WRONG)
def test_what_is_wrong_is_answered_with_a_command_that_works(words, capsys):
    # WHEN a value is wrong
    status = rankwise.cli.main(["workloads", *words.split()])
    error, hint = capsys.readouterr().err.strip().split("\n\nhint: ")
    # THEN one sentence has it in backticks
    assert status in (1, 2)
    assert error.startswith("error: ")
    assert "\n" not in error
    assert "`" in error
    # AND the command that is hinted at works
    assert rankwise.cli.main(shlex.split(hint)[1:]) == 0, hint


def test_a_hint_keeps_what_was_right(capsys):
    rankwise.cli.main(["workloads", *["hpl", "--count", "--ranks", "16", "--p", "4", "--q", "3"]])
    assert capsys.readouterr().err.endswith("hint: rankwise workloads hpl --count --p 4 --q 3 --ranks 12\n")


@pytest.mark.parametrize(("what", "steps"), [("--count", 4), ("--trace", 12)])
def test_long_work_says_how_far_it_is(what, steps, tmp_path, monkeypatch, capsys):
    # GIVEN a terminal, of which is noted what it shows
    shown = []

    def bar(self, label, total):
        yield lambda done, best="": shown.append((label, done, total))

    monkeypatch.setattr(Terminal, "_bar", bar)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.chdir(tmp_path)
    # WHEN a workload is counted, or recorded
    assert rankwise.cli.main(["workloads", "ring", what, "--ranks", "4", "--iterations", "1"]) == 0
    # THEN each step is said, up to the last
    assert [done for _, done, _ in shown] == list(range(1, steps + 1))
    assert {total for _, _, total in shown} == {steps}
