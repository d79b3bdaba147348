# SPDX-License-Identifier: BSD-3-Clause
"""SimGrid's time-independent traces: what each action becomes, real traces, and what is wrong named with its line."""

import random
import re
from pathlib import Path

import pytest

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.replay.plain import LogGOPS, predict_plain
from rankwise.schedule.source import load

TRACES = Path(__file__).parent / "traces"  # of tests/programs/simgrid_actions.c by smpirun 3.32 on four ranks


def source(tmp_path, text, **arguments):
    path = tmp_path / "trace.txt"
    path.write_text(text)
    return load(path, **arguments)


def messages(goal):
    """(bytes, count) of the sends of GOAL text."""
    sizes = [int(size) for size in re.findall(r"send (\d+)b", goal)]
    return sum(sizes), len(sizes)


def test_computation_and_messages(tmp_path):
    read = source(
        tmp_path,
        "0 init\n1 init\n0 compute 2e6\n0 send 1 7 1000 0\n1 recv 0 7 1000 0\n1 sleep 0.001\n0 finalize\n1 finalize\n",
        flops_per_s=1e9,
    )
    assert (read.kind, read.library, read.omitted) == ("simgrid", "mpich", {})
    assert read.schedule.write_goal().split("\n") == [
        "num_ranks 2", "", "rank 0 {", "l0: calc 2000000", "l1: send 8000b to 1 tag 0", "l1 requires l0", "}",
        "", "rank 1 {", "l0: recv 8000b from 0 tag 0", "l1: calc 0", "l2: calc 1000000",
        "l1 requires l0", "l2 requires l1", "}", "",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("0 init\n0 send 1 3 10\n1 init\n1 recv 0 3 10\n", 10),
        ("0 init 1\n0 send 1 3 10\n1 init 1\n1 recv 0 3 10\n", 80),
        ("0 init\n0 Isend 1 1e3\n0 wait\n1 init\n1 Irecv 0 1e3\n1 wait\n", 1000),
        ("0 init\n0 ssend 1 3 10 1\n1 init\n1 recv 0 3 0 1\n", 40),
    ],
)
def test_sizes_count_datatypes(tmp_path, text, length):
    assert messages(source(tmp_path, text).schedule.write_goal()) == (length, 1)


def test_what_is_not_waited_for_runs_beside_computation(tmp_path):
    # GIVEN a message of 10 us that comes while its receiver computes 8 us
    text = (
        "0 init\n0 isend 1 0 1 6\n0 compute 1\n0 wait 0 1 0\n"
        "1 init\n1 irecv 0 0 1 6\n1 compute 8000\n1 wait 0 1 0\n1 compute 1000\n"
    )
    schedule = source(tmp_path, text, flops_per_s=1e9).schedule
    # THEN the second computation starts with the message, not after the sum of both
    assert predict_plain(schedule, LogGOPS(L_s=10e-6)).makespan_s == pytest.approx(11e-6)


@pytest.mark.parametrize(
    ("action", "total", "count"),
    [
        ("barrier", 0, 8),
        ("bcast 100 1 0", 2400, 3),
        ("reduce 100 0 2 0", 2400, 3),
        ("allreduce 1 0 0", 64, 8),
        ("gather 3 3 1 0 0", 96, 3),
        ("scatter 4 4 0 0 0", 128, 3),
        ("allgather 5 5 0 0", 480, 8),
        ("gatherv 2 2 2 2 2 0 0 0", 48, 3),
    ],
)
def test_a_collective_becomes_the_messages_of_its_algorithm(tmp_path, action, total, count):
    text = "".join(f"{rank} {action}\n" for rank in range(4))
    assert messages(source(tmp_path, text).schedule.write_goal()) == (total, count)


