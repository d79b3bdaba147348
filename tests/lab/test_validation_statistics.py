# SPDX-License-Identifier: BSD-3-Clause
"""Agreement of predicted and measured times, on numbers whose answer is known."""

import contextlib
import os
import time
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from accuracy import validation as rig
from accuracy.cases import Case
from accuracy.chance import apart_by_chance
from accuracy.result import bytes_only_s, evaluate
from accuracy.state import CasePlan, Options, Predicted, Run, Setting, State

from rankwise.lab.rate import show_rate
from rankwise.lab.validation.other_load import OtherLoad, used_s
from rankwise.lab.validation.placements import NAMES, choose
from rankwise.lab.validation.statistics import Compared, agreement
from rankwise.machine.topology import from_synthetic
from rankwise.measure.fitting.statistics import confidence_of, median
from rankwise.placement.file import NodeEntry, PlacementFile, RankEntry
from rankwise.placement.simple import allocate
from rankwise.run.failures import MOST_CHARACTERS, last_line
from rankwise.run.timed_run import Made, RunFailedError


def compared(times, predicted, low=None, high=None):
    """A placement measured with these times."""
    found = median(np.array(times)) if times else None
    return Compared(found, predicted, low or predicted, high or predicted)


def around(middle):
    """Six times whose median is `middle` and whose interval is 0.1 to each side."""
    return [middle - 0.1, middle - 0.05, middle, middle, middle + 0.05, middle + 0.1]


def test_only_pairs_whose_measured_intervals_are_apart_count():
    # GIVEN medians 1.0, 1.15 (overlaps both neighbours) and 1.3
    case = [compared(around(1.0), 1.0), compared(around(1.15), 0.5), compared(around(1.3), 1.2)]
    # THEN one pair can be told apart, and it is ordered rightly
    found = agreement([case])
    assert (found.pairs, found.ordered, found.ordered_share) == (1, 1, 1.0)


def test_intervals_of_one_or_two_runs_tell_nothing_apart():
    one, two, three = compared([1.0], 1.0), compared([2.0, 2.0], 2.0), compared([3.0] * 3, 3.0)
    assert agreement([[one, two, three]]).pairs == 0
    assert agreement([[compared([1.0] * 3, 1.0), three]]).pairs == 1


def test_equal_and_reversed_predictions_are_not_ordered_rightly():
    case = [compared(around(1.0), 2.0), compared(around(2.0), 2.0), compared(around(3.0), 1.0)]
    found = agreement([case])
    assert (found.pairs, found.ordered) == (3, 0)


def test_pairs_are_formed_inside_a_case_only():
    one, other = [compared(around(1.0), 1.0)], [compared(around(5.0), 0.5)]
    assert agreement([one, other]).pairs == 0


def test_errors_are_relative_to_the_measured_median():
    # GIVEN errors of -10 %, +5 % and -40 %
    case = [compared([1.0], 0.9), compared([2.0], 2.1), compared([10.0], 6.0)]
    found = agreement([case])
    assert found.median_error == pytest.approx(0.10)
    assert found.worst_error == pytest.approx(-0.40)
    assert found.times == 3


def test_coverage_counts_medians_inside_the_predicted_interval_ends_included():
    case = [compared([1.0], 1.1, 1.0, 1.2), compared([2.0], 2.2, 2.1, 2.3), compared([3.0], 3.0, 2.9, 3.1)]
    found = agreement([case])
    assert (found.covered, found.covered_share) == (2, pytest.approx(2 / 3))


def test_a_placement_without_a_measured_time_is_in_no_number():
    case = [compared([], 1.0), compared(around(1.0), 1.0)]
    found = agreement([case])
    assert (found.pairs, found.times) == (0, 1)
    nothing = agreement([[compared([], 1.0)]])
    assert (nothing.ordered_share, nothing.median_error, nothing.worst_error, nothing.covered_share) == (
        None,
    ) * 4


def test_the_traced_run_s_own_placement_whose_time_is_known_is_in_pairs_only():
    # GIVEN a traced placement that is predicted exactly, and others that are off by 10 and by -20 %
    traced = Compared(median(np.array([1.0] * 3)), 1.0, 0.9, 1.3, is_traced=True)
    found = agreement([[traced, compared([2.0] * 3, 2.2, 1.9, 2.3), compared([3.0], 2.4, 3.1, 3.2)]])
    # THEN errors and intervals are of those
    assert (found.times, found.covered, found.to_cover, found.covered_share) == (3, 1, 2, 0.5)
    assert (found.median_error, found.worst_error) == pytest.approx((0.15, -0.2))
    # AND the pair with it counts
    assert (found.pairs, found.ordered) == (1, 1)


