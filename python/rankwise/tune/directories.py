# SPDX-License-Identifier: BSD-3-Clause
"""Where tuners keep what is theirs: journals, locks and sockets of each user, pages of ranks in memory."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
import time
from pathlib import Path

from rankwise.errors import RankwiseError
from rankwise.locks import held, is_held
from rankwise.scratch import make_scratch
from rankwise.tune.installed import TUNER, installed

SOCKET = "tune.sock"
GUARD_S = 2.0

DAEMON_STATE = Path("/run/rankwise")
DAEMON_SOCKET = DAEMON_STATE / "tune.sock"
IN_MEMORY = Path("/dev/shm")
# Where pam_systemd makes users' XDG_RUNTIME_DIR.
RUNTIME = Path("/run/user")
DAEMON_PAGES = IN_MEMORY / "rankwise"
# sockaddr_un's, with the zero at its end.
_LONGEST_SOCKET_PATH = 107


def new_state(pid: int) -> tuple[Path, list[str]]:
    """A directory for the tuner that this process starts; `remove_state` removes it.

    What tuners that were killed have left, whose guard was killed as well, is put back first.

    Args:
        pid: This process.

    Returns:
        The directory, and of each that was left and could not be put back, a sentence.

    Raises:
        RankwiseError: It cannot be made.
    """
    base = user_directory()
    left = [path for place in (base, *other_directories()) for path in place.iterdir()]
    problems = [problem for path in left if (problem := remove_state(path))]
    return own_directory(base / str(pid)), problems


def remove_state(state: Path, patience_s: float = 0.0) -> str:
    """Put back what a tuner that has ended has left, and remove its directory.

    Args:
        state: The directory, named by the process that made it; one of a tuner that runs is left alone, and
            that of another process that lives is kept, because its tuner may be about to start.
        patience_s: How long its guard may take to end.

    Returns:
        What could not be put back, in a sentence; empty if there is nothing.
    """
    lock = state / "lock"
    until = time.monotonic() + patience_s
    while is_held(lock) and time.monotonic() < until:
        time.sleep(0.005)
    if not state.name.isdecimal() or is_held(lock):
        return ""
    if lock.exists() and (problem := put_back(state)):
        return problem
    if int(state.name) != os.getpid() and _lives(int(state.name)):
        return ""
    with held(lock) as is_ours:
        # Since it was read, another tuner may have been here.
        if (is_ours or not lock.exists()) and not (state / "journal").exists():
            shutil.rmtree(state, ignore_errors=True)
    return ""


def put_back(state: Path) -> str:
    """Put back what a tuner that has ended has left; returns what could not be, in a sentence, else an empty text."""
    done = subprocess.run(
        [installed(TUNER), "--recover", state], capture_output=True, check=False, text=True, errors="replace"
    )
    if not done.returncode:
        return ""
    return done.stderr.partition("\n")[0].removeprefix("error: ") or f"`{state}` could not be read"


def _lives(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def user_directory() -> Path:
    """Where directories of this user's tuners are, made where it is not there yet.

    Raises:
        RankwiseError: It cannot be made, or is another user's.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and _is_directory_of_ours(Path(runtime)):
        return own_directory(Path(runtime, "rankwise"))
    return own_directory(_in_memory())


def other_directories() -> list[Path]:
    """Where else this user's tuners may be: those of a batch job know no XDG_RUNTIME_DIR, those of a session do."""
    standard = RUNTIME / str(os.geteuid())
    if Path(os.environ.get("XDG_RUNTIME_DIR") or standard) != standard:
        return []
    own = user_directory()
    return [
        path for path in (standard / "rankwise", _in_memory()) if path != own and _is_directory_of_ours(path)
    ]


def _in_memory() -> Path:
    # A journal is of processes of this boot, and synced before each move: on a busy disk, that takes seconds.
    memory = IN_MEMORY if IN_MEMORY.is_dir() else Path(tempfile.gettempdir())
    return memory / f"rankwise-tune-{os.geteuid()}"


def _is_directory_of_ours(path: Path) -> bool:
    return os.path.isdir(path) and path.stat().st_uid == os.geteuid()


def own_directory(path: Path) -> Path:
    """Make a directory that only its owner may look into; one that is there must be ours.

    Raises:
        RankwiseError: It cannot be made, or is not so.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
    except OSError as error:
        raise _cannot(path, error) from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o022:
        raise RankwiseError(
            f"`{path}` is not a directory of this user's alone", "remove it, or set TMPDIR to another place"
        )
    return path


def shared_directory(path: Path) -> Path:
    """Make a directory in which each user may have a directory of his own, as in /tmp.

    Raises:
        RankwiseError: It cannot be made, or others may do more there.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        found = path.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid():
            if stat.S_IMODE(found.st_mode) != 0o1777:
                os.chmod(path, 0o1777)
            return path
    except OSError as error:
        raise _cannot(path, error) from None
    raise RankwiseError(
        f"`{path}` is not a directory of the daemon's user",
        "remove it, and have it made at each start by packaging/tmpfiles.d/rankwise-tune.conf",
    )


def pages_directory() -> Path:
    """A new directory for the pages of one job, in the node's memory; `scratch.remove_scratch` removes it.

    Raises:
        RankwiseError: It cannot be made.
    """
    parent = IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else Path(tempfile.gettempdir())
    try:
        return make_scratch(parent, f"rankwise-tune-{os.geteuid()}-")
    except OSError as error:
        raise _cannot(parent, error) from None


def check_socket(path: Path) -> Path:
    """A path that a socket may have.

    Raises:
        RankwiseError: It is too long.
    """
    if len(os.fsencode(path)) > _LONGEST_SOCKET_PATH:
        raise RankwiseError(
            f"`{path}` is too long for a socket, which may have {_LONGEST_SOCKET_PATH} bytes",
            "choose a shorter one, or set XDG_RUNTIME_DIR",
        )
    return path


def _cannot(path: Path, error: OSError) -> RankwiseError:
    return RankwiseError(
        f"`{path}` cannot be made: {os.strerror(error.errno or 0).lower()}", "set TMPDIR to another place"
    )
