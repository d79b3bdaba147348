# SPDX-License-Identifier: BSD-3-Clause
"""Replay speed: messages a second of one core, on generated schedules of about a million 8 KiB messages.

Usage: bench/replay.py [--patterns ring halo ...] [--ranks N ...] [--messages 1e6] [--repeat 3] [--json]

Times are CPU times of this process, the best of the repeats, for two models: plain LogGOPS, and the machine model with
16 ranks a node, whose interfaces messages queue at. Messages were matched before, once for any number of replays.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable

import numpy as np

from rankwise import _core

SEND, RECEIVE, CALC = 1, 2, 3
SIZE = 8192
CALC_PS = 10_000_000
RANKS_PER_NODE = 16


class Generator:
    """Operations and edges of one rank, repeated for many, as the arrays of `Schedule.from_arrays`."""

    def __init__(self, ranks: int):
        self.ranks = ranks
        self.ops: list[list[tuple[int, int, int]]] = [[] for _ in range(ranks)]
        self.edges: list[list[tuple[int, int]]] = [[] for _ in range(ranks)]
        self.before: list[list[int]] = [[] for _ in range(ranks)]

    def add(self, rank: int, kind: int, value: int, peer: int = 0) -> int:
        """An operation that waits for what `then` was last given; returns its number in the rank."""
        number = len(self.ops[rank])
        self.ops[rank].append((kind, value, peer))
        self.edges[rank] += [(number, earlier) for earlier in self.before[rank]]
        return number

    def then(self, rank: int, numbers: list[int]) -> None:
        """What follows waits for these operations of the rank."""
        self.before[rank] = numbers

    def schedule(self):
        """All of it, matched; the generator is empty then."""
        counts = np.array([len(own) for own in self.ops], dtype=np.uint32)
        first = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
        flat = np.array([op for own in self.ops for op in own], dtype=np.uint64).reshape(-1, 3)
        edge_count = [len(own) for own in self.edges]
        edges = np.array([edge for own in self.edges for edge in own], dtype=np.int64).reshape(-1, 2)
        edges += np.repeat(first, edge_count)[:, None]
        self.ops = self.edges = []
        return _core.replay.Schedule.from_arrays(
            counts,
            flat[:, 0].astype(np.uint8),
            flat[:, 1].copy(),
            flat[:, 2].astype(np.uint32),
            np.zeros(len(flat), dtype=np.uint32),
            edges[:, 0].astype(np.uint32),
            edges[:, 1].astype(np.uint32),
            np.zeros(len(edges), dtype=np.uint8),
        )


def exchange(ranks: int, messages: int, neighbours: Callable[[int], list[int]]):
    """Receives and sends posted together, waited for, then a computation; repeated."""
    g = Generator(ranks)
    steps = max(1, messages // sum(len(neighbours(r)) for r in range(ranks)))
    for _ in range(steps):
        for r in range(ranks):
            peers = neighbours(r)
            posted = [g.add(r, RECEIVE, SIZE, p) for p in peers] + [g.add(r, SEND, SIZE, p) for p in peers]
            g.then(r, posted)
            g.then(r, [g.add(r, CALC, CALC_PS)])
    return g.schedule()


def ring(ranks: int, messages: int):
    """Two neighbours."""
    return exchange(ranks, messages, lambda r: [(r + 1) % ranks, (r - 1) % ranks])


def halo(ranks: int, messages: int):
    """Six neighbours of a periodic cube."""
    side = round(ranks ** (1 / 3))
    if side**3 != ranks:
        raise SystemExit(f"halo needs a cube of ranks, not {ranks}")

    def neighbours(r: int) -> list[int]:
        x, y, z = r % side, r // side % side, r // side**2
        shifted = [((x + d) % side, y, z) for d in (1, -1)] + [(x, (y + d) % side, z) for d in (1, -1)]
        shifted += [(x, y, (z + d) % side) for d in (1, -1)]
        return [a + side * (b + side * c) for a, b, c in shifted]

    return exchange(ranks, messages, neighbours)


def binomial(ranks: int, messages: int):
    """A reduction to rank 0 and a broadcast from it over a binomial tree, repeated."""
    g = Generator(ranks)
    levels = (ranks - 1).bit_length()
    for _ in range(max(1, messages // (2 * (ranks - 1)))):
        for r in range(ranks):
            parent = r & (r - 1)
            low = (r & -r).bit_length() - 1 if r else levels
            children = [r | 1 << bit for bit in range(low) if r | 1 << bit < ranks]
            for child in children:
                g.then(r, [g.add(r, RECEIVE, SIZE, child)])
            if r:
                g.then(r, [g.add(r, SEND, SIZE, parent)])
                g.then(r, [g.add(r, RECEIVE, SIZE, parent)])
            for child in reversed(children):
                g.then(r, [g.add(r, SEND, SIZE, child)])
    return g.schedule()


def pairwise(ranks: int, messages: int):
    """All-to-all as P-1 exchanges."""
    g = Generator(ranks)
    for _ in range(max(1, messages // (ranks * (ranks - 1)))):
        for r in range(ranks):
            for step in range(1, ranks):
                both = [g.add(r, RECEIVE, SIZE, (r - step) % ranks), g.add(r, SEND, SIZE, (r + step) % ranks)]
                g.then(r, both)
    return g.schedule()


def linear(ranks: int, messages: int):
    """All-to-all with everything posted at once."""
    others = {r: [(r + step) % ranks for step in range(1, ranks)] for r in range(ranks)}
    return exchange(ranks, messages, others.__getitem__)


PATTERNS = {"ring": ring, "halo": halo, "binomial": binomial, "pairwise": pairwise, "linear": linear}
DEFAULT_RANKS = {
    "ring": [1024, 16384],
    "halo": [4096],
    "binomial": [1024],
    "pairwise": [1024],
    "linear": [256, 1024],
}
LOGGOPS = {
    "L_s": 2.5e-6,
    "o_s": 1.5e-6,
    "g_s": 1e-6,
    "G_s_per_byte": 6e-9,
    "O_s_per_byte": 0.0,
    "S_bytes": 65535,
}


def machine_arguments(ranks: int) -> dict:
    """The same parameters for all channels, an interface for each node that is as fast as one rank's link."""
    segment = {"up_to_bytes": None, "L_s": 2.5e-6, "o_s": 1.5e-6, "o_receive_s": 1.5e-6, "g_s": 0.0}
    segment |= {"G_s_per_byte": 1e-9, "O_s_per_byte": 0.0}
    link = {"segments": [segment], "eager_limit_bytes": 65535, "in_call": True, "overlap": True}
    interface = {"per_message_s": 1e-7, "s_per_byte": 1e-10}
    rank = np.arange(ranks, dtype=np.uint32)
    return {
        "links": [link | {"network": False}, link | {"network": True}],
        "tx": interface,
        "rx": interface,
        "core_sharing": "yield",
        "progress": True,
        "handshake": True,
        "layout": {
            "node": rank // RANKS_PER_NODE,
            "place": rank % RANKS_PER_NODE,
            "places": RANKS_PER_NODE,
            "processor": rank,
            "capacity": np.ones(ranks, dtype=np.uint32),
            "place_link": np.zeros(RANKS_PER_NODE**2, dtype=np.uint8),
            "network_link": 1,
            "self_link": 0,
        },
    }


