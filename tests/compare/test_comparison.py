# SPDX-License-Identifier: BSD-3-Clause
"""Runs before and after: what they were made with, what is more than noise, and the gate."""

import json

import pytest
from raw_writer import ABORTED, FINALIZED, MANIFEST, TRACED, Rank, u, write_recording, z

from rankwise.cli import main
from rankwise.compare.comparison import compare
from rankwise.findings.catalogue import findings_of
from rankwise.recording import Recording
from rankwise.recording.layouts import NOTE_COLUMNS

MS = 1_000_000


def run(path, mpi_ms=100, time_ms=1000, heavy_ms=0, **more) -> Recording:
    """Two ranks that are in MPI_Allreduce for so long; rank 1 computes more by `heavy_ms` meanwhile."""
    ranks = [Rank(me, 2, affinity=(me,), run_ns=time_ms * MS, **more) for me in range(2)]
    ranks[0].count("MPI_Allreduce", ns=(mpi_ms + heavy_ms) * MS)
    ranks[1].count("MPI_Allreduce", ns=mpi_ms * MS)
    return Recording.open(write_recording(path, ranks))


def side(tmp_path, name, times):
    return [run(tmp_path / f"{name}{at}.rw", time_ms=each) for at, each in enumerate(times)]


def of(found, what):
    return next(each for each in found.differences if each.what == what)


def test_two_runs_have_differences_and_no_noise(tmp_path):
    found = compare([run(tmp_path / "a.rw")], [run(tmp_path / "b.rw", mpi_ms=300, time_ms=1200)])
    assert (found.run_time.before, found.run_time.after) == (pytest.approx(1.0), pytest.approx(1.2))
    assert found.run_time.ratio == pytest.approx(1.2)
    call = of(found, "MPI_Allreduce, mean rank")
    assert (call.before, call.after) == (pytest.approx(0.1), pytest.approx(0.3))
    # THEN nothing is called noise, nor more than noise
    assert {each.beyond_noise for each in found.differences} == {None}
    assert "one run of each side" in found.noise and found.gate is None


def test_of_counters_a_clock_is_a_time_and_all_switches_are_told_from_involuntary_ones(tmp_path, capsys):
    # GIVEN two runs that differ in perf's clock and switches
    for name, clock_ms, switches in (
        ("a", 4000, 750),
        ("b", 1000, 400),
        ("c", 0.004, 750),
        ("d", 0.001, 400),
    ):
        ranks = [Rank(me, 2, affinity=(me,)) for me in range(2)]
        for rank in ranks:
            counted = {"counter:task-clock": round(clock_ms * MS), "counter:context-switches": switches}
            rank.notes = [(10_000, NOTE_COLUMNS, 3, counter) for counter in counted]
            grown = [number for count in counted.values() for number in (count, 1, 1)]
            rank.rows = [[10_000, *[0] * 6], [10_000 + 1000 * MS, *grown]]
        write_recording(tmp_path / f"{name}.rw", ranks)
    assert main(["report", str(tmp_path / "a.rw"), str(tmp_path / "b.rw")]) == 0
    told = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    # THEN the clock has a unit, and the switches say which they are
    assert "task-clock 8 s 2 s -75.0 %" in told
    assert "context-switches, voluntary too 1.5 k 800 -46.7 %" in told
    # AND of times that hardly count nothing is told
    assert main(["report", str(tmp_path / "c.rw"), str(tmp_path / "d.rw")]) == 0
    assert "task-clock" not in capsys.readouterr().out
    # AND for programs both have the names and numbers that perf gives them
    assert main(["report", str(tmp_path / "a.rw"), str(tmp_path / "b.rw"), "--json"]) == 0
    found = {each["what"]: each for each in json.loads(capsys.readouterr().out)["differences"]}
    assert (found["task-clock"]["before"], found["task-clock"]["unit"]) == (8000 * MS, "")
    assert found["context-switches"]["before"] == 1500