@pytest.mark.parametrize("library", ["mpich", "openmpi"])
@pytest.mark.parametrize(
    ("action", "name", "arguments"),
    [
        ("allreduce 100 0 0", "allreduce", {"bytes": 800}),
        ("scan 7 0 0", "scan", {"bytes": 56}),
        ("exscan 7 0 0", "exscan", {"bytes": 56}),
        ("alltoall 6 6 0 0", "alltoall", {"bytes": 48}),
        ("reducescatter 1 2 3 4 0 0", "reduce_scatter", {"total_bytes": 80, "sizes": [8, 16, 24, 32]}),
        ("allgatherv {0} 2 2 2 2 0 0", "allgatherv", {"bytes": 16, "total_bytes": 64, "sizes": [16] * 4}),
    ],
)
def test_the_algorithm_is_that_of_the_library(tmp_path, action, name, arguments, library):
    text = "".join(f"{rank} {action.format(2)}\n" for rank in range(4))
    chosen = {key: value for key, value in arguments.items() if key != "sizes"}
    algorithm = _core.collectives.select(library, name, size=4, element_bytes=8, **chosen)
    sent = [
        step[3]
        for rank in range(4)
        for step in _core.collectives.steps(name, algorithm, rank=rank, size=4, element_bytes=8, **arguments)
        if step[0] == 0
    ]
    read = source(tmp_path, text, library=library)
    assert messages(read.schedule.write_goal()) == (sum(sent), len(sent))


def test_blocks_of_different_lengths_are_those_of_the_root(tmp_path):
    counts = {
        0: "2 0 0 0 0 1 0 0",
        1: "1 2 3 4 2 1 0 0",
    }  # as smpirun writes them: zeros where they do not count
    text = "".join(
        f"{rank} scatterv {counts[1] if rank == 1 else f'0 0 0 0 {rank + 1} 1 0 0'}\n" for rank in range(4)
    )
    assert messages(source(tmp_path, text).schedule.write_goal()) == ((1 + 3 + 4) * 8, 3)


def test_a_nonblocking_collective_ends_where_it_is_waited_for(tmp_path):
    text = "".join(
        f"{rank} ibarrier\n{rank} compute 1000\n{rank} wait {rank} {rank} -779\n" for rank in range(2)
    )
    schedule = source(tmp_path, text, flops_per_s=1e9).schedule
    assert predict_plain(schedule, LogGOPS(L_s=5e-7)).makespan_s == pytest.approx(1e-6)


def test_wildcards_take_what_is_told_or_certain(tmp_path):
    text = (
        "0 isend 1 5 8 6\n0 isend 1 6 16 6\n0 waitall 2\n0 irecv -333 1 24 6\n0 waitall 1\n"
        # any tag takes the first message of its source; any source what its wait says
        "1 irecv 0 -444 8 6\n1 irecv -333 6 16 6\n1 wait 0 1 5\n1 wait 0 1 6\n"
    )
    goal = source(tmp_path, text).schedule.write_goal()
    sent = re.findall(r"send (\d+)b to 1 tag (\d+)", goal)
    assert re.findall(r"recv (\d+)b from 0 tag (\d+)", goal) == sent
    # AND a receive for which nothing is left is one from MPI_PROC_NULL
    assert "-1" not in goal


def test_communicators_are_said_to_be_left_out(tmp_path):
    read = source(tmp_path, "0 comm_split 5\n0 test 0 0 0\n0 isend 0 1 1 6\n0 irecv 0 1 1 6\n")
    assert sorted(count for count in read.omitted.values()) == [1, 1, 2]
    assert any("MPI_COMM_WORLD" in what for what in read.omitted)


