# SPDX-License-Identifier: BSD-3-Clause
"""Files that schedules are read from, and their names in errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rankwise import regular_files
from rankwise.errors import RankwiseError

_LARGEST_BYTES = 1 << 40
"""Of GOAL and SimGrid's traces: whoever has the memory may read them."""

_RECORD = "record a program: `rankwise record --trace -- mpiexec -n 4 ./app`"


def read_bytes(path: Path, most: int = -1) -> bytes:
    """A file's content, or its beginning.

    Args:
        path: The file.
        most: How much to read at most; -1: all.

    Raises:
        RankwiseError: It cannot be read.
    """
    try:
        return (
            regular_files.read_bytes(path, _LARGEST_BYTES)
            if most < 0
            else regular_files.read_beginning(path, most)
        )
    except OSError as error:
        raise RankwiseError(
            f"`{path}` cannot be read: {(error.strerror or str(error)).lower()}",
            _RECORD,
        ) from None


@contextmanager
def name_file(path: Path) -> Iterator[None]:
    """Errors on what a file holds as a whole (messages that do not match, a circle) get its name, too."""
    try:
        yield
    except RankwiseError as error:
        raise error.of_file(path) from None
