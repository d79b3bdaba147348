# SPDX-License-Identifier: BSD-3-Clause
"""The communication matrix in Matrix Market's coordinate format: a row a sender, a column a receiver."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from rankwise import whole_files
from rankwise.exports.pairs import Pairs, Weight, comments
from rankwise.recording import Recording


def write(recording: Recording, path: Path, weight: Weight = "bytes") -> None:
    """Write the matrix; ranks are counted from 1, as the format has it.

    Raises:
        RankwiseError: The file cannot be written.
    """
    pairs = Pairs.of(recording, weight)
    ranks = recording.world_size
    rows = pairs.frame.select(pl.col("source") + 1, pl.col("destination") + 1, "weight")
    head = b"%%MatrixMarket matrix coordinate integer general\n" + comments(pairs.remarks)
    size = f"{ranks} {ranks} {len(rows)}\n"
    whole_files.write(
        path, head + size.encode() + rows.write_csv(include_header=False, separator=" ").encode()
    )
