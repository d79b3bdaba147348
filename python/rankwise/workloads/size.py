# SPDX-License-Identifier: BSD-3-Clause
"""Whether a workload's messages are few enough to be counted, or held in memory."""

from __future__ import annotations

from dataclasses import replace

from rankwise.errors import RankwiseError
from rankwise.workloads.program import Program

MOST_MESSAGES = 10**10  # some minutes of counting
MOST_PAIRS = 5 * 10**7  # some gigabytes of rows
MOST_RECORDED = 2 * 10**8  # each is some hundred bytes while it is replayed
_ITERATIONS = 32  # that stand for all


def check_size(program: Program, messages: int, pairs: int | None = None) -> None:
    """Refuse a program that sends too much.

    What it sends is estimated from the first iterations of two ranks.

    Args:
        program: The program.
        messages: The most that it may send in all.
        pairs: The most rows of source, destination and bytes; any number if not given.

    Raises:
        RankwiseError: It sends more; the sentence says the estimate and the limit.
    """
    hint = f"rankwise workloads {program.name} --count --iterations 1 --ranks 16"
    for iterations in (1, _ITERATIONS):  # one alone refuses the largest at once
        few = replace(program, iterations=min(program.iterations, iterations))
        sent = [few.counts(rank)[0]["messages"] for rank in sorted({0, program.ranks // 2})]
        rows = max(len(each) for each in sent) * program.ranks
        if pairs is not None and rows > pairs:
            raise RankwiseError(
                f"{program.name} on `{program.ranks}` ranks has about {_rounded(rows)} pairs of ranks that talk, more "
                f"than the limit of {pairs}",
                hint,
            )
    of_all = max(int(each.sum()) for each in sent) * program.ranks * program.iterations // few.iterations
    if of_all > messages:
        raise RankwiseError(
            f"{program.name} on `{program.ranks}` ranks sends about {_rounded(of_all)} messages in "
            f"`{program.iterations}` iterations, more than the limit of {messages}",
            hint,
        )


def _rounded(number: int) -> int:
    """To two digits."""
    return int(float(f"{number:.1e}"))
