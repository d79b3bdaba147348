# SPDX-License-Identifier: BSD-3-Clause
"""What samples of the further microbenchmarks answer."""

import polars as pl
import pytest

from rankwise.machine.topology import from_synthetic
from rankwise.measure.plan import Plan, Rank, choose
from rankwise.measure.questions import QUESTIONS, answers
from rankwise.measure.questions.groups import members, own_cores, shapes
from rankwise.measure.questions.settled import medians, slope
from rankwise.measure.samples import SCHEMA
from rankwise.measure.statistics import Median
from rankwise.measure.steps import FULL, QUICK, steps_for

NODE = from_synthetic("package:2 l3:1 core:2 pu:1")


def plan_of(hosts: str, bound: bool = True) -> Plan:
    """A rank for each letter, which is its host; bound ranks have one core each."""
    ranks = []
    for number, host in enumerate(hosts):
        cores = (hosts[:number].count(host) % 4,) if bound else tuple(range(4))
        ranks.append(Rank(number, host, cores, tuple(NODE.pus[c][0] for c in cores)))
    return choose(ranks, {host: NODE for host in hosts}, lambda one, other: False)


def table(*rows: dict) -> pl.DataFrame:
    """Samples of which only some columns matter."""
    plain = {
        **{"launch": 0, "step": 1, "pairs": 1, "source": 0, "destination": 1, "messages": 10, "switches": 0},
        **{"sentinel_s": 3e-8, "source_cpu": 0, "destination_cpu": 1, "context": "{}", "channel": "package"},
        **{f"value{n}": 0.0 for n in range(1, 6)},
        **{"setting": 0, "rotate_bytes": 0, "bytes": 8},
    }
    return pl.DataFrame([{name: (plain | row)[name] for name in SCHEMA} for row in rows], schema=SCHEMA)


def test_a_group_has_cores_of_its_own_where_there_are_enough():
    # GIVEN four ranks on each of two nodes, free to run anywhere on them
    plan = plan_of("aaaabbbb", bound=False)
    group = members(plan, 2, 4)
    assert [end.rank for end in group] == list(range(8))
    assert own_cores(plan, group)
    # THEN all shapes are tried, and by --quick all ranks only
    assert shapes(plan, False) == [(1, 2), (1, 4), (2, 1), (2, 2), (2, 4)]
    assert shapes(plan, True) == [(2, 4)]
    # WHEN there are more ranks than cores, THEN they are left out of groups
    crowded = plan_of("aaaaaa")
    assert members(crowded, 2, 1) == []
    assert (1, 6) not in shapes(crowded, False) and (1, 4) in shapes(crowded, False)


def test_every_question_adds_steps_or_says_why_not():
    for plan in (plan_of("aabb"), plan_of("aa"), plan_of("ab", bound=False)):
        for effort in (QUICK, FULL):
            asked = {words.split(":")[0] for words in steps_for(plan, effort, {}).arguments}
            for question in QUESTIONS:
                expected = (question.quick or not effort.quick) and not question.why_not(plan)
                assert expected == bool(asked & set(question.tests)), question.name


def test_without_samples_every_answer_is_missing_with_its_reason():
    for answer in answers(pl.DataFrame(schema=SCHEMA), plan_of("aa"), quick=True):
        assert answer.missing and answer.rows == ()
        assert answer.sentence.startswith("not measured: ")


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.name)
@pytest.mark.parametrize("value", [0.0, 1e-6, 3.0])
def test_one_sample_of_each_test_is_an_answer_and_no_exception(question, value):
    # GIVEN one sample, or none but interrupted ones, with whatever in it
    for switches in (0, 3):
        rows = [
            {"test": test, "switches": switches, "channel": channel, "setting": setting}
            | {f"value{n}": value for n in range(1, 6)}
            for test in question.tests
            for channel in ("package", "network")
            for setting in (0, 1)
        ]
        (answer,) = [a for a in answers(table(*rows), plan_of("aabb")) if a.name == question.name]
        assert answer.missing is None and answer.sentence
        assert all(len(row) == len(answer.columns) for row in answer.rows)
        # THEN whatever is not known has its reason
        assert all(answer.reasons.get(key) for key, known in answer.values.items() if known is None)


def test_a_rate_is_the_inverse_of_the_time_with_its_interval():
    rows = [{"test": "window", "bytes": size, "value1": t * 1e-7} for size in (8, 1024) for t in range(1, 10)]
    (rate,) = [a for a in answers(table(*rows), plan_of("aa")) if a.name == "rate"]
    found = rate.values["package_messages_per_s"]
    assert found.value == pytest.approx(2e6)
    assert found.low < found.value < found.high
    assert rate.values["package_peak_bytes_per_s"].value == pytest.approx(1024 * 2e6)


def test_a_point_that_was_only_seen_in_the_other_regime_is_kept():
    # GIVEN two regimes, and a size that only the rarer one has
    rows = [{"test": "window", "value1": 1e-7, "sentinel_s": 30e-9}] * 20
    rows += [{"test": "window", "value1": 3e-7, "sentinel_s": 170e-9}] * 8
    rows += [{"test": "window", "value1": 9e-7, "sentinel_s": 170e-9, "bytes": 64}] * 4
    found = medians(table(*rows), ["bytes"], pl.col("value1"))
    assert found[8,].count == 20 and found[8,].value == 1e-7
    assert found[64,].count == 4


def test_a_slope_has_an_interval_that_holds_it():
    found = slope([1, 2, 3, 4, 5, 6, 7, 8], [10, 20, 30, 40, 95, 60, 70, 80])
    assert found.low <= found.value == 10 <= found.high
    assert slope([1], [5]) is None
    assert isinstance(slope([1, 2], [5, 6]), Median)
