# SPDX-License-Identifier: BSD-3-Clause
"""GOAL text: what is written is read back, and what is wrong is named with its line."""

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machine_reference import Link, Place
from reference import goal
from replaying import model
from schedules import schedules

from rankwise import _core
from rankwise.errors import RankwiseError

Schedule = _core.schedule.Schedule


@settings(max_examples=150, deadline=None)
@given(schedules(lanes=True, wildcards=True))
def test_a_schedule_written_and_read_back_is_the_same(ranks):
    first = Schedule.read_goal(goal(ranks), "a.goal").write_goal()
    second = Schedule.read_goal(first, "b.goal")
    assert second.write_goal() == first
    assert second.operations == sum(map(len, ranks))
    assert second.bytes == sum(op.value for own in ranks for op in own if op.kind == "send")


def test_comments_blank_lines_and_order_do_not_matter():
    text = """
    // two ranks
    num_ranks 2   /* of them */

    rank 1 { /* rank 1
                comes first */
    b requires a  // defined below
    a: recv 10 b from 0 nic 1 cpu 2 tag 3
    b: calc 5

    }
    rank 0 {
    send 10b to 1 tag 3 }
    """
    schedule = Schedule.read_goal(text, "x.goal")
    assert (schedule.ranks, schedule.operations, schedule.messages) == (2, 3, 1)
    assert "l0: recv 10b from 0 tag 3 cpu 2 nic 1" in schedule.write_goal()


def test_windows_line_ends_are_line_ends():
    assert Schedule.read_goal("num_ranks 1\r\nrank 0 {\r\ncalc 1\r\n}\r\n", "x.goal").operations == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "line 1: expected `num_ranks`, found the end of the file"),
        ("num_ranks 0", "line 1: `num_ranks` is 0"),
        ("num_ranks x", "line 1: expected a number of ranks, found `x`"),
        ("num_ranks 99999999999", "line 1: expected a number of ranks of at most"),
        ("num_ranks 1000000000", "line 1: `1000000000` ranks in a file of 20 bytes"),
        ("num_ranks 2\nrank 2 {\n}", "line 2: rank `2`, but `num_ranks` is 2"),
        ("num_ranks 2\nrank 1 {\n}\nrank 1 {\n}", "line 4: rank `1` for the second time"),
        ("num_ranks 1\nrank 0 {\ncalc 1", "line 3: expected the end of the line, found the end of the file"),
        ("num_ranks 1\nrank 0 {\ncalc 1\n", "expected `}` at the end of rank `0`"),
        ("num_ranks 1\nrank 0 {\ncalc -1\n}", "line 3: expected nanoseconds, found `-1`"),
        ("num_ranks 1\nrank 0 {\na: calc 1\na: calc 2\n}", "line 4: label `a` for the second time"),
        ("num_ranks 1\nrank 0 {\na: calc 1\na requires b\n}", "line 4: label `b` is not defined in rank `0`"),
        ("num_ranks 1\nrank 0 {\na: wait 1\n}", "line 3: expected `send`, `recv` or `calc`, found `wait`"),
        ("num_ranks 1\nrank 0 {\nwait 1\n}", "expected `:`, `requires` or `irequires` after `wait`"),
        ("num_ranks 2\nrank 0 {\nsend 1b from 1\n}", "line 3: expected `to`, found `from`"),
        (
            "num_ranks 2\nrank 0 {\nsend 1k to 1\n}",
            "line 3: expected a number of bytes such as `10b`, found `1k`",
        ),
        ("num_ranks 2\nrank 0 {\nsend 1b to 5\n}", "line 3: rank `5`, but `num_ranks` is 2"),
        ("num_ranks 2\nrank 0 {\nsend 1b to -1\n}", "line 3: expected a rank, found `-1`"),
        ("num_ranks 2\nrank 0 {\nsend 1b to 1 tag -1\n}", "line 3: a send with any tag"),
        (
            "num_ranks 2\nrank 0 {\ncalc 1 cpu 256\n}",
            "expected a processor number of at most 255, found `256`",
        ),
        ("num_ranks 2\nrank 0 {\ncalc 1 calc 2\n}", "line 3: expected the end of the line, found `calc`"),
        ("num_ranks 2\n/* rank", "line 2: a comment without end"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text, expected):
    with pytest.raises(RankwiseError) as caught:
        Schedule.read_goal(text, "x.goal")
    assert expected in caught.value.message
    assert caught.value.hint