def test_pairs_that_chance_tells_apart():
    # GIVEN three runs of each of two placements: of 20 orders of six runs two have all of one before all of the other
    assert apart_by_chance([[3, 3]]) == pytest.approx(0.1)
    # AND of pairs in any number of cases, with as many runs as each has
    assert apart_by_chance([[3, 3, 6], [3, 3]]) == pytest.approx(0.1 + 2 * 2 / 84 + 0.1)
    # THEN two runs tell nothing apart, and of intervals that are not the whole range nothing is said
    assert apart_by_chance([[2, 3]]) == 0
    assert apart_by_chance([[9, 9]]) is None


@pytest.mark.parametrize(("count", "sure"), [(3, 0.75), (5, 0.9375), (6, 0.96875), (7, 0.984375)])
def test_how_sure_an_interval_of_order_statistics_is(count, sure):
    # 1 - 2 / 2^n for the whole range of n values
    assert confidence_of(count) == pytest.approx(sure)


OPTIONS = Options(2, 1, (100.0,), (2,), "mpich", "/mpi/bin/mpiexec", ("one",), 3, 2, 1, True)
ONE = Setting("one", 2, 100.0)
NODES = [NodeEntry("node0", "0" * 64), NodeEntry("node1", "0" * 64)]


def somewhere(name):
    """A placement of one rank: of each of `NAMES` on another core."""
    return PlacementFile("rankwise.placement/1", NODES, [RankEntry(0, [NAMES.index(name)])], name)


def predicted(name, time_s, network_bytes):
    return Predicted(name, somewhere(name), time_s, time_s - 0.1, time_s + 0.1, network_bytes, 0.5)


def test_a_predictor_of_bytes_is_scaled_by_the_traced_run_and_the_rate():
    # GIVEN a traced run of 3 s, 2 interfaces of 100 B/s, and 400 bytes more than with the recorded placement
    case = CasePlan(
        ONE, "One", 3.0, predicted=[predicted("blocked", 1.0, 1000), predicted("cyclic", 2.0, 1400)]
    )
    # THEN these take 400 / 200 s more
    assert bytes_only_s(case, case.predicted[0], 2, 100.0) == 3.0
    assert bytes_only_s(case, case.predicted[1], 2, 100.0) == 5.0


def test_fewer_ranks_and_long_programs_are_tried_once():
    options = msgspec.structs.replace(
        OPTIONS, rates_bytes_per_s=(12.5e6, 25e6), ranks=(8, 16), programs=("cg", "rhodo")
    )
    keys = [each.key for each in options.settings()]
    assert keys == ["cg.8.100mbit", "cg.16.100mbit", "rhodo.16.100mbit", "cg.16.200mbit"]


def chosen_among(ranks):
    """All placements of so many ranks in a lab of four nodes of four cores, found ones without a search."""
    one = SimpleNamespace(prediction=None, placement="found", objective_s=1.0, makespan_s=1.0)
    search = SimpleNamespace(
        ranks=ranks,
        slots=SimpleNamespace(node=range(16)),
        run=lambda judge, **_: [one],
        candidate=lambda name, slot: one,
        placement=lambda slot, name: name,
    )
    return choose(
        search,
        judge=lambda placement: one,
        count=8,
        seed=1,
        dealt=lambda name: allocate(ranks, 4, 4, from_synthetic("package:1 core:4"), name)[0],
    )


def test_simple_placements_of_fewer_ranks_are_those_that_launchers_make():
    # GIVEN half as many ranks as cores, which `mpiexec -n 8` deals to as few nodes as hold them
    found = chosen_among(8)
    # THEN blocked is what was recorded, and all eight placements are there
    assert found["blocked"].node.tolist() == [0] * 4 + [1] * 4
    assert found["plane=2"].node.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert found["cyclic"].node.tolist() == [0, 1, 2, 3] * 2
    assert sorted(found) == sorted(NAMES)
    # AND of so few that two are the same one is left out
    assert chosen_among(2).keys() == set(NAMES) - {"plane=2"}


