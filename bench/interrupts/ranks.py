# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks of the experiment do: `ranks.py SECONDS SIZE...`.

Ranks 0 and 1 are on one node and send, 3 on the other receives, 2 beside it computes. Those that have nothing to do
sleep. All nodes of a lab have one clock, so that all begin and end at the same times. For each size it measures, each
for SECONDS: half a round trip and the rate of a stream from each sender; what rank 2 computes alone, while rank 1
streams, and alone again. Ranks of a lab sleep between looks for messages; two that have a processor each look all the
time here, as on a cluster. Rank 0 prints one line of JSON.
"""

import ctypes
import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from mpi4py import MPI

SENDERS, COMPUTES, RECEIVES = (0, 1), 2, 3
WORLD = MPI.COMM_WORLD
MORE, LAST = 1, 2
AT_ONCE = 16  # messages, after which the receiver answers: no more than these lie about unreceived
PROCESSOR = WORLD.allgather(min(os.sched_getaffinity(0)))
UNIT = 1000  # additions; some 30 us


def unit() -> None:
    """A fixed amount of computation that touches no memory to speak of."""
    total = 0
    for each in range(UNIT):
        total += each


def compute(until: float) -> int:
    """Units that were computed until then."""
    count = 0
    while time.monotonic() < until:
        unit()
        count += 1
    return count


def send(size: int, until: float) -> None:
    """Stream messages until then."""
    data, answer = np.zeros(max(size, 1), np.uint8), np.zeros(1, np.uint8)
    while True:
        for _ in range(AT_ONCE - 1):
            WORLD.Send(data, RECEIVES, MORE)
        last = time.monotonic() >= until
        WORLD.Send(data, RECEIVES, LAST if last else MORE)
        WORLD.Recv(answer, RECEIVES)
        if last:
            return


def receive(size: int, sender: int, until: float) -> int:
    """Messages of a stream that came until then."""
    data, answer = np.zeros(max(size, 1), np.uint8), np.zeros(1, np.uint8)
    status, count = MPI.Status(), 0
    while True:
        for _ in range(AT_ONCE):
            WORLD.Recv(data, sender, MPI.ANY_TAG, status)
            count += time.monotonic() < until
        WORLD.Send(answer, sender)
        if status.tag == LAST:
            return count


def round_trips(size: int, peer: int, until: float) -> float:
    """Seconds of half a round trip; the sender says when it ends."""
    data, status, count = np.zeros(max(size, 1), np.uint8), MPI.Status(), 0
    begun = time.monotonic()
    while True:
        if WORLD.rank in SENDERS:
            last = time.monotonic() >= until
            WORLD.Send(data, peer, LAST if last else MORE)
            WORLD.Recv(data, peer)
        else:
            WORLD.Recv(data, peer, MPI.ANY_TAG, status)
            WORLD.Send(data, peer)
            last = status.tag == LAST
        count += 1
        if last:
            return (time.monotonic() - begun) / count / 2


def together(window_s: float, parts: dict) -> object:
    """Do each rank's part, called with its end, from one moment on; those without one sleep meanwhile."""
    begin = WORLD.bcast(time.monotonic() + 0.01)
    time.sleep(max(0.0, begin - time.monotonic()))
    done = parts[WORLD.rank](begin + window_s) if WORLD.rank in parts else None
    time.sleep(max(0.0, begin + window_s - time.monotonic()))
    WORLD.Barrier()
    return done


def awake(peer: int, work: Callable) -> Callable:
    """The same work, whose rank looks for messages all the time if its peer has another processor."""
    keep = ctypes.CDLL(None).rankwise_lab_keep_awake

    def done(until: float) -> object:
        keep(int(PROCESSOR[WORLD.rank] != PROCESSOR[peer]))
        try:
            return work(until)
        finally:
            keep(0)

    return done


def frames() -> int:
    """What this rank's processor has taken in so far, for whatever node."""
    with open("/proc/net/softnet_stat") as file:
        rows = [[int(number, 16) for number in line.split()] for line in file]
    # Its number is in column 13 of kernels since 5.10; processors that are off have no row.
    return next(
        row[0] for at, row in enumerate(rows) if (row[12] if len(row) > 12 else at) == PROCESSOR[WORLD.rank]
    )


def compute_and_count(until: float) -> tuple[int, int]:
    """Units that were computed until then, and frames that came meanwhile."""
    before = frames()
    done = compute(until)
    return done, frames() - before


def measure(size: int, window_s: float) -> dict:
    """All about one size."""
    row = {"size_bytes": size, "latency_s": [], "bytes_per_s": []}
    for sender in SENDERS:
        trip = together(
            window_s,
            {
                sender: awake(RECEIVES, partial(round_trips, size, RECEIVES)),
                RECEIVES: awake(sender, partial(round_trips, size, sender)),
            },
        )
        came = together(
            window_s,
            {
                sender: awake(RECEIVES, partial(send, size)),
                RECEIVES: awake(sender, partial(receive, size, sender)),
            },
        )
        row["latency_s"].append(WORLD.bcast(trip, RECEIVES))
        row["bytes_per_s"].append(WORLD.bcast(came, RECEIVES) * size / window_s)
    before = together(window_s, {COMPUTES: compute})
    beside = SENDERS[1]
    both = {
        beside: partial(send, size),
        RECEIVES: partial(receive, size, beside),
        COMPUTES: compute_and_count,
    }
    loaded = together(window_s, both)
    after = together(window_s, {COMPUTES: compute})
    row["messages_per_s"] = WORLD.bcast(loaded, RECEIVES) / window_s
    kept = frames_per_s = None
    if WORLD.rank == COMPUTES:
        kept, frames_per_s = 2 * loaded[0] / max(before + after, 1), loaded[1] / window_s
    row["kept_share"] = WORLD.bcast(kept, COMPUTES)
    row["frames_per_s"] = WORLD.bcast(frames_per_s, COMPUTES)
    return row


if __name__ == "__main__":
    found = [measure(int(size), float(sys.argv[1])) for size in sys.argv[2:]]
    if WORLD.rank == 0:
        sys.stdout.write(json.dumps(found) + "\n")