WORDS = [
    "num_ranks",
    "rank",
    "{",
    "}",
    "send",
    "recv",
    "calc",
    "10b",
    "b",
    "to",
    "from",
    "tag",
    "cpu",
    "nic",
    ":",
]
WORDS += [
    "requires",
    "irequires",
    "l1",
    "l2",
    "0",
    "1",
    "2",
    "-1",
    "4294967295",
    "99999999999999999999",
    "//",
    "/*",
]
WORDS += ["*/", "\n", "\r", "\0", "é"]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=40), st.booleans())
def test_anything_else_is_an_error_and_never_worse(words, headed):
    text = ("num_ranks 2\nrank 0 {\n" if headed else "") + " ".join(words)
    try:
        Schedule.read_goal(text, "x.goal")
    except RankwiseError as error:
        assert "\n" not in error.message.replace("`\n`", "")


def test_a_circle_of_edges_is_named():
    text = (
        "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 2\nc: calc 3\na requires c\nb requires a\nc irequires b\n}"
    )
    with pytest.raises(RankwiseError) as caught:
        Schedule.read_goal(text, "x.goal")
    assert "circle" in caught.value.message
    for line in ("line 3: `calc 1`", "line 4: `calc 2`", "line 5: `calc 3`"):
        assert line in caught.value.message


@pytest.mark.parametrize(
    ("rank0", "rank1", "expected"),
    [
        (
            "send 1b to 1 tag 7",
            "calc 1",
            "a message that nobody receives from rank `0` to rank `1` with tag `7`",
        ),
        (
            "calc 1",
            "recv 1b from 0 tag 7",
            "a receive that nothing is sent to from rank `0` to rank `1` with tag `7`",
        ),
        ("send 1b to 1 tag 7", "recv 1b from 0 tag 8", "from rank `0` to rank `1` with tag `7`"),
        ("send 2b to 1", "recv 1b from 0", "a message of `2` bytes meets a smaller receive, rank 1, line 6"),
    ],
)
def test_messages_without_their_other_side_are_named(rank0, rank1, expected):
    with pytest.raises(RankwiseError) as caught:
        Schedule.read_goal(f"num_ranks 2\nrank 0 {{\n{rank0}\n}}\nrank 1 {{\n{rank1}\n}}", "x.goal")
    assert expected in caught.value.message


def test_a_deadlock_names_the_circle_of_ranks():
    # GIVEN three ranks that each receive from the last before they send to the next
    text = "num_ranks 3\n"
    for rank in range(3):
        text += f"rank {rank} {{\nr: recv 1b from {(rank + 2) % 3}\ns: send 1b to {(rank + 1) % 3}\ns requires r\n}}\n"
    schedule = Schedule.read_goal(text, "x.goal")
    with pytest.raises(RankwiseError) as caught:
        schedule.replay_loggops(L_s=0, o_s=0, g_s=0, G_s_per_byte=0, O_s_per_byte=0, S_bytes=100)
    assert caught.value.message.startswith("deadlock: ")
    for rank, line in ((0, 3), (1, 8), (2, 13)):
        assert f"rank {rank}, line {line}: `recv 1b from {(rank + 2) % 3} tag 0`" in caught.value.message
    assert caught.value.hint == "one of these ranks has to send before it receives"


def test_head_to_head_rendezvous_sends_are_a_deadlock_and_eager_ones_are_not():
    text = "num_ranks 2\n"
    for rank in range(2):
        text += f"rank {rank} {{\ns: send 9b to {1 - rank}\nr: recv 9b from {1 - rank}\nr requires s\n}}\n"
    schedule = Schedule.read_goal(text, "x.goal")
    zero = {"L_s": 0, "o_s": 0, "g_s": 0, "G_s_per_byte": 0, "O_s_per_byte": 0}
    assert schedule.replay_loggops(**zero, S_bytes=9).makespan_s == 0
    with pytest.raises(RankwiseError, match="deadlock: .*send 9b to .*send 9b to ") as caught:
        schedule.replay_loggops(**zero, S_bytes=8)
    assert "eager_limit_bytes" in caught.value.hint


