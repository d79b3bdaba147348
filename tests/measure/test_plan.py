# SPDX-License-Identifier: BSD-3-Clause
"""Who measures which channel."""

from rankwise.machine.topology import from_synthetic
from rankwise.measure.plan import Rank, choose
from rankwise.measure.sharing import counts_in, sharing_counts
from rankwise.measure.steps import FULL, QUICK, effort, steps_for

# OS cores 0, 2 on one chip and 1, 3 on the other, as in the paper on message distribution.
BENSLEY = from_synthetic("package:2 l2:1 core:2 pu:1(indexes=0,2,1,3)")
EIGHT = from_synthetic("package:2 l3:2 core:2 pu:1")


def ranks_on(node, bound: dict[int, tuple[str, tuple[int, ...]]]) -> list[Rank]:
    """Ranks with logical cores."""
    return [Rank(n, host, cores, tuple(node.pus[c][0] for c in cores)) for n, (host, cores) in bound.items()]


def apart(one, other):
    return False


def test_every_channel_of_a_node_is_reached_by_two_unbound_ranks():
    # GIVEN two packages with two L3 each, and two ranks that may run everywhere
    ranks = ranks_on(EIGHT, {0: ("a", tuple(range(8))), 1: ("a", tuple(range(8)))})
    plan = choose(ranks, {"a": EIGHT}, apart)
    # THEN there is a pair for L3, package and node, none of them on OS core 0
    assert set(plan.pairs) == {"L3", "package", "node"}
    cores = {channel: (pair.source.core, pair.destination.core) for channel, pair in plan.pairs.items()}
    assert {c // 2 for c in cores["L3"]} in [{n} for n in range(4)]
    assert {c // 4 for c in cores["package"]} in [{0}, {1}]
    assert {c // 4 for c in cores["node"]} == {0, 1}
    assert all(0 not in (pair.source.pu, pair.destination.pu) for pair in plan.pairs.values())
    assert plan.missing == {"network": "all ranks are on one node"}


def test_bound_ranks_stay_on_their_cores_and_what_they_cannot_reach_is_said():
    # GIVEN ranks bound to OS cores 0 and 1, which are on different chips
    ranks = ranks_on(BENSLEY, {0: ("a", (0,)), 1: ("a", (2,))})
    plan = choose(ranks, {"a": BENSLEY}, apart)
    assert set(plan.pairs) == {"node"}
    assert (plan.pairs["node"].source.pu, plan.pairs["node"].destination.pu) == (0, 1)
    assert "so close" in plan.missing["package"]


def test_ranks_on_one_core_give_nothing():
    ranks = ranks_on(BENSLEY, {0: ("a", (1,)), 1: ("a", (1,))})
    assert choose(ranks, {"a": BENSLEY}, apart).pairs == {}


def test_pairs_between_nodes_are_disjoint():
    # GIVEN four bound ranks on each of two nodes
    ranks = ranks_on(BENSLEY, {r: ("a" if r < 4 else "b", (r % 4,)) for r in range(8)})
    plan = choose(ranks, {"a": BENSLEY, "b": BENSLEY}, apart)
    ends = [end.rank for pair in plan.sharing for end in (pair.source, pair.destination)]
    assert len(plan.sharing) == 4
    assert len(set(ends)) == 8
    assert all(pair.source.host == "a" and pair.destination.host == "b" for pair in plan.sharing)
    assert plan.pairs["network"] == plan.sharing[0]
    assert plan.cores_suffice


def test_emulated_nodes_use_different_cores_of_the_machine_behind_them_if_there_are():
    # GIVEN two nodes whose cores alternate between the two PUs of one machine
    ranks = [Rank(r, "a" if r < 4 else "b", (r % 4,), (r % 2,)) for r in range(8)]
    node = from_synthetic("package:1 core:4 pu:1")
    plan = choose(ranks, {"a": node, "b": node}, lambda one, other: True)
    # THEN neither the pair inside a node nor the one between nodes shares a PU
    assert not plan.pairs["package"].shares_a_core
    assert not plan.pairs["network"].shares_a_core
    # THEN four pairs do not have a PU for each rank
    assert not plan.cores_suffice


def test_counts_of_pairs_thin_out():
    assert sharing_counts(0) == []
    assert sharing_counts(3) == [1, 2, 3]
    assert sharing_counts(12) == [1, 2, 3, 4, 8, 12]


def test_where_time_is_short_fewer_counts_of_pairs_are_tried_in_windows_that_last():
    # GIVEN two windows for each count, before which as much passes as in one of them
    assert counts_in(12, 60.0, 2) == [1, 2, 3, 4, 8, 12]
    assert counts_in(12, 0.01, 2) == [1, 12]
    assert counts_in(1, 0.01, 2) == [1]
    assert counts_in(0, 1.0, 2) == []
    for seconds in (0.1, 0.5, 1.0, 1.3, 2.0):
        counts = counts_in(12, seconds, 2)
        assert counts[0] == 1 and counts[-1] == 12
        assert len(counts) == 2 or 0.8 * seconds / len(counts) / 3 >= 0.1


def test_later_launches_close_in_on_the_eager_limit():
    # GIVEN a limit between 4096 and 8191 bytes
    ranks = ranks_on(BENSLEY, {0: ("a", (0,)), 1: ("a", (1,))})
    plan = choose(ranks, {"a": BENSLEY}, apart)
    first, later = (steps_for(plan, QUICK, around) for around in ({}, {"package": (4096, 8192)}))
    eager = [[w for w in s.arguments if w.startswith("eager:")] for s in (first, later)]
    assert "sizes=1,2,4,8" in eager[0][0]
    assert "sizes=4608,5120,5632,6144,6656,7168,7680:" in eager[1][0]
    # WHEN it is known to the byte, THEN it is not asked again
    assert not any(
        w.startswith("eager:") for w in steps_for(plan, QUICK, {"package": (4096, 4097)}).arguments
    )


def test_steps_take_about_as_long_as_was_asked_for():
    ranks = ranks_on(EIGHT, {r: (host, (r % 8,)) for r, host in enumerate("aaaaaaaabbbbbbbb")})
    plan = choose(ranks, {"a": EIGHT, "b": EIGHT}, apart)
    for asked in (QUICK, FULL, effort(False, 15.0), effort(False, 120.0), effort(True, 60.0)):
        seconds = steps_for(plan, asked, {}).seconds * asked.launches
        assert 0.3 * asked.seconds < seconds < 1.6 * asked.seconds, asked


def test_little_time_means_fewer_sizes_and_launches_but_more_than_one():
    assert effort(False, None) is FULL
    assert effort(False, 200.0).pingpong == FULL.pingpong
    assert effort(False, 15.0).pingpong == QUICK.pingpong
    assert effort(False, 5.0).launches == 2


def test_the_fit_comes_first_and_further_questions_end_with_the_time_of_a_launch():
    ranks = ranks_on(EIGHT, {r: (host, (r % 8,)) for r, host in enumerate("aaaaaaaabbbbbbbb")})
    plan = choose(ranks, {"a": EIGHT, "b": EIGHT}, apart)
    steps = steps_for(plan, QUICK, {}).arguments
    words = [dict(word.split("=") for word in step.split(":") if "=" in word) for step in steps]
    whole = QUICK.seconds / QUICK.launches
    asked = [float(step.get("skip_s", 0)) > 0 for step in words]
    # THEN all that the fit needs is before anything that may be left out
    assert asked == sorted(asked)
    assert any(asked)
    assert {step.split(":")[0] for step, may in zip(steps, asked, strict=True) if not may} >= {
        "pingpong",
        "share",
    }
    # THEN each part has its time, and plans for less from step to step
    for may in (False, True):
        part = [step for step, other in zip(words, asked, strict=True) if other == may]
        due = whole if may else whole * (1 - QUICK.questions)
        assert {step["due_s"] for step in part} == {f"{due:.4g}"}
        planned = [float(step["planned_s"]) for step in part]
        assert planned == sorted(planned, reverse=True)
