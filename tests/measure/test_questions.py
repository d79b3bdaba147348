# SPDX-License-Identifier: BSD-3-Clause
"""What samples of the further microbenchmarks answer."""

import polars as pl
import pytest

from rankwise.machine.topology import from_synthetic
from rankwise.measure.fitting.points import FITTED
from rankwise.measure.fitting.statistics import Median
from rankwise.measure.plan import Plan, Rank, choose
from rankwise.measure.questions import QUESTIONS, answers, memory, progress
from rankwise.measure.questions.groups import members, own_cores, shapes
from rankwise.measure.questions.peers import first_contact
from rankwise.measure.questions.settled import medians, slope
from rankwise.measure.samples import SCHEMA
from rankwise.measure.steps import FULL, QUICK, steps_for

NODE = from_synthetic("package:2 l3:1 core:2 pu:1")


def plan_of(hosts: str, bound: bool = True) -> Plan:
    """A rank for each letter, which is its host; bound ranks have one core each."""
    ranks = []
    for number, host in enumerate(hosts):
        cores = (hosts[:number].count(host) % 4,) if bound else tuple(range(4))
        ranks.append(Rank(number, host, cores, tuple(NODE.pus[c][0] for c in cores)))
    return choose(ranks, {host: NODE for host in hosts}, lambda one, other: False)


def table(*rows: dict) -> pl.DataFrame:
    """Samples of which only some columns matter."""
    plain = {
        **{"launch": 0, "step": 1, "pairs": 1, "source": 0, "destination": 1, "messages": 10, "switches": 0},
        **{"sentinel_s": 3e-8, "source_cpu": 0, "destination_cpu": 1, "context": "{}", "channel": "package"},
        **{f"value{n}": 0.0 for n in range(1, 6)},
        **{"setting": 0, "rotate_bytes": 0, "bytes": 8, "waited": None, "others": None},
    }
    return pl.DataFrame([{name: (plain | row)[name] for name in SCHEMA} for row in rows], schema=SCHEMA)


def test_a_group_has_cores_of_its_own_where_there_are_enough():
    # GIVEN four ranks on each of two nodes, free to run anywhere on them
    plan = plan_of("aaaabbbb", bound=False)
    group = members(plan, 2, 4)
    assert [end.rank for end in group] == list(range(8))
    assert own_cores(plan, group)
    # THEN all shapes are tried, and by --quick all ranks only
    assert shapes(plan, False) == [(1, 2), (1, 4), (2, 1), (2, 2), (2, 4)]
    assert shapes(plan, True) == [(2, 4)]
    # WHEN there are more ranks than cores, THEN they are left out of groups
    crowded = plan_of("aaaaaa")
    assert members(crowded, 2, 1) == []
    assert (1, 6) not in shapes(crowded, False) and (1, 4) in shapes(crowded, False)


def test_unequal_nodes_give_groups_that_fit_the_smaller_one():
    # GIVEN a node with four cores and four ranks, another with two
    small = from_synthetic("package:1 core:2 pu:1")
    bound = [("a", 0), ("a", 1), ("a", 2), ("a", 3), ("b", 0), ("b", 1)]
    ranks = [Rank(n, host, (core,), (core,)) for n, (host, core) in enumerate(bound)]
    plan = choose(ranks, {"a": NODE, "b": small}, lambda one, other: False)
    # THEN each channel is that of its own node, and groups over both have two ranks on each
    assert set(plan.pairs) == {"package", "node", "network"}
    assert len(plan.sharing) == 2
    assert shapes(plan, False) == [(1, 2), (1, 4), (2, 1), (2, 2)]
    assert [end.rank for end in members(plan, 2, 2)] == [0, 1, 4, 5]


def test_every_question_adds_steps_or_says_why_not():
    for plan in (plan_of("aabb"), plan_of("aa"), plan_of("ab", bound=False)):
        for effort in (QUICK, FULL):
            asked = {words.split(":")[0] for words in steps_for(plan, effort, {}).arguments}
            for question in QUESTIONS:
                others = {test for other in QUESTIONS if other is not question for test in other.tests}
                own = set(question.tests) - others - set(FITTED)
                if question.why_not(plan) or (effort.quick and not question.quick):
                    assert not asked & own, question.name
                else:
                    assert asked >= own or (effort.quick and asked & own), question.name


