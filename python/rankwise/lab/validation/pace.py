# SPDX-License-Identifier: BSD-3-Clause
"""How fast the processors are at what messages cost them, told by a fixed exercise.

A virtual machine's processors are not always as fast: others share their caches and cores, and no counter of this
machine says so. A machine file describes them as they were when it was measured.
"""

from __future__ import annotations

import os
import socket
import statistics
import time
from collections.abc import Iterable

_BYTES = 8192
_TRIPS, _BATCHES = 50, 15


def take(pus: Iterable[int]) -> float | None:
    """Seconds of one exercise: 8 KiB sent through TCP to itself and received, by one process that never waits.

    The mean over the processors, of each the median of 15 batches, so that a moment that others took does not count.
    About 10 ms a processor. `None` where there is no TCP to itself, or a processor is not this process's to use.
    """
    before = os.sched_getaffinity(0)
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as server,
            socket.create_connection(server.getsockname(), timeout=1.0) as one,
            server.accept()[0] as other,
        ):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return statistics.fmean(_of(pu, one, other) for pu in sorted(set(pus)))
    except (OSError, statistics.StatisticsError):
        return None
    finally:
        os.sched_setaffinity(0, before)


def _of(pu: int, one: socket.socket, other: socket.socket) -> float:
    os.sched_setaffinity(0, {pu})
    data, into = bytes(_BYTES), bytearray(_BYTES)
    times = []
    for _ in range(_BATCHES):
        began = time.perf_counter()
        for _ in range(_TRIPS):
            one.sendall(data)
            left = _BYTES
            while left:
                left -= other.recv_into(into, left)
        times.append((time.perf_counter() - began) / _TRIPS)
    return statistics.median(times)