def best(repeat: int, work: Callable[[], object]) -> tuple[float, object]:
    """Least CPU time of some repetitions, and the last result."""
    times, result = [], None
    for _ in range(repeat):
        begin = time.process_time()
        result = work()
        times.append(time.process_time() - begin)
    return min(times), result


def measure(pattern: str, ranks: int, messages: int, repeat: int) -> dict:
    """One row."""
    schedule = PATTERNS[pattern](ranks, messages)
    text_free = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    plain_s, plain = best(repeat, lambda: schedule.replay_loggops(**LOGGOPS))
    arguments = machine_arguments(ranks)
    machine_s, machine = best(repeat, lambda: schedule.replay_on_machine(**arguments))
    return {
        "pattern": pattern,
        "ranks": ranks,
        "messages": schedule.messages,
        "loggops_messages_per_s": schedule.messages / plain_s,
        "machine_messages_per_s": schedule.messages / machine_s,
        "loggops_makespan_s": plain.makespan_s,
        "machine_makespan_s": machine.makespan_s,
        "peak_bytes_before": text_free * 1024,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--patterns", nargs="+", choices=PATTERNS, default=list(PATTERNS))
    parser.add_argument("--ranks", nargs="+", type=int)
    parser.add_argument("--messages", type=float, default=1e6)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = []
    if not args.json:
        print(
            f"{'pattern':10} {'ranks':>6} {'messages':>9} {'LogGOPS':>12} {'machine':>12}   M messages/s of a core"
        )
    for pattern in args.patterns:
        for ranks in args.ranks or DEFAULT_RANKS[pattern]:
            row = measure(pattern, ranks, int(args.messages), args.repeat)
            rows.append(row)
            if not args.json:
                plain, machine = row["loggops_messages_per_s"] / 1e6, row["machine_messages_per_s"] / 1e6
                print(f"{pattern:10} {ranks:6} {row['messages']:9} {plain:12.2f} {machine:12.2f}", flush=True)
    if args.json:
        print(json.dumps({"schema": "rankwise.bench.replay/1", "rows": rows}, indent=2))


if __name__ == "__main__":
    main()
