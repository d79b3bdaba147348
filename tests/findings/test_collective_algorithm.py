# SPDX-License-Identifier: BSD-3-Clause
"""Collectives whose algorithm a setting asks for, in traces written by hand."""

import json

import pytest
from raw_writer import MANIFEST, SCHED, u
from traces import MS, recording_of, traced

from rankwise.findings.algorithm_settings import asking, choices, forced
from rankwise.findings.catalogue import findings_of
from rankwise.findings.collective_times import Alike, alike, inside_s
from rankwise.launchers.hydra import SYNTAX as HYDRA_LINE
from rankwise.launchers.line import Segment
from rankwise.launchers.openmpi import SYNTAX as OPEN_MPI_LINE
from rankwise.launchers.scan import scan
from rankwise.record.settings import settings
from rankwise.recording.raw import CALL_NAMES
from rankwise.replay.plain import LogGOPS, predict_plain

LINEAR = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", "OMPI_MCA_coll_tuned_allreduce_algorithm": "1"}
OPEN_MPI = "Open MPI v5.0.11, package: Open MPI, ident: 5.0.11, repo rev: v5.0.11"


def told(path, ranks=8, size=1 << 20, inside_ms=4.0, version=OPEN_MPI, hosts=1, **set_to):
    """Findings of ranks that compute and are in an allreduce together, a hundred times."""
    made = traced(ranks)
    for number, rank in enumerate(made):
        rank.host = f"n{number * hosts // ranks}"
        for _ in range(100):
            rank.together("MPI_Allreduce", 1, inside_ms, size)
    return told_of(path, made, version, **set_to)


def told_of(path, made, version=OPEN_MPI, **set_to):
    """Findings of ranks, with these settings."""
    ranks = len(made)
    for rank in made:
        rank.version = version
    recording = recording_of(path, made)
    command = ["/usr/bin/mpirun", "-n", str(ranks), "./a"]
    launcher = {"kind": "prterun", "vendor": "Open MPI", "version": "5.0.11", "path": "/usr/bin/mpirun"}
    (path / "recording.json").write_text(
        json.dumps(MANIFEST | {"settings": set_to, "command": command, "launcher": launcher})
    )
    return [
        each for each in findings_of(type(recording).open(path))[0] if each.name.startswith("collective-")
    ]


def test_an_algorithm_that_a_setting_asks_for_is_told_with_what_the_library_takes_by_itself(tmp_path):
    # GIVEN 1 MiB that eight ranks add up one after the other, as a setting says
    (found,) = told(tmp_path / "a.rw", **LINEAR)
    # THEN that is told, and not that the collective dominates
    assert found.name == "collective-algorithm"
    assert found.sentence.startswith(
        "MPI_Allreduce of 1.05 MB on 8 ranks uses the algorithm linear, because OMPI_MCA_coll_tuned"
    )
    assert 0.2 < found.cost_s < 0.4
    assert found.command == ("/usr/bin/mpirun --mca coll_tuned_allreduce_algorithm 0 -n 8 ./a")


@pytest.mark.parametrize(
    ("version", "own"),
    [(OPEN_MPI, "han"), (OPEN_MPI.replace("5.0.11", "4.1.8"), "rabenseifner_halves")],
    ids=["5.0", "4.1"],
)
def test_what_the_library_takes_by_itself_is_that_of_its_version(tmp_path, version, own):
    (found,) = told(tmp_path / "a.rw", version=version, hosts=2, **LINEAR)
    assert f"without that, the library takes {own}" in found.sentence


@pytest.mark.parametrize(
    "changed",
    [
        {"ranks": 2},  # two ranks exchange their halves in any case
        {"OMPI_MCA_coll_tuned_use_dynamic_rules": "0"},  # without it the other setting counts for nothing
        {"OMPI_MCA_coll_tuned_allreduce_algorithm": "5"},  # is not modelled
        {"OMPI_MCA_coll_tuned_allreduce_algorithm": "6"},  # is as good
        {"inside_ms": 0.02},
    ],
)
def test_what_fits_or_is_not_known_is_not_told(tmp_path, changed):
    found = told(tmp_path / "a.rw", **(LINEAR | changed))
    assert "collective-algorithm" not in [each.name for each in found]


@pytest.mark.parametrize(
    ("ranks", "algorithm", "rounds"), [(8, "binomial", 3), (8, "linear", 7), (16, "chain", 15)]
)
def test_one_call_takes_as_long_as_its_longest_path(ranks, algorithm, rounds):
    # GIVEN messages that cost latency only, each sent when the one before it has gone
    bcast = Alike(list(CALL_NAMES).index("MPI_Bcast"), tuple(range(ranks)), 0, 8, 8, 0, 1, 1.0)
    steps = predict_plain(bcast.schedule(algorithm, []), LogGOPS(g_s=1.0)).makespan_s
    if algorithm == "linear":
        # all are sent at once, a gap apart
        assert steps == pytest.approx(rounds - 1)
    else:
        hops = predict_plain(bcast.schedule(algorithm, []), LogGOPS(L_s=1.0)).makespan_s
        assert hops == pytest.approx(rounds)


