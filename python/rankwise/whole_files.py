# SPDX-License-Identifier: BSD-3-Clause
"""Files written by rename, so that a reader never sees half of one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rankwise.errors import RankwiseError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to; what is there in the end becomes `path`, unless something went wrong."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield scratch
        os.replace(scratch, path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def write(path: Path, data: bytes, hint: str = "choose another file with `-o`") -> None:
    """Write a file that the user asked for.

    Args:
        path: The file; what is there is replaced.
        data: Its content.
        hint: What to do where it cannot be written.

    Raises:
        RankwiseError: It cannot be written; a file that was there is as before.
    """
    try:
        with replacing(path) as scratch:
            scratch.write_bytes(data)
    except OSError as error:
        raise RankwiseError(
            f"`{path}` cannot be written: {(error.strerror or str(error)).lower()}",
            hint,
        ) from None
