# SPDX-License-Identifier: BSD-3-Clause
"""What an interrupted measurement left, and whether another may go on with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

import polars as pl

from rankwise import regular_files
from rankwise.errors import RankwiseError
from rankwise.measure.samples import COMPLETE, SCHEMA

# What has to be the same: numbers of another library or other cores are no samples of the same thing.
_SAME = {
    "command": "launcher line",
    "library": "MPI library",
    "processor": "processor",
    "pairs": "pairs of cores",
}


def load(path: Path) -> pl.DataFrame:
    """The samples that were kept.

    Raises:
        RankwiseError: There are none, or this version cannot read them.
    """
    if not path.exists():
        raise RankwiseError(
            f"there is nothing to resume: no samples `{path}`",
            "leave `--resume` out, or name the file with `-o`",
        )
    try:
        samples = pl.read_parquet(BytesIO(regular_files.read_bytes(path)))
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise RankwiseError(
            f"`{path}` cannot be read: {str(error).splitlines()[0]}", "measure anew, with `--force`"
        ) from None
    if set(samples.columns) != set(SCHEMA):
        raise RankwiseError(
            f"`{path}` was kept by another version of Rankwise", "measure anew, with `--force`"
        )
    return samples.select(*SCHEMA)


def check(samples: pl.DataFrame, now: Mapping[str, object]) -> None:
    """Refuse to go on with samples of something else.

    Args:
        samples: What was kept.
        now: Context of a launch of this measurement.

    Raises:
        RankwiseError: Launcher line, library, processor or pairs of cores differ.
    """
    if samples.is_empty():
        return
    before = json.loads(samples["context"][-1])
    now = json.loads(json.dumps(now))
    for key, what in _SAME.items():
        if before.get(key) != now.get(key):
            difference = f": `{before.get(key)}` then, `{now.get(key)}` now" if key != "pairs" else ""
            raise RankwiseError(
                f"the interrupted measurement had another {what}{difference}"[:300],
                "resume with the same launcher line on the same machine, or measure anew with `--force`",
            )


def launches_done(samples: pl.DataFrame) -> int:
    """How many launches came to their end; one that was interrupted is repeated, and its samples are kept beside."""
    last = samples.group_by("launch").agg(pl.col("context").last())
    return sum(json.loads(context).get(COMPLETE, True) for context in last["context"])
