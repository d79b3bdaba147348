# SPDX-License-Identifier: BSD-3-Clause
"""LogGOPS parameters of one channel from its points.

    ping-pong, half round trip       t(s)   = L + o + o_receive + (s-1) G      in each segment of sizes
    post-work-wait, sender           c(s)   = o + (s-1) O                      eager sizes
    post-work-wait, receiver         c_r(s) = o_receive + (s-1) O              eager sizes
    bursts of n, PRTT                (PRTT(n,s) - PRTT(1,s)) / (n-1) = g + (s-1) G'   eager sizes

O is the mean of both sides' slopes, as the model has one. Beyond the eager limit a wait holds the transfer too, so
there the sender's overhead is the time of its post alone, and o_receive, g and O are carried over from the eager sizes
and marked `assumed`. Models: A. Alexandrov et al., LogGP (SPAA 1995); T. Hoefler et al., LogGOPSim (HPDC 2010); the
methods are named in measure/tests/overhead.c and measure/tests/stream.c.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import msgspec
import numpy as np

from rankwise.errors import RankwiseError
from rankwise.machine.estimate import Estimate
from rankwise.machine.machine import Progress, Segment
from rankwise.measure.fitting.points import QUANTITIES, Points
from rankwise.measure.fitting.segments import RELATIVE_NOISE, fit_line, held_out, scatter, segment
from rankwise.measure.fitting.statistics import Median

REPLICATES = 200
# A line that is off by a factor of two (an error of 100 %) says nothing of its sizes.
USELESS_ERROR = 1.0
_OVERHEADS = "the overheads of both ends"
_SIDES = ("send_busy", "receive_busy")

Table = dict[tuple[str, int], float]  # the median of each (quantity, bytes)


@dataclass(frozen=True)
class ChannelFit:
    """The fit of one channel.

    Attributes:
        segments: As in the machine file.
        eager_limit: Largest size that is sent before its receive is posted; assumed if it is the largest tried.
        worst_error: Largest distance of a ping-pong median from its line, relative to the smaller of the two: a line
            that lies 4 times below or above it is off by 3. No point is left out, however badly it is known.
        worst_bytes: The size where it is.
        worst: What was timed there.
        held_out_error: Median distance of sizes from lines that were fitted without them, each with its own slope;
            `None` of a few sizes.
        progress: Whether large transfers advance outside MPI calls: `in-call`, `independent`.
    """

    segments: list[Segment]
    eager_limit: Estimate | None
    worst_error: float
    worst_bytes: int
    worst: Median
    held_out_error: float | None
    progress: Progress


@dataclass(frozen=True)
class _Shape:
    """What stays the same in all bootstrap replicates: sizes, segments and the eager limit."""

    sizes: dict[str, list[int]]
    cuts: list[tuple[int, int]]
    limit: int | None
    errors: Table
    as_larger: dict[int, int] = field(
        default_factory=dict
    )  # segments, and the later one whose slope they have

    def eager(self, quantity: str) -> list[int]:
        sizes = self.sizes.get(quantity, [])
        return [s for s in sizes if self.limit is None or s <= self.limit] or sizes[:1]

    def is_eager(self, at: int) -> bool:
        return self.limit is None or self.sizes["pingpong"][self.cuts[at][1]] <= self.limit

    def late_posts(self, at: int) -> list[int]:
        """Sizes beyond the eager limit that tell a segment's overhead: its own, else all smaller ones."""
        first, last = (self.sizes["pingpong"][i] for i in self.cuts[at])
        late = [s for s in self.sizes["send_post"] if self.limit is not None and self.limit < s <= last]
        return [s for s in late if s >= first] or late

    def up_to(self, at: int) -> int | None:
        if at == len(self.cuts) - 1:
            return None
        last, after = (self.sizes["pingpong"][self.cuts[at][1] + i] for i in (0, 1))
        return self.limit if self.limit and last <= self.limit < after else last


@dataclass(frozen=True)
class _Parameters:
    """Of one table of medians; lines are (intercept at 1 byte, slope)."""

    o: float
    o_receive: float
    o_receive_timed: float
    O: float  # noqa: E741 - the model's own letter
    g: float
    lines: list[tuple[float, float]]
    senders: list[float]  # the sender's overhead, by segment
    borrowed: set[int]  # segments whose slope is that of one before

    def latency(self, at: int) -> float:
        return max(0.0, self.lines[at][0] - self.senders[at] - self.o_receive)


