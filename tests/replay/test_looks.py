# SPDX-License-Identifier: BSD-3-Clause
"""Computations in parts, between which their rank looks for messages (formats/loggops.md M1). Times in nanoseconds."""

from pathlib import Path

import numpy as np
import pytest
from machines import machine

from rankwise import _core
from rankwise.machine.machine import topology_of
from rankwise.machine.placement import Placement
from rankwise.replay.model import Model

SEND, RECEIVE, CALC = 1, 2, 3
NETWORK = {"L_s": 900e-9, "o_s": 100e-9, "G_s_per_byte": 1e-9, "progress": "in-call"}


def schedule(parts: int, came: int, size: int = 1, saved: int = 0, before: int = 0):
    """Rank 0 computes for 10 us beside a message that it passes on to rank 2; rank 1 sends it when it has computed.

    `saved` of 65535 is what of the rest it saves when the message has been passed on; it is watched if that is not 0.
    """
    last = (CALC, 10_000_000, 1 + (before > 0) if saved else 0, parts - 1 | saved << 16)
    ranks = [
        [(RECEIVE, size, 1, 0, ()), (SEND, size, 2, 0, (0,)), *_computing(last, before)],
        [(CALC, came * 1000, 0, 0, ()), (SEND, size, 0, 0, (0,))],
        [(RECEIVE, size, 0, 0, ())],
    ]
    rows, edges = [row for rank in ranks for row in rank], []
    first = 0
    for rank in ranks:
        for k, row in enumerate(rank):
            edges += [(first + k, first + earlier) for earlier in row[4]]
        first += len(rank)
    later, earlier = np.array(edges, dtype=np.uint32).T
    columns = [
        np.array([row[i] for row in rows], dtype=t)
        for i, t in enumerate((np.uint8, np.uint64, *[np.uint32] * 2))
    ]
    sizes = np.array([len(rank) for rank in ranks], dtype=np.uint32)
    return _core.schedule.Schedule.from_arrays(
        sizes, *columns, later.copy(), earlier.copy(), np.zeros(len(edges), dtype=np.uint8)
    )


def _computing(last: tuple, before: int) -> list[tuple]:
    return [(CALC, before * 1000, 0, 0, ()), (*last, (2,))] if before else [(*last, ())]


def finish_ns(made, network: dict) -> list[int]:
    made_of = machine(network=network, nodes=3)
    model = Model(made_of, topology_of(made_of, Path()))
    placement = model.convert(Placement.explicit(model.topology, [(k, (0,)) for k in range(3)]))
    outcomes = [
        made.replay(model.core_machine, placement, threads=threads, in_one_order=one)
        for threads, one in ((1, False), (2, False), (1, True))
    ]
    found = [[round(t * 1e9) for t in outcome.finish_s] for outcome in outcomes]
    assert found[0] == found[1] == found[2]
    return found[0]


def test_a_message_is_passed_on_after_the_part_in_which_it_came():
    # GIVEN a message that comes at 2500 + 100 + 900 ns
    made = schedule(5, 2500)
    # THEN it is taken at 4000 (o 100), sent on (o 100), is there 900 later and received (o 100)
    finish = finish_ns(made, NETWORK)
    assert finish[2] == 4000 + 100 + 100 + 900 + 100
    # AND the computation goes on where it stopped
    assert finish[0] == 10_000 + 200
    # AND without parts, or in the last one, it waits for the end
    assert finish_ns(schedule(1, 2500), NETWORK)[2] == 10_000 + 1200
    assert finish_ns(schedule(5, 8000), NETWORK)[2] == 10_000 + 1200


@pytest.mark.parametrize("parts", [5, 50])
def test_a_rendezvous_that_is_taken_up_holds_up_the_computation_until_it_is_passed_on(parts):
    # GIVEN messages of 1000 bytes that need an answer, control messages of a third of the latency
    rendezvous = {**NETWORK, "S": 0}
    finish = finish_ns(schedule(parts, 2500, 1001), rendezvous)
    # THEN the answer leaves at the look after 2500 + 100 + 300, the rank stands still for answer and data (300, 300
    # + 1000), its o, its own o, and request, answer and data of what it passes on
    look = -(-2900 // (10_000 // parts)) * (10_000 // parts)
    sent_on = look + 300 + 300 + 1000 + 100 + 100
    assert finish[2] == sent_on + 900 + 1000 + 100
    # AND computes the rest once the last byte has left
    assert finish[0] == sent_on + 300 + 300 + 1000 + 10_000 - look


def test_what_is_left_when_the_message_was_passed_on_is_done_at_once():
    # GIVEN the first case, where parts take half as long again as the whole does
    finish = finish_ns(schedule(5, 2500, saved=65535 // 3), NETWORK)
    # THEN the three parts that are left take two thirds of their time
    assert finish[0] == 4000 + 200 + 4000
    # AND where the message came before, during another computation, all of it does
    finish = finish_ns(schedule(5, 0, saved=65535 // 3, before=5000), NETWORK)
    assert finish[0] == pytest.approx(5000 + 200 + 10_000 * 2 / 3, abs=1)
