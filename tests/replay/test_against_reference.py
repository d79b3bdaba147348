# SPDX-License-Identifier: BSD-3-Clause
"""The replay and the slow references agree on every rank's finish time, exactly."""

import pytest
from buffers_reference import BuffersReference
from hypothesis import given
from hypothesis import strategies as st
from machine_reference import Link, MachineReference, Place
from paths_reference import PathsReference, Switched
from reference import Op, Parameters, Reference, Stuck
from replaying import on_machine, picoseconds, plain, switches
from schedules import examples, parameters, schedules

from rankwise.errors import RankwiseError
from rankwise.machine.network import Dragonfly, FatTree, Torus


def agree(reference, replay):
    try:
        times = [time * 1000 for time in reference()]
    except Stuck:
        with pytest.raises(RankwiseError):
            replay()
    else:
        assert replay() == times


@examples(250)
@given(schedules(), parameters())
def test_plain_loggops_is_equal_on_random_schedules(ranks, p):
    agree(Reference(ranks, p).run, lambda: plain(ranks, p))


@examples(100)
@given(schedules(lanes=True), parameters())
def test_plain_loggops_is_equal_with_several_processors_and_interfaces(ranks, p):
    agree(Reference(ranks, p).run, lambda: plain(ranks, p))


@examples(100)
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
        connect=draw(st.sampled_from([0, 0, 7, 400])),
        in_call=draw(st.booleans()),
        overlap=draw(st.booleans()),
        network=network,
    )


@st.composite
def places(draw, ranks):
    return Place(
        node=[draw(st.integers(0, 2)) for _ in ranks],
        itself=draw(links()),
        inside=draw(links()),
        network=draw(links(network=True)),
        tx_message=draw(small),
        tx_byte=draw(small),
        rx_message=draw(small),
        rx_byte=draw(small),
        half_duplex=draw(st.booleans()),
    )


@examples(250)
@given(schedules(), st.data())
def test_the_machine_model_is_equal_on_random_schedules(ranks, data):
    place = data.draw(places(ranks))
    agree(MachineReference(ranks, place).run, lambda: picoseconds(on_machine(ranks, place).finish_s))


SHAPES = [
    FatTree(down=[1, 3], up=[1]),
    FatTree(down=[1, 2, 2], up=[2, 1], cables=[1, 2]),
    Torus(dimensions=[5], slots=[0, 2, 4]),
    Torus(dimensions=[2, 2]),
    Dragonfly(groups=3, routers=2, global_links=1, slots=[0, 3, 5]),
]


@examples(250)
@given(schedules(), st.data())
def test_switch_ports_are_equal_on_random_schedules(ranks, data):
    place, shape = data.draw(places(ranks)), data.draw(st.sampled_from(SHAPES))
    for link in (place.itself, place.inside, place.network):
        link.overlap = True  # cores that copy: tests/replay/sharing_reference.py
    hop, port_byte, port_message = data.draw(small), data.draw(small), data.draw(small)
    network = switches(shape, hop, port_byte, port_message)
    switched = Switched(
        way=network.way, kind=lambda port: 0, hop=hop, port_message=[port_message], port_byte=[port_byte]
    )
    agree(
        PathsReference(ranks, place, switched).run,
        lambda: picoseconds(on_machine(ranks, place, network=network).finish_s),
    )


@st.composite
def buffered_links(draw, network=False):
    link = draw(links(network))
    link.in_call = link.overlap = True
    link.socket_buffer = draw(st.sampled_from([None, 1, 4, 40, 50, 100, 500]))
    link.send_buffer = draw(st.sampled_from([None, 0, 7, 300]))
    link.unexpected_buffer = draw(st.sampled_from([None, 0, 7, 300]))
    return link


@examples(250)
@given(schedules(), st.data())
def test_full_buffers_are_equal_on_random_schedules(ranks, data):
    place = data.draw(places(ranks))
    place.inside, place.network = data.draw(buffered_links()), data.draw(buffered_links(network=True))
    place.itself.overlap = True
    agree(
        BuffersReference(ranks, place).run,
        lambda: picoseconds(on_machine(ranks, place).finish_s),
    )
