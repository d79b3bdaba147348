# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks of the experiment do: `ranks.py SECONDS SIZE...`.

Ranks 0 and 1 are on one node and send, 3 on the other receives, 2 beside it computes. Those that have nothing to do
sleep. All nodes of a lab have one clock, so that all begin and end at the same times. For each size it measures, each
for SECONDS: half a round trip and the rate of a stream from each sender; what rank 2 computes alone, while rank 1
streams, and alone again. Rank 0 prints one line of JSON.
"""

import json
import sys
import time
from functools import partial

import numpy as np
from mpi4py import MPI

SENDERS, COMPUTES, RECEIVES = (0, 1), 2, 3
WORLD = MPI.COMM_WORLD
MORE, LAST = 1, 2
AT_ONCE = 16  # messages, after which the receiver answers: no more than these lie about unreceived
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


def measure(size: int, window_s: float) -> dict:
    """All about one size."""
    row = {"size_bytes": size, "latency_s": [], "bytes_per_s": []}
    for sender in SENDERS:
        trips = {sender: partial(round_trips, size, RECEIVES), RECEIVES: partial(round_trips, size, sender)}
        trip = together(window_s, trips)
        came = together(window_s, {sender: partial(send, size), RECEIVES: partial(receive, size, sender)})
        row["latency_s"].append(WORLD.bcast(trip, RECEIVES))
        row["bytes_per_s"].append(WORLD.bcast(came, RECEIVES) * size / window_s)
    before = together(window_s, {COMPUTES: compute})
    beside = SENDERS[1]
    both = {beside: partial(send, size), RECEIVES: partial(receive, size, beside), COMPUTES: compute}
    loaded = together(window_s, both)
    after = together(window_s, {COMPUTES: compute})
    row["messages_per_s"] = WORLD.bcast(loaded, RECEIVES) / window_s
    kept = 2 * loaded / max(before + after, 1) if WORLD.rank == COMPUTES else None
    row["kept_share"] = WORLD.bcast(kept, COMPUTES)
    return row


if __name__ == "__main__":
    found = [measure(int(size), float(sys.argv[1])) for size in sys.argv[2:]]
    if WORLD.rank == 0:
        sys.stdout.write(json.dumps(found) + "\n")
