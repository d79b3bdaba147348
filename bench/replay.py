# SPDX-License-Identifier: BSD-3-Clause
"""Replay speed: messages a second of one core, on generated schedules of about a million 8 KiB messages.

Usage: bench/replay.py [--patterns ring halo ...] [--ranks N ...] [--messages 1e6] [--repeat 3] [--scatter F]
                       [--sharing memory cores ...] [--threads N] [--loggopsim PATH] [--placements N] [--json]

Times are CPU times of this process, the best of the repeats, for two models: plain LogGOPS, and the machine model with
16 ranks a node, whose interfaces messages queue at. Messages were matched before, once for any number of replays.
With `--sharing`, machines whose ranks share memories and caches, cores, or all of these, too, and whose nodes have four
interfaces that their ranks use in blocks, or that all messages are striped over; with `--threads` how many
times faster so many threads are than one. Memory is what a replay on the machine takes at its peak beyond the schedule,
beside 40 bytes a message and 200 a rank.
With a path to LogGOPSim it runs on the same schedule with the same parameters, and finish times are compared; its time
is that of its whole process.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import re
import resource
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rankwise import _core
from rankwise.placement.estimate_error import kendall

SEND, RECEIVE, CALC = 1, 2, 3
SIZE = 8192
CALC_PS = 10_000_000
RANKS_PER_NODE = 16
GOALS = [(4096, 10e6), (65536, 3e6)]  # messages/s up to so many ranks


class Generator:
    """Arrays of `Schedule.from_arrays` for ranks that all do the same with different peers.

    `scatter` makes computations longer by a random part of up to that fraction.
    """

    def __init__(self, ranks: int, scatter: float):
        self.ranks, self.scatter = ranks, scatter

    def computation(self, shape: tuple[int, ...]) -> np.ndarray:
        """Times in picoseconds, whole nanoseconds as in GOAL files."""
        longer = np.random.default_rng(1).random(shape) * self.scatter
        return (CALC_PS * (1 + longer)).astype(np.uint64) // 1000 * 1000

    def schedule(self, kinds: np.ndarray, peers: np.ndarray, edges: np.ndarray, steps: int):
        """Each rank's step is `kinds`; `peers` are ranks x operations of a step, the same in all steps.

        `edges` are (later, earlier) within two steps: numbers below `len(kinds)` are of the step before, which the
        first step has not.
        """
        a_step = len(kinds)
        size = a_step * steps
        value = np.where(kinds == CALC, 0, SIZE).astype(np.uint64)
        value = np.broadcast_to(value, (self.ranks, steps, a_step)).copy()
        value[:, :, kinds == CALC] = self.computation((self.ranks, steps, int((kinds == CALC).sum())))
        within = (edges[None, :, :] + (np.arange(steps)[:, None, None] - 1) * a_step).reshape(-1, 2)
        within = within[within[:, 1] >= 0]
        all_edges = (within[None, :, :] + (np.arange(self.ranks) * size)[:, None, None]).reshape(-1, 2)
        return _core.schedule.Schedule.from_arrays(
            np.full(self.ranks, size, dtype=np.uint32),
            np.tile(kinds.astype(np.uint8), self.ranks * steps),
            value.reshape(-1),
            np.repeat(peers[:, None, :], steps, axis=1).astype(np.uint32).reshape(-1),
            np.zeros(self.ranks * size, dtype=np.uint32),
            all_edges[:, 0].astype(np.uint32),
            all_edges[:, 1].astype(np.uint32),
            np.zeros(len(all_edges), dtype=np.uint8),
        )


def exchange(g: Generator, messages: int, neighbours: np.ndarray):
    """Receives and sends to all neighbours posted together, waited for, then a computation; repeated."""
    degree = neighbours.shape[1]
    kinds = np.array([RECEIVE] * degree + [SEND] * degree + [CALC])
    peers = np.concatenate([neighbours, neighbours, np.zeros((g.ranks, 1), dtype=np.int64)], axis=1)
    last = 2 * degree
    edges = [(last + 1 + k, last) for k in range(2 * degree)] + [
        (2 * last + 1, last + 1 + k) for k in range(last)
    ]
    return g.schedule(kinds, peers, np.array(edges), max(1, messages // (g.ranks * degree)))


def ring(g: Generator, messages: int):
    """Two neighbours."""
    rank = np.arange(g.ranks)
    return exchange(g, messages, np.stack([(rank + 1) % g.ranks, (rank - 1) % g.ranks], axis=1))


def halo(g: Generator, messages: int):
    """Six neighbours of a periodic cube."""
    side = round(g.ranks ** (1 / 3))
    if side**3 != g.ranks:
        raise SystemExit(f"halo needs a cube of ranks, not {g.ranks}")
    place = np.stack(np.unravel_index(np.arange(g.ranks), (side,) * 3), axis=1)
    steps = [np.eye(3, dtype=np.int64)[axis] * sign for axis in (2, 1, 0) for sign in (1, -1)]
    around = [np.ravel_multi_index(tuple(((place + step) % side).T), (side,) * 3) for step in steps]
    return exchange(g, messages, np.stack(around, axis=1))


def linear(g: Generator, messages: int):
    """All-to-all with everything posted at once."""
    return exchange(g, messages, (np.arange(g.ranks)[:, None] + np.arange(1, g.ranks)) % g.ranks)


def pairwise(g: Generator, messages: int):
    """All-to-all as P-1 exchanges, then a computation."""
    rank, distance = np.arange(g.ranks)[:, None], np.arange(1, g.ranks)
    both = np.stack([(rank - distance) % g.ranks, (rank + distance) % g.ranks], axis=2).reshape(g.ranks, -1)
    peers = np.concatenate([both, np.zeros((g.ranks, 1), dtype=np.int64)], axis=1)
    kinds = np.array([RECEIVE, SEND] * (g.ranks - 1) + [CALC])
    last = 2 * (g.ranks - 1)
    edges = [(last + 1, last), (last + 2, last)]
    edges += [
        (last + 1 + k, last + 1 + j) for k in range(2, last + 1) for j in (k - k % 2 - 2, k - k % 2 - 1)
    ]
    return g.schedule(kinds, peers, np.array(edges), max(1, messages // (g.ranks * (g.ranks - 1))))


def binomial(g: Generator, messages: int):
    """A reduction to rank 0 and a broadcast from it over a binomial tree, each rank one thing after the other."""
    counts, kinds, peers = [], [], []
    times = max(1, messages // (2 * (g.ranks - 1)))
    for r in range(g.ranks):
        low = (r & -r).bit_length() - 1 if r else (g.ranks - 1).bit_length()
        children = [r | 1 << bit for bit in range(low) if r | 1 << bit < g.ranks]
        parent = [r & (r - 1)] * (r > 0)
        once = [RECEIVE] * len(children) + [SEND, RECEIVE] * (r > 0) + [SEND] * len(children)
        counts.append(times * len(once))
        kinds += once * times
        peers += (children + 2 * parent + children[::-1]) * times
    first = np.cumsum([0, *counts[:-1]])
    later = np.setdiff1d(np.arange(len(kinds)), first)
    arrays = [
        np.array(x, dtype=t)
        for x, t in ((counts, np.uint32), (kinds, np.uint8), ([SIZE] * len(kinds), np.uint64))
    ]
    more = [np.array(x, dtype=np.uint32) for x in (peers, [0] * len(kinds), later, later - 1)]
    return _core.schedule.Schedule.from_arrays(*arrays, *more, np.zeros(len(later), dtype=np.uint8))


PATTERNS = {"ring": ring, "halo": halo, "binomial": binomial, "pairwise": pairwise, "linear": linear}
DEFAULT_RANKS = {
    "ring": [1024, 16384, 65536],
    "halo": [4096, 64000],
    "binomial": [1024, 65536],
    "pairwise": [1024],
    "linear": [256, 1024],
}
SHARING = ("memory", "cores", "all", "interfaces", "striped")
INTERFACES = 4
LOGGOPS = {
    "L_s": 2.5e-6,
    "o_s": 1.5e-6,
    "g_s": 1e-6,
    "G_s_per_byte": 6e-9,
    "O_s_per_byte": 0.0,
    "S_bytes": 65535,
}


def bench_machine(what: str = "") -> _core.machine.Machine:
    """The same parameters for all channels, an interface for each node that is as fast as one rank's link.

    With `what` of `SHARING`, cores move the bytes, and where memories are among it, nodes have one and a cache; or
    nodes have several interfaces.
    """
    has_memory = what in ("memory", "all")
    several = what in ("interfaces", "striped")
    stripes = {"striped_from_bytes": 0} if what == "striped" else {}
    what = "" if several else what

    def link(network: bool, per_byte_s: float) -> _core.machine.LinkClass:
        segment = _core.machine.Segment(
            up_to_bytes=None,
            L_s=2.5e-6,
            o_s=1.5e-6,
            o_receive_s=1.5e-6,
            g_s=0.0,
            G_s_per_byte=1e-9,
            O_s_per_byte=per_byte_s,
        )
        overlap = network or not has_memory
        return _core.machine.LinkClass(
            [segment], eager_limit_bytes=65535, in_call=True, overlap=overlap, network=network
        )

    memory = _core.machine.Bandwidth(
        capacity_bytes_per_s=8e9,
        per_core_bytes_per_s=2e9,
        slowdown=[],
        passes=2.0,
        copies=[True, True],
        computation=True,
    )
    cache = _core.machine.Bandwidth(
        capacity_bytes_per_s=4e9,
        per_core_bytes_per_s=0.0,
        slowdown=[],
        passes=1.0,
        copies=[True, False],
        computation=False,
    )
    interface = _core.machine.Interface(1e-7, 1e-10)
    return _core.machine.Machine(
        link_classes=[link(False, 1e-10 if what else 0.0), link(True, 2e-10 if what else 0.0)],
        tx=interface,
        rx=interface,
        core_sharing="yield",
        bandwidths=[memory, cache] if has_memory else [],
        interfaces=INTERFACES if several else 1,
        **stripes,
    )


def placed(core: np.ndarray, what: str = "") -> _core.machine.Placement:
    """Each rank on a core of its own, by number over all nodes.

    With `what` of `SHARING`: two on one core, a memory of eight and a cache of four, or all of it; or an interface of
    four.
    """
    rank = np.arange(len(core), dtype=np.uint32)
    ranks_of_core = 2 if what in ("cores", "all") else 1
    where = {}
    if what in ("memory", "all"):
        where = {"memory_bound": np.full(len(core), 0.5), "domain": [rank // 8, rank // 4]}
    if what in ("interfaces", "striped"):
        number = core % RANKS_PER_NODE * INTERFACES // RANKS_PER_NODE
        where = {"interface": (core // RANKS_PER_NODE * INTERFACES + number).astype(np.uint32)}
    return _core.machine.Placement(
        node=core // RANKS_PER_NODE,
        place=core % RANKS_PER_NODE,
        places=RANKS_PER_NODE,
        processor=rank // ranks_of_core,
        capacity=np.ones(len(core), dtype=np.uint32),
        place_link=np.zeros(RANKS_PER_NODE**2, dtype=np.uint8),
        network_link=1,
        self_link=0,
        **where,
    )


def best(repeat: int, work: Callable[[], object]) -> tuple[float, object]:
    """Least CPU time of some repetitions, and the last result."""
    times, result = [], None
    for _ in range(repeat):
        begin = time.process_time()
        result = work()
        times.append(time.process_time() - begin)
    return min(times), result


def peak_beyond(work: Callable[[], object]) -> int:
    """Bytes that work takes at its peak beyond what there was before, as seen every millisecond (Linux)."""

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    ctypes.CDLL(None).malloc_trim(0)  # what was freed before must not be what is used now
    seen, done = [resident()], threading.Event()

    def watch() -> None:
        while not done.wait(0.001):
            seen.append(resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    work()
    done.set()
    watcher.join()
    return max(seen) - seen[0]


def loggopsim(binary: Path, schedule) -> tuple[float, dict[int, int]]:
    """CPU seconds of LogGOPSim on the schedule, and the finish times of the ranks that it prints, in nanoseconds."""
    parameters = [f"-{name[0]}{round(LOGGOPS[name] * 1e9)}" for name in ("L_s", "o_s", "g_s")]
    parameters += [
        f"-G{LOGGOPS['G_s_per_byte'] * 1e9:g}",
        f"-O{LOGGOPS['O_s_per_byte'] * 1e9:g}",
        f"-S{LOGGOPS['S_bytes']}",
    ]
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        file.write(schedule.write_goal_binary())
        file.flush()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = subprocess.run(
            [binary, "-f", file.name, *parameters], capture_output=True, text=True, check=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    printed = {int(r): int(t) for r, t in re.findall(r"Host (\d+): (\d+)", run.stdout)}
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, printed


def measure_placements(schedule, count: int) -> dict:
    """Random placements of the same schedule on one core: replayed, estimated, and estimated with a tenth replayed."""
    rng = np.random.default_rng(1)
    cores = [np.arange(schedule.ranks), *(rng.permutation(schedule.ranks) for _ in range(count - 1))]
    placements = [placed(each.astype(np.uint32)) for each in cores]
    on = bench_machine()
    replay_s, replayed = best(1, lambda: schedule.makespans_s(on, placements, threads=1))

    def estimate(some: list[_core.machine.Placement]) -> np.ndarray:
        return schedule.estimates_s(on, some, threads=1)

    def replay(some: list[_core.machine.Placement]) -> np.ndarray:
        return schedule.makespans_s(on, some, threads=1)

    def decide() -> int:
        """The best of a tenth of the placements, those of the least estimated times, and of the first."""
        chosen = np.union1d([0], np.argsort(estimate(placements), kind="stable")[: -(-count // 10)])
        return int(chosen[np.argmin(replay([placements[k] for k in chosen]))])

    first_s, _ = best(1, lambda: estimate(placements))  # and works out the order of the first
    estimate_s, estimated = best(1, lambda: estimate(placements))
    decide_s, decided = best(1, decide)
    return {
        "placements_per_minute": 60 * count / replay_s,
        "first_estimated_per_minute": 60 * count / first_s,
        "estimated_per_minute": 60 * count / estimate_s,
        "decided_per_minute": 60 * count / decide_s,
        "decided_is_best": bool(replayed[decided] == replayed.min()),
        "decided_above_best": float(replayed[decided] / replayed.min() - 1),
        "gap": float(np.mean(np.abs(estimated / replayed - 1))),
        "tau": kendall(estimated, replayed),
    }


def measure(pattern: str, ranks: int, args: argparse.Namespace) -> dict:
    """One row."""
    schedule = PATTERNS[pattern](Generator(ranks, args.scatter), int(args.messages))
    on = bench_machine(), placed(np.arange(ranks, dtype=np.uint32))
    beyond = peak_beyond(lambda: schedule.replay(*on, threads=1))  # first, while no freed memory is kept
    plain_s, plain = best(args.repeat, lambda: schedule.replay_loggops(**LOGGOPS))
    machine_s, machine = best(args.repeat, lambda: schedule.replay(*on, threads=1))
    row = {
        "pattern": pattern,
        "ranks": ranks,
        "messages": schedule.messages,
        "loggops_messages_per_s": schedule.messages / plain_s,
        "machine_messages_per_s": schedule.messages / machine_s,
        "goal_messages_per_s": next((goal for most, goal in GOALS if ranks <= most), None),
        "loggops_makespan_s": plain.makespan_s,
        "machine_makespan_s": machine.makespan_s,
        "memory_bytes": beyond,
        "memory_goal_bytes": 40 * schedule.messages + 200 * ranks,
    }
    if args.loggopsim:
        seconds, printed = loggopsim(args.loggopsim, schedule)
        ours = np.round(plain.finish_s * 1e9).astype(np.int64)
        row["loggopsim_messages_per_s"] = schedule.messages / seconds
        row["loggopsim_ranks_compared"] = len(printed)
        row["loggopsim_ranks_that_differ"] = sum(int(ours[r]) != t for r, t in printed.items())
    for what in args.sharing:
        sharing = (bench_machine(what), placed(np.arange(ranks, dtype=np.uint32), what))
        seconds, _ = best(args.repeat, lambda sharing=sharing: schedule.replay(*sharing, threads=1))
        row[f"{what}_messages_per_s"] = schedule.messages / seconds
    if args.threads > 1:
        begin = time.perf_counter()
        schedule.replay(*on, threads=1)
        one, begin = time.perf_counter() - begin, time.perf_counter()
        schedule.replay(*on, threads=args.threads)
        row["speedup_of_threads"] = one / (time.perf_counter() - begin)
    if args.placements:
        row |= measure_placements(schedule, args.placements)
    return row


def line(row: dict) -> str:
    """A row as text."""
    million = {key: value / 1e6 for key, value in row.items() if key.endswith("per_s") and value is not None}
    goal = f"{million['goal_messages_per_s']:5.0f}" if "goal_messages_per_s" in million else f"{'-':>5}"
    text = (
        f"{row['pattern']:10} {row['ranks']:8} {row['messages']:9} {million['loggops_messages_per_s']:8.2f}"
    )
    text += f" {million['machine_messages_per_s']:8.2f} {goal}"
    text += f" {row['memory_bytes'] / 2**20:7.0f} {row['memory_goal_bytes'] / 2**20:6.0f}"
    if "loggopsim_messages_per_s" in row:
        times = row["loggops_messages_per_s"] / row["loggopsim_messages_per_s"]
        text += f"   LogGOPSim {million['loggopsim_messages_per_s']:.3f}, {times:.1f} x;"
        text += (
            f" {row['loggopsim_ranks_that_differ']} of {row['loggopsim_ranks_compared']} finish times differ"
        )
    text += "".join(
        f"   {what} {million[f'{what}_messages_per_s']:.2f}"
        for what in SHARING
        if f"{what}_messages_per_s" in row
    )
    if "speedup_of_threads" in row:
        text += f"   threads {row['speedup_of_threads']:.2f} x"
    if "gap" in row:
        text += f"   placements a minute: {row['placements_per_minute']:.0f} replayed,"
        text += f" {row['estimated_per_minute']:.0f} estimated ({row['first_estimated_per_minute']:.0f} at first),"
        text += f" {row['decided_per_minute']:.0f} decided ({100 * row['decided_above_best']:.2f} % above the best);"
        text += f" estimated and replayed {100 * row['gap']:.1f} % apart, Kendall's tau {row['tau']:.2f}"
    return text


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--patterns", nargs="+", choices=PATTERNS, default=list(PATTERNS))
    parser.add_argument("--ranks", nargs="+", type=int)
    parser.add_argument("--messages", type=float, default=1e6)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--scatter", type=float, default=0.0)
    parser.add_argument("--sharing", nargs="*", choices=SHARING, default=list(SHARING))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--loggopsim", type=Path)
    parser.add_argument("--placements", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = []
    if not args.json:
        print("                                M messages/s of a core   memory, MiB")
        print("pattern       ranks  messages  LogGOPS  machine  goal    used   goal")
    for pattern in args.patterns:
        for ranks in args.ranks or DEFAULT_RANKS[pattern]:
            rows.append(measure(pattern, ranks, args))
            if not args.json:
                print(line(rows[-1]), flush=True)
    if args.json:
        print(json.dumps({"schema": "rankwise.bench.replay/3", "rows": rows}, indent=2))


if __name__ == "__main__":
    main()
