# SPDX-License-Identifier: BSD-3-Clause
"""Random schedules that can be matched, for comparing the replay with the reference."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from reference import ANY, Op, Parameters

SIZES = st.sampled_from([0, 1, 2, 7, 8, 9, 100, 1000])

ANEW = settings.get_profile("anew").max_examples


def examples(count: int) -> settings:
    """Settings for a test that draws this many in `make test-all`, and a part of them in `make test`."""
    return settings(max_examples=max(1, count * settings().max_examples // ANEW), deadline=None)


@st.composite
def parameters(draw):
    small = st.sampled_from([0, 1, 2, 3, 10, 100])
    G = draw(small)
    return Parameters(
        L=draw(st.sampled_from([0, 1, 5, 1000])),
        o=draw(small),
        g=draw(small),
        G=G,
        O=draw(small),
        S=draw(st.sampled_from([0, 1, 8, 500, 2**40])),
    )


@st.composite
def schedules(draw, lanes=False, wildcards=False, nonzero=False, chained=False):
    """Ranks whose every send has a receive; edges only lead backwards, so that each rank's part is a DAG.

    Deadlocks between ranks are possible; users compare that both sides find them.
    """
    ranks = draw(st.integers(1, 4))
    sizes = SIZES.filter(bool) if nonzero else SIZES
    ops: list[list[Op]] = [[] for _ in range(ranks)]
    lane = st.integers(0, 1) if lanes else st.just(0)
    rank = st.integers(0, ranks - 1)
    for _ in range(draw(st.integers(0, 12))):
        if draw(st.booleans()):
            source, target, size, tag = draw(rank), draw(rank), draw(sizes), draw(st.integers(0, 1))
            ops[source].append(Op("send", size, target, tag, draw(lane), draw(lane)))
            peer, receive_tag = source, tag
            if wildcards and draw(st.booleans()):
                peer = draw(st.sampled_from([ANY, source]))
                receive_tag = draw(st.sampled_from([ANY, tag]))
            ops[target].append(Op("recv", 2**20, peer, receive_tag, draw(lane), draw(lane)))
        else:
            ops[draw(rank)].append(Op("calc", draw(st.sampled_from([0, 1, 5, 50, 1000])), cpu=draw(lane)))
    for own in ops:
        for i, op in enumerate(own[1:], 1):
            earlier = st.lists(st.integers(0, i - 1), max_size=2, unique=True)
            if chained:
                op.requires = [i - 1]
            else:
                op.requires = draw(earlier)
                op.irequires = [j for j in draw(earlier) if j not in op.requires]
    return ops
