# SPDX-License-Identifier: BSD-3-Clause
"""Cases of studies that are measured: kept, taken up again, parts of job arrays, refused runs."""

import json
import os

import mpis
import msgspec
import pytest

from rankwise.cli import main
from rankwise.errors import RankwiseError
from rankwise.run.timed_run import Made
from rankwise.study.cases import Case, Outcome, Seats
from rankwise.study.platforms import shipped
from rankwise.study.program import parse_program
from rankwise.study.request import Request
from rankwise.study.run import measured, of_recording, outcomes, programs
from rankwise.study.run.on_cluster import Cluster

PLATFORM = shipped("bensley-infiniband-2007")
OUTCOME = Outcome(1.0, [0.5], [0.2], [0.3], 10, 1000)


def cases(count):
    return [Case(parse_program("cg.S"), 2, Seats(1, 2), f"case {at}") for at in range(count)]


@pytest.fixture
def made(monkeypatch):
    """What was really run; runs do nothing."""
    ran = []

    def measure(request, platform, case):
        ran.append(case.label)
        return OUTCOME

    monkeypatch.setattr(measured, "measure", measure)
    return ran


def test_an_interrupted_study_goes_on_where_it_was(made, tmp_path, monkeypatch):
    request = Request(mode="lab", directory=tmp_path)
    # GIVEN a study that was killed in its third case
    outcomes.outcomes(request, PLATFORM, cases(2))
    (tmp_path / "outcomes" / "half.json").write_text('{"time_s": 1')
    # WHEN it is started again
    found = outcomes.all_outcomes(request, PLATFORM, cases(4))
    # THEN nothing is measured twice
    assert made == [f"case {at}" for at in range(4)]
    assert len(found) == 4


def test_an_outcome_that_was_cut_is_made_again(made, tmp_path):
    request = Request(mode="lab", directory=tmp_path)
    outcomes.outcomes(request, PLATFORM, cases(1))
    (kept,) = (tmp_path / "outcomes").iterdir()
    kept.write_bytes(kept.read_bytes()[:-5])
    assert outcomes.all_outcomes(request, PLATFORM, cases(1)) == {cases(1)[0]: OUTCOME}
    assert made == ["case 0", "case 0"]


def test_elements_of_a_job_array_share_the_cases(made, tmp_path):
    for part in (1, 2, 3):
        outcomes.outcomes(Request(mode="cluster", directory=tmp_path, part=(part, 3)), PLATFORM, cases(7))
    assert sorted(made) == [f"case {at}" for at in range(7)]
    # THEN all together are there without a run
    outcomes.all_outcomes(Request(mode="cluster", directory=tmp_path), PLATFORM, cases(7))
    assert len(made) == 7


def test_a_part_says_that_others_are_missing(made, tmp_path):
    with pytest.raises(RankwiseError, match="2 of 4 cases are made by other parts"):
        outcomes.all_outcomes(Request(mode="cluster", directory=tmp_path, part=(1, 2)), PLATFORM, cases(4))


def test_predictions_are_not_kept(tmp_path):
    request = Request(directory=tmp_path)
    outcomes.all_outcomes(request, PLATFORM, cases(1))
    assert not list(tmp_path.iterdir())


def test_runs_that_this_machine_decided_do_not_count(monkeypatch):
    # GIVEN runs of which every second one counts
    runs = iter([Made(9.0, None, 9.0, "asleep"), Made(2.0, None, 2.0), Made(9.0, None, 9.0, "asleep")] * 3)
    monkeypatch.setattr(measured, "_run", lambda request, platform, case: (None, next(runs)))
    monkeypatch.setattr(
        measured, "outcome_of", lambda recording, time_s: msgspec.structs.replace(OUTCOME, time_s=time_s)
    )
    found = measured.measure(Request(mode="lab"), PLATFORM, cases(1)[0])
    assert (found.time_s, found.high_s) == (2.0, 2.0)
    assert found.runs == 2


def test_a_case_without_a_run_that_counts_is_refused(monkeypatch):
    monkeypatch.setattr(
        measured, "_run", lambda request, platform, case: (None, Made(9.0, None, 9.0, "ranks were asleep"))
    )
    with pytest.raises(RankwiseError, match="counts: ranks were asleep"):
        measured.measure(Request(mode="lab"), PLATFORM, cases(1)[0])


def test_several_runs_come_to_their_median():
    several = [
        msgspec.structs.replace(OUTCOME, time_s=time_s, network_bytes=int(time_s)) for time_s in (5, 1, 3)
    ]
    found = of_recording.of_several(several)
    assert (found.time_s, found.low_s, found.high_s, found.network_bytes) == (3, 1, 5, 3)


@pytest.mark.parametrize(
    "typed", [["-n", "8"], ["-np", "8"], ["-n", "8", "-hosts", "a,b"]], ids=["n", "np", "hosts"]
)
def test_each_case_has_its_own_number_of_ranks(typed):
    cluster = Cluster(("mpiexec", *typed), None, PLATFORM)
    assert cluster._without_ranks() == ["mpiexec", *typed[2:]]


def test_programs_do_the_share_of_their_computation_that_the_case_says(monkeypatch):
    monkeypatch.setattr(programs, "build", lambda name, launcher: f"/cache/{name}")
    case = Case(parse_program("ring --tile 65536"), 2, Seats(1, 2), "whole", 3, computation=0.5)
    assert programs.words_of(case) == [
        *("/cache/ring", "--tile", "65536", "--compute", "0.5x", "--iterations", "3"),
    ]
    own = Case(parse_program("./app input"), 2, Seats(1, 2), "own", 3)
    assert programs.words_of(own) == ["./app", "input"]


def test_a_recording_cannot_be_run_again():
    case = Case(parse_program("app.rw"), 2, Seats(1, 2), "recorded")
    with pytest.raises(RankwiseError, match="is a recording"):
        programs.words_of(case)


@pytest.mark.slow
def test_a_study_on_one_host_is_measured_by_its_launcher(tmp_path, monkeypatch, capsys):
    # GIVEN this host as the cluster
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two PUs")
    monkeypatch.chdir(tmp_path)
    launcher = [str(mpis.named("mpich-5.0.2").mpiexec), "-n", "2"]
    words = [
        "study",
        "data-tiling",
        "--ranks",
        "2",
        "--json",
        "-o",
        "tiles",
        "--on",
        "cluster",
        "--",
        *launcher,
    ]
    # WHEN two ranks on it process their data whole and in tiles
    assert main(words) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["how"] == "measured"
    assert all(value > 0 for value in first["tables"][0]["rows"][0][1:])
    # THEN the same study again measures nothing
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "tiles" / "outcomes").iterdir()}
    assert len(kept) == 6
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["tables"] == first["tables"]
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "tiles" / "outcomes").iterdir()} == kept
