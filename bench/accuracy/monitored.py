# SPDX-License-Identifier: BSD-3-Clause
"""A run that Open MPI's monitoring component counts beneath the recorder: whether both have the same messages.

The component counts what passes between Open MPI's point-to-point layer and the network, so that it has the messages
of collectives as the library really sends them. What a library sends once, to make communicators, is told from what it
sends at every step by a second run of twice as many steps: it is the same in both.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from accuracy.state import Monitored
from rankwise.errors import RankwiseError
from rankwise.lab.launch import library_of_lab
from rankwise.recording.recording import Recording

PRELOADED = "librankwise_monitored.so"
_Pair = tuple[int, int]


def variables(directory: Path) -> dict[str, str]:
    """What makes the component count, and its counts go into `directory`."""
    return {
        "OMPI_MCA_pml": "ob1,monitoring",
        "OMPI_MCA_pml_monitoring_enable": "2",
        "RANKWISE_MONITORED": str(directory),
        "LD_PRELOAD": library_of_lab(PRELOADED),
    }


@dataclass(frozen=True)
class Counts:
    """Messages and bytes of each pair of ranks that sent any, as recorded and as counted in the same run."""

    recorded: dict[_Pair, tuple[int, int]]
    counted: dict[_Pair, tuple[int, int]]

    @property
    def pairs(self) -> set[_Pair]:
        """All that one of both has."""
        return {*self.recorded, *self.counted}

    def more(self, pair: _Pair) -> tuple[int, int]:
        """What was counted beyond what was recorded."""
        (messages, sent), (others, other) = self.recorded.get(pair, (0, 0)), self.counted.get(pair, (0, 0))
        return others - messages, other - sent


def counts_of(path: Path, directory: Path, ranks: int) -> Counts:
    """The recording and what the component counted of the same run.

    Raises:
        RankwiseError: It did not count, because it is missing, or a rank left no counts.
    """
    counted = {}
    for source in range(ranks):
        file = directory / str(source)
        values = np.fromfile(file, np.uint64) if file.is_file() else np.empty(0)
        if len(values) != 4 * ranks:
            raise RankwiseError(f"the component left no counts of rank {source}")
        for to, both in enumerate(values.reshape(2, ranks, 2).sum(axis=0).tolist()):
            if both[0]:
                counted[source, to] = (int(both[0]), int(both[1]))
    if not counted:
        raise RankwiseError("the component counted nothing")
    messages, sent = Counter(), Counter()
    for row in Recording.open(path).messages.iter_rows(named=True):
        messages[row["source"], row["destination"]] += row["messages"]
        sent[row["source"], row["destination"]] += row["bytes"]
    return Counts({pair: (messages[pair], sent[pair]) for pair in messages}, counted)


def compare(found: Counts, longer: Counts | None = None) -> Monitored:
    """How many pairs agree; `longer` is a run of twice as many steps."""
    pairs = found.pairs

    def total(of: dict[_Pair, tuple[int, int]], what: int) -> int:
        return sum(each[what] for each in of.values())

    alike = None
    if longer is not None:
        alike = sum(found.more(pair) == longer.more(pair) for pair in pairs)
    return Monitored(
        pairs=len(pairs),
        equal=sum(found.more(pair) == (0, 0) for pair in pairs),
        recorded_messages=total(found.recorded, 0),
        counted_messages=total(found.counted, 0),
        recorded_bytes=total(found.recorded, 1),
        counted_bytes=total(found.counted, 1),
        alike=alike,
    )
