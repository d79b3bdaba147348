# SPDX-License-Identifier: BSD-3-Clause
"""The place in the program that findings name where call sites were recorded."""

import polars as pl
import pytest
from sampled_nodes import computing, recorded_on_nodes
from test_defects import late, recorded
from test_late_receiver import out_of_step
from test_out_of_phase import in_turns, with_interrupts
from traces import MS, recording_of, traced

from rankwise.findings.catalogue import findings_of
from rankwise.findings.places import place_of, waits_at


def with_sites(ranks, *calls):
    """Each of these calls of all ranks is at one place for 90 % of its time, and for the rest at another one."""
    for rank in ranks:
        rank.modules = ["/opt/app"]
        rank.sites = [
            (0, call, 0x100 * at + place, 10, ms * MS, 0)
            for at, call in enumerate(calls, 1)
            for place, ms in ((0x40, 90), (0x80, 10))
        ]
    return ranks


def uneven():
    ranks = traced(3)
    for me, rank in enumerate(ranks):
        rank.together("MPI_Barrier", 300 if me == 0 else 100, 1 if me == 0 else 201)
    return with_sites(ranks, "MPI_Barrier")


def evidence(recording):
    return {each.name: each for each in findings_of(recording)[0]}


def test_an_imbalance_names_where_the_others_wait(tmp_path):
    found = evidence(recording_of(tmp_path / "a.rw", uneven()))["load-imbalance"]
    # THEN that is a place to look at: what they do there besides waiting is not known
    assert (
        "the others spend most of their MPI time in MPI_Barrier at app +0x140: look at the work before that call"
        in found.evidence
    )
    # AND where no place has half of the time none is named
    ranks = uneven()
    for rank in ranks:
        rank.sites = [(0, "MPI_Barrier", offset, 10, 30 * MS, 0) for offset in (0x40, 0x80, 0xC0)]
    found = evidence(recording_of(tmp_path / "b.rw", ranks))["load-imbalance"]
    assert not any("app +0x" in line for line in found.evidence)


def test_a_straggler_names_where_the_others_wait(tmp_path):
    ranks = with_sites(computing([600, 600, 1000]), "MPI_Barrier")
    cores = {"n0": [{"user": 100}, {"user": 100}, {"user": 60, "steal": 40}]}
    found = evidence(recorded_on_nodes(tmp_path / "a.rw", ranks, cores))["straggler"]
    assert "the others spend most of their MPI time in MPI_Barrier at app +0x140" in found.evidence


def test_ranks_in_turns_name_where_each_waits(tmp_path):
    found = evidence(recorded(tmp_path / "a.rw", with_sites(late(back=True), "MPI_Recv")))["serialised"]
    assert found.evidence[0].endswith("while rank 0 computes, at app +0x140")


def test_a_pair_out_of_phase_names_where_both_wait(tmp_path):
    recording = recording_of(tmp_path / "a.rw", with_sites(in_turns(), "MPI_Send", "MPI_Wait"))
    found = evidence(with_interrupts(recording, [0.01, 0.25, 0.24, 0.01]))["out-of-phase"]
    assert {"rank 1 waits at app +0x240", "rank 0 waits at app +0x140"} <= set(found.evidence)


def test_a_late_receiver_names_where_its_sender_waits(tmp_path):
    first, second, path = out_of_step(tmp_path)
    found = evidence(recording_of(path, with_sites([first, second], "MPI_Send")))["late-receiver"]
    assert "app +0x140" in found.sentence + " ".join(found.evidence)


@pytest.mark.parametrize(
    ("site", "text"),
    [
        ({"module": None}, "code of no file +0x7f00"),
        ({"module": "/opt/lib/libsolver.so"}, "libsolver.so +0x7f00"),
        (
            {
                "module": "/opt/app",
                "file": "/home/user/src/solver.cpp",
                "line": 7,
                "function": f"void ns::Solver<{'std::pair<int, int>, ' * 300}int>::step(std::vector<double> const&)",
            },
            "ns::Solver::step, solver.cpp:7",
        ),
    ],
)
def test_a_place_is_written_as_in_the_report(site, text):
    # GIVEN a place of which little is known, or whose name is very long
    unknown = {"module": None, "offset": 0x7F00, "file": None, "line": None, "function": None}
    types = {"module": pl.String, "file": pl.String, "line": pl.Int64, "function": pl.String}
    sites = pl.DataFrame(
        [{"rank": 3, "call": "MPI_Recv", "time_s": 1.0} | unknown | site], schema_overrides=types
    )
    # THEN
    assert place_of(sites, 3, "MPI_Recv") == text
    assert waits_at(sites, [3]) == f"MPI_Recv at {text}"
