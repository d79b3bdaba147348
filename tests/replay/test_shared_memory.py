# SPDX-License-Identifier: BSD-3-Clause
"""Copies and computation that share a memory or a cache: times that can be worked out by hand."""

from math import comb

import numpy as np
import pytest
from reference import KINDS, Op
from replaying import schedule_of
from sharing_machines import link, machine, resource

from rankwise import _core
from rankwise.explain.explanation import explain
from rankwise.explain.losses import losses
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology, from_synthetic
from rankwise.replay.predictor import Predictor
from rankwise.replay.switches import Switches
from rankwise.schedule.source import Source

NODE = from_synthetic("package:2 l2:1 core:2 pu:1")
MB = 10**6


def placed(*cores: tuple[int, int]) -> Placement:
    """Each rank on a node's core."""
    nodes = max(node for node, _ in cores) + 1
    return Placement.explicit(Topology.of(NODE, nodes), [(node, (core,)) for node, core in cores])


def predictor(ranks, the_machine, bound=None, switches=None, recorded=None, measured=None):
    part = None if bound is None else np.broadcast_to(np.asarray(bound, dtype=float), (len(ranks),)).copy()
    source = Source(schedule_of(ranks), recorded=recorded)
    return Predictor.of(source, the_machine, switches=switches, memory_bound=part, measured=measured)


def copies(pairs: int, size: int, start_ns=0):
    """Rank 2 i sends to rank 2 i + 1, the i-th after i times `start_ns`."""
    ranks = []
    for pair in range(pairs):
        wait = Op("calc", pair * start_ns)
        ranks.append([wait, Op("send", size, 2 * pair + 1, requires=[0])])
        ranks.append([Op("recv", size, 2 * pair)])
    return ranks


@pytest.mark.parametrize("pairs", [1, 2, 3, 4])
@pytest.mark.parametrize("passes", [1, 2])
def test_copies_at_once_take_as_long_as_one_or_as_long_as_the_memory_needs(pairs, passes):
    # GIVEN copies of 1 MB at 1 GB/s a core, and a memory of 2.5 GB/s through which each byte goes `passes` times
    memory = resource("memory", "memory", "node", capacity_bytes_per_s=2.5e9, passes=passes)
    the_machine = machine(
        memory, link("package", G_s_per_byte=1e-9), link("node", G_s_per_byte=1e-9), nodes=1
    )
    where = placed(*[(0, r % 4) for r in range(2 * pairs)])
    # WHEN k of them begin at once; receivers deal with the bytes while they come in
    switches = Switches(core_sharing=False)
    time = predictor(copies(pairs, MB), the_machine, switches=switches).makespan_s(where)
    # THEN they take max((s-1) G, k passes s / C)
    assert time == pytest.approx(max((MB - 1) * 1e-9, pairs * passes * MB / 2.5e9), rel=1e-9)


def test_copies_that_start_one_after_the_other_share_while_they_overlap():
    # GIVEN two copies of 1 ms alone through a memory that is enough for one, the second half a millisecond later
    memory = resource("memory", "memory", "node", capacity_bytes_per_s=MB * 1e9 / (MB - 1))
    the_machine = machine(
        memory, link("package", G_s_per_byte=1e-9), link("node", G_s_per_byte=1e-9), nodes=1
    )
    result = predictor(copies(2, MB, start_ns=500_000), the_machine).predict(
        placed((0, 0), (0, 1), (0, 2), (0, 3))
    )
    # THEN the first does half of it alone and the rest at half speed (1.5 ms), the second does as much meanwhile, then
    # the rest alone (2 ms)
    assert result.finish_s == pytest.approx([1.5e-3, 1.5e-3, 2e-3, 2e-3], rel=2e-6)
    assert result.parts_s["memory"] == pytest.approx([0.5e-3, 0, 0.5e-3, 0], abs=1e-8)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("bound", [0.0, 0.25, 1.0])
def test_ranks_that_compute_slow_each_other_down_as_far_as_they_wait_for_memory(ranks, bound):
    # GIVEN a memory that has 2 GB/s for cores of which each could move 1 GB/s
    memory = resource("memory", "memory", "node", capacity_bytes_per_s=2e9, per_core_bytes_per_s=1e9)
    program = [[Op("calc", 1_000_000)] for _ in range(ranks)]
    time = predictor(program, machine(memory, nodes=1), bound).makespan_s(
        placed(*[(0, r) for r in range(ranks)])
    )
    # THEN each meets as many of the others as wait by chance: the mean of max(1, (1 + K) B / C), K binomial
    others = ranks - 1
    chances = [comb(others, k) * bound**k * (1 - bound) ** (others - k) for k in range(ranks)]
    mean = sum(chance * max(1, (1 + k) / 2) for k, chance in enumerate(chances))
    assert time == pytest.approx(1e-3 * (1 - bound + bound * mean), rel=1e-9)


