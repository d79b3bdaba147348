# SPDX-License-Identifier: BSD-3-Clause
"""Predictions anchored at a recorded run: on its machine its time is known, and what replays say is relative to it."""

import json
import math
from dataclasses import replace
from statistics import NormalDist

import msgspec
import numpy as np
import pytest
from machines import machine, text
from raw_writer import FINALIZED, TRACED, Rank, u, write_recording, z
from saved_topology import save_topology

from rankwise import _core
from rankwise.cli import main
from rankwise.explain.explanation import explain
from rankwise.explain.losses import losses
from rankwise.explain.timeline import Timeline
from rankwise.explain.unexplained import unexplained
from rankwise.machine.estimate import Estimate
from rankwise.machine.machine import topology_of
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology, from_synthetic
from rankwise.recording.span import Span
from rankwise.replay.predictor import Predictor
from rankwise.replay.recorded_run import ONE_PLACEMENT, ONE_RUN, RecordedRun
from rankwise.replay.switches import Switches
from rankwise.replay.uncertainty import anchored_interval
from rankwise.schedule.source import Source, load

# Rank 0 computes 1 ms and sends 1 000 001 bytes to rank 1.
GOAL = (
    "num_ranks 2\nrank 0 {\nc: calc 1000000\ns: send 1000001b to 1\ns requires c\n}\n"
    "rank 1 {\nrecv 1000001b from 0\n}\n"
)
NETWORK, NODE = {"L_s": 1e-3, "G_s_per_byte": 2e-9}, {"L_s": 0.5e-3}
RATE = 1e9
Z = NormalDist().inv_cdf(0.975)


def seats(*ranks):
    """On the nodes of the machine file."""
    return Placement.explicit(topology_of(machine(), "."), [(node, [core]) for node, core in ranks])


APART, TOGETHER = seats((0, 0), (1, 0)), seats((0, 0), (0, 1))


def recorded(seconds, where=APART, **keywords):
    """As read from a recording of a run that took so long."""
    schedule = _core.schedule.Schedule.read_goal(GOAL, "x.goal")
    span = Span(np.array([seconds / 2, seconds]))
    return Source(schedule, "recording", library="mpich", recorded=where, span=span, **keywords)


def predictor(source, given=None, **keywords):
    given = given or machine(NETWORK, NODE, nic_bytes_per_s=RATE)
    return Predictor.of(source, given, topology_of(given, "."), **keywords)


def test_what_a_replay_missed_of_a_run_is_taken_to_be_missed_everywhere_by_its_size():
    # GIVEN what two runs and two placements differ by, 2 and 3.5 %: variances of logarithms add up
    known = ONE_RUN**2 + ONE_PLACEMENT**2
    for missed, weight in ((1e-6, 0.0), (known**0.5, 0.5), (1.0, 1.0)):
        run = RecordedRun(math.exp(missed), 1.0, np.ones(1), np.ones(1))
        # THEN a miss as large is believed to a half, a smaller one not, a larger one wholly, to either side
        assert run.weight == pytest.approx(weight, abs=0.002)
        other = RecordedRun(1.0, math.exp(missed), np.ones(1), np.ones(1))
        assert other.weight == pytest.approx(run.weight)
        assert other.scale(other.predicted_s) == pytest.approx(1 / run.scale(run.predicted_s))
    # AND the recorded run is never missed by more than the half of it
    for missed in np.linspace(0.0, 1.0, 101):
        run = RecordedRun(math.exp(missed), 1.0, np.ones(1), np.ones(1))
        assert 0 <= missed - math.log(run.scale(1.0)) <= known**0.5 / 2 + 1e-9


