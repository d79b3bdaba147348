# SPDX-License-Identifier: BSD-3-Clause
"""What every operation of a replay did when; times in picoseconds, as in the replay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.explain.explanation import Explanation

NONE = 0xFFFFFFFF
SEND, RECEIVE, CALC = 1, 2, 3


@dataclass(frozen=True)
class Timeline:
    """One entry an operation, in the order of the replay; `gap_*` are intervals in which a rank's processor was idle.

    Attributes:
        rank: Whose it is.
        kind: `SEND`, `RECEIVE` or `CALC`.
        bytes: Of a message.
        partner: Of a send its receive and the other way round, else `NONE`.
        ready: When it could begin; a receive: when it was posted.
        begin: When the processor began with it; a receive: with its message.
        end: When it ended.
        arrives: Of a receive: when the last byte of its message was there.
        gap_op: What the processor did next.
        gap_from: When it had nothing to do.
        gap_to: Until when.
    """

    rank: np.ndarray
    kind: np.ndarray
    bytes: np.ndarray
    partner: np.ndarray
    ready: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    arrives: np.ndarray
    gap_op: np.ndarray
    gap_from: np.ndarray
    gap_to: np.ndarray

    @classmethod
    def of(cls, explanation: Explanation) -> Timeline:
        """Of an explanation."""
        return cls(**explanation.timeline)