def test_failures_name_files_but_not_where_they_lay():
    # GIVEN a program's last line with a path so long that cutting it first would leave nothing else
    output = (
        "starting\nerror: `/"
        + "deep/" * 40
        + "in.lj`: no such file (see https://example.org/a/b, 3/4 done)\n"
    )
    # THEN the file and what is wrong are there, the directories are not, and other slashes stay
    assert last_line(output) == "error: `in.lj`: no such file (see https://example.org/a/b, 3/4 done)"
    assert last_line("PATH=/usr/local/bin/lmp:/opt/x/lmp a/b/c") == "PATH=lmp:lmp a/b/c"
    assert last_line(" \n") == "" and len(last_line("x" * 999)) == MOST_CHARACTERS


@pytest.fixture
def state(tmp_path):
    """A validation with three placements of one case, of which `cyclic` is measured at 2 s."""
    state = State.create(tmp_path / "validation", OPTIONS, {"kernel": "6.1", "rankwise": "0"})
    placements = [
        predicted("blocked", 1.0, 1000),
        predicted("cyclic", 2.05, 1400),
        predicted("worst", 3.0, 900),
    ]
    state.plan.cases.append(CasePlan(ONE, "One", 1.0, predicted=placements))
    state.save()
    return state


def test_runs_take_turns_and_each_round_begins_with_another_placement(state):
    missing = [(repetition, placement) for repetition, _, placement in state.missing()]
    assert missing == [
        (0, "blocked"),
        (0, "cyclic"),
        (0, "worst"),
        (1, "cyclic"),
        (1, "worst"),
        (1, "blocked"),
    ]
    # WHEN some are done, in whatever session
    state.add(Run(ONE.key, "cyclic", 0, time_s=2.0))
    state.add(Run(ONE.key, "worst", 0, failure="status 1"))
    # THEN the others are left, in the same order
    left = [(repetition, placement) for repetition, _, placement in State.resume(state.directory).missing()]
    assert left == [(0, "blocked"), (1, "cyclic"), (1, "worst"), (1, "blocked")]


def test_more_runs_of_all_placements_can_be_planned_later_but_not_fewer(state):
    for repetition, _, placement in state.missing():
        state.add(Run(ONE.key, placement, repetition, time_s=1.0))
    state.repeat_more(1)
    assert evaluate(state).complete
    # WHEN one run more is planned than the two of before
    state.repeat_more(3)
    # THEN it is missing of all, also for who goes on later
    missing = State.resume(state.directory).missing()
    assert sorted(missing) == [(2, ONE.key, name) for name in ("blocked", "cyclic", "worst")]


def test_a_failed_run_counts_as_failure_and_is_named(state):
    for repetition in range(3):
        state.add(Run(ONE.key, "blocked", repetition, time_s=1.0))
        state.add(Run(ONE.key, "cyclic", repetition, time_s=2.0))
    state.add(Run(ONE.key, "worst", 0, failure="not finished after 60 s"))
    document = evaluate(state)
    assert document.failures == ["one.2.800bit worst, repetition 0: not finished after 60 s"]
    by_name = {each.name: each for each in document.cases[0].placements}
    assert by_name["worst"].measured is None
    assert by_name["worst"].failures == ["repetition 0: not finished after 60 s"]
    assert by_name["cyclic"].error == pytest.approx(0.025)
    assert not document.complete
    assert (document.predicted.pairs, document.predicted.ordered) == (1, 1)
    # the traced run's placement is measured, but covered by construction
    assert (document.predicted.times, document.predicted.covered, document.predicted.to_cover) == (2, 1, 1)
    assert document.bytes_only.covered is None
    # AND the result can be kept
    state.write_result(document)
    kept = msgspec.json.decode((state.directory / "validation.json").read_bytes())
    assert kept["schema"] == "rankwise.accuracy/1"


