# SPDX-License-Identifier: BSD-3-Clause
"""What the tuner decides of memories and pages, on nodes that do not exist."""

import pytest
from simulated_nodes import built, simulate, static

# Two cores of a NUMA node whose memory gives 16 GB/s ask for 24; two ranks there, and two that wait on another node.
NODE = "node packages 2 cores 2 memory 16e9 core_memory 12e9\npolicy act 1\n"
JOB = (
    "job a pus 0,1,2,3 compute 0.01,0.01,0.004,0.004 moves {} home 0,0,1,1\n"
    "at 0 counts traffic\nat 1 start a\nuntil 200\n"
)
BOUND, FREE = "12e9,12e9,0,0", "1e9,1e9,0,0"


@pytest.fixture(scope="session")
def simulator():
    return built()


@pytest.mark.parametrize("counted", ["traffic", "controllers"])
def test_ranks_that_wait_for_one_memory_are_spread_with_their_pages(simulator, counted):
    scenario = NODE + JOB.format(BOUND).replace("counts traffic", f"counts {counted}")
    # WHEN ranks that wait for memory all of their time are tuned
    outcome = simulate(simulator, scenario)
    # THEN one of them is on the other NUMA node, with its pages, and that is done once
    (kept,) = outcome.of("kept")
    assert len({int(unit) // 2 for unit in outcome.jobs["a"]["masks"][:2]}) == 2
    assert sorted(kept["pages"]) == [[0, 1], [1, 0]]
    assert (
        "of its computation to others that use the memory of NUMA node 0" in outcome.of("proposed")[0]["why"]
    )
    assert len(outcome.of("applied")) == 3
    # THEN an iteration takes 1 / 1.5 of what it did
    assert kept["measured_gain"] == pytest.approx(1 / 3, abs=0.02)
    assert outcome.iterations > 1.3 * static(simulator, scenario).iterations
    assert outcome.violations == []


@pytest.mark.parametrize(
    ("node", "job"),
    [
        (NODE, JOB.format(FREE)),
        (NODE, JOB.format(BOUND).replace("at 0 counts traffic\n", "")),
        (NODE.replace(" memory 16e9 core_memory 12e9", ""), JOB.format(BOUND)),
        (NODE, JOB.format(BOUND).replace(" home 0,0,1,1", "")),
    ],
    ids=["they compute", "no counters", "no machine file", "nobody knows where pages are"],
)
def test_without_a_memory_that_is_known_to_be_short_nothing_is_moved(simulator, node, job):
    outcome = simulate(simulator, node + job)
    assert outcome.of("proposed", "applied") == []


def test_a_memory_that_another_job_uses_is_no_better(simulator):
    # GIVEN another job on the other NUMA node that asks for as much there
    node = NODE.replace("cores 2", "cores 4")
    job = JOB.format(BOUND).replace("pus 0,1,2,3", "pus 0,1,4,5")
    other = "job b pus 6,7 compute 0.01,0.01 moves 12e9,12e9 home 1,1\nat 1 start b\n"
    # WHEN both are tuned, THEN none is moved
    assert simulate(simulator, node + other + job).of("applied") == []
    # WHEN the other one ends, THEN the first is spread
    outcome = simulate(simulator, node + other + "at 60 end b\n" + job)
    assert [kept["group"] for kept in outcome.of("kept")] == ["a"]
    assert outcome.of("applied")[0]["at_s"] > 60


@pytest.mark.parametrize(("bound", "moved"), [("0,0,1,1", None), ("0,-1,-1,-1", 1), ("-1,0,-1,-1", 0)])
def test_ranks_whose_pages_a_memory_policy_binds_are_not_spread(simulator, bound, moved):
    # GIVEN ranks that wait for one memory, as `numactl --membind` has bound some or all of them to it
    scenario = NODE + JOB.format(BOUND).replace(" home", f" bound {bound} home")
    # WHEN they are tuned
    outcome = simulate(simulator, scenario)
    # THEN it is the other one that goes to the other memory, or none
    if moved is None:
        assert outcome.of("proposed", "applied") == []
    else:
        (kept,) = outcome.of("kept")
        assert kept["ranks"][0] == moved
        assert sorted(kept["pages"]) == [[0, 1], [1, 0]]
        assert int(outcome.jobs["a"]["masks"][moved]) // 2 == 1
    assert outcome.violations == []


def test_pages_that_a_memory_policy_binds_stay(simulator):
    # GIVEN a job with the cores of one NUMA node, and pages of a rank that are bound to the other
    scenario = (
        "node packages 2 cores 4\npolicy act 1\n"
        "job a pus 0,1,2,3 compute 0.01,0.01,0.01,0.01 home 1,0,0,0 bound {},-1,-1,-1 away 0.3\n"
        "at 1 start a\nuntil 400\n"
    )
    # WHEN it is tuned, THEN it is not tried to move them, as it is if they are not bound
    assert simulate(simulator, scenario.format(1)).of("proposed", "applied") == []
    assert simulate(simulator, scenario.format(-1)).of("kept")


@pytest.mark.parametrize(("resident", "moved"), [(20e9, True), (200e9, False)])
def test_pages_that_would_be_on_their_way_for_minutes_stay(simulator, resident, moved):
    # GIVEN ranks whose pages are on the other NUMA node, in a job that has run for long
    scenario = (
        "node packages 2 cores 4\npolicy act 1\n"
        f"job a pus 0,1,2,3 compute 0.01,0.01,0.01,0.01 home 1,0,0,0 away 0.3 resident {resident}\n"
        "at 1 start a\nuntil 4000\n"
    )
    # WHEN it is tuned, THEN they are moved if that takes seconds, and else never tried
    outcome = simulate(simulator, scenario)
    assert bool(outcome.of("applied")) == bool(outcome.of("kept")) == moved
    assert outcome.violations == []


def test_where_pages_are_is_looked_at_again_before_they_are_moved(simulator):
    # GIVEN ranks whose pages were on the other NUMA node when they were first looked at, and are not any more
    scenario = (
        "node packages 2 cores 4\npolicy act 1\n"
        "job a pus 0,1,2,3 compute 0.01,0.01,0.01,0.01 home 1,0,0,1 away 0.3\nat 1 start a\n{}until 400\n"
    )
    now = "at 2 pages a 0 0\nat 2 pages a 3 0\n"
    # WHEN they are tuned, THEN nothing is moved
    assert simulate(simulator, scenario.format(now)).of("proposed", "applied") == []
    # WHEN those of one are still there, THEN those of this one are
    (kept,) = simulate(simulator, scenario.format(now[: len(now) // 2])).of("kept")
    assert (kept["ranks"], kept["pages"]) == ([3], [[1, 0]])


@pytest.mark.parametrize("counted", ["traffic", "controllers"])
def test_who_moved_bytes_is_told_by_where_they_were_counted(simulator, counted):
    # GIVEN a rank on each NUMA node that computes, both with their pages on the first, whose memory is too short
    node = "node packages 2 cores 2 memory 16e9 core_memory 12e9\npolicy act 1\n"
    job = (
        "job a pus 0,2,1,3 compute 0.01,0.01,0.004,0.004 moves 12e9,12e9,0,0 home 0,0,0,1\n"
        f"at 0 counts {counted}\nat 1 start a\nuntil 200\n"
    )
    # WHEN they are tuned
    outcome = simulate(simulator, node + job)
    # THEN the pages of the second come to its cores, whether caches or memories count
    assert outcome.of("kept")[-1]["pages"] == [[0, 1]] and outcome.violations == []
    assert outcome.iterations > 1.25 * static(simulator, node + job).iterations