def test_the_measured_slowdown_is_that_of_ranks_of_which_nothing_else_is_known():
    # GIVEN a curve of 1, 2, 3 cores
    curve = resource("memory", "memory", "node", per_core_bytes_per_s=1e9, slowdown=[1.0, 1.1, 1.8])
    for ranks, factor in [(1, 1.0), (2, 1.1), (3, 1.8), (4, 2.4)]:
        program = [[Op("calc", 1_000_000)] for _ in range(ranks)]
        time = predictor(program, machine(curve, nodes=1)).makespan_s(placed(*[(0, r) for r in range(ranks)]))
        # THEN so many ranks are so much slower; beyond the last number by what each gets of the same bytes
        assert time == pytest.approx(1e-3 * factor, rel=1e-9)


def test_ranks_of_two_packages_do_not_share_the_memory_of_one():
    # GIVEN the sharing of a processor that costs more than that of a network: two ranks on one package or on two
    memory = resource("memory", "memory", "package", capacity_bytes_per_s=1e9, per_core_bytes_per_s=1e9)
    program = [[Op("calc", 1_000_000)] for _ in range(2)]
    judge = predictor(program, machine(memory, nodes=2), 0.8)
    # THEN together on a package they take 1 - 0.8 + 0.8 * (0.2 + 0.8 * 2), apart as long as alone
    assert judge.makespan_s(placed((0, 0), (0, 1))) == pytest.approx(1.64e-3, rel=1e-9)
    assert judge.makespan_s(placed((0, 0), (0, 2))) == pytest.approx(1e-3, rel=1e-9)
    assert judge.makespan_s(placed((0, 0), (1, 0))) == pytest.approx(1e-3, rel=1e-9)


def test_ranks_that_take_turns_on_a_core_ask_for_no_more_than_one():
    # GIVEN two ranks on one core of a memory that is enough for one core
    memory = resource("memory", "memory", "node", capacity_bytes_per_s=1e9, per_core_bytes_per_s=1e9)
    program = [[Op("calc", 1_000_000)] for _ in range(2)]
    result = predictor(program, machine(memory, nodes=1), 1.0).predict(placed((0, 0), (0, 0)))
    assert result.finish_s == pytest.approx([2e-3, 2e-3])
    assert result.parts_s["core_sharing"] == pytest.approx([1e-3, 1e-3])
    assert not result.parts_s["memory"].any()


def test_a_cache_holds_up_the_copies_of_its_channel_only():
    # GIVEN a cache of 1 GB/s for each package, and copies of 1 GB/s: two through it, or one beside one across packages
    cache = resource("cache", "cache", "L2", capacity_bytes_per_s=1e9, channels=["package"])
    the_machine = machine(cache, link("package", G_s_per_byte=1e-9), link("node", G_s_per_byte=1e-9), nodes=1)
    program = [
        [Op("send", MB, 1), Op("recv", MB, 1)],
        [Op("send", MB, 0), Op("recv", MB, 0)],
    ]
    through = predictor(program, the_machine).makespan_s(placed((0, 0), (0, 1)))
    across = predictor(program, the_machine).makespan_s(placed((0, 0), (0, 2)))
    # THEN both directions at once take twice as long through the cache
    assert through == pytest.approx(2 * across, rel=0.01)


def test_what_the_memory_costs_is_said():
    memory = resource("memory", "memory", "package", capacity_bytes_per_s=1e9, per_core_bytes_per_s=1e9)
    judge = predictor([[Op("calc", 1_000_000)], [Op("calc", 500_000)]], machine(memory, nodes=1), 1.0)
    result = judge.predict(placed((0, 2), (0, 3)))
    # THEN both are slowed until the second is done after 1 ms
    assert result.finish_s == pytest.approx([1.5e-3, 1e-3])
    assert result.parts_s["memory"] == pytest.approx([0.5e-3, 0.5e-3])
    (load,) = result.shared
    assert (load.resource, load.node, load.number) == ("memory", 0, 1)
    assert (load.busy_s, load.saturated_s) == pytest.approx((1.5e-3, 1e-3))
    # THEN without it the program would end after 1 ms
    (loss,) = losses(judge, result)
    assert (loss.kind, loss.name, loss.lost_s) == ("resource", "memory", pytest.approx(0.5e-3))
    # THEN that is on the critical path
    path = explain(judge, placed((0, 2), (0, 3))).critical_path
    causes = dict(
        zip(
            [_core.explain.CAUSES[each] for each in path["cause"]], path["to_s"] - path["from_s"], strict=True
        )
    )
    assert causes == pytest.approx({"computation": 1e-3, "memory": 0.5e-3})
    # THEN nothing is left out
    assert result.not_modelled == ()