def test_a_run_that_took_three_times_its_replay_makes_all_times_three_times_as_long():
    # GIVEN a run of 12 ms, replayed in 4: 1 ms of computation, 1 of latency, 2 of bytes
    plain, anchored = (predictor(recorded(12e-3), plain=only) for only in (True, False))
    assert plain.makespan_s(APART) == pytest.approx(4e-3, rel=1e-5)
    assert plain.predict(APART).plain is None
    by = anchored.scale
    assert by == pytest.approx(3, rel=0.002)
    # THEN where it ran it takes as long as it took, elsewhere three times what is replayed there
    assert anchored.makespan_s(APART) == pytest.approx(by * 4e-3, rel=1e-5)
    assert anchored.makespan_s(TOGETHER) == pytest.approx(by * 1.5e-3, rel=1e-5)
    assert anchored.makespans_s([TOGETHER])[0] == pytest.approx(anchored.makespan_s(TOGETHER))
    # AND so is every part of it, and the replay is still told
    before, after = plain.predict(APART), anchored.predict(APART)
    assert after.plain.makespan_s == before.makespan_s
    assert after.finish_s == pytest.approx(by * before.finish_s)
    for part, times in before.parts_s.items():
        assert after.parts_s[part] == pytest.approx(by * times)
    for key, loads in before.interfaces["tx"].items():
        assert after.interfaces["tx"][key] == pytest.approx((by if key.endswith("_s") else 1) * loads)
    one, other = (
        {each.name: each.lost_s for each in losses(this, this.predict(APART))} for this in (plain, anchored)
    )
    assert one and other == pytest.approx({name: by * time for name, time in one.items()})
    ends = [float(Timeline.of(explain(each, APART)).end.max()) * 1e-12 for each in (plain, anchored)]
    assert ends == pytest.approx([before.makespan_s, after.makespan_s])
    waits = [explain(each, APART).waiting["transfer"] for each in (plain, anchored)]
    assert waits[1] == pytest.approx(by * waits[0])


def test_a_run_of_another_machine_anchors_nothing():
    # GIVEN runs on nodes of another topology, in a lab, and with a part that is not known
    other = Topology.of(from_synthetic("package:2 core:2 pu:1"), 4)
    elsewhere = recorded(12e-3, Placement.explicit(other, [(0, [0]), (1, [0])]))
    for source in (
        elsewhere,
        recorded(12e-3, lab_rate_bytes_per_s=1e6),
        replace(recorded(12e-3), span=None),
    ):
        # THEN times are as replayed
        found = predictor(source)
        assert (found.run, found.anchor) == (None, None)
        assert found.makespan_s(APART) == pytest.approx(4e-3, rel=1e-5)


def test_a_lab_is_the_one_that_was_measured_if_its_rate_is():
    real = machine()
    lab = msgspec.structs.replace(real, node=msgspec.structs.replace(real.node, host_cores=[[0, 1]] * 4))
    slow = msgspec.structs.replace(lab, context={"lab_rate_bytes_per_s": 2.5e6})
    assert real.is_of_lab(None) and not lab.is_of_lab(None) and not real.is_of_lab(2.5e6)
    assert slow.is_of_lab(2.5e6) and not slow.is_of_lab(5e6)
    # A file of before does not say it.
    assert lab.is_of_lab(2.5e6)


def test_what_is_changed_by_hand_is_told_beside_the_run_as_it_was():
    # GIVEN a run of 12 ms, replayed in 4, and a network without latency
    given = machine(NETWORK, NODE, nic_bytes_per_s=RATE)
    faster = machine(NETWORK | {"L_s": 0}, NODE, nic_bytes_per_s=RATE)
    # THEN that saves as many times the millisecond of the replay
    changed = predictor(recorded(12e-3), faster, measured=given)
    assert changed.scale == predictor(recorded(12e-3)).scale
    assert changed.makespan_s(APART) == pytest.approx(changed.scale * 3e-3, rel=1e-5)


