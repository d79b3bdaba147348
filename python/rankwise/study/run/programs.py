# SPDX-License-Identifier: BSD-3-Clause
"""What is executed for a case: a workload compiled for the site, or the user's own command."""

from __future__ import annotations

from rankwise.errors import RankwiseError
from rankwise.study.cases import Case
from rankwise.workloads import build


def words_of(case: Case, launcher: str | None = None, share: float = 1.0) -> list[str]:
    """The program of a case with its arguments.

    Args:
        case: The case.
        launcher: What will start it, whose MPI it is compiled for; that of `mpicc` on PATH if `None`.
        share: Of the operations of a benchmark that are done, besides the case's own share.

    Raises:
        RankwiseError: It is a recording, which cannot be run, or a workload that does not compile.
    """
    program = case.program
    if program.command:
        return list(program.command)
    if not program.workload:
        raise RankwiseError(
            f"`{program.recording}` is a recording, which can be predicted and not run again",
            "give the program itself with `--app`, or leave `--on` out",
            status=2,
        )
    program = program.on(case.ranks)
    share *= case.computation
    words = [str(build(program.workload, launcher)), *program.words(), "--compute", f"{share:g}x"]
    return words + (["--iterations", str(case.iterations)] if case.iterations else [])
