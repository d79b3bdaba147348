# SPDX-License-Identifier: BSD-3-Clause
"""Programs with one problem each, and where their ranks are.

A program has a line for each rank: `10` computes 10 ms, `>1:20k` sends 20 000 bytes to rank 1 (8 without a size), and
`<0:20k` receives them from rank 0. With `&` behind it the rank goes on at once, and `wait` waits for all of these.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Seats = tuple[tuple[int, int], ...]
APART: Seats = ((0, 0), (1, 0), (2, 0), (3, 0))
"""Node and core of each rank: a node each."""


@dataclass(frozen=True)
class Panel:
    """A run that is drawn.

    Attributes:
        title: What is to be seen.
        ranks: The program of each rank.
        seats: Node and core of each rank.
        memory_bound: Part of the computation that waits for memory.
        hidden: The last ranks, which stand for what holds up a message on its way, and are not drawn.
    """

    title: str
    ranks: tuple[str, ...]
    seats: Seats = APART
    memory_bound: float = 0.0
    hidden: int = 0


@dataclass(frozen=True)
class Case:
    """A picture.

    Attributes:
        name: Of its file.
        panels: The problem first, then the same program without it.
        unlike: Parts of the panels' colours that mean something else here: word -> what the legend says.
    """

    name: str
    panels: tuple[Panel, ...]
    unlike: dict[str, str] = field(default_factory=dict)


def steps(*compute_ms: float, count: int = 2) -> tuple[str, ...]:
    """Ranks that compute, and then send a word to the next one, again and again."""
    ranks = len(compute_ms)
    return tuple(
        f"{ms} >{(rank + 1) % ranks}& <{(rank - 1) % ranks} " * count for rank, ms in enumerate(compute_ms)
    )


CASES = (
    Case(
        "ranks-share-cores",
        (
            Panel(
                "ranks 0 and 1 share a core; ranks 2 and 3 wait for them",
                steps(4, 4, 4, 4),
                ((0, 0), (0, 0), (0, 1), (0, 2)),
            ),
            Panel(
                "a core for each rank",
                steps(4, 4, 4, 4),
                ((0, 0), (0, 1), (0, 2), (0, 3)),
            ),
        ),
    ),
    Case(
        "load-imbalance",
        (
            Panel("rank 2 has twice as much to compute", steps(4, 4, 9, 4)),
            Panel("the same work, divided evenly", steps(5, 5.5, 5.5, 5)),
        ),
    ),
    Case(
        "late-sender",
        (
            Panel("rank 0 computes before it sends", ("10 >1:100k 1", "2 <0:100k 9")),
            Panel("rank 0 sends first", (">1:100k 10 1", "2 <0:100k 9")),
        ),
    ),
    Case(
        "late-receiver",
        (
            Panel("MPI_Recv after the computation: the send waits for it", ("2 >1:200k 8", "10 <0:200k 1")),
            Panel("MPI_Irecv before the computation", ("2 >1:200k 8", "<0:200k& 10 wait 1")),
        ),
    ),
    Case(
        "serialised",
        (
            Panel(
                "each rank needs all of the result before it", ("9 >1:100k", "<0:100k 9 >2:100k", "<1:100k 9")
            ),
            Panel(
                "the work in three pieces",
                (
                    "3 >1:33k " * 3,
                    "<0:33k 3 >2:33k " * 3,
                    "<1:33k 3 " * 3,
                ),
            ),
        ),
    ),
    Case(
        "small-messages",
        (
            Panel("twelve messages of 8 bytes", ("0.5 >1 " * 12 + "2", "2 " + "<0 " * 12 + "2")),
            Panel("one message of 96 bytes", ("6 >1:96 2", "2 <0:96 2")),
        ),
    ),
    Case(
        "network-full",
        (
            Panel(
                "ranks 0 and 1 of one node send to ranks 2 and 3 of another node",
                ("2 >2:600k& 4 wait", "2 >3:600k& 4 wait", "2 <0:600k 2", "2 <1:600k 2"),
                ((0, 0), (0, 1), (1, 0), (1, 1)),
            ),
            Panel(
                "ranks that exchange messages are on one node",
                ("2 >2:600k& 4 wait", "2 >3:600k& 4 wait", "2 <0:600k 2", "2 <1:600k 2"),
                ((0, 0), (1, 0), (0, 1), (1, 1)),
            ),
        ),
    ),
    Case(
        "memory-full",
        (
            Panel(
                "four ranks use the memory of one socket",
                steps(5, 5, 5, 5),
                ((0, 0), (0, 1), (0, 2), (0, 3)),
                memory_bound=1.0,
            ),
            Panel(
                "two ranks on each socket",
                steps(5, 5, 5, 5),
                ((0, 0), (0, 1), (0, 4), (0, 5)),
                memory_bound=1.0,
            ),
        ),
    ),
    Case(
        "lost-packet",
        (
            Panel(
                "the packets of one message are lost; TCP sends them again after 200 ms",
                ("20 >2 20 >1 20", "20 <2 20 <0 20", "<0 200 >1"),
                hidden=1,
            ),
            Panel("no packet is lost", ("20 >1 20 >1 20", "20 <0 20 <0 20")),
        ),
        {"transfer": "lost, and on its way again"},
    ),
)