def test_where_waiting_ranks_sleep_processor_time_is_asked_for_first():
    plan = plan_of("aabb")
    asked = ("stream_cpu", "exchange_cpu", "waiting")
    assert not any(words.startswith(asked) for words in steps_for(plan, QUICK, {}).arguments)
    plan.yields, plan.one_machine = True, True
    first, waiting, *exchanges = steps_for(plan, QUICK, {}).arguments[:4]
    # THEN all ranks wait, those of different nodes in turn
    assert first.startswith("stream_cpu:")
    assert waiting.startswith("waiting:ranks=0,2,1,3:")
    # AND the same ranks exchange messages, large ones until half of the launch's time is over
    assert all(
        words.startswith("exchange_cpu:ranks=0,2,1,3:") and ":setting=2" in words for words in exchanges
    )
    assert ":skip_s=" not in exchanges[0]
    skip_s = float(exchanges[1].partition(":skip_s=")[2].partition(":")[0])
    assert skip_s == pytest.approx(QUICK.seconds / QUICK.launches / 2)


def test_without_samples_every_answer_is_missing_with_its_reason():
    for answer in answers(pl.DataFrame(schema=SCHEMA), plan_of("aa"), quick=True):
        assert answer.missing and answer.rows == ()
        assert answer.sentence.startswith("not measured: ")


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.name)
@pytest.mark.parametrize("value", [0.0, 1e-6, 3.0])
def test_one_sample_of_each_test_is_an_answer_and_no_exception(question, value):
    # GIVEN one sample, or none but interrupted ones, with whatever in it
    for switches in (0, 3):
        rows = [
            {"test": test, "switches": switches, "channel": channel, "setting": setting}
            | {f"value{n}": value for n in range(1, 6)}
            for test in question.tests
            for channel in ("package", "network")
            for setting in (0, 1)
        ]
        (answer,) = [a for a in answers(table(*rows), plan_of("aabb")) if a.name == question.name]
        assert answer.sentence
        assert answer.missing is None or answer.name == "buffers"
        assert all(len(row) == len(answer.columns) for row in answer.rows)
        # THEN whatever is not known has its reason
        assert all(answer.reasons.get(key) for key, known in answer.values.items() if known is None)


@pytest.mark.parametrize(("quick", "why"), [(True, "left out of short runs"), (False, "the time was over")])
def test_reused_buffers_alone_do_not_ask_about_rotating_ones(quick, why):
    found = answers(table({"test": "pingpong", "value1": 1e-6}), plan_of("aa"), quick)
    (buffers,) = [a for a in found if a.name == "buffers"]
    assert why in buffers.missing and why in buffers.sentence


def test_a_rate_is_the_inverse_of_the_time_with_its_interval():
    rows = [{"test": "window", "bytes": size, "value1": t * 1e-7} for size in (8, 1024) for t in range(1, 10)]
    (rate,) = [a for a in answers(table(*rows), plan_of("aa")) if a.name == "rate"]
    found = rate.values["package_messages_per_s"]
    assert found.value == pytest.approx(2e6)
    assert found.low < found.value < found.high
    assert rate.values["package_peak_bytes_per_s"].value == pytest.approx(1024 * 2e6)


def test_a_point_that_was_only_seen_in_the_other_regime_is_kept():
    # GIVEN two regimes, and a size that only the rarer one has
    rows = [{"test": "window", "value1": 1e-7, "sentinel_s": 30e-9}] * 20
    rows += [{"test": "window", "value1": 3e-7, "sentinel_s": 170e-9}] * 8
    rows += [{"test": "window", "value1": 9e-7, "sentinel_s": 170e-9, "bytes": 64}] * 4
    found = medians(table(*rows), ["bytes"], pl.col("value1"))
    assert found[8,].count == 20 and found[8,].value == 1e-7
    assert found[64,].count == 4