def test_the_trace_that_smpirun_writes():
    read = load(TRACES / "simgrid.txt", flops_per_s=1e6)
    assert read.schedule.ranks == 4
    assert read.omitted == {}
    # THEN it replays to its end, and computes what is written in it
    prediction = predict_plain(read.schedule, LogGOPS(L_s=10e-6, G_s_per_byte=1e-9))
    written = sum(
        float(line.split()[2])
        for line in (TRACES / "simgrid" / "rank-2.txt").read_text().splitlines()
        if " compute " in line
    )
    assert prediction.parts_s["computation"][2] == pytest.approx(written / 1e6)
    assert prediction.makespan_s > prediction.parts_s["computation"].max()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 compute 5\n", "line 1: computation in floating-point operations"),
        ("0 jump 5\n", "line 1: the action `jump` is not known"),
        ("0 init\n\nzero init\n", "line 3: `zero init` is not a rank and an action"),
        ("0 init\n0 send 1 0 1 6\n", "line 2: `0 send 1 0 1 6`: rank `1` of `1`"),
        ("0 init\n0 send 0 0 1 99\n", "line 2: `0 send 0 0 1 99`: datatype `99` is none of SimGrid's"),
        ("0 init\n0 send 0 x 1\n", "line 2: `0 send 0 x 1`: invalid literal"),
        ("0 init\n0 send 0 0 1e99\n", "line 2: `0 send 0 0 1e99`: `1e99` elements of 1 bytes"),
        ("0 init\n0 sleep -1\n", "line 2: `0 sleep -1`: `-1` is negative"),
        ("0 init\n0 bcast\n", "line 2: `0 bcast` lacks an argument"),
        ("0 bcast 5 4\n", "line 1: root `4` of a communicator of `1` ranks"),
        ("0 init\n2 init\n", "rank `1` has no action, but rank `2` has"),
        (
            "0 isend 0 1 1 6\n0 irecv -333 -444 1 6\n0 waitall 2\n",
            "rank 0 line 2: a receive from any source with any",
        ),
        ("0 irecv 0 -444 1 6\n", "line 1: `0 irecv 0 -444 1 6`: a receive that nothing is sent to"),
        ("0 init\n0 send 0 1 5\n", "a message that nobody receives from rank `0` to rank `0`"),
    ],
)
def test_what_is_wrong_names_file_and_line(tmp_path, text, expected):
    with pytest.raises(RankwiseError) as error:
        source(tmp_path, text)
    assert expected in str(error.value)
    assert str(error.value).startswith(f"`{tmp_path / 'trace.txt'}`")
    assert error.value.hint


@pytest.mark.parametrize("rounds", [60, pytest.param(3000, marks=pytest.mark.slow)])
def test_damaged_traces_are_read_or_refused(tmp_path, rounds):
    # GIVEN a trace with every action
    lines = [
        line for rank in range(4) for line in (TRACES / f"simgrid/rank-{rank}.txt").read_text().splitlines()
    ]
    dice = random.Random(rounds)
    words = [
        "-1",
        "0",
        "1",
        "3",
        "9",
        "-333",
        "-444",
        "1e9",
        "nan",
        "x",
        "",
        "99999999999999999999",
        "irecv",
        "wait",
    ]
    for _ in range(rounds):
        # WHEN words and lines are changed, lost or doubled
        damaged = list(lines)
        for _ in range(dice.randint(1, 5)):
            at = dice.randrange(len(damaged))
            parts = damaged[at].split() or ["0"]
            parts[dice.randrange(len(parts))] = dice.choice(words)
            damaged[at] = dice.choice([" ".join(parts), damaged[dice.randrange(len(damaged))], ""])
        # THEN there is a schedule, or one error
        try:
            read = source(
                tmp_path, "\n".join(damaged[: dice.choice([None, dice.randrange(1, 200)])]), flops_per_s=1e9
            )
        except RankwiseError:
            continue
        assert isinstance(read.schedule, _core.schedule.Schedule)


def test_lines_of_goal_are_not_looked_up_as_files(tmp_path, monkeypatch):
    # GIVEN a GOAL file of thousands of lines
    file = tmp_path / "long.goal"
    operations = "\n".join(f"l{n}: calc 1" for n in range(5000))
    file.write_text(f"num_ranks 1\nrank 0 {{\n{operations}\n}}\n")
    looked_up = []
    is_file = Path.is_file
    monkeypatch.setattr(Path, "is_file", lambda self: looked_up.append(self) or is_file(self))
    # WHEN it is read
    read = load(file)
    # THEN what it is was found by its first lines
    assert read.kind == "goal" and read.schedule.operations == 5000
    assert len(looked_up) < 100
