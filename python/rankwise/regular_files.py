# SPDX-License-Identifier: BSD-3-Clause
"""Reading what users name: regular files of a bounded size, as a pipe or a device may have no end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from rankwise.quantities import bytes_text

MOST_BYTES = 1 << 30
"""Of a file that is taken into memory as a whole, unless a reader says something else."""


def read_bytes(path: str | os.PathLike[str], most_bytes: int = MOST_BYTES) -> bytes:
    """The content of a regular file.

    Args:
        path: The file; it is never waited for.
        most_bytes: Larger ones are refused.

    Raises:
        OSError: It cannot be read, is a pipe or a device, or is too large.
    """
    with os.fdopen(open_file(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > most_bytes:
            raise OSError(
                errno.EFBIG,
                f"it has {bytes_text(size)}, more than the {bytes_text(most_bytes)} that are read of such a file",
                os.fspath(path),
            )
        return file.read()


def read_text(path: str | os.PathLike[str], encoding: str = "utf-8", most_bytes: int = MOST_BYTES) -> str:
    """The same as text, line ends as they are in Python.

    Raises:
        OSError: As `read_bytes`.
        UnicodeDecodeError: It is no text.
    """
    return read_bytes(path, most_bytes).decode(encoding).replace("\r\n", "\n").replace("\r", "\n")


def read_beginning(path: str | os.PathLike[str], size: int) -> bytes:
    """The first bytes of a regular file of any size.

    Raises:
        OSError: It cannot be read, or is a pipe or a device.
    """
    with os.fdopen(open_file(path), "rb") as file:
        return file.read(size)


def open_file(path: str | os.PathLike[str]) -> int:
    """A descriptor of a regular file to read from.

    Raises:
        OSError: It cannot be read, or is a pipe or a device.
    """
    # A pipe that nobody writes to would be waited for already when it is opened.
    descriptor = os.open(Path(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    raise OSError(errno.EINVAL, "it is a pipe or a device, not a file", os.fspath(path))
