# SPDX-License-Identifier: BSD-3-Clause
"""Samples of a channel whose LogGOPS parameters are known, with the noise of real machines."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from rankwise.measure.samples import SCHEMA

PINGPONG = sorted({1, *(2**k for k in range(23)), *(3 * 2**k for k in range(21))})
COARSE = [4**k for k in range(12)]


@dataclass(frozen=True)
class Truth:
    """Eager messages: L, o, o_receive, g, G, O; beyond `limit` another L and G."""

    L: float = 1.0e-6
    o: float = 0.2e-6
    o_receive: float = 0.3e-6
    g: float = 0.4e-6
    G: float = 4e-10
    O: float = 1e-10  # noqa: E741 - the model's own letter
    limit: int | None = 8192
    late_L: float = 5.0e-6
    late_G: float = 1e-10

    def pingpong(self, s):
        if self.limit is None or s <= self.limit:
            return self.L + self.o + self.o_receive + (s - 1) * self.G
        return self.late_L + self.o + self.o_receive + (s - 1) * self.late_G

    def eager(self, s):
        return self.limit is None or s <= self.limit


@dataclass(frozen=True)
class Noise:
    """Relative normal noise, a tail, a second regime `slow` times slower, interruptions of 4 ms."""

    normal: float = 0.02
    tail: float = 0.1
    slow: float = 3.0
    slow_share: float = 0.3
    sentinel: bool = True
    interrupted: float = 0.1


def samples(
    truth: Truth, noise: Noise, seed: int, launches: int = 3, each: int = 25, sizes: list[int] | None = None
) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    rows = []
    for launch in range(launches):
        for test, size, values, messages in timings(truth, sizes or PINGPONG):
            for _ in range(each):
                slow = random.random() < noise.slow_share
                factor = (noise.slow if slow else 1.0) * abs(random.normal(1, noise.normal))
                factor *= 1 + random.exponential(0.05) * (random.random() < noise.tail)
                hit = random.random() < noise.interrupted
                told = (170e-9 if slow else 28e-9) * abs(random.normal(1, 0.05)) if noise.sentinel else None
                timed = [v * factor + 4e-3 * hit for v in values[:1]] + [v * factor for v in values[1:]]
                row = (
                    launch,
                    1,
                    test,
                    "package",
                    1,
                    0,
                    1,
                    size,
                    messages,
                    int(hit),
                    told,
                    0,
                    1,
                    *timed,
                    *(0.0, 0.0, 0, 0, None, None),
                    "{}",
                )
                rows.append(row)
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def timings(truth: Truth, sizes: list[int]):
    """(test, bytes, three values, messages) of every point, without noise."""
    for s in sizes:
        yield "pingpong", s, (truth.pingpong(s), 0.0, 0.0), 10
    for s in [c for c in COARSE if c <= sizes[-1]]:
        extra = 0.0 if truth.eager(s) else s * truth.late_G
        yield "send_overhead", s, (truth.o + (s - 1) * truth.O * truth.eager(s), 1e-5, extra), 10
        yield "receive_overhead", s, (0.1e-6, 1e-5, truth.o_receive - 0.1e-6 + (s - 1) * truth.O + extra), 10
        gap = truth.g + (s - 1) * truth.G
        yield "stream", s, (truth.pingpong(s) + 39 * gap, truth.pingpong(s), 0.0), 40
    for s in PINGPONG:
        if s <= 65536:
            yield "eager", s, (1e-7 if truth.eager(s) else 1.01e-3, 1e-3, 0.0), 1