def test_what_is_left_out_is_told_beside_the_run_and_is_no_run_as_recorded():
    # GIVEN a run on a machine whose interfaces pass a message slower than its network
    slow, less = machine(NETWORK, NODE, nic_bytes_per_s=RATE / 10), Switches(interfaces=False)
    known = predictor(recorded(0.03), slow, draws=5)
    left_out = predictor(recorded(0.03), slow, draws=5, switches=less)
    # THEN without interfaces the factor is the same, and the time shorter
    assert left_out.scale == known.scale
    assert left_out.makespan_s(APART) < 0.9 * known.makespan_s(APART)
    # AND its interval is not that of a run that was made
    with_all, without = (each.predict_with_interval(APART).interval for each in (known, left_out))
    assert with_all.high_s / with_all.low_s < without.high_s / without.low_s


def test_numbers_that_the_run_settles_leave_nothing_open_and_the_anchor_leaves_what_runs_and_placements_differ_by():
    # GIVEN a latency that is hardly known, and a run that took 1.5 times its replay
    unsure = machine(NETWORK, NODE, nic_bytes_per_s=RATE)
    link = next(each for each in unsure.link_classes if each.channel == "network")
    wide = msgspec.structs.replace(link.segments[0], L_s=Estimate(1e-3, "measured", 0.2e-3, 4e-3))
    links = [
        msgspec.structs.replace(each, segments=[wide]) if each is link else each
        for each in unsure.link_classes
    ]
    unsure = msgspec.structs.replace(unsure, link_classes=links)
    found = predictor(recorded(6e-3), unsure, draws=50)
    missed, w = math.log(1.5), found.run.weight
    # THEN where it ran, of the numbers is left what the run is not believed, and what another run would differ by
    there = found.predict_with_interval(APART)
    drawn = found.drawn_s(APART) / there.makespan_s
    assert np.ptp(np.log(drawn)) < 0.02
    interval = there.interval
    anchor = Z * math.hypot(ONE_RUN, (1 - w) * missed)
    assert ends(there) == pytest.approx([anchor, anchor], abs=0.005)
    # AND the plain replay keeps its own, wider one
    plain = predictor(recorded(6e-3), unsure, draws=50, plain=True).predict_with_interval(APART)
    assert there.plain.interval == pytest.approx(plain.interval)
    assert plain.interval.high_s > 1.5 * interval.high_s
    # AND the same seats by other names are the same
    assert found.predict_with_interval(seats((3, 0), (2, 0))).interval == interval
    # AND elsewhere an end is further out: both placements have misses of their own, a third of so large a one each
    other = found.predict_with_interval(TOGETHER)
    own = missed / 3
    anchor = Z * math.sqrt((1 + w) * (own**2 + ONE_RUN**2))
    numbers = other.interval.numbers_low_s, other.interval.numbers_high_s
    of_numbers = [abs(math.log(each / other.makespan_s)) for each in numbers]
    assert ends(other) == pytest.approx([math.hypot(each, anchor) for each in of_numbers])


def ends(prediction):
    """How far the ends of an interval are from the time, as logarithms."""
    found = prediction.interval
    return [math.log(prediction.makespan_s / found.low_s), math.log(found.high_s / prediction.makespan_s)]


@pytest.mark.parametrize("common", [0.0, 0.05, 0.2])
def test_an_anchored_interval_holds_as_many_runs_as_it_says(common):
    # GIVEN programs whose replays miss a part c of all placements, and one of each, and runs that differ
    rng = np.random.default_rng(1)
    held, times = 0, 2000
    for c, here, there, run, again in rng.normal(size=(times, 5)):
        took = math.exp(common * c + ONE_PLACEMENT * here + ONE_RUN * run)
        known = RecordedRun(took, 1.0, np.array([took]), np.array([1.0]))
        predicted = known.scale(1.0)
        found = anchored_interval(np.array([]), predicted, 0.95, known, as_recorded=False)
        real = math.exp(common * c + ONE_PLACEMENT * there + ONE_RUN * again)
        held += found.low_s <= real <= found.high_s
    # THEN of runs of other placements as many are held as the interval says, or some more
    assert 0.92 <= held / times <= 0.99


