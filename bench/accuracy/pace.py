# SPDX-License-Identifier: BSD-3-Clause
"""How fast the processors are, told by fixed exercises.

A virtual machine's processors are not always as fast: others share their caches and cores, and no counter of this
machine says so. A machine file describes them as they were when it was measured, a recording as they were then.
"""

from __future__ import annotations

import os
import socket
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

_BYTES = 8192
_TRIPS, _BATCHES = 50, 15
_VALUES, _SWEEPS = 8192, 100  # 64 KiB, in a cache that no other core has


@dataclass(frozen=True)
class Pace:
    """Seconds of two exercises, each by one process that never waits; means over the processors.

    Attributes:
        message_s: 8 KiB sent through TCP to itself and received.
        compute_s: 64 KiB of numbers read, changed and written, which keeps a processor's arithmetic and cache busy: it
            is slower where another machine's work shares the core, as a chain of dependent operations is not.
    """

    message_s: float
    compute_s: float


def take(pus: Iterable[int]) -> Pace | None:
    """Both exercises on each of these processors.

    Of each processor the median of 15 batches counts, so that a moment that others took does not. About 25 ms a
    processor. `None` where there is no TCP to itself, or a processor is not this process's to use.
    """
    before = os.sched_getaffinity(0)
    values = np.ones(_VALUES)
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as server,
            socket.create_connection(server.getsockname(), timeout=1.0) as one,
            server.accept()[0] as other,
        ):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            found = []
            for pu in sorted(set(pus)):
                os.sched_setaffinity(0, {pu})
                found.append(
                    (_time(lambda: _trip(one, other), _TRIPS), _time(lambda: _sweep(values), _SWEEPS))
                )
            message_s, compute_s = map(statistics.fmean, zip(*found, strict=True))
            return Pace(message_s, compute_s)
    except (OSError, ValueError):
        return None
    finally:
        os.sched_setaffinity(0, before)


def _time(exercise: Callable[[], None], count: int) -> float:
    """Seconds of one exercise."""
    times = []
    for _ in range(_BATCHES):
        began = time.perf_counter()
        for _ in range(count):
            exercise()
        times.append((time.perf_counter() - began) / count)
    return statistics.median(times)


def _trip(one: socket.socket, other: socket.socket) -> None:
    one.sendall(bytes(_BYTES))
    left = _BYTES
    while left:
        left -= len(other.recv(left))


def _sweep(values: np.ndarray) -> None:
    np.multiply(values, 0.5, out=values)
    np.add(values, 1.0, out=values)
