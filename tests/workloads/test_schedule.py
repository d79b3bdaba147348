# SPDX-License-Identifier: BSD-3-Clause
"""Workloads as schedules: what waits for what is as a schedule written call by call has it."""

import numpy as np
import pytest

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.workloads import Kind, program, schedule
from rankwise.workloads.generate import Groups
from rankwise.workloads.program import CALLS, ROOTED

# Nothing queues, so that ends do not depend on the order of what is ready at the same time.
NETWORK = {"L_s": 1.3e-6, "o_s": 0.0, "g_s": 0.0, "G_s_per_byte": 0.0, "O_s_per_byte": 0.0}
RATE = 1e9
# Blocking and nonblocking calls, waits one by one and together, groups, all-to-alls of unequal blocks.
CASES = [
    ("bt", "S", 9, {}),
    ("ft", "S", 8, {}),
    ("ft", "W", 64, {}),
    ("is", "S", 8, {}),
    ("lu", "S", 8, {}),
    ("mg", "S", 8, {}),
    ("sp", "S", 9, {}),
    ("halo", "", 8, {"points": "27"}),
]


def written_call_by_call(chosen, library: str):
    """The same by another writer, which has an operation for every wait."""
    builder = _core.schedule.ProgramBuilder(chosen.ranks, library, "event")
    events = [chosen.events(rank) for rank in range(chosen.ranks)]
    groups = Groups()
    colors = [groups.add(rank, each) for rank, each in enumerate(events)]
    communicators = {
        (group, color): builder.communicator(groups.ranks(group, color, chosen.ranks))
        for group, color in groups.members
    }
    for rank, each in enumerate(events):
        names = ("kind", "peer", "tag", "group", "request", "type_bytes", "count", "operations", "m", "n")
        requests, computed = {}, 0.0
        for row in zip(*(each[name].tolist() for name in names), strict=True):
            kind, peer, tag, group, request, type_bytes, count, operations, m, n = row
            comm = communicators[group, colors[rank][group]] if group and kind in CALLS else 0
            size = count * type_bytes
            if kind == Kind.COMPUTE:
                computed += operations
                continue
            builder.compute(rank, round(computed / RATE * 1e12))
            computed = 0.0
            if kind == Kind.SEND:
                builder.send(rank, peer, size, 0, tag)
            elif kind == Kind.RECV:
                builder.receive(rank, peer, size, 0, tag)
            elif kind == Kind.ISEND:
                requests[request] = builder.isend(rank, peer, size, 0, tag)
            elif kind in (Kind.IRECV, Kind.IRECV_ANY):
                requests[request] = builder.ireceive(rank, peer, size, 0, tag)
            elif kind == Kind.WAIT:
                builder.wait(rank, [requests[request]])
            elif kind in CALLS:
                blocks = each["counts"][n : n + 2 * m] * type_bytes
                ended = builder.collective(
                    rank,
                    CALLS[kind].removeprefix("MPI_").lower(),
                    comm=comm,
                    root=peer if kind in ROOTED else 0,
                    bytes=size,
                    element_bytes=max(type_bytes, 1),
                    sizes=blocks[:m].tolist() if kind == Kind.ALLTOALLV else [],
                    receive_sizes=blocks[m:].tolist() if kind == Kind.ALLTOALLV else [],
                )
                builder.wait(rank, ended)
        builder.compute(rank, round(computed / RATE * 1e12))
    return builder.finish()


@pytest.mark.parametrize("rendezvous_above", [1000, 1 << 30], ids=["rendezvous", "eager"])
@pytest.mark.parametrize(("name", "problem_class", "ranks", "options"), CASES)
def test_ranks_end_when_a_schedule_written_call_by_call_says(
    name, problem_class, ranks, options, rendezvous_above
):
    chosen = program(name, problem_class, ranks, iterations=2, options=options)
    made, other = schedule(chosen, RATE), written_call_by_call(chosen, "mpich")
    assert (made.messages, made.bytes) == (other.messages, other.bytes)
    assert made.operations <= other.operations
    ends = [each.replay_loggops(**NETWORK, S_bytes=rendezvous_above).finish_s for each in (made, other)]
    assert ends[0] == pytest.approx(ends[1], rel=1e-9)


@pytest.mark.parametrize(
    ("kernels", "sentence"),
    [
        ({"dgemmm": np.zeros(8)}, "there is no kernel `dgemmm`"),
        ({"dgemm": np.zeros(7)}, "the terms of `dgemm` have the shape `(1, 7)`"),
        ({"dgemm": np.zeros((3, 8))}, "the terms of `dgemm` have the shape `(3, 8)`"),
    ],
)
def test_costs_of_kernels_that_do_not_fit_are_said(kernels, sentence):
    with pytest.raises(RankwiseError) as error:
        schedule(program("mg", "S", 4), RATE, kernels=kernels)
    assert error.value.message == sentence