@pytest.mark.parametrize("switches", [Switches(memory=False), Switches(slowdown=False)])
def test_computation_that_is_not_slowed_takes_as_long_as_it_is(switches):
    memory = resource("memory", "memory", "node", capacity_bytes_per_s=1e9, per_core_bytes_per_s=1e9)
    program = [[Op("calc", 1_000_000)], [Op("calc", 1_000_000)]]
    time = predictor(program, machine(memory, nodes=1), 1.0, switches).makespan_s(placed((0, 0), (0, 1)))
    assert time == pytest.approx(1e-3, rel=1e-12)


# Computation alone


def halo(rounds: int):
    """Four ranks that compute for different times and exchange with both neighbours."""
    ranks = []
    for r in range(4):
        ops: list[Op] = []
        for k in range(rounds):
            before = [len(ops) - 1] if ops else []
            ops.append(Op("calc", 100_000 + 37_000 * ((r + k) % 3), requires=before))
            at = len(ops) - 1
            ops += [Op("send", 5000, (r + d) % 4, tag=k, requires=[at]) for d in (1, 3)]
            ops += [Op("recv", 5000, (r + d) % 4, tag=k, requires=[at]) for d in (1, 3)]
            ops.append(Op("calc", 0, requires=[at + 1, at + 2, at + 3, at + 4]))
        ranks.append(ops)
    return ranks


def noisy_machine():
    memory = resource("memory", "memory", "package", capacity_bytes_per_s=1.3e9, per_core_bytes_per_s=1e9)
    links = [link(c, L_s=1e-6, o_s=1e-6, G_s_per_byte=1e-9) for c in ("package", "node")]
    return machine(memory, *links, nodes=2)


def in_picoseconds(ranks: list[list[Op]], durations):
    """The schedule with computations of these durations, one for each operation of all ranks."""
    ops = [op for own in ranks for op in own]
    first = np.cumsum([0, *map(len, ranks)])
    edges = [
        (first[r] + i, first[r] + j)
        for r, own in enumerate(ranks)
        for i, op in enumerate(own)
        for j in op.requires
    ]
    value = [round(d) if op.kind == "calc" else op.value for op, d in zip(ops, durations, strict=True)]
    return _core.schedule.Schedule.from_arrays(
        operations_of_rank=np.array([len(own) for own in ranks], dtype=np.uint32),
        kind=np.array([KINDS[op.kind] for op in ops], dtype=np.uint8),
        value=np.array(value, dtype=np.uint64),
        peer=np.array([op.peer for op in ops], dtype=np.uint32),
        tag=np.array([op.tag for op in ops], dtype=np.uint32),
        later=np.array([later for later, _ in edges], dtype=np.uint32),
        earlier=np.array([earlier for _, earlier in edges], dtype=np.uint32),
        at_start=np.zeros(len(edges), dtype=np.uint8),
    )


RECORDED = placed((0, 0), (0, 1), (0, 2), (0, 3))


def test_replayed_where_it_was_recorded_a_program_takes_as_long_as_it_took():
    # GIVEN a run on a machine where its ranks slow each other down, and how long each computation took there
    the_machine = noisy_machine()
    alone = predictor(halo(20), the_machine, 0.9)
    took = alone.predict(RECORDED)
    assert took.parts_s["memory"].min() > 1e-4
    times = explain(alone, RECORDED).timeline
    recorded = in_picoseconds(halo(20), times["end"] - times["begin"])
    # WHEN that recording is replayed there
    again = Predictor.of(Source(recorded, recorded=RECORDED), the_machine, memory_bound=np.full(4, 0.9))
    # THEN every rank ends when it did
    assert again.predict(RECORDED).finish_s == pytest.approx(took.finish_s, rel=1e-9)
    # THEN elsewhere, where nobody slows them, the ranks are as fast as they are alone
    apart = placed((0, 0), (0, 2), (1, 0), (1, 2))
    assert again.predict(apart).finish_s == pytest.approx(alone.predict(apart).finish_s, rel=1e-6)


