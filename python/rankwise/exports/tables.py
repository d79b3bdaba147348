# SPDX-License-Identifier: BSD-3-Clause
"""All tables of a recording as CSV or Parquet, a file each."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from rankwise.exports.remarks import remarks
from rankwise.recording import Recording
from rankwise.recording.collection import TABLES, parquet

REMARKS = "remarks.txt"


def write_csv(recording: Recording, directory: Path) -> None:
    """Write NAME.csv of each table; lists in a cell are words between spaces, and what is not known is empty."""
    for name in TABLES:
        frame = recording.table(name)
        lists = [column for column, kind in frame.schema.items() if isinstance(kind, pl.List)]
        flat = frame.with_columns(pl.col(column).cast(pl.List(pl.String)).list.join(" ") for column in lists)
        (directory / f"{name}.csv").write_bytes(flat.write_csv().encode())
    _write_remarks(recording, directory)


def write_parquet(recording: Recording, directory: Path) -> None:
    """Write NAME.parquet of each table."""
    for name in TABLES:
        (directory / f"{name}.parquet").write_bytes(parquet(recording.table(name)))
    _write_remarks(recording, directory)


def _write_remarks(recording: Recording, directory: Path) -> None:
    (directory / REMARKS).write_text("\n".join(remarks(recording)) + "\n", encoding="utf-8")
