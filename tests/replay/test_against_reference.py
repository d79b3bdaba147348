# SPDX-License-Identifier: BSD-3-Clause
"""The replay and the slow reference agree on every rank's finish time, exactly."""

import pytest
from hypothesis import given, settings
from reference import Op, Parameters, Reference, Stuck, goal
from schedules import parameters, schedules

from rankwise import _core
from rankwise.errors import RankwiseError


def replayed(ranks, p: Parameters) -> list[int]:
    schedule = _core.replay.Schedule.read_goal(goal(ranks), "test.goal")
    result = schedule.replay_loggops(
        L_s=p.L * 1e-9,
        o_s=p.o * 1e-9,
        g_s=p.g * 1e-9,
        G_s_per_byte=p.G * 1e-9,
        O_s_per_byte=p.O * 1e-9,
        S_bytes=p.S,
    )
    return [round(t * 1e12) for t in result.finish_s]


def expected(ranks, p: Parameters) -> list[int] | None:
    try:
        return [t * 1000 for t in Reference(ranks, p).run()]
    except Stuck:
        return None


def agree(ranks, p):
    times = expected(ranks, p)
    if times is None:
        with pytest.raises(RankwiseError):
            replayed(ranks, p)
    else:
        assert replayed(ranks, p) == times


@settings(max_examples=400, deadline=None)
@given(schedules(), parameters())
def test_equal_on_random_schedules(ranks, p):
    agree(ranks, p)


@settings(max_examples=200, deadline=None)
@given(schedules(lanes=True), parameters())
def test_equal_with_several_processors_and_interfaces(ranks, p):
    agree(ranks, p)


@settings(max_examples=200, deadline=None)
@given(schedules(wildcards=True), parameters())
def test_equal_with_wildcards(ranks, p):
    agree(ranks, p)


@pytest.mark.parametrize("S", [0, 2**40])
def test_equal_on_an_all_to_all_posted_at_once(S):
    ranks = []
    for r in range(12):
        peers = [q for q in range(12) if q != r]
        ranks.append([Op("recv", 64, q) for q in peers] + [Op("send", 64, q) for q in peers])
    agree(ranks, Parameters(L=2500, o=1500, g=1000, G=6, O=1, S=S))
