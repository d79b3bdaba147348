# SPDX-License-Identifier: BSD-3-Clause
"""Binary GOAL: the layout byte by byte, back and forth with the text, and what is wrong named with its byte."""

import random
import struct

import pytest
from hypothesis import given, settings
from reference import goal
from schedules import schedules

from rankwise import _core
from rankwise.errors import RankwiseError

Schedule = _core.schedule.Schedule


def node(waits_for, kind, peer, value, tag, cpu, nic, ends, starts):
    """One operation; `ends` and `starts` are (count, first) of its successors in the appendix."""
    return struct.pack("<IBIQIBBIIII", waits_for, kind, peer, value, tag, cpu, nic, *ends, *starts)


# rank 0: calc 1000, then a send of 10 bytes on interface 1; while the send runs, a computation on processor 2.
RANK_0 = b"".join(
    [
        struct.pack("<III", 3, 1, 0),  # three operations, one waits for nothing: number 0
        node(0, 3, 0, 1000, 0, 0, 0, (1, 0), (0, 1)),
        node(1, 1, 1, 10, 7, 0, 1, (0, 1), (1, 1)),
        node(1, 3, 0, 5, 0, 2, 0, (0, 2), (0, 2)),
        struct.pack("<II", 1, 2),
    ]
)
RANK_1 = struct.pack("<III", 1, 1, 0) + node(0, 2, 0, 10, 7, 0, 0, (0, 0), (0, 0))
HEADER = struct.pack("<QIBB", 4223, 2, 2, 1)
FIRST = 4 + 2 + 2 * 16  # offsets count from behind the cookie
FILE = (
    HEADER
    + struct.pack("<QQQQ", FIRST, FIRST + len(RANK_0), FIRST + len(RANK_0), FIRST + len(RANK_0) + len(RANK_1))
    + RANK_0
    + RANK_1
)
TEXT = """num_ranks 2

rank 0 {
l0: calc 1000
l1: send 10b to 1 tag 7 nic 1
l2: calc 5 cpu 2
l1 requires l0
l2 irequires l1
}

rank 1 {
l0: recv 10b from 0 tag 7
}
"""


def test_every_field_is_read():
    assert Schedule.read_goal_binary(FILE, "x.bin").write_goal() == TEXT


def test_every_field_is_written():
    assert Schedule.read_goal(TEXT, "x.goal").write_goal_binary() == FILE


@settings(max_examples=100, deadline=None)
@given(schedules(lanes=True, wildcards=True))
def test_binary_and_text_hold_the_same(ranks):
    first = Schedule.read_goal(goal(ranks), "a.goal")
    binary = first.write_goal_binary()
    assert Schedule.is_goal_binary(binary)
    second = Schedule.read_goal_binary(binary, "b.bin")
    assert second.write_goal() == first.write_goal()
    assert second.write_goal_binary() == binary


ROOTLESS = struct.pack("<QIBBQQII", 4223, 1, 0, 0, 22, 22 + 8 + 39, 1, 0) + node(
    0, 3, 0, 5, 0, 0, 0, (0, 0), (0, 0)
)


def changed(at, data):
    return FILE[:at] + data + FILE[at + len(data) :]


BLOCK = 8 + FIRST
NODE = BLOCK + 12


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (FILE[:10], "`x.bin` byte 10: the file ends in its header"),
        (FILE[:40], "`x.bin` byte 40: the file ends in its table of ranks"),
        (FILE[:-1], "`x.bin` byte 30: rank `1` is said to be from byte 175 to 226 of 225 behind the cookie"),
        (changed(0, struct.pack("<Q", 2342)), "`x.bin` was used up"),
        (changed(8, struct.pack("<I", 0)), "byte 8: `0` ranks"),
        (changed(30, struct.pack("<Q", FIRST)), "byte 30: rank `1` overlaps another rank"),
        (
            changed(BLOCK, struct.pack("<I", 4)),
            "byte 46: rank `0` is said to have 4 operations, for which its 137 bytes are too few",
        ),
        (
            changed(BLOCK + 8, struct.pack("<I", 1)),
            "byte 54: operation `1` of rank `0` is said to wait for nothing",
        ),
        (ROOTLESS, "byte 34: `0` operations of rank `0` are said to wait for nothing, 1 do"),
        (
            changed(NODE, struct.pack("<I", 1)),
            "byte 58: operation 0 of rank `0` waits for 1 others, 0 name it",
        ),
        (changed(NODE + 4, b"\x09"), "byte 62: an operation of kind `9`"),
        (changed(NODE + 9, b"\xff" * 8), "byte 67: a computation of `18446744073709551615` ns"),
        (changed(NODE + 39 + 5, struct.pack("<I", 2)), "byte 102: rank `2`, but there are `2`"),
        (changed(NODE + 39 + 17, b"\xff" * 4), "byte 114: a send with any tag"),
        (changed(NODE + 23, struct.pack("<I", 9)), "byte 81: successors 0 to 9 of a list of 2"),
        (changed(NODE + 3 * 39, struct.pack("<I", 3)), "byte 175: operation `3` of `3` of rank `0`"),
    ],
)
def test_what_is_wrong_is_named_with_its_byte(data, expected):
    with pytest.raises(RankwiseError) as error:
        Schedule.read_goal_binary(data, "x.bin")
    assert expected in str(error.value)
    assert error.value.hint


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_damaged_files_are_read_or_refused(seed):
    # GIVEN a file with everything the format has
    dice = random.Random(seed)
    for _ in range(3000 if seed == 1 else 100000):
        # WHEN bytes are overwritten, or the end is lost
        data = bytearray(FILE)
        for _ in range(dice.randint(1, 6)):
            at = dice.randrange(len(data))
            data[at : at + 4] = dice.choice([dice.randbytes(1), dice.randbytes(4), b"\xff" * 4, bytes(4)])
        data = bytes(data[: dice.choice([len(data), dice.randrange(len(data))])])
        # THEN there is a schedule, or one error
        try:
            schedule = Schedule.read_goal_binary(data, "x.bin")
        except RankwiseError:
            continue
        assert schedule.ranks > 0
