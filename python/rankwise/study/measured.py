# SPDX-License-Identifier: BSD-3-Clause
"""Published measurements that ship with Rankwise (`data/SOURCES.md`)."""

from __future__ import annotations

import gzip
from functools import lru_cache
from pathlib import Path

import polars as pl


@lru_cache(maxsize=4)
def measured(name: str) -> pl.DataFrame:
    """A table of measured times.

    Args:
        name: `archer2_orders`, `dahu_geometries` or `named_collectives`.
    """
    path = Path(__file__).parent / "data" / f"{name}.csv.gz"
    return pl.read_csv(gzip.decompress(path.read_bytes()), infer_schema_length=None)
