# SPDX-License-Identifier: BSD-3-Clause
"""Collectives of the workloads as messages, and workloads as schedules."""

from collections import Counter

import numpy as np
import pytest
from period_collectives import decomposed

from rankwise import _core
from rankwise.workloads import Kind, decompose, generate, program, schedule

NAMES = ("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp")
NETWORK = {"L_s": 1e-6, "o_s": 0.5e-6, "g_s": 0.0, "G_s_per_byte": 1e-9, "O_s_per_byte": 0.0}


def between_ranks(communication) -> dict[tuple[int, int, int], int]:
    columns = (communication.source, communication.destination, communication.bytes, communication.messages)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {
        (source, destination, size): count
        for source, destination, size, count in rows
        if source != destination
    }


def coarse(messages: dict[tuple[int, int, int], int]) -> Counter:
    """With sizes in units of 32 elements."""
    counts: Counter = Counter()
    for (source, destination, size), count in messages.items():
        counts[source, destination, (size + 64) // 128] += count
    return counts


@pytest.mark.parametrize("library", ["mpich", "mpich2"])
@pytest.mark.parametrize("name", NAMES)
def test_mpich_sends_the_messages_of_the_published_algorithms(name, library):
    # GIVEN class B on 16 ranks, whose collectives are all short but for the all-to-alls
    counted = generate(name, "B", 16)
    # THEN what core/collectives expands is what the algorithms as published give
    found, published = between_ranks(decompose(counted, library)), decomposed(counted)
    if name == "is":
        # Where a reduction does not divide, later versions made the first blocks longer, not the last one.
        found, published = coarse(found), coarse(published)
    assert found == published


def test_pencils_are_transposed_within_rows_and_columns():
    # GIVEN FT of class W on 64 ranks: rows of neighbours, columns of every second rank
    found = decompose(generate("ft", "W", 64), "openmpi")
    large = found.bytes > 16
    distances = np.unique(np.abs(found.source - found.destination)[large])
    assert set(distances.tolist()) == {1, *range(2, 64, 2)}


@pytest.mark.parametrize("library", ["mpich", "openmpi"])
@pytest.mark.parametrize("name", NAMES)
def test_a_schedule_sends_what_was_counted(name, library):
    counted = decompose(generate(name, "S", 16), library)
    made = schedule(program(name, "S", 16), operations_per_s=1e9, library=library)
    assert made.messages == counted.messages.sum()
    assert made.bytes == (counted.messages * counted.bytes).sum()


@pytest.mark.parametrize("rendezvous_above", [100, 1 << 30], ids=["rendezvous", "eager"])
@pytest.mark.parametrize("name", NAMES)
def test_a_schedule_replays_to_its_end_with_all_its_computation(name, rendezvous_above):
    # GIVEN a workload at a thousand million operations a second
    chosen = program(name, "S", 4 if name in ("bt", "sp") else 8)
    rate = 1e9
    # WHEN it is replayed, with messages that wait for their receiver and without
    replayed = schedule(chosen, operations_per_s=rate).replay_loggops(**NETWORK, S_bytes=rendezvous_above)
    # THEN every rank has computed what its program says, to a picosecond an operation
    for rank, events in chosen.each_rank():
        computing = events["kind"] == Kind.COMPUTE
        expected = events["operations"][computing].sum() / rate
        assert replayed.computation_s[rank] == pytest.approx(expected, abs=1e-12 * computing.sum())
        assert replayed.finish_s[rank] >= expected


def test_a_share_of_the_computation_takes_that_share_of_the_time():
    chosen = program("mg", "S", 8)
    whole = schedule(chosen, 1e6).replay_loggops(**NETWORK, S_bytes=65536).computation_s
    tenth = schedule(chosen, 1e6, computation=0.1).replay_loggops(**NETWORK, S_bytes=65536).computation_s
    assert tenth == pytest.approx(whole / 10, rel=1e-6)


def test_goal_text_of_a_workload_reads_back_as_the_same_schedule():
    made = schedule(program("cg", "S", 4, iterations=1), operations_per_s=1e9)
    back = _core.schedule.Schedule.read_goal(made.write_goal(), "cg.goal")
    assert (back.ranks, back.operations, back.messages, back.bytes) == (
        made.ranks,
        made.operations,
        made.messages,
        made.bytes,
    )
