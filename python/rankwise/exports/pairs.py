# SPDX-License-Identifier: BSD-3-Clause
"""The communication matrix as rows, for formats of graphs and matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from rankwise.exports.remarks import remarks
from rankwise.recording import Recording

Weight = Literal["bytes", "messages"]


@dataclass(frozen=True)
class Pairs:
    """Who sends to whom, messages inside collectives included.

    Attributes:
        frame: source, destination, weight: pairs of ranks whose weight is not 0, in order.
        remarks: Of the run, and of what has no place in the frame.
    """

    frame: pl.DataFrame
    remarks: list[str]

    @classmethod
    def of(cls, recording: Recording, weight: Weight) -> Pairs:
        """Of all messages, weighted by their number or by their bytes."""
        messages = recording.messages.select("source", "destination", "messages", weight=pl.col(weight))
        unknown = int(messages.filter(pl.col("destination").is_null())["messages"].sum())
        summed = (
            messages.drop_nulls("destination")
            .group_by("source", "destination")
            .agg(pl.col("weight").sum())
            .filter(pl.col("weight") > 0)
            .sort("source", "destination")
        )
        said = [*remarks(recording), f"weights are {weight}, those inside collectives included"]
        if unknown:
            said.append(f"left out: {unknown} messages whose destination is not known")
        return cls(summed, said)


def comments(lines: list[str]) -> bytes:
    """Comments, as METIS and Matrix Market have them."""
    return "".join(f"% {line}\n" for line in lines).encode()