def test_the_first_line_is_of_both_sides_as_that_of_the_page(tmp_path, capsys):
    one, other = run(tmp_path / "a.rw"), run(tmp_path / "b.rw", time_ms=1200)
    # WHEN two runs are compared
    assert main(["report", str(one.path), str(other.path)]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    # THEN the first line says what the runs were, and so does the title of the page
    name = one.program_name
    assert first == f"{name}: before 2 ranks, 1 node, 1 s; after 2 ranks, 1 node, 1.2 s; +20.0 %"
    assert f"<h1>{first}</h1>" in (tmp_path / "a-b.report.html").read_text()


def test_what_the_runs_were_made_with_comes_first(tmp_path):
    before = run(tmp_path / "a.rw")
    ranks = [Rank(me, 2, affinity=(2 + me,), version="MPICH Version:      5.0.2") for me in range(2)]
    after = Recording.open(write_recording(tmp_path / "b.rw", ranks))
    found = compare([before], [after])
    assert {each.what: (each.before, each.after) for each in found.changed}["MPI"] == (
        "MPICH 4.3.2",
        "MPICH 5.0.2",
    )
    assert found.moved[:2] == ["2 of 2 ranks run elsewhere", "rank 0: node 0, PU 0 -> node 0, PU 2"]


def test_several_runs_a_side_tell_noise_from_change(tmp_path):
    before = side(tmp_path, "a", [1000, 1010, 1020, 1030, 1040])
    slower = side(tmp_path, "b", [1100, 1110, 1120, 1130, 1140])
    alike = side(tmp_path, "c", [1005, 1012, 1018, 1033, 1038])
    found = compare(before, slower)
    # THEN two of the 252 divisions differ as much, and all differences are 60 to 140 ms
    assert found.run_time.p == pytest.approx(2 / 252) and found.run_time.beyond_noise
    assert found.run_time.shift == pytest.approx(0.1)
    assert 0.06 <= found.run_time.low < 0.1 < found.run_time.high <= 0.14
    assert compare(before, alike).run_time.beyond_noise is False


def test_a_function_that_one_side_alone_calls_is_there_with_none_of_the_other(tmp_path, capsys):
    before = run(tmp_path / "a.rw")
    ranks = [Rank(me, 2, affinity=(me,)) for me in range(2)]
    for rank in ranks:
        rank.count("MPI_Neighbor_alltoallw_init", 25 * MS, times=12)
    after = Recording.open(write_recording(tmp_path / "b.rw", ranks))
    found = compare([before], [after])
    new, gone = of(found, "MPI_Neighbor_alltoallw_init calls"), of(found, "MPI_Allreduce calls")
    assert (new.before, new.after, new.ratio) == (0, 24, None) and (gone.before, gone.after) == (2, 0)
    # THEN both are told, in lines that fit
    assert main(["report", str(tmp_path / "a.rw"), str(tmp_path / "b.rw")]) == 0
    lines = capsys.readouterr().out.splitlines()
    told = [line.split()[-1] for line in lines if "MPI_Nei" in line or "Allreduce" in line]
    assert sorted(told) == ["gone", "gone", "new", "new"] and max(map(len, lines[3:])) <= 80


def test_with_several_a_side_only_what_is_more_than_noise_is_told_in_lines_that_fit(tmp_path, capsys):
    times = [1000, 1001, 1002, 1003]
    before = [run(tmp_path / f"a{at}.rw", time_ms=each, mpi_ms=1) for at, each in enumerate(times)]
    after = [run(tmp_path / f"b{at}.rw", time_ms=each, mpi_ms=400) for at, each in enumerate(times)]
    names = [[str(each.path) for each in side] for side in (before, after)]
    assert main(["report", *names[0], "--against", *names[1]]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = lines[next(at for at, line in enumerate(lines) if line.startswith("More than noise")) :]
    assert any("MPI_Allreduce, mean rank" in row and "x 400" in row for row in rows)
    assert max(map(len, rows)) <= 80 and not any("run time" in row for row in rows)


def test_findings_that_went_and_came(tmp_path):
    even, uneven = run(tmp_path / "a.rw"), run(tmp_path / "b.rw", heavy_ms=600)
    found = compare([uneven], [even])
    assert [each.name for each in found.gone] == ["load-imbalance"] and found.new == []
    assert [each.name for each in compare([even], [uneven]).new] == ["load-imbalance"]
    # AND a run that could not be looked at has mended nothing
    partial = run(tmp_path / "c.rw", flags=ABORTED)
    assert compare([uneven], [partial]).gone == []


def test_a_finding_of_the_whole_run_is_neither_gone_nor_new_where_another_rank_has_most(tmp_path):
    # GIVEN two runs whose ranks all wait for a core, in one rank 0 most and in one rank 1
    runs = []
    for most in range(2):
        ranks = [
            Rank(me, 2, affinity=(me,), runqueue_wait_ns=(300 + 9 * (me == most)) * MS) for me in range(2)
        ]
        for rank in ranks:
            rank.count("MPI_Allreduce", ns=400 * MS)
        runs.append(Recording.open(write_recording(tmp_path / f"{most}.rw", ranks)))
    assert [[each.name for each in findings_of(run)[0]] for run in runs] == [["busy-cores"]] * 2
    found = compare(*([run] for run in runs))
    assert (found.gone, found.new) == ([], [])


@pytest.mark.parametrize(("above", "status"), [("5%", 1), ("25 %", 0)])
def test_the_gate_goes_by_the_run_time(tmp_path, capsys, above, status):
    run(tmp_path / "a.rw"), run(tmp_path / "b.rw", time_ms=1200)
    line = ["report", str(tmp_path / "a.rw"), str(tmp_path / "b.rw"), "--fail-above", above]
    assert main([*line, "--json"]) == status
    gate = json.loads(capsys.readouterr().out)["gate"]
    assert gate["failed"] == bool(status) and gate["slower"] == pytest.approx(0.2)
    assert main(line) == status
    out = capsys.readouterr().out
    text = " ".join(out.split())
    assert "20.0 % slower" in text and "one run of each side, so it may be noise" in text
    assert max(map(len, out.splitlines()[3:])) <= 80


def test_with_several_a_side_the_gate_takes_more_than_noise(tmp_path):
    before = side(tmp_path, "a", [1000, 1200, 1400])
    noisy, slower = side(tmp_path, "b", [1100, 1300, 1500]), side(tmp_path, "c", [1500, 1600, 1700])
    assert not compare(before, noisy, 0.05).gate.failed
    assert compare(before, slower, 0.05).gate.failed


def test_what_the_gate_cannot_judge_is_refused(tmp_path, capsys):
    a, b, c, d = (str(tmp_path / name) for name in ("a.rw", "b.rw", "c.rw", "d.rw"))
    run(tmp_path / "a.rw"), run(tmp_path / "b.rw"), run(tmp_path / "c.rw", flags=ABORTED)
    # AND a program that ended with a status of its own
    run(tmp_path / "d.rw")
    (tmp_path / "d.rw" / "recording.json").write_text(json.dumps(MANIFEST | {"exit_status": 3}))
    for words, expected in (
        ([a, "--against", b, c, "--fail-above", "5%"], "c.rw` is of a run that did not end well"),
        ([a, a, "--against", b, "--fail-above", "5%"], "2 runs against 1 are too few"),
        ([a, d, "--fail-above", "5%"], "d.rw` is of a run that did not end well"),
        ([a, b, "--scaling", "strong"], "on different numbers of ranks, and all are on 2"),
        ([a, "--against", b, "--scaling", "weak"], "`--scaling` goes without `--against`"),
        ([a, b, a], "it is not said which of 3 recordings"),
        ([a, b, "--section", "use"], "`--section` goes with one recording"),
        ([a, "--fail-above", "5%"], "`--fail-above` compares recordings, and there is one"),
        ([a, b, "--fail-above", "5"], "`5` is no percentage"),
    ):
        assert main(["report", *words]) in (1, 2)
        err = capsys.readouterr().err
        assert expected in " ".join(err.split())


def with_a_trace(path) -> Recording:
    """Two ranks that compute for 700 ms and are in a barrier for 300 ms."""
    ranks = [Rank(me, 2, affinity=(me,), flags=FINALIZED | TRACED) for me in range(2)]
    for rank in ranks:
        rank.event("MPI_Barrier", 700 * MS, 300 * MS, u(0) + z(-1) + u(0) + u(8) + u(0) + u(0) + u(0))
        rank.count("MPI_Barrier", ns=300 * MS)
    return Recording.open(write_recording(path, ranks))


def test_efficiencies_with_and_without_a_trace_are_not_compared_and_that_is_said(tmp_path, capsys):
    traced = [with_a_trace(tmp_path / f"{name}.rw") for name in "ab"]
    plain = run(tmp_path / "c.rw")
    # GIVEN two with a trace, whose efficiencies are one quantity
    assert of(compare(traced[:1], traced[1:]), "parallel").before == pytest.approx(0.7)
    # THEN with one that has none there is no difference, and each view says why
    found = compare(traced[:1], [plain])
    assert "not all runs have a trace" in found.no_efficiencies
    assert not [each for each in found.differences if each.of == "efficiency"]
    page = tmp_path / "page.html"
    assert main(["report", str(traced[0].path), str(plain.path), "-o", str(page)]) == 0
    for text in (capsys.readouterr().out, page.read_text()):
        assert "ot comparable: not all runs have a trace" in " ".join(text.split())


def test_efficiencies_of_ranks_that_waited_for_a_core_somewhere_are_not_compared(tmp_path):
    runs = [run(tmp_path / f"{name}.rw", mpi_ms=400, runqueue_wait_ns=300 * MS) for name in "ab"]
    found = compare(runs[:1], runs[1:])
    assert "only a trace tells" in found.no_efficiencies
    assert not [each for each in found.differences if each.of == "efficiency"]