def test_a_slope_has_an_interval_that_holds_it():
    found = slope([1, 2, 3, 4, 5, 6, 7, 8], [10, 20, 30, 40, 95, 60, 70, 80])
    assert found.low <= found.value == 10 <= found.high
    assert slope([1], [5]) is None
    assert isinstance(slope([1, 2], [5, 6]), Median)


def test_a_verdict_on_progress_needs_an_interval_on_one_side_of_half():
    def verdict(low, value, high):
        return progress.judge(
            {(1 << 20, 400): Median(value, low, high, 9), (1 << 20, 50): Median(1, 1, 1, 9)}
        )

    assert verdict(0.0, 0.1, 0.3)[0] == "independent"
    assert verdict(0.8, 0.97, 1.1)[0] == "in-call"
    # THEN what lies on both sides is not decided, and what there is is said
    assert verdict(0.3, 0.6, 0.9) == (None, verdict(0.3, 0.6, 0.9)[1])
    assert (
        "takes 60 % of the time that it takes without computation (between 30 and 90 %)"
        in verdict(0.3, 0.6, 0.9)[1]
    )
    # THEN few samples decide nothing, whatever they say
    few = progress.judge({(1 << 20, 400): Median(0.1, 0.1, 0.1, 3)})
    assert few[0] is None and "3 samples only" in few[1]
    # THEN small messages say nothing
    assert progress.judge({(1024, 400): Median(0, 0, 0, 9)})[0] is None


def test_overlap_is_the_share_of_the_exchange_that_computation_hides():
    # GIVEN work of four exchanges, after which a quarter of the exchange is left to wait for
    row = {"test": "post_work_wait", "bytes": 1 << 20, "setting": 400, "value2": 4.0, "value3": 0.25}
    rows = [row | {"value4": 4.0, "value5": 1.0 + n / 1e6} for n in range(9)]
    # THEN smaller messages do not count
    rows += [r | {"bytes": 65536, "value3": 1.0} for r in rows]
    found = answers(table(*rows), plan_of("aa"))
    (answer,) = [a for a in found if a.name == "progress"]
    assert answer.values["package_overlap_share"].value == pytest.approx(0.75, abs=0.01)
    # THEN it is said in sentences, and not as one row of figures
    assert answer.sentence == (
        "do large messages advance while a rank computes? Package: yes. After a computation 4 times as long as the "
        "exchange, the wait for 1.05 MB takes 25 % of the time that it takes without computation. 75 % of the exchange "
        "is hidden behind the computation."
    )
    assert progress.verdicts(found) == {"package": "independent"}
    # THEN computation that messages hold up hides nothing, and never less than nothing
    (slow,) = [
        a for a in answers(table(*[r | {"value3": 3.0} for r in rows]), plan_of("aa")) if a.name == "progress"
    ]
    assert slow.values["package_overlap_share"].value == 0


def test_the_core_that_serves_the_network_is_named():
    # GIVEN ranks on cores 0 and 1, and softirqs mostly on core 0
    rows = []
    for ran, trip in ((0, 3e-6), (1, 2e-6)):
        common = {
            "test": "core_scan",
            "channel": "network",
            "source_cpu": ran,
            "value1": trip,
            "value2": 1e-6,
        }
        rows += [common | {"setting": 0, "value4": 1.0, "value5": -1.0}]
        rows += [common | {"setting": 1, "value4": 0.95}, common | {"setting": 2, "value4": 0.05}]
    (cores,) = [a for a in answers(table(*rows), plan_of("aabb")) if a.name == "cores"]
    assert cores.values["serving_core"] == 0
    assert cores.values["best_latency_core"] == 1
    # THEN misses that nobody counted are unknown, with the reason
    assert cores.values["cache_misses"] is None and "counters" in cores.reasons["cache_misses"]
    assert [row[-1] for row in cores.rows] == [None, None]


