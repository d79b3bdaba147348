# SPDX-License-Identifier: BSD-3-Clause
"""The directory of a recording: its default name, making it, replacing an old one, and who is using it."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shlex
import shutil
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rankwise.errors import RankwiseError
from rankwise.locks import is_held
from rankwise.record.manifest import FILE_NAME
from rankwise.whole_files import synchronise

if TYPE_CHECKING:
    from rankwise.launchers import LaunchLine

# What Rankwise writes into a recording; nothing else is ever removed from one.
OWN_ENTRIES = (FILE_NAME, "raw", "context.json", "tables", "tune", "lock")
# What file systems without locks say (NFS has emulated flock with locks of ranges since Linux 2.6.12).
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EBADF)
_ATTEMPTS = 5


@dataclass(frozen=True)
class Use:
    """Who is using a recording's directory: `holder` names it; `ranks` if they are all that is left of the run."""

    holder: str
    ranks: bool


@dataclass(frozen=True)
class Claim:
    """A directory that this process records into, until it closes `lock` or ends.

    Attributes:
        lock: Descriptor of the locked file, `None` where the file system has no locks.
        kept: Where the recording that was there is, if ranks may still write to it.
    """

    lock: int | None
    kept: Path | None


def default_name(line: LaunchLine) -> str:
    """`app.16r.1234.rw`: program, ranks, and the job's number or the time; a number more if that is taken."""
    program = line.program or "programs"
    interpreted = os.path.basename(program).startswith("python") and line.segments[0].arguments[:1]
    if interpreted and interpreted[0].endswith(".py"):
        program = interpreted[0][: -len(".py")]
    ranks = f".{line.ranks}r" if line.ranks else ""
    unique = os.environ.get("SLURM_JOB_ID") or time.strftime("%Y%m%d-%H%M%S")
    stem = f"{os.path.basename(program)}{ranks}.{unique}"
    name, number = f"{stem}.rw", 1
    while os.path.lexists(name):
        number += 1
        name = f"{stem}.{number}.rw"
    return name


def is_recording(path: Path) -> bool:
    """Whether a directory is a recording of ours, complete or not."""
    return (path / FILE_NAME).is_file() or any((path / "raw").glob("*.rwn"))


def new_run() -> str:
    """An identity for a run."""
    return secrets.token_hex(16)


def create(path: Path, replace: bool, run: str) -> Claim:
    """Make an empty recording directory, and keep others from doing the same.

    Args:
        path: Where.
        replace: Take the place of a recording that is there; of nothing else.
        run: The identity of the run.

    Raises:
        RankwiseError: Something is there or in use, or the directory cannot be made.
    """
    if str(path) == "-":
        raise RankwiseError(
            "`-o -` names no directory", hint="leave `-o` out for a name by program and time", status=125
        )
    if path.is_symlink():
        path = path.resolve()
    old = _set_aside(path, replace, run) if os.path.lexists(path) else None
    try:
        if not path.is_dir():
            path.mkdir()
    except FileExistsError:
        raise _is_in_use(path) from None
    except OSError as error:
        raise _cannot(path, error) from error
    try:
        (path / "raw").mkdir()
        lock = _claim(path, run)
    except (FileExistsError, FileNotFoundError):  # another one makes it, or has put it aside again
        raise _is_in_use(path) from None
    except OSError as error:
        raise _cannot(path, error) from error
    # Without locks nobody knows whether ranks still write to the old one.
    return Claim(lock, old if lock is None else old and _remove_unused(old, path))


def in_use(path: Path) -> Use | None:
    """Who records into a directory; `None` if nobody does, or if its file system has no locks."""
    for name in ("lock", *sorted(file.name for file in (path / "raw").glob("*.rwn"))):
        file = path / name if name == "lock" else path / "raw" / name
        if is_held(file):
            return _holder(path) if name == "lock" else Use(f"ranks on `{file.stem}`", ranks=True)
    return None