def late(path, seconds):
    """Rank 0 computes 0.1 s and sends 8 bytes, rank 1 computes 0.2 s and receives them, both until the end."""
    S = 10**9
    ranks = [
        Rank(me, 2, host=f"n{me}", affinity=(0,), flags=FINALIZED | TRACED, run_ns=round(seconds * S))
        for me in (0, 1)
    ]
    ranks[0].event("MPI_Send", S // 10, round((seconds - 0.1) * S), u(0) + z(1) + z(0) + u(8))
    ranks[1].event("MPI_Recv", S // 5, round((seconds - 0.2) * S), u(0) + z(0) + z(0) + z(0) + z(0) + u(8))
    write_recording(path, ranks)
    for host in ("n0", "n1"):
        save_topology(path / "raw" / f"{host}.topology.tar", (0, 0))
    return path


def test_what_the_replay_does_not_explain_is_said_by_call_channel_and_rank(tmp_path, capsys):
    # GIVEN messages of 0.3 s by the machine file, and a run in which it was under way for 0.9
    trace = late(tmp_path / "app.rw", 1.0)
    (tmp_path / "m.machine.toml").write_text(text({"L_s": 0.3}, {}))
    words = ["predict", str(trace), "--machine", str(tmp_path / "m.machine.toml"), "--no-losses"]
    given = machine({"L_s": 0.3}, {})
    source = load(trace)
    known = predictor(source, given)
    run, found = known.run, unexplained(known, source)
    assert (run.recorded_s, run.predicted_s) == pytest.approx((1.0, 0.4))
    # THEN pieces of a rank add up to its time, in the run and in the replay
    for rank in (0, 1):
        own = [each for each in found if each.rank == rank]
        assert sum(each.recorded_s for each in own) == pytest.approx(run.rank_recorded_s[rank])
        assert sum(each.replayed_s for each in own) == pytest.approx(run.rank_predicted_s[rank])
    by_rank = {(each.rank, each.call, each.channel): each for each in found}
    receives = by_rank[1, "MPI_Recv", "network"]
    assert (receives.recorded_s, receives.replayed_s) == pytest.approx((1.0, 0.4))
    # AND it is said in a line, anchored or not, and in JSON
    for option in ([], ["--plain"]):
        assert main([*words, *option]) == 0
        out = " ".join(capsys.readouterr().out.split())
        line = "not explained by the replay: +600 ms, most in `MPI_Send` over network: +450 ms a rank (rank 0: +900 ms)"
        assert line in out
        assert ("so replayed times are multiplied by 2.496" in out) == (not option)
        assert ("recorded: 998 ms" in out, "recorded: 400 ms" in out) == (not option, bool(option))
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["placements"][0]["plain_replay"]["makespan_s"] == pytest.approx(0.4)
    assert document["machines"][0]["recorded_run"]["anchored"]
    assert {each["call"] for each in document["machines"][0]["recorded_run"]["unexplained"]} >= {
        "MPI_Send",
        "MPI_Recv",
    }


def test_place_says_anchored_times_and_the_replay_beside_them(tmp_path, capsys):
    trace = late(tmp_path / "app.rw", 1.0)
    (tmp_path / "m.machine.toml").write_text(text({"L_s": 0.3}, {}))
    words = ["place", str(trace), "-m", str(tmp_path / "m.machine.toml"), "--budget", "0.2s", "-f"]
    assert main([*words, "--json"]) == 0
    found = {each["name"]: each for each in json.loads(capsys.readouterr().out)["placements"]}
    current = found["current"]
    assert current["makespan_s"] == pytest.approx(1.0, rel=0.002)
    assert current["plain_replay"]["makespan_s"] == pytest.approx(0.4)
    assert main([*words, "--plain", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    plain = {each["name"]: each for each in document["placements"]}
    assert plain["current"]["makespan_s"] == pytest.approx(0.4)
    assert plain["current"]["plain_replay"] is None
    assert (
        document["recorded_run"]["recorded_s"] == pytest.approx(1.0)
        and not document["recorded_run"]["anchored"]
    )
