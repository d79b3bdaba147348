# SPDX-License-Identifier: BSD-3-Clause
"""The critical path of a replay (`core/explain/critical_path.hpp`), summed up by cause and by rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise import _core
from rankwise.explain.explanation import Explanation

ON_PROCESSOR = ("computation", "overhead", "core_sharing", "memory", "interrupts")
ON_THE_WAY = ("latency", "bytes")


@dataclass(frozen=True)
class CriticalPath:
    """The chain of operations and messages of which no piece could be longer without making the whole longer.

    Attributes:
        cause_s: Seconds of it by cause (`_core.explain.CAUSES`), the largest first; they add up to the makespan.
        rank_s: Seconds of it on each rank's processor, the largest first.
        messages: Messages on it.
    """

    cause_s: dict[str, float]
    rank_s: dict[int, float]
    messages: int


def critical_path(explanation: Explanation) -> CriticalPath:
    """Sum up the path of an explanation."""
    path = explanation.critical_path
    causes = _core.explain.CAUSES
    lasts = path["to_s"] - path["from_s"]
    by_cause = np.bincount(path["cause"], lasts, len(causes))
    on_processor = np.isin(path["cause"], [causes.index(name) for name in ON_PROCESSOR])
    by_rank = np.bincount(path["rank"][on_processor], lasts[on_processor])
    on_the_way = np.isin(path["cause"], [causes.index(name) for name in ON_THE_WAY])
    return CriticalPath(
        {causes[at]: float(by_cause[at]) for at in _largest_first(by_cause)},
        {at: float(by_rank[at]) for at in _largest_first(by_rank)},
        len(np.unique(path["operation"][on_the_way])),
    )


def _largest_first(times: np.ndarray) -> list[int]:
    return [at for at in np.argsort(-times, kind="stable").tolist() if times[at] > 0]
