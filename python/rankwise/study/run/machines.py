# SPDX-License-Identifier: BSD-3-Clause
"""Machines that studies of microbenchmarks need: files that are there, or a lab or cluster that is measured."""

from __future__ import annotations

from rankwise.study.platforms import Platform, platforms
from rankwise.study.request import Request


def machines(request: Request, study: str, *of_paper: str) -> list[Platform]:
    """The machines of a study whose curves follow from link classes and resources.

    In a lab or on a cluster these are measured first, as `rankwise measure` does; what is in the study's directory from
    before is taken.

    Args:
        request: What was asked for.
        study: Its name.
        of_paper: The paper's machines, where no others are named.

    Raises:
        RankwiseError: A file cannot be read, or nothing can be measured.
    """
    if request.mode == "machine":
        return platforms(request, *of_paper)
    from rankwise.study.run import measured

    return [measured.machine(request, study)]


def nodes(request: Request, *of_paper: str) -> list[Platform]:
    """The machines of a study that places programs on them; of a lab or cluster its nodes.

    Args:
        request: What was asked for.
        of_paper: The paper's machines, where no others are named.

    Raises:
        RankwiseError: A file cannot be read, or the lab or cluster cannot be reached.
    """
    if request.mode == "machine":
        return platforms(request, *of_paper)
    from rankwise.study.run import measured

    return [measured.nodes(request)]