def test_a_gain_is_sure_where_the_runs_say_it(state):
    # GIVEN an optimised placement that takes 0.8 s, 0.6 to 0.9 by its runs, and blocked of exactly 1 s, cyclic of 2.0 s
    best = predicted("optimised", 0.83, 900)
    state.plan.cases[0] = msgspec.structs.replace(
        state.plan.cases[0], predicted=[*state.plan.cases[0].predicted, best]
    )
    for repetition, time_s in enumerate((0.6, 0.8, 0.9)):
        state.add(Run(ONE.key, "optimised", repetition, time_s=time_s))
        state.add(Run(ONE.key, "blocked", repetition, time_s=1.0))
        state.add(Run(ONE.key, "cyclic", repetition, time_s=2.0 + repetition / 1000))
    (case,) = evaluate(state).cases
    # THEN it saves 0.1 to 0.4 of the first, 17 points of it as predicted
    assert case.gain("blocked") == pytest.approx((0.2, 0.1, 0.4, 0.17))
    assert case.gain("blocked").is_near(0.05) and not case.gain("blocked").is_near(0.02)
    assert case.gain("blocked").is_possible(0)
    assert not case.gain("blocked")._replace(predicted=0.04).is_possible(0.05)
    assert not case.gain("blocked").is_sure(0.15) and case.gain("blocked").is_sure(0.21)
    # AND of the other, twice as long, half as much is unsure
    assert case.gain("cyclic").is_sure(0.11)
    assert case.gain("worst") is None


def test_a_placement_under_two_names_is_compared_once_with_the_runs_of_both(state):
    # GIVEN an optimised placement that is `cyclic` on the other node, which is alike, and a random one that is another
    cyclic = somewhere("cyclic")
    moved = msgspec.structs.replace(cyclic, ranks=[RankEntry(1, cyclic.ranks[0].cores)])
    best = msgspec.structs.replace(predicted("optimised", 2.05, 1400), placement=moved)
    state.plan.cases[0] = msgspec.structs.replace(
        state.plan.cases[0],
        predicted=[*state.plan.cases[0].predicted, best, predicted("random-1", 4.0, 10)],
    )
    for repetition, (one, other) in enumerate([(2.0, 3.0), (2.2, 3.2), (2.4, 3.4)]):
        state.add(Run(ONE.key, "blocked", repetition, time_s=1.0))
        state.add(Run(ONE.key, "cyclic", repetition, time_s=one))
        state.add(Run(ONE.key, "optimised", repetition, time_s=other))
    # WHEN it is evaluated
    document = evaluate(state)
    (case,) = document.cases
    by_name = {each.name: each for each in case.placements}
    # THEN both have all six runs, which are no pair, and one of them counts
    assert by_name["optimised"].same_as == "cyclic" and by_name["random-1"].same_as is None
    assert by_name["optimised"].measured == by_name["cyclic"].measured
    assert sorted(by_name["cyclic"].measured.times_s) == [2.0, 2.2, 2.4, 3.0, 3.2, 3.4]
    assert (document.predicted.pairs, document.predicted.times) == (1, 2)
    # AND nothing is gained over itself, but over others
    assert case.gain("cyclic") is None
    assert case.gain("blocked").measured == pytest.approx(1 - 2.7 / 1.0)
    # AND what runs of one placement differ by is told: 3.2 after 2.2 s
    (twin,) = document.twins
    assert (twin.first, twin.second, twin.difference) == ("cyclic", "optimised", pytest.approx(1 / 2.2))


def test_a_run_that_shared_the_machine_is_repeated_and_counts_for_nothing(state):
    state.add(Run(ONE.key, "blocked", 0, time_s=9.0, other_load=0.3))
    assert (0, ONE.key, "blocked") in state.missing()
    assert evaluate(state).cases[0].placements[0].measured is None
    # WHEN it was alone
    state.add(Run(ONE.key, "blocked", 0, time_s=1.0, other_load=0.01))
    assert (0, ONE.key, "blocked") not in state.missing()
    document = evaluate(state)
    assert document.cases[0].placements[0].measured.times_s == [1.0]
    assert document.disturbed == 1


def test_a_prediction_whose_recorded_run_was_not_valid_is_named_and_counts_for_nothing(state):
    # GIVEN runs that are valid, one that failed, and a recorded run that was not valid
    for repetition in range(3):
        state.add(Run(ONE.key, "blocked", repetition, time_s=1.0))
        state.add(Run(ONE.key, "cyclic", repetition, time_s=2.0))
    state.add(Run(ONE.key, "worst", 0, failure="status 1"))
    assert evaluate(state).predicted.times == 2 and evaluate(state).invalid == []
    state.plan.cases[0] = msgspec.structs.replace(state.plan.cases[0], invalid="messages lay for 9.0%")
    state.save()
    # WHEN it is evaluated, after a resumption too
    document = evaluate(State.resume(state.directory))
    # THEN no placement has a time to be compared with, and why is said
    assert [each.measured for each in document.cases[0].placements] == [None] * 3
    assert (document.predicted.times, document.predicted.pairs) == (0, 0)
    assert document.invalid == [
        f"{ONE.key}, recorded run, and so all that is predicted from it: messages lay for 9.0%"
    ]
    # AND what failed is still named
    assert document.failures == ["one.2.800bit worst, repetition 0: status 1"]