def test_time_in_a_collective_counts_from_the_last_that_came(tmp_path):
    ranks = traced(2)
    for late, rank in zip((0, 4), ranks, strict=True):
        rank.together("MPI_Allreduce", 1 + late, 6 - late)
    spent = inside_s(recording_of(tmp_path / "a.rw", ranks).timeline())
    assert spent.tolist() == pytest.approx([0.002, 0.002])


def test_collectives_take_until_the_last_rank_leaves_and_one_that_was_disturbed_does_not_count(tmp_path):
    # GIVEN 99 calls to which both ranks come together, and that one leaves after 1 ms, the other after 4 ms
    ranks = traced(2)
    for inside_ms, rank in zip((1, 4), ranks, strict=True):
        rank.together("MPI_Allreduce", 5, inside_ms)
        for _ in range(98):
            rank.together("MPI_Allreduce", 5 - inside_ms, inside_ms)
        # AND one in which both are for 50 ms
        rank.together("MPI_Allreduce", 5 - inside_ms, 50)
    # WHEN the time of all is asked for
    (found,) = alike(recording_of(tmp_path / "a.rw", ranks).timeline(), lambda kind: True)
    # THEN each counts with 4 ms
    assert found.count == 100
    assert found.lasts_s == pytest.approx(0.4)


def test_collectives_take_no_longer_than_what_was_spent_in_them(tmp_path):
    # GIVEN 51 calls of 10 ms and 49 of 1 ms
    ranks = traced(2)
    for rank in ranks:
        for inside_ms in [10] * 51 + [1] * 49:
            rank.together("MPI_Allreduce", 5, inside_ms)
    # WHEN the time of all is asked for
    (found,) = alike(recording_of(tmp_path / "a.rw", ranks).timeline(), lambda kind: True)
    # THEN it is theirs, and not a hundred times the median
    assert found.lasts_s == pytest.approx(0.559)


def with_cores(ranks, calls):
    """Ranks that compute 1 ms and are in an allreduce of 1 MiB together, sampled behind each one.

    Args:
        ranks: How many.
        calls: By call, each rank's ms in it, and how many of these ms it waited for a core.
    """
    made = traced(ranks)
    for each in calls:
        longest_ms = max(inside_ms for inside_ms, _ in each)
        for rank, (inside_ms, waited_ms) in zip(made, each, strict=True):
            rank.together("MPI_Allreduce", 1 + longest_ms - inside_ms, inside_ms, 1 << 20)
            rank.event(SCHED, 0, 0, u(waited_ms * MS) + u((1 + longest_ms - waited_ms) * MS))
            rank.runqueue_wait_ns += waited_ms * MS
    return made


def test_one_rank_without_a_core_makes_no_algorithm_slow(tmp_path):
    # GIVEN allreduces of 1 ms, but that in each one another one of eight ranks waits 9 ms for a core, and all for it
    calls = [[(10, 9 if rank == number % 8 else 0) for rank in range(8)] for number in range(100)]
    made = with_cores(8, calls)
    # THEN what is left of a call is 1 ms
    (found,) = alike(recording_of(tmp_path / "a.rw", made).timeline(), lambda kind: True)
    assert found.lasts_s == pytest.approx(0.1)


def test_waiting_for_a_core_in_a_few_calls_hides_no_algorithm(tmp_path):
    # GIVEN 95 calls of 4 ms, and five in which all ranks wait 100 ms for a core
    made = with_cores(8, [[(4, 0)] * 8] * 95 + [[(104, 100)] * 8] * 5)
    # THEN the algorithm is told, with what the 4 ms of all are without it
    (found,) = told_of(tmp_path / "a.rw", made, **LINEAR)
    assert found.name == "collective-algorithm" and 0.2 < found.cost_s < 0.4
    assert "100 calls take about 400 ms" in found.evidence[0]


def line_of(syntax, line):
    options, rest = scan(line.split()[1:], syntax)
    return [Segment(options, rest[0], tuple(rest[1:]), None)]


def test_settings_are_those_of_the_environment_and_of_the_line():
    line = line_of(
        OPEN_MPI_LINE, "mpirun --mca coll_tuned_bcast_algorithm 1 -x UCX_TLS=tcp -x PATH -n 2 ./a --mca x y"
    )
    assert settings(line, {"OMP_NUM_THREADS": "2", "UCX_TLS": "all", "HOME": "/root"}) == {
        "OMPI_MCA_coll_tuned_bcast_algorithm": "1",
        "OMP_NUM_THREADS": "2",
        "UCX_TLS": "tcp",
    }
    line = line_of(HYDRA_LINE, "mpiexec -genv FI_TOKEN a -genv FI_PROVIDER tcp ./a")
    assert settings(line, {}) == {"FI_PROVIDER": "tcp", "FI_TOKEN": "***"}


def test_what_can_be_asked_for_is_understood():
    for family in ("mpich", "openmpi"):
        for operation in ("allreduce", "bcast", "alltoall", "allgather", "reduce"):
            for algorithm, value in choices(family, operation).items():
                asked = forced(asking(family, operation, value), family, operation)
                assert asked and asked.algorithm == algorithm
            assert forced(asking(family, operation, None), family, operation) is None