@pytest.mark.parametrize("rounds", [2000, pytest.param(100000, marks=pytest.mark.slow)])
def test_damaged_text_is_read_or_refused(rounds):
    # GIVEN a file with everything the text has
    text = (
        "num_ranks 2 // two\nrank 0 {\nl1: calc 1000 cpu 1\nl2: send 10b to 1 tag 7 nic 1\nl2 requires l1\n"
        "l3: calc 5\nl3 irequires l2\n}\nrank 1 {\n/* both */ recv 10b from -1 tag -1\n}\n"
    )
    words = re.findall(r"\w+|\W", text)
    more = ["", "-1", "4294967295", "1000000000", "99999999999999999999", "é", "\0"]
    more += ["{", "}", "\n", ":", "/*", "//", "requires", "rank"]
    dice = random.Random(rounds)
    for _ in range(rounds):
        # WHEN words are changed, lost or moved
        damaged = list(words)
        for _ in range(dice.randint(1, 4)):
            damaged[dice.randrange(len(damaged))] = dice.choice([*more, dice.choice(words)])
        # THEN there is a schedule, or one error with a line
        try:
            schedule = Schedule.read_goal(
                "".join(damaged[: dice.choice([None, dice.randrange(80)])]), "x.goal"
            )
        except RankwiseError as error:
            assert "line" in error.message
            continue
        assert schedule.ranks < 2**30


@pytest.mark.parametrize(
    "text",
    [
        "num_ranks 1\nrank 0 {\n"
        + "\n".join(f"a{i}: calc 1000000000000000" for i in range(10))
        + "\n".join(f"\na{i} requires a{i - 1}" for i in range(1, 10))
        + "\n}\n",
        "num_ranks 2\nrank 0 {\n"
        + "\n".join(f"a{i}: send 1000000000000000000b to 1 tag {i}" for i in range(4))
        + "\n}\nrank 1 {\n"
        + "\n".join(f"a{i}: recv 1000000000000000000b from 0 tag {i}" for i in range(4))
        + "\n}\n",
    ],
)
def test_what_takes_longer_than_is_replayed_is_said_and_does_not_overflow(text):
    # GIVEN computations, or messages, that together take months
    schedule = Schedule.read_goal(text, "a.goal")
    ranks = schedule.ranks
    place = Place([0] * ranks, *[Link(G=6, O=6, S=2**62) for _ in range(3)])
    # WHEN they are replayed under plain LogGOPS and on a machine
    replays = [
        lambda: schedule.replay_loggops(
            L_s=0, o_s=0, g_s=0, G_s_per_byte=6e-9, O_s_per_byte=6e-9, S_bytes=2**62
        ),
        lambda: schedule.replay(**model(place, list(range(ranks)))),
    ]
    # THEN both say so
    for replay in replays:
        with pytest.raises(RankwiseError, match="longer than (26|13) days"):
            replay()


def test_one_message_longer_than_is_replayed_is_refused_and_not_cut():
    # GIVEN a message that takes 20 days, which is less than a program may take
    size = 20 * 86400 * 10**9
    text = f"num_ranks 2\nrank 0 {{\nsend {size}b to 1\n}}\nrank 1 {{\nrecv {size}b from 0\n}}\n"
    schedule = Schedule.read_goal(text, "a.goal")
    place = Place([0, 0], *[Link(G=1, S=2**62) for _ in range(3)])
    for replay in (
        lambda: schedule.replay_loggops(
            L_s=0, o_s=0, g_s=0, G_s_per_byte=1e-9, O_s_per_byte=0, S_bytes=2**62
        ),
        lambda: schedule.replay(**model(place, [0, 1])),
    ):
        with pytest.raises(RankwiseError, match=r"about `172\d{13}` bytes takes longer than 13 days"):
            replay()