STAT = "42 (a ) b) S {parent} 1 1 0 -1 0 0 0 0 0 {user} 20 3 4 20 0 1 0"


def test_processor_time_of_a_process_and_its_children():
    ticks = os.sysconf("SC_CLK_TCK")
    # user 100, system 20, and of ended children 3 and 4 ticks; names may hold anything
    assert used_s(STAT.format(parent=7, user=100)) == pytest.approx(127 / ticks)
    # AND threads of the kernel, which work for others, do not count
    assert used_s(STAT.format(parent=2, user=100)) == 0


def test_what_others_use_is_seen_and_what_is_ours_is_not(tmp_path, monkeypatch):
    # GIVEN processes 5, which is ours, and 6
    def used(**ticks):
        for name, user in ticks.items():
            (tmp_path / name[1:]).mkdir(exist_ok=True)
            (tmp_path / name[1:] / "stat").write_text(STAT.format(parent=7, user=user))

    (tmp_path / "meminfo").write_text("")
    used(_5=1000, _6=2000)
    before = OtherLoad.begin(frozenset({5}), processes=tmp_path)
    # WHEN both work, and 8 begins, for 10 s on 4 cores
    used(_5=9000, _6=2100, _8=73)
    monkeypatch.setattr(time, "monotonic", lambda: before.time_s + 10)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    # THEN 100 ticks of 6 and all 100 of 8 are the others'
    assert before.share() == pytest.approx(200 / os.sysconf("SC_CLK_TCK") / 40)


def test_a_case_that_failed_before_its_runs_is_named_too(state):
    state.plan.cases[0] = CasePlan(ONE, "One", failure="status 139")
    document = evaluate(state)
    assert document.failures == ["one.2.800bit: status 139"]
    assert document.predicted.times == 0


def run_all(state, monkeypatch, run_case) -> bool:
    """All runs of the state's case with `run_case`, which is given the name of a placement."""
    monkeypatch.setattr(rig, "find_launcher", lambda *_: None)
    monkeypatch.setattr(rig, "run_case", lambda placement, *_: run_case(placement))
    monkeypatch.setattr(rig.Validation, "_prepare", lambda self, lab, case, placement: placement.allocation)
    state.plan.machine_sha256[show_rate(ONE.rate_bytes_per_s)] = "frozen"
    case = Case("one", "One", ("./one",))
    monkeypatch.setattr(rig.Validation, "programs", lambda self: {"one": case})
    monkeypatch.setattr(rig.Validation, "_lab", lambda self, rate: contextlib.nullcontext())
    monkeypatch.setattr(rig, "_pus", lambda lab: set())
    return rig.Validation(state, print).go_on()


def test_runs_that_others_disturbed_are_made_again_but_not_for_ever(state, monkeypatch):
    # GIVEN the first run shares the machine with others, and those of `worst` always do
    tried = []

    def run_case(placement):
        tried.append(placement)
        return Made(1.0, 0.5 if len(tried) == 1 or placement == "worst" else 0.0, 2.0)

    # WHEN all are run
    assert not run_all(state, monkeypatch, run_case)
    # THEN the first was made again, and `worst` as often as is tried, in both repetitions
    assert tried.count("blocked") == 3
    assert tried.count("cyclic") == 2
    assert tried.count("worst") == 2 * rig.ROUNDS
    assert {placement for _, _, placement in state.missing()} == {"worst"}


def test_a_placement_that_failed_once_is_not_tried_again(state, monkeypatch):
    # GIVEN runs of which those of `cyclic` fail
    tried = []

    def run_case(placement):
        tried.append(placement)
        if placement == "cyclic":
            raise RunFailedError("not finished after 20 s")
        return Made(1.0, 0.0, 2.0)

    # WHEN all are run
    assert run_all(state, monkeypatch, run_case)
    # THEN it was tried once, and each of its runs counts as failed
    assert tried == ["blocked", "cyclic", "worst", "worst", "blocked"]
    assert evaluate(state).failures == [
        "one.2.800bit cyclic, repetition 0: not finished after 20 s",
        "one.2.800bit cyclic, repetition 1: not tried, as it failed before",
    ]
    assert evaluate(state).complete
