# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks of a run in a lab counted (lab/usage.c)."""

from __future__ import annotations

from pathlib import Path

from rankwise.record.usage import Usage

VARIABLE = "RANKWISE_LAB_USAGE"
_NUMBERS = 9


def variables(directory: Path) -> dict[str, str]:
    """Environment of ranks that shall count, each in a file of its own in this directory."""
    return {VARIABLE: str(directory)}


def read(directory: Path, ranks: int) -> Usage | None:
    """What the ranks counted; `None` where not all did, because they ended early, or MPI is linked into them."""
    said: list[list[int]] = [list(map(int, path.read_text().split())) for path in directory.iterdir()]
    if len(said) != ranks or not all(len(each) == _NUMBERS and each[0] > 0 for each in said):
        return None
    times, used, waited, sleeps, late, every, busy, protocols, stolen = zip(*said, strict=True)

    def most(part: tuple[int, ...], whole: tuple[int, ...]) -> float:
        return max(one / max(all_, 1) for one, all_ in zip(part, whole, strict=True))

    def mean(part: tuple[int, ...]) -> float:
        shares: list[float] = [one / time for one, time in zip(part, times, strict=True)]
        return sum(shares) / ranks

    return Usage(
        time_s=max(times) * 1e-9,
        ranks=ranks,
        busy_share=most(busy, every),
        protocol_share=most(protocols, every),
        stolen_share=most(stolen, every),
        used_share=mean(used),
        waited_share=mean(waited),
        late_share=most(late, times),
        sleeps_per_s=mean(sleeps) * 1e9,
    )
