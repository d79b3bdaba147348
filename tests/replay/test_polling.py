# SPDX-License-Identifier: BSD-3-Clause
"""Recordings whose order of receives went by what was there: the replay ends sends where it would block."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from accuracy import cases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from machine_reference import Link, Place
from raw_writer import write_recording
from replaying import model, shared_model
from sharing_reference import Memory, Shared
from traced import ranks_of

from rankwise import _core
from rankwise.cli import main
from rankwise.recording.job import choose_job
from rankwise.recording.raw import read

MACHINE = str(Path(__file__).resolve().parents[2] / "machines" / "bensley-infiniband-2007.machine.toml")
L, O_SEND, O_RECEIVE, SIZE = 1000, 100, 30, 100
WINDOWS = [1, 20, 10**6]


def traced_run(directory, ranks):
    raw = read(write_recording(Path(tempfile.mkdtemp(dir=directory)), ranks))
    return raw, _core.schedule.TracedRun.read([t.record for t in choose_job(raw).first_threads], "mpich")


def one_rank_a_node(ranks, **more):
    link = Link(L=L, o=O_SEND, o_receive=O_RECEIVE, G=1, network=True, **{"S": 50, **more})
    return Place(list(range(ranks)), Link(), Link(), link)


def shared(place, handshake=True):
    """As `model`, with a memory that holds up nobody: another engine."""
    count = len(place.node)
    memory = Memory([0] * count, 10**9)
    return shared_model(
        place, Shared(list(range(count)), [1] * count, memories=[memory]), handshake=handshake
    )


def said(prediction):
    parts = {key: times.tolist() for key, times in prediction.parts_s.items()}
    return prediction.ended_sends, prediction.finish_s.tolist(), parts


def head_to_head(gap_ns=0):
    ranks = ranks_of(2)
    for me, rank in enumerate(ranks):
        rank.send(1 - me, SIZE, gap=gap_ns * me)
        rank.recv(1 - me, SIZE)
    return ranks


@pytest.mark.parametrize("late_ns", [0, 500])
def test_two_that_send_to_each_other_first_go_on_when_both_are_stuck(tmp_path, late_ns):
    # GIVEN messages that were eager when they were recorded, and are not here; one rank comes later
    _raw, run = traced_run(tmp_path, head_to_head(late_ns))
    place = one_rank_a_node(2)
    arguments = model(place, [0, 1], handshake=False)
    # WHEN it is replayed THEN both go on when the second has sent, and the bytes travel from then on
    stuck = late_ns + O_SEND
    expected = (stuck + L + SIZE - 1 + O_RECEIVE) * 1e-9
    schedule = run.schedule()[0]
    whole = schedule.replay(**arguments)
    assert whole.ended_sends == 2
    assert whole.finish_s.tolist() == pytest.approx([expected] * 2, abs=1e-12)
    # AND all engines say so
    for window in WINDOWS:
        assert said(run.in_windows(window).replay(**arguments)) == said(whole)
    recorded = schedule.explain(**arguments)
    assert said(recorded.prediction) == said(whole)
    assert recorded.critical_path["to_s"].max() == pytest.approx(expected, abs=1e-12)
    twice = arguments["machine"], [arguments["placement"]] * 2
    assert schedule.makespans_s(*twice).tolist() == pytest.approx([expected] * 2, abs=1e-12)
    assert schedule.estimates_s(*twice).tolist() == pytest.approx([expected] * 2, abs=1e-12)
    other = schedule.replay(**shared(place, handshake=False))
    assert (other.ended_sends, other.finish_s.tolist()) == (2, whole.finish_s.tolist())
    # AND with plain LogGOPS: both are stuck when the messages are there, which meet their receives at once
    plain = schedule.replay_loggops(
        L_s=L * 1e-9, o_s=O_SEND * 1e-9, g_s=0, G_s_per_byte=0, O_s_per_byte=0, S_bytes=50
    )
    assert plain.ended_sends == 2
    assert plain.makespan_s == pytest.approx((late_ns + 2 * O_SEND + L) * 1e-9, abs=1e-12)


def test_no_send_is_ended_where_nothing_blocks(tmp_path):
    _raw, run = traced_run(tmp_path, head_to_head())
    arguments = model(one_rank_a_node(2, S=SIZE), [0, 1])
    assert run.schedule()[0].replay(**arguments).ended_sends == 0


def test_sends_that_wait_for_room_in_buffers_go_on_too(tmp_path):
    _raw, run = traced_run(tmp_path, head_to_head())
    buffers = {"socket_buffer": 10, "send_buffer": 0, "unexpected_buffer": 0}
    place = one_rank_a_node(2, S=2**60, in_call=True, **buffers)
    result = run.schedule()[0].replay(**model(place, [0, 1]))
    assert result.ended_sends == 2 and result.makespan_s > 0


def test_a_run_that_stops_at_each_message_comes_to_its_end(tmp_path):
    # GIVEN two ranks that send to each other first, more often than a replay looks through what has begun
    steps = 600
    ranks = ranks_of(2)
    for _ in range(steps):
        for me, rank in enumerate(ranks):
            rank.send(1 - me, SIZE)
            rank.recv(1 - me, SIZE)
    _raw, run = traced_run(tmp_path, ranks)
    place = one_rank_a_node(2)
    arguments = model(place, [0, 1], handshake=False)
    # WHEN all end without their receives THEN each exchange takes what one takes, in all engines
    whole = run.schedule()[0].replay(**arguments)
    assert whole.ended_sends == 2 * steps
    assert whole.makespan_s == pytest.approx(steps * (O_SEND + L + SIZE - 1 + O_RECEIVE) * 1e-9, rel=1e-9)
    for window in (20, 2000):
        assert said(run.in_windows(window).replay(**arguments)) == said(whole)
    other = run.schedule()[0].replay(**shared(place, handshake=False))
    assert (other.ended_sends, other.finish_s.tolist()) == (whole.ended_sends, whole.finish_s.tolist())
    plain = {"L_s": 1e-6, "o_s": 1e-7, "g_s": 0, "G_s_per_byte": 0, "O_s_per_byte": 0, "S_bytes": 50}
    assert run.schedule()[0].replay_loggops(**plain).ended_sends == 2 * steps


def polled(seed: int, ranks: int, messages: int):
    """An order in which ranks could have gone on with messages that are eager, of which some block otherwise."""
    rng = random.Random(seed)
    programs = ranks_of(ranks)
    there: list[list] = [[] for _ in programs]
    isends: list[list[int]] = [[] for _ in programs]
    requests = [0] * ranks
    left = messages
    while left or any(there):
        me = rng.randrange(ranks)
        gap = rng.choice([0, 0, 1000, rng.randrange(5000)])
        if isends[me] and rng.random() < 0.3:
            programs[me].waitall(*(requests[me] - each for each in isends[me]))
            isends[me] = []
        elif left and rng.random() < 0.5:
            peer = rng.choice([each for each in range(ranks) if each != me])
            size, tag = rng.choice([1, 100, 3000]), rng.randrange(2)
            if rng.random() < 0.3:
                programs[me].isend(peer, size, tag=tag, gap=gap)
                isends[me].append(requests[me])
                requests[me] += 1
            else:
                programs[me].send(peer, size, tag=tag, gap=gap)
            there[peer].append((me, tag, size))
            left -= 1
        elif there[me]:
            source, tag = rng.choice(there[me])[:2]
            at = next(k for k, each in enumerate(there[me]) if each[:2] == (source, tag))
            programs[me].recv(*(there[me][at][k] for k in (0, 2)), tag=tag, gap=gap)
            del there[me][at]
    for rank, program in enumerate(programs):
        if isends[rank]:
            program.waitall(*(requests[rank] - each for each in isends[rank]))
    return programs


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 10**6), st.integers(2, 5), st.booleans(), st.booleans(), st.booleans(), st.integers(0, 2)
)
def test_engines_let_the_same_sends_go(tmp_path, seed, ranks, handshake, in_call, overlap, moves):
    # GIVEN a program that ran with eager messages, and a machine on which none or few are
    _raw, run = traced_run(tmp_path, polled(seed, ranks, 40))
    more = {"in_call": in_call, "overlap": overlap, "O": moves, "S": random.Random(seed).choice([0, 99])}
    place = one_rank_a_node(ranks, **more)
    place.node[-1] = place.node[0]
    place.inside = Link(L=300, o=70, o_receive=20, G=1, S=0, in_call=in_call)
    if ranks == 2:
        place.node[:] = [0, 1]
    place.node[:] = [sorted(set(place.node)).index(each) for each in place.node]
    arguments = model(place, list(range(ranks)), handshake=handshake)
    schedule = run.schedule()[0]
    # WHEN it is replayed THEN it comes to its end, with the same outcome in all engines
    whole = schedule.replay(**arguments)
    assert min(min(times) for times in said(whole)[2].values()) >= 0
    for window in WINDOWS:
        assert said(run.in_windows(window).replay(**arguments)) == said(whole)
    recorded = schedule.explain(**arguments)
    assert said(recorded.prediction) == said(whole)
    assert recorded.critical_path["to_s"].max() == whole.makespan_s
    other = schedule.replay(**shared(place, handshake))
    assert (other.ended_sends, other.finish_s.tolist()) == (whole.ended_sends, whole.finish_s.tolist())
    schedule.replay_loggops(L_s=1e-6, o_s=1e-7, g_s=0, G_s_per_byte=1e-9, O_s_per_byte=0, S_bytes=0)


@pytest.mark.mpi
@pytest.mark.slow
def test_hpl_with_lookahead_is_predicted_where_no_message_is_eager(mpi, tmp_path, capfd):
    # GIVEN a real program that receives what its probes find
    program = mpi.mpiexec.with_name("xhpl")
    if not program.exists():
        pytest.skip("no xhpl beside mpiexec; tests/install_hpl.sh makes one")
    text = cases._HPL_INPUT.format(problems=1, orders=600, block=40, rows=2, columns=2)
    none = "1            lookahead\n0\n"
    assert none in text
    text = text.replace(none, "1            lookahead\n1\n")
    for file in ("HPL.dat", "hpccinf.txt"):
        (tmp_path / file).write_text(text)
    libraries = {"LD_LIBRARY_PATH": str(mpi.mpiexec.parents[1] / "lib")}
    command = [sys.executable, "-m", "rankwise", "record", "--trace", "-o", "hpl.rw", "--"]
    subprocess.run(
        [*command, *mpi.launch(4, program)], cwd=tmp_path, env=mpi.environment() | libraries, check=True
    )
    # WHEN it is predicted for nodes between which all messages are rendezvous
    words = ["predict", str(tmp_path / "hpl.rw"), "--machine", MACHINE, "--set", "network.S=0", "--json"]
    for nodes in ("4x1", "2x2"):
        capfd.readouterr()
        assert main([*words, "--nodes", nodes, "--no-losses"]) == 0
        # THEN it comes to its end, whether or not sends had to end without receives, later than its ranks compute alone
        (one,) = json.loads(capfd.readouterr().out)["placements"]
        assert one["makespan_s"] > max(one["rank"]["computation_s"]) > 0
