# SPDX-License-Identifier: BSD-3-Clause
"""How far launches lie apart, and what that leaves open of a value that few of them timed.

Each launch is dealt memory, cores and buffers of its own, which does not average out within it. Two or three launches
tell of one point hardly how far they lie apart, but all points of a channel together do, by what samples of one launch
say of each (u(p), the standard error of its median): as scale factors of the Particle Data Group (R. Birge, The
Calculation of Errors by the Method of Least Squares, 1932), here with what points have in common. The model is nested,
with random effects (S. Searle, G. Casella, C. McCulloch, Variance Components, 1992, chapter 3): launch `l` times point
`p` of test `t` at

    x(l, p) = value(p) (1 + u(p) (c(l, t) + d(l, p)))        c and d normal, about 0

`c` moves all points of a test together, `d` each by itself. With r(l, p) what the median of a launch lies beside the
mean of all launches, in units of u(p) times that, and r(l, t) the mean of that over the points of a test, what differs
is pooled:

    s_c^2 = sum r(l, t)^2 / f_c                 f_c = sum over tests of (launches - 1)
    s_d^2 = sum (r(l, p) - r(l, t))^2 / sum over points of (launches - 1)

s_c over the tests of a channel, s_d over the points of a quantity with f_d = that last sum less the part of f_c that
they took. s_c holds 1/n of the variance of d, where a test has n points, and s_d the rest. What as many other launches
would find is drawn from normal deviates times s sqrt(f / chi^2(f)); for the mean of one point that is the interval of
Student (The Probable Error of a Mean, 1908).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

Key = tuple[str, int]  # quantity, bytes


@dataclass(frozen=True)
class Spread:
    """A standard deviation in standard errors of medians, and the degrees of freedom it is known with."""

    deviation: float
    freedom: float

    def draw(self, count: int, random: np.random.Generator) -> np.ndarray:
        """What it may be, as a column of `count` replicates."""
        return (self.deviation * np.sqrt(self.freedom / random.chisquare(self.freedom, count)))[:, None]


MOST = 20.0  # of a logarithm: what few degrees of freedom leave open has no bounds
# What is taken with fewer than `LEAST_FREEDOM` from launches. In 20 measurements (MPICH through shared memory, two
# virtual cores) s_c was 1.2 to 5.2 in eight of ten, in the middle 2.2; s_d in the middle 1.4 to 4.2, by quantity.
UNKNOWN = Spread(2.2, 3.0)
UNKNOWN_OWN = Spread(2.5, 3.0)
LEAST_FREEDOM = 2


@dataclass(frozen=True)
class LaunchSpread:
    """What launches of one channel differ by.

    Attributes:
        tests: Test of each quantity.
        common: What all points of a test have in common.
        own: By quantity, what each point has besides.
    """

    tests: Mapping[str, str]
    common: Spread
    own: Mapping[str, Spread]

    def draw(
        self,
        timed: Mapping[Key, list[int]],
        errors: Mapping[Key, float],
        count: int,
        random: np.random.Generator,
    ) -> dict[Key, np.ndarray]:
        """What as many other launches would find: factors of each value, one for each of `count` replicates.

        Args:
            timed: The launches of each point.
            errors: Standard error of the median of one launch, relative to it, by point.
            count: Of replicates.
            random: Where deviates come from.
        """
        launches = 1 + max((max(of) for of in timed.values()), default=0)
        common = self.common.draw(count, random)
        moved = {
            test: random.standard_normal((count, launches)) * common
            for test in dict.fromkeys(self.tests[quantity] for quantity, _ in timed)
        }
        own = {quantity: each.draw(count, random) for quantity, each in self.own.items()}
        drawn = {}
        for (quantity, size), of in timed.items():
            deviates = random.standard_normal((count, len(of)))
            found = moved[self.tests[quantity]][:, of] + deviates * own[quantity]
            drawn[quantity, size] = np.exp(
                np.clip(errors[quantity, size] * np.median(found, axis=1), -MOST, MOST)
            )
        return drawn


def launch_spread(
    medians: Mapping[Key, Mapping[int, float]], errors: Mapping[Key, float], tests: Mapping[str, str]
) -> LaunchSpread:
    """Pool what launches differ by over the points of a channel.

    Args:
        medians: By point, what each launch found; points of one launch, or without a positive mean, tell nothing.
        errors: Standard error of the median of one launch, relative to it, by point.
        tests: Test of each quantity. Those of which nothing is told are as the others together.
    """
    beside: dict[Key, dict[int, float]] = {}
    of_test: dict[tuple[str, int], list[float]] = {}
    for key, of in medians.items():
        middle = float(np.mean([*of.values()]))
        if len(of) > 1 and middle > 0:
            beside[key] = {launch: (value / middle - 1) / errors[key] for launch, value in of.items()}
            for launch, each in beside[key].items():
                of_test.setdefault((tests[key[0]], launch), []).append(each)
    common = {of: float(np.mean(each)) for of, each in of_test.items()}
    freedom = len(common) - len({test for test, _ in common})
    rests: dict[str, tuple[float, float, float]] = {}
    for quantity in dict.fromkeys(quantity for quantity, _ in beside):
        test = tests[quantity]
        points = [each for (name, _), each in beside.items() if name == quantity]
        among = sum(tests[name] == test for name, _ in beside)
        lost = (sum(of == test for of, _ in common) - 1) * len(points) / among
        seen = sum(len(each) - 1 for each in points)
        rest = sum((r - common[test, launch]) ** 2 for each in points for launch, r in each.items())
        if seen > lost:
            rests[quantity] = rest, seen, seen - lost
    total, seen, freed = (sum(each) for each in zip((0.0, 0.0, 0.0), *rests.values(), strict=True))
    together = _spread(total, seen, freed, UNKNOWN_OWN)
    own = {
        quantity: _spread(*rests[quantity], UNKNOWN_OWN) if quantity in rests else together
        for quantity in tests
    }
    total = sum(each**2 for each in common.values())
    return LaunchSpread(tests, _spread(total, freedom, freedom, UNKNOWN), own)


def _spread(total: float, seen: float, freedom: float, otherwise: Spread) -> Spread:
    """From a sum of squares; with few degrees of freedom together with what other measurements say."""
    if freedom < LEAST_FREEDOM:
        total += otherwise.freedom * otherwise.deviation**2
        seen, freedom = seen + otherwise.freedom, freedom + otherwise.freedom
    return Spread(math.sqrt(total / seen), freedom)
