# SPDX-License-Identifier: BSD-3-Clause
"""Asking tuners that run: a line to their socket, an answer until its end."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import msgspec

from rankwise.errors import RankwiseError
from rankwise.tune import directories
from rankwise.tune.document import Status

_LIMIT_S = 5.0
# Masks are put back at once, and pages after them, in steps, for 5 s at most (tune/linux_system.cpp).
_END_S = 10.0
_LOOK_S = 0.02
_MOST_BYTES = 16 << 20


def sockets() -> list[Path]:
    """Where tuners of this user, and the daemon of this node, would answer; not all need be there."""
    places = (directories.user_directory(), *directories.other_directories())
    own = [path for place in places for path in sorted(place.glob(f"*/{directories.SOCKET}"))]
    return [*own, *({directories.DAEMON_SOCKET} - set(own))]


def ask(path: Path, request: str) -> bytes:
    """The answer of a tuner to `status`, `metrics` or `stop`.

    Raises:
        RankwiseError: None answers there, or not to this user.
    """
    directories.check_socket(path)
    answer = bytearray()
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_LIMIT_S)
            connection.connect(str(path))
            connection.sendall(request.encode() + b"\n")
            while part := connection.recv(1 << 16):
                answer += part
                if len(answer) > _MOST_BYTES:
                    raise RankwiseError(f"what answers at `{path}` is no tuner: its answer has no end")
    except (FileNotFoundError, ConnectionRefusedError):
        raise RankwiseError(
            f"no tuner answers at `{path}`", "start one: `rankwise tune -- mpiexec ...`"
        ) from None
    except PermissionError:
        raise RankwiseError(
            f"the tuner at `{path}` is another user's", "ask as that user, for example with `sudo`"
        ) from None
    except OSError as error:
        why = os.strerror(error.errno).lower() if error.errno else f"nothing came within {_LIMIT_S:g} s"
        raise RankwiseError(f"the tuner at `{path}` does not answer: {why}") from None
    if not answer:
        raise RankwiseError(f"the tuner at `{path}` is another user's, or has just ended")
    return bytes(answer)


def status_of(path: Path) -> Status:
    """What a tuner says of itself.

    Raises:
        RankwiseError: None answers, or something else does.
    """
    try:
        return msgspec.json.decode(ask(path, "status"), type=Status)
    except msgspec.DecodeError as error:
        raise RankwiseError(f"what answers at `{path}` is no tuner: {str(error).lower()}") from None


def stop(path: Path) -> None:
    """Ask a tuner to end, and wait until it has, which is after it has put masks back.

    Raises:
        RankwiseError: None answers, or it has not ended after some seconds.
    """
    ask(path, "stop")
    until = time.monotonic() + _END_S
    # It removes its socket last; one that is killed meanwhile leaves it.
    while os.path.lexists(path):
        if time.monotonic() > until:
            if not answers(path):
                return
            raise RankwiseError(
                f"the tuner at `{path}` has not ended within {_END_S:g} s: masks may still be as it set them",
                "look again with `rankwise tune status`",
            )
        time.sleep(_LOOK_S)


def answers(path: Path) -> bool:
    """Whether somebody listens at a socket whom this user may ask; one that is left of an ended tuner does not."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_LIMIT_S)
            connection.connect(str(path))
        return True
    except OSError:
        return False
