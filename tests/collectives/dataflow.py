# SPDX-License-Identifier: BSD-3-Clause
"""Runs the steps of all ranks of a collective with data, so that a test sees what is delivered.

A buffer is a list of units of UNIT bytes. A unit holds a number: for reductions the sum of 16 ** rank over the ranks
whose contribution is in it (counting one twice shows), otherwise who it came from; None is "not there yet".
"""

from collections import defaultdict, deque

from rankwise._core import collectives

UNIT = 8
SEND, RECEIVE, REDUCE = 0, 1, 2


def steps_of_all(collective, algorithm, size, **arguments):
    per_rank = arguments.pop("per_rank", lambda rank: {})
    return [
        collectives.steps(
            collective, algorithm, rank=rank, size=size, element_bytes=UNIT, **arguments, **per_rank(rank)
        )
        for rank in range(size)
    ]


def rounds(steps):
    """Steps grouped by round, checked to be numbered without gaps."""
    grouped = defaultdict(list)
    for step in steps:
        grouped[step[2]].append(step)
    assert sorted(grouped) == list(range(len(grouped)))
    return [grouped[number] for number in range(len(grouped))]


def run(all_steps, make_send, take_receive):
    """Play all rounds; `make_send(rank, step)` gives a message's data, `take_receive(rank, step, data)` applies it."""
    plans = [rounds(steps) for steps in all_steps]
    at = [0] * len(plans)
    posted = [False] * len(plans)
    wires = defaultdict(deque)
    moved = True
    while moved:
        moved = False
        for rank, plan in enumerate(plans):
            if at[rank] == len(plan):
                continue
            current = plan[at[rank]]
            if not posted[rank]:
                for step in current:
                    if step[0] == SEND:
                        assert step[1] != rank
                        wires[rank, step[1]].append((step[3], make_send(rank, step)))
                posted[rank] = moved = True
            needed = defaultdict(int)
            for step in current:
                needed[step[1]] += step[0] != SEND
            if all(len(wires[peer, rank]) >= number for peer, number in needed.items()):
                for step in current:
                    if step[0] != SEND:
                        size, data = wires[step[1], rank].popleft()
                        assert size == step[3], (
                            f"{rank} expects {step[3]} bytes from {step[1]}, which sent {size}"
                        )
                        take_receive(rank, step, data)
                at[rank] += 1
                posted[rank] = False
                moved = True
    assert all(at[rank] == len(plan) for rank, plan in enumerate(plans)), "deadlock"
    assert not any(wires.values()), "messages that nobody receives"


def run_on_buffers(all_steps, buffers):
    """Pieces of buffers travel, going round at the end; what is received replaces or is added."""

    def units(buffer, step):
        assert step[4] % UNIT == 0 and step[3] % UNIT == 0 and step[3] // UNIT <= len(buffer)
        return [(step[4] // UNIT + i) % len(buffer) for i in range(step[3] // UNIT)]

    def make_send(rank, step):
        data = [buffers[rank][i] for i in units(buffers[rank], step)]
        assert None not in data, f"{rank} sends what it does not have"
        return data

    def take_receive(rank, step, data):
        for i, value in zip(units(buffers[rank], step), data, strict=True):
            buffers[rank][i] = buffers[rank][i] + value if step[0] == REDUCE else value

    run(all_steps, make_send, take_receive)
    return buffers
