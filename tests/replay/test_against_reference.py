# SPDX-License-Identifier: BSD-3-Clause
"""The replay and the slow references agree on every rank's finish time, exactly."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machine_reference import Link, MachineReference, Place
from reference import Op, Parameters, Reference, Stuck
from replaying import on_machine, picoseconds, plain
from schedules import parameters, schedules

from rankwise.errors import RankwiseError


def agree(reference, replay):
    try:
        times = [time * 1000 for time in reference()]
    except Stuck:
        with pytest.raises(RankwiseError):
            replay()
    else:
        assert replay() == times


@settings(max_examples=250, deadline=None)
@given(schedules(), parameters())
def test_plain_loggops_is_equal_on_random_schedules(ranks, p):
    agree(Reference(ranks, p).run, lambda: plain(ranks, p))


@settings(max_examples=100, deadline=None)
@given(schedules(lanes=True), parameters())
def test_plain_loggops_is_equal_with_several_processors_and_interfaces(ranks, p):
    agree(Reference(ranks, p).run, lambda: plain(ranks, p))


@settings(max_examples=100, deadline=None)
@given(schedules(wildcards=True), parameters())
def test_plain_loggops_is_equal_with_wildcards(ranks, p):
    agree(Reference(ranks, p).run, lambda: plain(ranks, p))


@pytest.mark.parametrize("S", [0, 2**40])
def test_plain_loggops_is_equal_on_an_all_to_all_posted_at_once(S):
    ranks = []
    for r in range(12):
        peers = [q for q in range(12) if q != r]
        ranks.append([Op("recv", 64, q) for q in peers] + [Op("send", 64, q) for q in peers])
    p = Parameters(L=2500, o=1500, g=1000, G=6, O=1, S=S)
    agree(Reference(ranks, p).run, lambda: plain(ranks, p))


small = st.sampled_from([0, 1, 2, 5, 30])


@st.composite
def links(draw, network=False):
    return Link(
        L=draw(st.sampled_from([0, 3, 30, 3000])),  # a third of it is a whole number
        o=draw(small),
        o_receive=draw(small),
        g=draw(small),
        G=draw(small),
        O=draw(small),
        S=draw(st.sampled_from([0, 8, 2**40])),
        in_call=draw(st.booleans()),
        overlap=draw(st.booleans()),
        network=network,
    )


@settings(max_examples=250, deadline=None)
@given(schedules(), st.data())
def test_the_machine_model_is_equal_on_random_schedules(ranks, data):
    place = Place(
        node=[data.draw(st.integers(0, 2)) for _ in ranks],
        itself=data.draw(links()),
        inside=data.draw(links()),
        network=data.draw(links(network=True)),
        tx_message=data.draw(small),
        tx_byte=data.draw(small),
        rx_message=data.draw(small),
        rx_byte=data.draw(small),
    )
    agree(MachineReference(ranks, place).run, lambda: picoseconds(on_machine(ranks, place).finish_s))