def eager_limit(points: Points) -> tuple[int | None, int | None]:
    """Largest size whose send ends before its receive is posted, and the next size tried, whose send does not.

    `(None, None)` if all do; `(0, size)` if not even the smallest does.
    """
    sizes = points.sizes("eager")
    waits = [points.median("eager", s).value > 0.5 for s in sizes]
    if True not in waits:
        return None, None
    first = waits.index(True)
    return (sizes[first - 1] if first else 0), sizes[first]


def fit_channel(points: Points, replicates: int = REPLICATES, seed: int = 1) -> ChannelFit:
    """Fit a channel.

    Args:
        points: Its points: ping-pong at one size or more; what else there is tells the other parameters.
        replicates: Bootstrap replicates for the intervals.
        seed: Of the bootstrap.

    Raises:
        RankwiseError: No ping-pong was timed.
    """
    sizes = points.sizes("pingpong")
    if not sizes:
        raise RankwiseError(
            "too few points for a fit", "give it more time: leave out `--quick`, or raise `--budget`"
        )
    below, above = eager_limit(points)
    medians = points.medians()
    errors = {(q, s): points.relative_error(q, s) for q in QUANTITIES for s in points.sizes(q)}
    shape = _Shape({q: points.sizes(q) for q in QUANTITIES}, [], below, errors)
    x = np.array(sizes, dtype=float) - 1
    y = np.array([medians["pingpong", s] for s in sizes])
    border = [i for i in range(len(sizes) - 1) if below is not None and sizes[i] <= below < sizes[i + 1]]
    o, o_receive, _, _ = _overheads(shape, medians)
    # Repeated at once, a point is known better than its neighbours tell: what drifts meanwhile is no bend of the line.
    drift = scatter(x, y)
    for s in sizes:
        errors["pingpong", s] = max(errors["pingpong", s], drift)
    known = np.array([errors["pingpong", s] for s in sizes])
    found = segment(x, y, borders=border, floor=o + o_receive, errors=known)
    off = held_out(x, y, borders=border, floor=o + o_receive, errors=known)
    shape = _Shape(shape.sizes, [(line.first, line.last) for line in found], below, errors)
    tables = list(points.replicates(replicates, np.random.default_rng(seed)))
    best, drawn = _parameters(shape, medians), [_parameters(shape, t) for t in tables]
    own = _slope_intervals(drawn)
    shape = replace(shape, as_larger=_not_steeper(best, own))
    if shape.as_larger:
        best, drawn = _parameters(shape, medians), [_parameters(shape, t) for t in tables]
    fitted = np.concatenate(
        [a + b * x[i : j + 1] for (a, b), (i, j) in zip(best.lines, shape.cuts, strict=True)]
    )
    off_by = (
        np.maximum(fitted, y) / np.maximum(np.minimum(fitted, y), 1e-12) - 1
    )  # times are above a picosecond
    worst = int(np.argmax(off_by))
    segments = [_segment(points, shape, best, drawn, own[at], at) for at in range(len(shape.cuts))]
    return ChannelFit(
        segments=[
            _not_followed(segment, off_by[first : last + 1], sizes[first : last + 1])
            for segment, (first, last) in zip(segments, shape.cuts, strict=True)
        ],
        eager_limit=_limit(points, below, above),
        worst_error=float(off_by[worst]),
        worst_bytes=sizes[worst],
        worst=points.median("pingpong", sizes[worst]),
        held_out_error=float(np.median(off)) if len(off) else None,
        progress=_progress(shape, medians),
    )


def _not_steeper(best: _Parameters, own: list[tuple[float, float]]) -> dict[int, int]:
    """Segments that seem steeper than a later one, though their replicates leave that open, and that one.

    Noise of short messages that wait for ranks that sleep is worth thousands of their bytes; larger ones tell better
    what a byte takes. Each is held against the next that keeps its slope and surely has one: flat by noise tells
    nothing.

    Args:
        best: Of all samples.
        own: Interval of each segment's slope.
    """
    slopes = [line[1] for line in best.lines]
    as_larger: dict[int, int] = {}
    teller: int | None = None
    for at in reversed(range(len(slopes))):
        low = own[at][0]
        if teller is not None and slopes[at] > slopes[teller] >= low:
            as_larger[at] = teller
        elif low > 0:
            teller = at
    return as_larger


def _slope_intervals(drawn: list[_Parameters]) -> list[tuple[float, float]]:
    ends = np.percentile([[line[1] for line in each.lines] for each in drawn], [2.5, 97.5], axis=0)
    return [(float(low), float(high)) for low, high in ends.T]


def _line(
    shape: _Shape, table: Table, quantity: str, sizes: list[int], floor: float = 0.0
) -> tuple[float, float]:
    y = np.array([max(table[quantity, s], 1e-10) for s in sizes])  # less than any clock resolves
    errors = np.array([shape.errors[quantity, s] for s in sizes])
    return fit_line(np.array(sizes, dtype=float) - 1, y, floor, errors)[:2]


