# SPDX-License-Identifier: BSD-3-Clause
"""Efficiencies against closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from raw_writer import FINALIZED, TRACED, Rank, u, write_recording, z

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.findings.efficiency import efficiency, ideal_run, of_recording, scalasca_ideal_s
from rankwise.recording import Recording

NS = 1e-9


def schedule(*ranks):
    """Of operations as GOAL has them, each after the one before."""
    text = [f"num_ranks {len(ranks)}"]
    for at, lines in enumerate(ranks):
        text += [f"rank {at} {{", *(f"l{i}: {line}" for i, line in enumerate(lines, 1))]
        text += [*(f"l{i} requires l{i - 1}" for i in range(2, len(lines) + 1)), "}"]
    return _core.schedule.Schedule.read_goal("\n".join(text) + "\n", "test.goal")


def test_a_rank_with_four_times_the_work():
    # GIVEN four ranks, one of which computes 4 s and the others 1 s, in a run of 5 s
    found = efficiency(np.array([1.0, 4.0, 1.0, 1.0]), 5.0, np.array([0, 0, 1, 1]))
    # THEN the mean is 1.75 s of the most, 4 s
    assert found.load_balance == pytest.approx(1.75 / 4)
    assert found.communication == pytest.approx(4 / 5)
    assert found.parallel == pytest.approx(1.75 / 5)
    # AND the nodes have 5 and 2 s: what is uneven inside of them and between them
    assert found.load_balance_in_nodes == pytest.approx(2.5 / 4)
    assert found.load_balance_between_nodes == pytest.approx(3.5 / 5)
    assert (found.serialisation, found.transfer) == (None, None)


def test_ranks_that_wait_for_each_other_in_turn_are_serialised():
    # GIVEN a token that goes round 4 ranks, each of which computes 1 ms when it has it
    first = ["calc 1000000", "send 8b to 1 tag 0"]
    middle = [[f"recv 8b from {at - 1} tag 0", "calc 1000000", f"send 8b to {at + 1} tag 0"] for at in (1, 2)]
    last = ["recv 8b from 2 tag 0", "calc 1000000"]
    ideal = ideal_run(schedule(first, *middle, last))
    assert ideal.time_s == pytest.approx(4e-3) and ideal.useful_s == pytest.approx(np.full(4, 1e-3))
    # WHEN the run took 5 ms
    found = efficiency(ideal.useful_s, 5e-3, np.arange(4), ideal.time_s)
    # THEN a quarter is what serialisation leaves, and 0.8 what transfer leaves
    assert found.load_balance == 1
    assert found.serialisation == pytest.approx(1 / 4) and found.transfer == pytest.approx(4 / 5)
    assert found.parallel == pytest.approx(found.load_balance * found.serialisation * found.transfer)


@pytest.mark.parametrize(("size", "expected_s"), [(32768, 3e-3), (32769, 4e-3)])
def test_the_eager_limit_is_kept_on_the_ideal_network(size, expected_s):
    # GIVEN a sender that computes 1 ms before and after its message, whose receiver computes 3 ms before
    sender = ["calc 1000000", f"send {size}b to 1 tag 0", "calc 1000000"]
    receiver = ["calc 3000000", f"recv {size}b from 0 tag 0"]
    # THEN only a message above the limit has the sender wait for the receive
    assert ideal_run(schedule(sender, receiver)).time_s == pytest.approx(expected_s)


def test_nothing_computed_has_no_efficiency():
    with pytest.raises(RankwiseError, match="outside of MPI"):
        efficiency(np.zeros(2), 1.0, np.array([0, 1]))


@given(
    st.lists(st.tuples(st.floats(1e-6, 1e3), st.integers(0, 5)), min_size=1, max_size=40),
    st.floats(1.0, 10.0),
    st.floats(0.0, 1.0),
)
def test_factors_multiply_and_are_at_most_one(ranks, longer, between):
    useful = np.array([each for each, _ in ranks])
    elapsed = useful.max() * longer
    ideal = useful.max() + between * (elapsed - useful.max())
    found = efficiency(useful, elapsed, np.array([node for _, node in ranks]), ideal)
    assert found.parallel == pytest.approx(found.load_balance * found.communication)
    assert found.communication == pytest.approx(found.serialisation * found.transfer)
    assert found.load_balance == pytest.approx(found.load_balance_in_nodes * found.load_balance_between_nodes)
    parts = (
        found.load_balance_in_nodes,
        found.load_balance_between_nodes,
        found.serialisation,
        found.transfer,
    )
    assert all(0 < part <= 1 + 1e-12 for part in parts)


def test_scalascas_ideal_time_leaves_waiting_and_files_and_takes_off_transfer():
    # GIVEN a rank that is in MPI for 4 of 10 s, of which it waits 1 s and writes 0.5 s, and one that only waits there
    time_s, mpi_s = np.array([10.0, 9.0]), np.array([4.0, 3.0])
    ideal_s = scalasca_ideal_s(time_s, mpi_s, np.array([1.0, 3.0]), np.array([0.5, 0.0]))
    # THEN the first transfers for 2.5 s, and the second has the most left
    assert ideal_s == pytest.approx(9.0)
    # AND a wait that is estimated longer than the call makes no time
    assert scalasca_ideal_s(time_s, mpi_s, np.array([5.0, 3.0]), np.zeros(2)) == pytest.approx(10.0)


def test_the_two_ideal_times_of_a_ping_pong(tmp_path):
    # GIVEN two ranks that compute 9 ms before each of their 50 messages, which take 1 ms
    ms, laps = 1_000_000, 50
    first = Rank(0, 2, flags=FINALIZED | TRACED, run_ns=1000 * ms)
    second = Rank(1, 2, flags=FINALIZED | TRACED, run_ns=999 * ms)
    sent, received = (
        [u(0) + z(1 - me) + z(0) + u(8) for me in range(2)],
        [u(0) + z(1 - me) + z(0) + z(1 - me) + z(0) + u(8) for me in range(2)],
    )
    for lap in range(laps):
        first.event("MPI_Send", 9 * ms, 0, sent[0])
        first.event("MPI_Recv", 0, 11 * ms, received[0])
        second.event("MPI_Recv", 0, (11 if lap else 10) * ms, received[1])
        second.event("MPI_Send", 9 * ms, 0, sent[1])
    first.count("MPI_Recv", ns=11 * ms, times=laps)
    second.count("MPI_Recv", ns=549 * ms)
    recording = Recording.open(write_recording(tmp_path / "a.rw", [first, second]))
    # THEN Dimemas' has no message left, and Scalasca's those that the other rank receives
    by_replay, by_waits = of_recording(recording), of_recording(recording, "scalasca")
    assert (by_replay.convention, by_waits.convention) == ("dimemas", "scalasca")
    assert by_replay.ideal_s == pytest.approx(0.9) and by_waits.ideal_s == pytest.approx(0.95)
    for found in (by_replay, by_waits):
        assert found.serialisation == pytest.approx(0.45 / found.ideal_s)
        assert found.transfer == pytest.approx(found.ideal_s / 1.0)


def test_scalascas_ideal_time_takes_an_exact_trace(tmp_path):
    rank = Rank(0, 1)
    rank.count("MPI_Barrier", ns=1_000_000)
    found = of_recording(Recording.open(write_recording(tmp_path / "a.rw", [rank])), "scalasca")
    assert found.ideal_s is None and "--exact-times" in found.why_no_ideal


def test_a_trace_without_computation_says_why_there_is_no_ideal_time(tmp_path):
    # GIVEN a rank whose whole trace is one barrier at once WHEN its run was a second
    rank = Rank(0, 1, flags=FINALIZED | TRACED, run_ns=1_000_000_000)
    rank.event("MPI_Barrier", 0, 1_000_000, u(0) + z(-1) + u(0) + u(8) + u(0) + u(0) + u(0))
    found = of_recording(Recording.open(write_recording(tmp_path / "a.rw", [rank])))
    assert found.ideal_s is None and found.why_no_ideal == "the trace has no computation"
