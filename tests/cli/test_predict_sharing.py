# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise predict` on machines whose ranks share memories and an interrupt core."""

import json
from pathlib import Path

import pytest
from raw_writer import FINALIZED, TRACED, Rank, u, write_recording, z

from rankwise.cli import main

MACHINES = Path(__file__).resolve().parents[2] / "machines"
TCP = str(MACHINES / "ten-gigabit-ethernet-a-2007.machine.toml")
MEMORY = """
[[resources]]
name = "memory"
kind = "memory"
discipline = "sharing"
per = "package"
capacity_bytes_per_s = { value = 8e9, obtained = "assumed", source = "test" }
per_core_bytes_per_s = { value = 8e9, obtained = "assumed", source = "test" }
"""


@pytest.fixture
def goal(tmp_path):
    """Rank 0 computes for 1 ms; rank 1, beside it, gets 20 messages of rank 2 on another node."""
    lines = ["num_ranks 4", "rank 0 {", "calc 1000000", "}", "rank 1 {"]
    lines += ["recv 10000b from 2"] * 20 + ["}", "rank 2 {"]
    lines += ["send 10000b to 1"] * 20 + ["}", "rank 3 {", "calc 500000", "}"]
    path = tmp_path / "stream.goal"
    path.write_text("\n".join(lines))
    return str(path)


@pytest.fixture
def with_memory(tmp_path):
    text = (MACHINES / "bensley-infiniband-2007.machine.toml").read_text()
    first, *resources = text.split("[[resources]]")
    others = [each for each in resources if 'kind = "memory"' not in each]
    path = tmp_path / "memory.machine.toml"
    path.write_text("[[resources]]".join([first + MEMORY, *others]))
    return str(path)


def predicted(capsys, *words):
    assert main(["predict", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_interrupt_core_is_told(goal, capsys):
    document = predicted(capsys, goal, "--machine", TCP, "--nodes", "2x2")
    (one,) = document["placements"]
    # GIVEN 20 messages of 3 us and 10000 bytes at 750 MB/s each
    (used,) = [each for each in one["shared"] if each["busy_s"] > 0]
    work = 20 * (3e-6 + 10000 / 750e6)
    assert (used["resource"], used["node"], used["number"]) == ("interrupt core", "node0", 0)
    assert used["busy_s"] == pytest.approx(work)
    # THEN that is what it costs rank 0
    assert one["rank"]["interrupts_s"][0] == pytest.approx(work)
    lost = {each["name"]: each["lost_s"] for each in one["losses"]}
    assert lost["interrupt core"] == pytest.approx(work)
    assert document["machines"][0]["resources_not_modelled"] == []
    # THEN it can be left out
    without = predicted(capsys, goal, "--machine", TCP, "--nodes", "2x2", "--without", "interrupts")
    assert without["placements"][0]["makespan_s"] == pytest.approx(one["makespan_s"] - work)
    assert document["model"]["interrupts"] and not without["model"]["interrupts"]


def test_windows_take_all_that_ranks_share(tmp_path, with_memory, capsys):
    # GIVEN a message of a rank to itself
    rank = Rank(0, 1, flags=FINALIZED | TRACED)
    rank.event("MPI_Send", 1000, 100, u(0) + z(0) + z(0) + u(8))
    rank.event("MPI_Recv", 1000, 100, u(0) + z(0) + z(0) + z(0) + z(0) + u(8))
    recording = write_recording(tmp_path / "x.rw", [rank])
    for machine in (with_memory, TCP):
        words = (str(recording), "--machine", machine, "--nodes", "1x1")
        # WHEN its schedule is replayed whole, and in windows THEN both say the same
        whole = predicted(capsys, *words)["placements"][0]
        in_windows = predicted(capsys, *words, "--memory", "0")["placements"][0]
        assert in_windows["makespan_s"] == whole["makespan_s"] > 0
        assert in_windows["ranks"] == whole["ranks"]


def test_how_much_of_the_computation_waits_for_memory_is_an_option(tmp_path, with_memory, capsys):
    # GIVEN four ranks that compute for 1 ms, two on each package's memory, which is enough for one
    path = tmp_path / "calc.goal"
    path.write_text("num_ranks 4\n" + "".join(f"rank {r} {{\ncalc 1000000\n}}\n" for r in range(4)))
    words = (str(path), "--machine", with_memory, "--nodes", "1x4")

    def makespan(*more):
        return predicted(capsys, *words, *more)["placements"][0]["makespan_s"]

    # THEN none of it if nothing is said, all of it, or only that of some ranks: 1 - f + f (1 + f) of two alike
    assert makespan() == pytest.approx(1e-3)
    assert makespan("--memory-bound", "1") == pytest.approx(2e-3)
    assert makespan("--memory-bound", "0.2,0-1=0.75") == pytest.approx(1e-3 * (0.25 + 0.75 * 1.75))
    assert makespan("--memory-bound", "1", "--without", "slowdown") == pytest.approx(1e-3)
    assert makespan("--memory-bound", "1", "--without", "memory") == pytest.approx(1e-3)
    assert makespan("--memory-bound", "1", "--set", "memory.capacity=16GB/s") == pytest.approx(1e-3)


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        ("much", "`much` is not the part of computation that waits for memory, from 0 to 1"),
        ("1.5", "`1.5` is not the part of computation that waits for memory, from 0 to 1"),
        ("0.5,4=1", "`4=1` names ranks that the program does not have"),
    ],
)
def test_parts_that_make_no_sense_are_refused(goal, with_memory, capsys, bound, expected):
    assert main(["predict", goal, "--machine", with_memory, "--memory-bound", bound]) == 1
    assert expected in capsys.readouterr().err


def test_a_machine_without_memory_cannot_slow_computation(goal, capsys):
    assert main(["predict", goal, "--machine", TCP, "--memory-bound", "0.5"]) == 1
    error = capsys.readouterr().err
    assert "has no memory that computation could wait for" in error
    assert "per_core_bytes_per_s" in error