def _overheads(shape: _Shape, table: Table) -> tuple[float, float, float, float]:
    """Overheads o, o_receive and O, and the o_receive that was timed.

    Both overheads are part of the shortest message's way, so they cannot be longer than it. Where waiting sleeps, or a
    message is late, the receiver's wait holds more than its overhead. A side that was not timed is taken to be as the
    other; without both, they stay part of the latency.
    """
    sides = [_line(shape, table, side, shape.eager(side)) for side in _SIDES if shape.sizes[side]]
    if not sides:
        return 0.0, 0.0, 0.0, 0.0
    (o, slope), (timed, slope_receive) = sides[0], sides[-1]
    trip = table["pingpong", shape.sizes["pingpong"][0]]
    o = min(o, trip)
    return o, min(timed, trip - o), (slope + slope_receive) / 2, timed


def _parameters(shape: _Shape, table: Table) -> _Parameters:
    o, o_receive, per_byte, timed = _overheads(shape, table)
    bursts = shape.eager("gap")
    g = _line(shape, table, "gap", bursts)[0] if bursts else 0.0
    lines: list[tuple[float, float]] = []
    senders: list[float] = []
    borrowed: set[int] = set()
    for at, (first, last) in enumerate(shape.cuts):
        sizes = shape.sizes["pingpong"][first : last + 1]
        line = _line(shape, table, "pingpong", sizes, o + o_receive)
        if lines and (len(sizes) == 1 or (at == len(shape.cuts) - 1 and not line[1])):
            # One point has no slope, and messages beyond the last size are not free: the slope before is the best
            # guess, as it is the same wire.
            slope = next((b for _, b in reversed(lines) if b), 0.0)
            line = _through(sizes, slope, table, o + o_receive)
            borrowed |= {at} if slope else set()
        lines.append(line)
        late = [] if shape.is_eager(at) else [table["send_post", s] for s in shape.late_posts(at)]
        senders.append(min(float(np.median(late)), o) if late else o)
    for at, teller in shape.as_larger.items():
        first, last = shape.cuts[at]
        lines[at] = _through(
            shape.sizes["pingpong"][first : last + 1], lines[teller][1], table, o + o_receive
        )
    return _Parameters(o, o_receive, timed, per_byte, g, lines, senders, borrowed)


def _through(sizes: list[int], slope: float, table: Table, floor: float) -> tuple[float, float]:
    """The line of this slope through the middle of the ping-pong's times."""
    rest = [table["pingpong", s] - slope * (s - 1) for s in sizes]
    return max(floor, float(np.median(rest))), slope


def measured(value: float, low: float, high: float, count: int) -> Estimate:
    """A measured number, to a tenth of a per mille and without what rounding left; its interval holds it."""
    low, high = min(low, value), max(high, value)
    value, low, high = (float(f"{x:.4e}") if x > 1e-15 else 0.0 for x in (value, low, high))
    return Estimate(value, "measured", low=low, high=high, samples=count)


def rest(found: Median, taken: str) -> Estimate:
    """A number that is what a subtraction leaves; where that is nothing, 0 is a cut, not what was measured.

    Args:
        found: What is left.
        taken: What was taken off.
    """
    return _no_cut(measured(found.value, max(0.0, found.low), found.high, found.count), taken)


def _no_cut(estimate: Estimate, taken: str) -> Estimate:
    if estimate.value:
        return estimate
    source = f"cut at 0: nothing is left of what was timed beyond {taken}"
    return msgspec.structs.replace(estimate, obtained="assumed", source=source)


def _measured(value: float, drawn: list[float], count: int) -> Estimate:
    low, high = np.percentile(drawn, [2.5, 97.5])
    return measured(value, float(low), float(high), count)


