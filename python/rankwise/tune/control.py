# SPDX-License-Identifier: BSD-3-Clause
"""Asking tuners that run: a line to their socket, an answer until its end."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import TypeVar

import msgspec

from rankwise.errors import RankwiseError
from rankwise.tune import directories
from rankwise.tune.document import Status, Stopped

_Answer = TypeVar("_Answer")
_LIMIT_S = 5.0
# Masks are put back at once, and pages after them, in steps, for 5 s at most (tune/linux_system.cpp).
_END_S = 10.0
_LOOK_S = 0.02
_MOST_BYTES = 16 << 20


class _NoAnswer(RankwiseError):
    """A connection that was closed without a word."""


def sockets() -> list[Path]:
    """Where tuners of this user, and the daemon of this node, would answer; not all need be there."""
    places = (directories.user_directory(), *directories.other_directories())
    own = [path for place in places for path in sorted(place.glob(f"*/{directories.SOCKET}"))]
    return [*own, *({directories.DAEMON_SOCKET} - set(own))]


def ask(path: Path, request: str, limit_s: float = _LIMIT_S) -> bytes:
    """The answer of a tuner to `status`, `metrics` or `stop`.

    Raises:
        RankwiseError: None answers there, or not to this user.
    """
    directories.check_socket(path)
    answer = bytearray()
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(limit_s)
            connection.connect(str(path))
            connection.sendall(request.encode() + b"\n")
            while part := connection.recv(1 << 16):
                answer += part
                if len(answer) > _MOST_BYTES:
                    raise RankwiseError(f"what answers at `{path}` is no tuner: its answer has no end")
    except ConnectionResetError:
        answer.clear()
    except (FileNotFoundError, ConnectionRefusedError):
        raise RankwiseError(
            f"no tuner answers at `{path}`", "start one: `rankwise tune -- mpiexec ...`"
        ) from None
    except PermissionError:
        raise RankwiseError(
            f"the tuner at `{path}` is another user's", "ask as that user, for example with `sudo`"
        ) from None
    except OSError as error:
        why = os.strerror(error.errno).lower() if error.errno else f"nothing came within {limit_s:g} s"
        raise RankwiseError(f"the tuner at `{path}` does not answer: {why}") from None
    if not answer:
        raise _NoAnswer(f"the tuner at `{path}` is another user's, or has just ended")
    return bytes(answer)


def status_of(path: Path) -> Status:
    """What a tuner says of itself.

    Raises:
        RankwiseError: None answers, or something else does.
    """
    return _decoded(path, ask(path, "status"), Status)


def stop(path: Path) -> Stopped:
    """Ask a tuner to end, and wait until it has, which is after it has put masks back.

    Raises:
        RankwiseError: None answers, or it has not ended after some seconds.
    """
    try:
        stopped = _decoded(path, ask(path, "stop", _END_S), Stopped)
    except _NoAnswer:
        if answers(path):
            raise
        return Stopped(0, "it ended before it answered; if it was killed, its guard gives masks back")
    until = time.monotonic() + _END_S
    # It removes its socket last; one that is killed meanwhile leaves it.
    while os.path.lexists(path):
        if time.monotonic() > until:
            if not answers(path):
                break
            raise RankwiseError(
                f"the tuner at `{path}` has not ended within {_END_S:g} s: masks may still be as it set them",
                "look again with `rankwise tune status`",
            )
        time.sleep(_LOOK_S)
    return stopped


def _decoded(path: Path, answer: bytes, form: type[_Answer]) -> _Answer:
    try:
        return msgspec.json.decode(answer, type=form)
    except msgspec.DecodeError as error:
        raise RankwiseError(f"what answers at `{path}` is no tuner: {str(error).lower()}") from None


def answers(path: Path) -> bool:
    """Whether somebody listens at a socket whom this user may ask; one that is left of an ended tuner does not."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_LIMIT_S)
            connection.connect(str(path))
        return True
    except OSError:
        return False
