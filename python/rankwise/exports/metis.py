# SPDX-License-Identifier: BSD-3-Clause
"""The communication matrix as a METIS graph: a vertex a rank, edges weighted by what both ends send each other."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from rankwise import whole_files
from rankwise.exports.pairs import Pairs, Weight, comments
from rankwise.recording import Recording


def write(recording: Recording, path: Path, weight: Weight = "bytes") -> None:
    """Write the graph. Messages of a rank to itself have no place in it.

    Raises:
        RankwiseError: The file cannot be written.
    """
    pairs = Pairs.of(recording, weight)
    ends = pl.min_horizontal("source", "destination"), pl.max_horizontal("source", "destination")
    edges = (
        pairs.frame.filter(pl.col("source") != pl.col("destination"))
        .group_by(ends[0].alias("vertex"), ends[1].alias("neighbour"))
        .agg(pl.col("weight").sum())
    )
    back = edges.select(vertex="neighbour", neighbour="vertex", weight="weight")
    lines = (
        pl.concat([edges, back])
        .sort("vertex", "neighbour")
        .group_by("vertex", maintain_order=True)
        .agg(pl.concat_str([pl.col("neighbour") + 1, "weight"], separator=" ").str.join(" ").alias("line"))
    )
    vertices = pl.DataFrame({"vertex": range(recording.world_size)}, schema={"vertex": pl.Int64})
    ordered = vertices.join(lines, on="vertex", how="left", maintain_order="left")["line"].fill_null("")
    head = f"{recording.world_size} {len(edges)} 001\n"
    whole_files.write(path, comments(pairs.remarks) + (head + "\n".join(ordered) + "\n").encode())
