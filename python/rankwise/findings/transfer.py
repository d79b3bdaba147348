# SPDX-License-Identifier: BSD-3-Clause
"""What transfer is lost to: by channel and shared resource, and what of it another placement gives back."""

from __future__ import annotations

from rankwise.errors import RankwiseError
from rankwise.findings.data import TransferSplit
from rankwise.findings.on_machine import OnMachine


def transfer_split(there: OnMachine) -> TransferSplit | None:
    """Of a run on a machine; `None` where it cannot be predicted as it ran."""
    try:
        makespan_s, found = there.prediction.makespan_s, there.losses
    except RankwiseError:
        return None
    try:
        saved_s = makespan_s - there.candidates[-1].makespan_s
    except RankwiseError as error:
        return TransferSplit(makespan_s, found, None, error.message)
    return TransferSplit(makespan_s, found, max(saved_s, 0.0))