def _claim(path: Path, run: str) -> int | None:
    """Lock the directory: by a file of its own, as NFS gives an exclusive lock only on what is open for writing.

    Raises:
        FileExistsError: Another one has it.
        OSError: It cannot be locked.
    """
    lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    for _ in range(_ATTEMPTS):  # who asks whether it is held holds it for a moment
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            time.sleep(0.1)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            os.close(lock)
            return None
    else:
        os.close(lock)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    # Before it was locked, another one may have put the directory aside, this file with it.
    if not _is_at(lock, path / "lock"):
        os.close(lock)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    os.ftruncate(lock, 0)
    os.write(lock, f"{os.getpid()} {socket.gethostname()} {run}\n".encode())
    return lock


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _holder(path: Path) -> Use:
    try:
        pid, host, _ = (path / "lock").read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return Use("another `rankwise record`", ranks=False)
    return Use(f"process {pid} on `{host}`", ranks=False)


def _cannot(path: Path, error: OSError) -> RankwiseError:
    hint = "choose another place with `-o DIR`"
    if isinstance(error, FileNotFoundError):
        hint = f"`mkdir -p {shlex.quote(str(path.parent))}`"
    reason = os.strerror(error.errno or 0).lower()
    return RankwiseError(f"the recording `{path}` cannot be created: {reason}", hint=hint, status=125)


def _is_in_use(path: Path, holder: str | None = None) -> RankwiseError:
    if holder is None:
        use = in_use(path)
        holder = use.holder if use else "another `rankwise record`"
    return RankwiseError(
        f"`{path}` is still being recorded by {holder}",
        hint="choose another name with `-o DIR`, or end that run first",
        status=125,
    )


def _set_aside(path: Path, replace: bool, run: str) -> Path | None:
    """Rename a recording that is there, locked, so that no other one does; returns its new name."""
    if not path.is_dir():
        hint = "choose another name with `-o DIR`"
        raise RankwiseError(f"`{path}` exists and is not a recording", hint=hint, status=125)
    if not any(path.iterdir()):
        return None
    if not is_recording(path) and not (path / "lock").exists():
        hint = "choose another name with `-o DIR`; `--force` replaces recordings only"
        raise RankwiseError(f"`{path}` exists and is not a recording", hint=hint, status=125)
    use = in_use(path)
    if use and not use.ranks:
        raise _is_in_use(path, use.holder)
    if not replace:
        hint = "add `--force` to replace it, or choose another name with `-o DIR`"
        raise RankwiseError(f"the recording `{path}` exists", hint=hint, status=125)
    old, number = path.with_name(f"{path.name}.old"), 1
    while os.path.lexists(old):
        number += 1
        old = path.with_name(f"{path.name}.old.{number}")
    lock = None
    try:
        lock = _claim(path, run)
        os.rename(path, old)
    except (FileExistsError, FileNotFoundError):
        raise _is_in_use(path) from None
    except OSError as error:
        raise _cannot(path, error) from error
    finally:
        if lock is not None:
            os.close(lock)
    return old


def _remove_unused(old: Path, path: Path) -> Path | None:
    """Remove a recording that was replaced, unless ranks still write to it; files of others come to the new one.

    Returns:
        Where it is, if it was kept.
    """
    if in_use(old):
        return old
    try:
        for name in OWN_ENTRIES:
            entry = old / name
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink(missing_ok=True)
        for entry in old.iterdir():
            os.rename(entry, path / entry.name)
        old.rmdir()
    except OSError:
        return old
    return None


def synchronise_raw(path: Path) -> None:
    """Wait until what the ranks wrote is on the disk, as far as this host has it."""
    for file in (*(path / "raw").iterdir(), path / "raw"):
        synchronise(file)


def remove_if_empty(path: Path) -> bool:
    """Remove a directory that no rank wrote to; returns whether nothing was recorded."""
    if any(file.stat().st_size for file in (path / "raw").glob("*.rwn")):
        return False
    for name in OWN_ENTRIES:
        entry = path / name
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)
    if not any(path.iterdir()):
        path.rmdir()
    return True
