# SPDX-License-Identifier: BSD-3-Clause
"""POP's scaling of runs on different numbers of ranks, by closed form."""

import json

import pytest
from raw_writer import FINALIZED, TRACED, Rank, u, write_recording, z

from rankwise.cli import main
from rankwise.compare.scaling import scaling
from rankwise.recording import Recording
from rankwise.recording.layouts import NOTE_COLUMNS

MS = 1_000_000


def run(path, ranks, useful_ms, mpi_ms) -> Recording:
    made = [Rank(me, ranks, run_ns=(useful_ms + mpi_ms) * MS) for me in range(ranks)]
    for rank in made:
        rank.count("MPI_Allreduce", ns=mpi_ms * MS)
    return Recording.open(write_recording(path, made))


def test_strong_scaling(tmp_path):
    # GIVEN 2 ranks of 800 ms computation, and 4 of 500 ms, so 2 s in all instead of 1.6 s
    one, other = run(tmp_path / "a.rw", 2, 800, 200), run(tmp_path / "b.rw", 4, 500, 100)
    found = scaling([other, one])
    assert (found.kind, found.assumed) == ("strong", True)
    first, second = found.rows
    assert (first.ranks, first.speed_up, first.computation_scaling) == (2, 1, 1)
    assert second.speed_up == pytest.approx(1 / 0.6)
    assert second.computation_scaling == pytest.approx(1.6 / 2)
    assert second.parallel == pytest.approx(5 / 6)
    assert second.global_efficiency == pytest.approx(5 / 6 * 0.8)
    assert second.ipc_scaling is None and "instructions" in found.why_no_counters


def test_weak_scaling_is_told_from_work_that_grows_with_the_ranks(tmp_path):
    one, other = run(tmp_path / "a.rw", 2, 800, 200), run(tmp_path / "b.rw", 4, 840, 260)
    found = scaling([one, other])
    assert found.kind == "weak"
    assert found.rows[1].computation_scaling == pytest.approx(800 / 840)
    assert found.rows[1].speed_up == pytest.approx(2 * 1 / 1.1)
    # AND it can be said
    assert scaling([one, other], "strong").rows[1].computation_scaling == pytest.approx(1.6 / 3.36)


def test_counters_tell_work_from_speed(tmp_path):
    # GIVEN twice the instructions on twice the ranks with half the IPC, and cores of the same frequency
    made = {}
    for name, ranks, instructions, cycles in (("a", 2, 1_000, 500), ("b", 4, 1_000, 1_000)):
        made[name] = [Rank(me, ranks, run_ns=cycles * MS) for me in range(ranks)]
        for rank in made[name]:
            rank.count("MPI_Allreduce", ns=MS)
            columns = (("counter:instructions", instructions), ("counter:cycles", cycles))
            rank.notes = [(10_000, NOTE_COLUMNS, 3, counter) for counter, _ in columns]
            grown = [number * MS for _, count in columns for number in (count, 1, 1)]
            rank.rows = [[10_000, *[0] * 6], [10_000 + cycles * MS, *grown]]
    one, other = (Recording.open(write_recording(tmp_path / f"{name}.rw", made[name])) for name in "ab")
    # THEN it is weak scaling by instructions, and IPC alone is worse
    found = scaling([one, other])
    assert (found.kind, found.why_no_counters) == ("weak", None)
    row = found.rows[1]
    assert row.instruction_scaling == pytest.approx(1) and row.ipc_scaling == pytest.approx(0.5)
    assert row.frequency_scaling == pytest.approx(1, rel=0.01)
    # AND the three make computation scaling
    product = row.instruction_scaling * row.ipc_scaling * row.frequency_scaling
    assert row.computation_scaling == pytest.approx(product)


def test_the_command_shows_the_table(tmp_path, capsys):
    run(tmp_path / "a.rw", 2, 800, 200), run(tmp_path / "b.rw", 4, 500, 100)
    line = ["report", str(tmp_path / "a.rw"), str(tmp_path / "b.rw")]
    assert main(line) == 0
    out = capsys.readouterr().out
    assert "2 to 4 ranks, strong scaling, 1.67 times as fast, ideal 2\n" in out
    assert max(map(len, out.splitlines())) <= 80
    (of_four,) = [line.split() for line in out.splitlines() if line.startswith("      4 ")]
    assert of_four == ["4", "600", "ms", "1.67", "0.67", "0.83", "1.00", "0.83", "0.80"]
    assert main([*line, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "rankwise.scaling/1"


def test_efficiencies_of_runs_with_and_without_a_trace_are_no_series(tmp_path, capsys):
    # GIVEN 2 ranks with a trace, and 4 without
    ranks = [Rank(me, 2, flags=FINALIZED | TRACED) for me in range(2)]
    for rank in ranks:
        rank.event("MPI_Barrier", 700 * MS, 300 * MS, u(0) + z(-1) + u(0) + u(8) + u(0) + u(0) + u(0))
        rank.count("MPI_Barrier", ns=300 * MS)
    write_recording(tmp_path / "a.rw", ranks)
    run(tmp_path / "b.rw", 4, 400, 100)
    words = ["report", str(tmp_path / "a.rw"), str(tmp_path / "b.rw")]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    # THEN there is the speed-up, and no efficiency, and each view says why
    assert [row["speed_up"] for row in found["rows"]] == pytest.approx([1, 2])
    assert {row[name] for row in found["rows"] for name in ("parallel", "computation_scaling")} == {None}
    page = tmp_path / "page.html"
    assert main([*words, "-o", str(page)]) == 0
    for text in (capsys.readouterr().out, page.read_text()):
        assert "not comparable: not all runs have a trace" in " ".join(text.split())
