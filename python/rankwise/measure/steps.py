# SPDX-License-Identifier: BSD-3-Clause
"""The steps of one launch as arguments of the microbenchmarks (measure/measure.h), and the time they may take."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from rankwise.machine.channels import NETWORK
from rankwise.measure import sharing
from rankwise.measure.arguments import Steps
from rankwise.measure.plan import Plan
from rankwise.measure.questions import add_steps, message_cpu
from rankwise.measure.questions.answer import Task
from rankwise.measure.shares import Shares

CACHE_LINE_S = 0.1
LONGEST_SHARE = 1 / 40
FULL_FROM_S = 100.0
SHORTEST_POINT_S = 0.03  # where there is less time for each, every other size is left out
PATIENCE = 1.5  # of the time aimed at, until what the fit does not need is left out
LAST_PATIENCE = 1.0  # of the last launch, after which no other makes up for it
# Ranks that sleep while they wait see a message between now and a sleep later: a batch is many sleeps long.
SLEEPING_BATCH_S = 5e-3
FEWEST_LAUNCHES = 2  # what differs from launch to launch is seen in two, where there is time for them


@dataclass(frozen=True)
class Effort:
    """How much is measured.

    Attributes:
        seconds: Aimed at for all launches together.
        launches: Each is a sample of its own: memory, cores and buffers are dealt out anew.
        precision: Half width of the median's interval that ends repetition, relative.
        pingpong: Sizes.
        overhead: Sizes.
        stream: Sizes.
        eager: Sizes of the first launch; the later ones close in on the limit.
        share_s: Length of one window of the sharing sweep, if that leaves most of the time to the other tests. As much
            passes before the first one.
        share_windows: Windows for each count of pairs, in each launch.
        questions: Share of the time that is for the further questions (rankwise.measure.questions).
        quick: Whether only the questions of `--quick` are asked.
    """

    seconds: float
    launches: int
    precision: float
    pingpong: tuple[int, ...]
    overhead: tuple[int, ...]
    stream: tuple[int, ...]
    eager: tuple[int, ...]
    share_s: float
    share_windows: int
    questions: float
    quick: bool


def _powers(last: int, between: bool = False) -> tuple[int, ...]:
    sizes = {2**k for k in range(last + 1)}
    if between:
        sizes |= {3 * 2**k for k in range(2, last - 1)}
    return tuple(sorted(sizes))


QUICK = Effort(
    seconds=40.0,
    launches=3,
    precision=0.03,
    pingpong=_powers(22),
    overhead=(1, 64, 1024, 4096, 16384, 65536, 262144),
    stream=(1, 64, 1024, 8192, 65536),
    eager=_powers(18),
    share_s=0.2,
    share_windows=2,
    questions=0.25,
    quick=True,
)
FULL = Effort(
    seconds=300.0,
    launches=7,
    precision=0.01,
    pingpong=_powers(24, between=True),
    overhead=_powers(22)[::2],
    stream=_powers(20)[::2],
    eager=_powers(20, between=True),
    share_s=0.5,
    share_windows=5,
    questions=0.4,
    quick=False,
)


def steps_for(
    plan: Plan,
    effort: Effort,
    around: Mapping[str, tuple[int, int]],
    number: int = 0,
    patience: float = PATIENCE,
    stop_s: float = 0.0,
    later: bool = False,
    parts: Shares | None = None,
    only: Collection[tuple[str, str, int, int]] | None = None,
) -> Steps:
    """Steps of one launch.

    Args:
        plan: Who measures.
        effort: How much.
        around: By channel, sizes just below and above its eager limit as far as known from the launches before.
        number: Of the launch; some questions are asked by the first ones only.
        patience: Further questions that would begin after so many times the launch's time are left out.
        stop_s: After so long, further questions are left out, and of later launches all but the ping-pong; 0 for never.
        later: Whether a launch before this one has seen all that the fit needs.
        parts: Shares of what lasts as long as it is told to.
        only: Points that are measured, for as long as if all were; all without it.
    """
    steps = Steps(only=only)
    whole = effort.seconds / effort.launches
    parts = parts or Shares()
    # What lasts as long as it was told to comes first: points share the time that is left, whatever was lost before.
    if plan.yields:
        message_cpu.add(steps, Task(plan, parts.processor_time * whole, effort.quick), whole)
    if plan.sharing:
        sharing.add(steps, plan, parts.sweep * whole, effort.share_s, effort.share_windows)
    seconds = whole * (1 - effort.questions) - steps.seconds
    effort = effort if only else _thinned(plan, effort, seconds)
    # Ranks that wait without a core of their own delay the messages of others: in programs all wait.
    batch = {"batch_s": SLEEPING_BATCH_S, "waiters": 1} if plan.yields else {}
    common = {"budget_s": max(0.02, seconds / _points(plan, effort)), "precision": effort.precision}
    for channel, pair in plan.pairs.items():
        if channel != NETWORK:
            steps.add("cache_line", channel, [pair], (0,), budget_s=CACHE_LINE_S, precision=effort.precision)
        # Long messages tell the bandwidth: on slow networks a few samples of each may take longer than the others.
        longest = whole * LONGEST_SHARE
        steps.add("pingpong", channel, [pair], effort.pingpong, longest_s=longest, **batch, **common)
    needed = len(steps.arguments)
    for channel, pair in plan.pairs.items():
        eager = _closer(*around[channel]) if channel in around else effort.eager
        if eager:
            numbers = {"budget_s": min(common["budget_s"], 0.1), "batch_s": 1e-6, "most": 9, "precision": 1}
            steps.add("eager", channel, [pair], eager, **numbers)
        steps.add("send_overhead", channel, [pair], effort.overhead, **common)
        steps.add("receive_overhead", channel, [pair], effort.overhead, **common)
        steps.add("stream", channel, [pair], effort.stream, messages=40, **common)
    of_fit = len(steps.arguments)
    due = whole * (1 - effort.questions)
    steps.keep_time(0, due, last=needed)
    steps.keep_time(needed, due, stop_s if later else 0.0, of_fit)
    add_steps(steps, plan, whole * effort.questions, effort.quick, number)
    steps.keep_time(of_fit, whole, min(patience * whole, stop_s or patience * whole))
    return steps


def _points(plan: Plan, effort: Effort) -> float:
    """How many points the channels have together, the short ones of the eager limit as half ones."""
    each = len(effort.pingpong) + 2 * len(effort.overhead) + len(effort.stream) + len(effort.eager) / 2
    return each * max(1, len(plan.pairs))


def _thinned(plan: Plan, effort: Effort, seconds: float) -> Effort:
    """Every other size and not the largest, but of the ping-pong, where all would take longer than there is time."""
    if seconds >= SHORTEST_POINT_S * _points(plan, effort):
        return effort
    few = {name: getattr(effort, name)[:-1:2] for name in ("overhead", "stream")}
    return replace(effort, eager=effort.eager[::2], **few)


def _closer(below: int, above: int) -> tuple[int, ...]:
    """Seven sizes that divide the range in which the limit lies."""
    return tuple(sorted({below + (above - below) * i // 8 for i in range(1, 8)} - {below, above}))


def effort(quick: bool, seconds: float | None) -> Effort:
    """The effort that the options ask for: fewer sizes and launches where little time is given."""
    chosen = QUICK if quick or (seconds is not None and seconds < FULL_FROM_S) else FULL
    if seconds is None:
        return chosen
    launches = round(seconds * chosen.launches / chosen.seconds)
    return replace(chosen, seconds=seconds, launches=min(chosen.launches, max(FEWEST_LAUNCHES, launches)))