def test_memory_of_a_peer_is_the_slope_and_one_peer_has_none():
    rows = [
        {"test": "peers", "channel": "other nodes", "launch": launch, "setting": k}
        | {"value1": 1e7 + launch * 3e5 + 5e4 * k, "value2": 1e7 + launch * 3e5, "value3": 4e6}
        for launch in range(2)
        for k in range(1, 8)
    ]
    rows += [{"test": "peers", "channel": "same node", "setting": 1, "value1": 1e7, "value2": 1e7}]
    (peers,) = [a for a in answers(table(*rows), plan_of("aabb")) if a.name == "peers"]
    found = peers.values["other_nodes_bytes_per_peer"]
    assert found.value == pytest.approx(5e4)
    assert found.low <= found.value <= found.high
    assert peers.values["same_node_bytes_per_peer"] is None
    assert "1 peer only" in peers.reasons["same_node_bytes_per_peer"]
    assert peers.sentence == (
        "how much resident memory does a rank take for each peer that it talks to? Other nodes: 50 kB for each of 7 "
        "peers, and 0 s of processor time for the first message to one. Same node: not known (1 peer only, "
        "at least 3 are needed)."
    )


def first_messages(longer: float, used: float) -> list[dict]:
    row = {"test": "peers", "messages": 6, "value1": 1e7, "value2": 1e7, "value4": longer, "value5": used}
    return [row | {"channel": "other nodes", "launch": 0, "setting": k} for k in range(1, 8)]


@pytest.mark.parametrize(
    ("used", "connect"),
    [(8e-4, 4e-4), (3e-4, 3e-4), (0.0, 0.0)],  # processor time beyond half of the way is the other end's
)
def test_a_first_message_costs_processor_time_that_is_at_most_half_of_what_the_way_took_longer(used, connect):
    found = first_contact(table(*first_messages(8e-4, used)), share=0.0)
    assert found["other nodes"].value == pytest.approx(connect) and "same node" not in found


def test_one_or_two_peers_tell_nothing_of_first_messages():
    assert first_contact(table(*first_messages(8e-4, 1e-4)[:2]), share=0.0) == {}


def test_what_a_rank_used_while_it_waited_is_no_cost_of_a_first_message():
    found = first_contact(table(*first_messages(1e-2, 1e-3)), share=0.05)
    assert found["other nodes"].value == pytest.approx(5e-4)


def test_first_messages_like_later_ones_cost_nothing():
    # GIVEN trips that are longer or shorter by chance
    rows = [
        row | {"value4": by * 1e-4, "value5": by * 1e-4} for by, row in enumerate(first_messages(0, 0), -3)
    ]
    found = first_contact(table(*rows), share=0.05)["other nodes"]
    assert found.value == found.low == 0 < found.high


def test_samples_without_a_first_round_trip_tell_nothing_of_it():
    old = [row | {"messages": 3} for row in first_messages(0.0, 0.0)]
    (peers,) = [a for a in answers(table(*old), plan_of("aabb")) if a.name == "peers"]
    assert peers.values["other_nodes_connect_s"] is None and "timed" in peers.reasons["other_nodes_connect_s"]


def test_tiles_save_what_the_whole_takes_longer():
    rows = [
        {
            "test": "tiled_ring",
            "channel": "group 1 x 2",
            "bytes": 64 << 20,
            "setting": tile,
            "value1": t * (1 + n / 100),
        }
        for tile, t in ((0, 1.0), (1 << 20, 0.6), (256 << 10, 0.3))
        for n in range(9)
    ]
    (tiling,) = [a for a in answers(table(*rows), plan_of("aa")) if a.name == "tiling"]
    assert tiling.values["ring_1x2_saved_share"].value == pytest.approx(0.7, abs=0.01)
    assert tiling.values["ring_1x2_best_tile_bytes"] == 256 << 10


def test_domains_with_the_same_cores_are_swept_once():
    assert set(memory.domains(NODE)) == {"L3+package", "numa_node+node"} or len(memory.domains(NODE)) >= 2
    assert set(memory.sweeps(plan_of("aaaa"))) == set(memory.domains(NODE))
    assert memory.why_not(plan_of("ab"))