def test_computation_alone_is_what_the_others_did_not_slow():
    # GIVEN two ranks that computed side by side for 1.64 ms, both slowed by that factor, and one that then went on
    memory = resource("memory", "memory", "package", capacity_bytes_per_s=1e9, per_core_bytes_per_s=1e9)
    recorded = [[Op("calc", 1_640_000)], [Op("calc", 2_140_000)]]
    judge = predictor(recorded, machine(memory, nodes=1), 0.8, recorded=placed((0, 0), (0, 1)))
    # THEN they have 1 ms and 1.5 ms to do alone
    alone = judge.predict(placed((0, 0), (0, 2)))
    assert alone.finish_s == pytest.approx([1e-3, 1.5e-3], rel=1e-9)


def test_what_is_changed_by_hand_does_not_change_what_was_recorded():
    # GIVEN a program recorded on a machine as it was measured
    memory = resource("memory", "memory", "package", capacity_bytes_per_s=1e9, per_core_bytes_per_s=1e9)
    measured = machine(memory, nodes=1)
    twice = machine(memory.replace("1000000000.0", "2000000000.0", 1), nodes=1)
    where = placed((0, 0), (0, 1))
    recorded = [[Op("calc", 2_000_000)], [Op("calc", 2_000_000)]]
    # WHEN its memory gets twice as fast
    judge = predictor(recorded, twice, 1.0, recorded=where, measured=measured)
    # THEN the program takes what it would have taken alone
    assert judge.makespan_s(where) == pytest.approx(1e-3, rel=1e-9)
    assert judge.variant(measured, Switches()).makespan_s(where) == pytest.approx(2e-3, rel=1e-9)


# All of it


def crowded():
    parts = [
        resource("memory", "memory", "package", capacity_bytes_per_s=1.3e9, per_core_bytes_per_s=1e9),
        resource("cache", "cache", "L2", capacity_bytes_per_s=0.7e9, channels=["package"]),
        resource("irq", "interrupt_core", "node", core=0, per_message_s=5e-6, far_factor=1.5),
    ]
    links = [link(channel, L_s=1e-6, o_s=1e-6, G_s_per_byte=1e-9) for channel in ("package", "node")]
    links.append(link("network", "host-processed", L_s=1e-5, o_s=2e-6, G_s_per_byte=2e-9))
    return parts, links


HALVES = placed((0, 0), (0, 1), (1, 0), (1, 2))


def test_with_everything_off_it_is_the_plain_model_to_the_last_bit():
    parts, links = crowded()
    off = Switches(memory=False, caches=False, interrupts=False)
    without = predictor(halo(5), machine(*links)).predict(HALVES)
    switched_off = predictor(halo(5), machine(*parts, *links), 0.9, off).predict(HALVES)
    on = predictor(halo(5), machine(*parts, *links), 0.9).predict(HALVES)
    assert (switched_off.finish_s == without.finish_s).all()
    assert on.makespan_s > without.makespan_s


def test_many_placements_are_estimated_without_and_replayed_with_it():
    # GIVEN placements whose ranks slow each other down
    parts, links = crowded()
    judge = predictor(halo(5), machine(*parts, *links), 0.9)
    placements = [HALVES, placed((0, 0), (1, 0), (0, 1), (1, 2)), placed((0, 0), (0, 2), (1, 0), (1, 2))]
    # THEN all replays are those of one placement, and the estimate says what it says without
    assert judge.makespans_s(placements).tolist() == [judge.makespan_s(each) for each in placements]
    plain = predictor(halo(5), machine(*links))
    assert (judge.estimates_s(placements) <= judge.makespans_s(placements)).all()
    assert judge.estimates_s(placements[:1])[0] == pytest.approx(
        plain.estimates_s(placements[:1])[0], rel=0.05
    )


def test_what_is_recorded_in_another_order_of_ranks_is_the_same():
    # GIVEN ranks of which each has a memory and a core of its own kind
    parts, links = crowded()
    bound = [0.9, 0.1, 0.5, 0.0]
    judge = predictor(halo(5), machine(*parts, *links), bound)
    # WHEN ties are served the other way round
    other = judge.in_order(np.array([3, 2, 1, 0]))
    # THEN every rank still has its own
    assert other.predict(HALVES).parts_s["memory"] == pytest.approx(
        judge.predict(HALVES).parts_s["memory"], rel=0.05
    )