def _segment(
    points: Points,
    shape: _Shape,
    best: _Parameters,
    drawn: list[_Parameters],
    own: tuple[float, float],
    at: int,
) -> Segment:
    trips, sends, receives = (points.count(q) for q in ("pingpong", "send_busy", "receive_busy"))
    o = _measured(best.senders[at], [p.senders[at] for p in drawn], sends)
    o_receive = _measured(best.o_receive, [p.o_receive for p in drawn], receives)
    per_byte = _measured(best.O, [p.O for p in drawn], sends + receives)
    g = _measured(best.g, [p.g for p in drawn], points.count("gap"))
    if best.o_receive < best.o_receive_timed:
        source = f"what the ping-pong leaves: a receive was timed at {best.o_receive_timed:.3g} s, longer than the way"
        o_receive = Estimate(best.o_receive, "assumed", source=source)
    if not sends:
        o = Estimate(o.value, "assumed", source=_untimed(receives))
    if not receives:
        o_receive = Estimate(o_receive.value, "assumed", source=_untimed(sends))
    if not sends + receives:
        per_byte = Estimate(0.0, "assumed", source=_untimed(0))
    if not points.sizes("gap"):
        g = Estimate(0.0, "assumed", source="no bursts were timed, so only o bounds the rate")
    gap_per_byte = _not_certain(
        _measured(best.lines[at][1], [p.lines[at][1] for p in drawn], trips), shape, at, best
    )
    single = shape.cuts[at][0] == shape.cuts[at][1]
    if at in shape.as_larger:
        source = "as for larger messages: times of these sizes do not tell it better"
        # What its own times leave open stays open.
        within = measured(gap_per_byte.value, *own, trips)
        gap_per_byte = msgspec.structs.replace(within, obtained="assumed", source=source)
    elif at in best.borrowed or single:
        source = "one size was timed" if single else "times of these sizes did not grow"
        source = f"as for smaller messages: {source}" if at else f"{source}, which tells no slope"
        gap_per_byte = Estimate(gap_per_byte.value, "assumed", source=source)
    if not shape.is_eager(at):
        reason = "as for eager messages: beyond the eager limit waiting cannot be told from the transfer"
        o_receive, g, per_byte = (
            Estimate(e.value, "assumed", source=reason) for e in (o_receive, g, per_byte)
        )
        if not shape.late_posts(at):
            o = Estimate(
                best.o, "assumed", source="as for eager messages: no larger message was timed at its sender"
            )
    return Segment(
        L_s=_no_cut(_measured(best.latency(at), [p.latency(at) for p in drawn], trips), _OVERHEADS),
        o_s=o,
        g_s=g,
        G_s_per_byte=gap_per_byte,
        O_s_per_byte=per_byte,
        up_to_bytes=shape.up_to(at),
        o_receive_s=o_receive,
    )


def _not_followed(segment: Segment, errors: np.ndarray, sizes: list[int]) -> Segment:
    """A segment whose L and G are not called measured where a point is nowhere near their line."""
    at = int(np.argmax(errors))
    if errors[at] <= USELESS_ERROR:
        return segment
    source = f"not measured well: at {sizes[at]} bytes the line is off by {100 * errors[at]:.0f} %"
    L, G = (
        msgspec.structs.replace(each, obtained="assumed", source=f"{each.source}; {source}" if each.source else source)
        for each in (segment.L_s, segment.G_s_per_byte)
    )  # fmt: skip
    return msgspec.structs.replace(segment, L_s=L, G_s_per_byte=G)


def _not_certain(slope: Estimate, shape: _Shape, at: int, best: _Parameters) -> Estimate:
    """An interval without width is widened by what the errors of a segment's points hide.

    So is it where times do not grow with size: a slope of 0 is a bound of the fit, from which no replicate strays.
    """
    first, last = (shape.sizes["pingpong"][i] for i in shape.cuts[at])
    if slope.low is None or slope.high is None or slope.low < slope.high or last == first:
        return slope
    start, rise = best.lines[at]
    one, other = (max(shape.errors["pingpong", s], RELATIVE_NOISE) for s in (first, last))
    hidden = float(np.hypot(one, other)) * (start + rise * (last - 1)) / (last - first)
    return measured(slope.value, max(0.0, slope.value - hidden), slope.value + hidden, slope.samples or 0)


def _untimed(other: int) -> str:
    return "not timed; taken to be as at the other end" if other else "not timed; it is part of the latency"


def _limit(points: Points, below: int | None, above: int | None) -> Estimate | None:
    if below is None or above is None:
        tried = points.sizes("eager")
        reason = "the largest message that was tried; its send ended before its receive was posted"
        return Estimate(float(tried[-1]), "assumed", source=reason) if tried else None
    # Wherever the limit is, it lies in this interval: a send of `below` bytes ended early, one of `above` did not.
    return measured(float(below), float(below), float(above - 1), points.count("eager"))


def _progress(shape: _Shape, table: Table) -> Progress:
    """Independent if, after computing longer than the transfer, neither side has to wait for half of it."""
    common = set(shape.sizes["send_busy"]) & set(shape.sizes["receive_busy"]) & set(shape.sizes["pingpong"])
    late = [s for s in common if shape.limit is not None and s > shape.limit]
    if not late:
        return "in-call"
    busy = max(table[side, max(late)] for side in _SIDES)
    return "independent" if busy < table["pingpong", max(late)] / 2 else "in-call"
