# SPDX-License-Identifier: BSD-3-Clause
"""Files written by rename, so that a reader never sees half of one."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote

from rankwise.errors import RankwiseError


def check_free(
    path: str | os.PathLike[str],
    force: bool,
    hint: str = "use `--force` to replace it, or `-o` for another file",
) -> None:
    """Refuse, before any work, a file that could not be written in the end.

    Args:
        path: The file.
        force: What is there may be replaced.
        hint: What to do if it is there.

    Raises:
        RankwiseError: It is there already, it is no regular file, or there is no directory for it.
    """
    path = Path(path)
    if str(path) == "-":
        raise RankwiseError(
            "`-o -` names no file", "leave `-o` out: results go to stdout; or name a file with `-o FILE`"
        )
    refuse_special(path)
    if os.path.lexists(path) and not force:
        raise RankwiseError(f"`{path}` is there already", hint)
    if path.is_dir():
        raise RankwiseError(f"`{path}` is a directory", f"name a file, for example `{path / 'out'}`")
    if not path.parent.is_dir():
        raise RankwiseError(
            f"`{path}` cannot be written: there is no directory `{path.parent}`",
            f"make it with `mkdir -p {quote(str(path.parent))}`, or name another file",
        )


def refuse_special(path: str | os.PathLike[str]) -> None:
    """Refuse to put a file in the place of a pipe or a device: programs of others have them open.

    Raises:
        RankwiseError: It is one, or a link to one.
    """
    try:
        mode = os.stat(path).st_mode
    except OSError:  # nothing, or what cannot be written to either
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise RankwiseError(f"`{path}` is a pipe or a device, not a file", "name a file that may be written")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new file beside `path` to write to; it becomes `path` in the end, on the disk, unless something went wrong.

    Its name cannot be guessed, and what is there already under it is not written to.

    Raises:
        RankwiseError: `path` is a pipe or a device.
    """
    refuse_special(path)
    scratch = path.with_name(f".{path.name[:200]}.{os.urandom(8).hex()}")
    os.close(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666))
    try:
        with suppress(OSError):
            os.chmod(scratch, stat.S_IMODE(path.stat().st_mode))
        yield scratch
        synchronise(scratch)
        refuse_special(path)
        os.replace(scratch, path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
    with suppress(OSError):
        synchronise(path.parent)


def check_free_directory(path: Path, force: bool) -> None:
    """Refuse, before any work, a directory that files could not be put into in the end.

    Args:
        path: The directory; the one that it is in must be there.
        force: It may be there, with files in it.

    Raises:
        RankwiseError: There is something already, or there is no directory for it.
    """
    if path.is_dir() and (force or not any(path.iterdir())):
        return
    if path.is_dir():
        raise RankwiseError(
            f"`{path}` is there already, with files in it",
            "use `--force` to replace those of the same names, or name another directory",
        )
    if os.path.lexists(path):
        raise RankwiseError(f"`{path}` is no directory", "name another directory")
    if not path.parent.is_dir():
        raise RankwiseError(
            f"`{path}` cannot be made: there is no directory `{path.parent}`",
            f"make it with `mkdir -p {quote(str(path.parent))}`, or name another directory",
        )


@contextmanager
def filling(path: Path) -> Iterator[Path]:
    """A new directory beside `path` to write to; what is in it comes to `path` in the end, unless something went wrong.

    Where `path` is there, files and directories of the same names are replaced, and others stay.

    Raises:
        RankwiseError: It cannot be written.
    """
    scratch = path.with_name(f".{path.name[:200]}.{os.urandom(8).hex()}")
    try:
        scratch.mkdir()
        yield scratch
        path.mkdir(exist_ok=True)
        for made in sorted(scratch.iterdir()):
            target = path / made.name
            refuse_special(target)
            if target.is_dir() and not target.is_symlink():
                shutil.rmtree(target)
            os.replace(made, target)
    except OSError as error:
        raise RankwiseError(
            f"`{path}` cannot be written: {(error.strerror or str(error)).lower()}", "name another directory"
        ) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def synchronise(path: Path) -> None:
    """Wait until a file, or what a directory lists, is on the disk.

    Raises:
        OSError: It cannot get there.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EROFS):  # what has no disk
            raise
    finally:
        os.close(descriptor)


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
