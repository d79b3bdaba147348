# SPDX-License-Identifier: BSD-3-Clause
"""What the makespan went into, and what ranks waited for. Times in nanoseconds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from machine_reference import Link, Place
from reference import Op
from replaying import model, schedule_of
from schedules import examples, schedules

from rankwise import _core
from rankwise.errors import RankwiseError

CAUSES = _core.explain.CAUSES
NETWORK = Link(L=3000, o=100, o_receive=200, G=2, network=True)
SIZE = 1001


def recorded(ranks, place, core_sharing="none", processor=None):
    processor = processor or list(range(len(ranks)))
    return schedule_of(ranks).explain(**model(place, processor, core_sharing))


def nanoseconds(times_s):
    return [round(t * 1e9) for t in times_s]


def shares(replay):
    """Nanoseconds of the critical path by cause, those that are not 0."""
    path = replay.critical_path
    out: dict[str, int] = {}
    for cause, begin, end in zip(
        path["cause"], nanoseconds(path["from_s"]), nanoseconds(path["to_s"]), strict=True
    ):
        out[CAUSES[cause]] = out.get(CAUSES[cause], 0) + end - begin
    return out


def waiting(replay):
    """For each rank what it waited for, what is not 0."""
    columns = {key: nanoseconds(values) for key, values in replay.waiting.items()}
    ranks = len(next(iter(columns.values())))
    return [{key: values[r] for key, values in columns.items() if values[r]} for r in range(ranks)]


def place(node, network=NETWORK, **interfaces):
    return Place(node=node, itself=Link(), inside=Link(), network=network, **interfaces)


MESSAGE = [[Op("calc", 5000), Op("send", SIZE, 1, requires=[0])], [Op("recv", SIZE, 0)]]


def test_a_message_after_a_computation():
    replay = recorded(MESSAGE, place([0, 1]))
    assert shares(replay) == {"computation": 5000, "overhead": 100 + 200, "latency": 3000, "bytes": 2000}
    # THEN the receiver waits for the sender, then for the transfer; its own overhead comes after that
    assert waiting(replay) == [{}, {"late_sender": 5000, "transfer": 100 + 3000 + 2000}]


@pytest.mark.parametrize(("direction", "cause"), [("tx", "tx_queue"), ("rx", "rx_queue")])
def test_messages_that_queue_at_an_interface(direction, cause):
    # GIVEN two messages at one time between two nodes, whose interface takes 5 ns/byte in one direction
    ranks = [[Op("send", SIZE, 2)], [Op("send", SIZE, 3)], [Op("recv", SIZE, 0)], [Op("recv", SIZE, 1)]]
    replay = recorded(ranks, place([0, 0, 1, 1], **{f"{direction}_byte": 5}))
    assert shares(replay) == {"overhead": 300, "latency": 3000, cause: 5 * SIZE, "bytes": 5 * SIZE}
    assert waiting(replay)[3] == {cause: 5 * SIZE, "transfer": 100 + 3000 + 5 * SIZE}


def test_messages_of_one_rank_queue_at_its_link():
    ranks = [[Op("send", SIZE, 1), Op("send", SIZE, 1)], [Op("recv", SIZE, 0), Op("recv", SIZE, 0)]]
    replay = recorded(ranks, place([0, 1]))
    # THEN the second is handed over at 200 and leaves at 100 + 2000
    assert shares(replay) == {"overhead": 200 + 200, "link_queue": 1900, "latency": 3000, "bytes": 2000}


def test_ranks_that_share_a_core():
    replay = recorded([[Op("calc", 4000)], [Op("calc", 6000)]], place([0, 0]), "yield", [0, 0])
    assert shares(replay) == {"computation": 6000, "core_sharing": 4000}


@pytest.mark.parametrize("in_call", [False, True])
def test_a_rendezvous_that_waits_for_its_receiver(in_call):
    network = Link(L=3000, o=100, o_receive=200, G=2, S=0, network=True, in_call=in_call)
    ranks = [[Op("send", SIZE, 1)], [Op("calc", 9000), Op("recv", SIZE, 0, requires=[0])]]
    replay = recorded(ranks, place([0, 1], network))
    # THEN the path goes through the receiver's computation, then the answer, then the data
    assert shares(replay) == {
        "computation": 9000,
        "handshake": 1000,
        "latency": 1000,
        "bytes": 2000,
        "overhead": 200,
    }
    assert waiting(replay)[1] == {"transfer": 1000 + 1000 + 2000}


def test_a_sender_waits_for_its_late_receiver():
    network = Link(L=3000, o=100, o_receive=200, G=2, S=0, network=True)
    sender = [Op("send", SIZE, 1), Op("calc", 10**6, requires=[0])]
    replay = recorded([sender, [Op("calc", 9000), Op("recv", SIZE, 0, requires=[0])]], place([0, 1], network))
    assert waiting(replay)[0] == {"late_receiver": 9000 - 100, "transfer": 1000 + 2000}


def test_a_rendezvous_with_an_early_receiver():
    network = Link(L=3000, o=100, o_receive=200, G=2, S=0, network=True)
    replay = recorded(MESSAGE, place([0, 1], network))
    assert shares(replay) == {
        "computation": 5000,
        "overhead": 300,
        "handshake": 2000,
        "latency": 1000,
        "bytes": 2000,
    }


def test_data_that_wait_until_the_sender_is_inside_mpi_again():
    network = Link(L=3000, o=100, o_receive=200, G=2, S=0, network=True, in_call=True)
    sender = [Op("send", SIZE, 1), Op("calc", 10**6, irequires=[0])]
    replay = recorded([sender, [Op("recv", SIZE, 0)]], place([0, 1], network))
    assert shares(replay) == {"overhead": 300, "computation": 10**6, "latency": 1000, "bytes": 2000}


def test_a_message_that_is_read_before_its_receive_is_posted_holds_up_what_comes_next():
    # GIVEN a message that comes during a computation, is read after it, and received after another one
    network = Link(L=1000, o=100, o_receive=200, G=2, O=1, network=True, in_call=True, socket_buffer=4000)
    ranks = [
        [Op("send", 101, 1), Op("recv", 1, 1, tag=2)],
        [
            Op("calc", 10000),
            Op("send", 1, 0, tag=2, requires=[0]),
            Op("calc", 50000, requires=[1]),
            Op("recv", 101, 0, requires=[2]),
        ],
    ]
    # THEN its 100 ns of reading are on the path, and all that came before
    assert shares(recorded(ranks, place([0, 1], network))) == {
        "computation": 60000,
        "overhead": 100 + 100 + 200,
    }


def test_the_first_message_between_two_ranks_is_overhead_at_both():
    network = Link(L=1000, o=100, o_receive=200, network=True, connect=5000)
    replay = recorded([[Op("send", 1, 1)], [Op("recv", 1, 0)]], place([0, 1], network))
    assert shares(replay) == {"overhead": 300 + 2 * 5000, "latency": 1000}


def test_times_of_the_operations():
    replay = recorded(MESSAGE, place([0, 1]))
    timeline = replay.timeline
    assert (timeline["begin"] // 1000).tolist() == [0, 5000, 10100]
    assert (timeline["end"] // 1000).tolist() == [5000, 5100, 10300]
    assert timeline["arrives"][2] == 10100_000


small = st.sampled_from([0, 1, 2, 5, 30])


@st.composite
def links(draw, network=False):
    return Link(
        L=draw(st.sampled_from([0, 3, 3000])), o=draw(small), o_receive=draw(small), g=draw(small), G=draw(small),
        O=draw(small), S=draw(st.sampled_from([0, 8, 2**40])), in_call=draw(st.booleans()),
        connect=draw(st.sampled_from([0, 400])),
        overlap=draw(st.booleans()), network=network,
    )  # fmt: skip


@st.composite
def buffered_links(draw, network=False):
    """Links whose jobs take time, as those of no time can serve each other in a circle."""
    some = st.sampled_from([1, 2, 5, 30])
    return Link(
        L=draw(st.sampled_from([3, 3000])), o=draw(some), o_receive=draw(some), g=draw(small), G=draw(some),
        O=draw(some), S=draw(st.sampled_from([0, 8, 2**40])), in_call=True, network=network,
        socket_buffer=draw(st.sampled_from([None, 1, 40, 100, 500])),
        send_buffer=draw(st.sampled_from([None, 0, 7, 300])),
        unexpected_buffer=draw(st.sampled_from([None, 0, 7, 300])),
    )  # fmt: skip


@pytest.mark.parametrize("between", [links, buffered_links])
@examples(300)
@given(st.data())
def test_on_random_schedules_the_path_has_no_gaps_and_waiting_is_all_explained(between, data):
    buffered = between is buffered_links
    ranks = data.draw(schedules(nonzero=buffered, chained=buffered))
    node = [data.draw(st.integers(0, 2)) for _ in ranks]
    costs = {key: data.draw(small) for key in ("tx_message", "tx_byte", "rx_message", "rx_byte")}
    itself = buffered_links() if buffered else links()
    where = Place(node, data.draw(itself), data.draw(between()), data.draw(between(network=True)), **costs)
    sharing = data.draw(st.sampled_from(["none", "yield", "spin"]))
    processor = [data.draw(st.integers(0, 2)) for _ in ranks]
    arguments = model(where, processor, sharing, [1, 1, 1])
    try:
        replay = schedule_of(ranks).explain(**arguments)
    except RankwiseError:
        return
    path, prediction = replay.critical_path, replay.prediction
    if prediction.makespan_s > 0:
        assert path["from_s"][0] == 0
        assert path["to_s"][-1] == prediction.makespan_s
        assert path["from_s"][1:].tolist() == path["to_s"][:-1].tolist()
        assert (path["from_s"] < path["to_s"]).all()
    assert sum(replay.waiting.values()) == pytest.approx(prediction.waiting_s, abs=1e-15)
    assert min(map(min, replay.waiting.values()), default=0) >= 0
    # and being recorded changes nothing
    assert prediction.finish_s.tolist() == schedule_of(ranks).replay(**arguments).finish_s.tolist()
