# SPDX-License-Identifier: BSD-3-Clause
"""One measurement: a census of the ranks, the launches, and what is kept of them."""

from __future__ import annotations

import datetime
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

import rankwise
from rankwise.errors import RankwiseError
from rankwise.launchers.secrets import MASK, is_secret
from rankwise.machine.topology import NodeTopology
from rankwise.measure import launch as launching
from rankwise.measure.arguments import Steps
from rankwise.measure.fitting.bends import bends
from rankwise.measure.fitting.disturbed import disturbed_points, keep_undisturbed
from rankwise.measure.fitting.fit import eager_limit
from rankwise.measure.fitting.points import collect
from rankwise.measure.plan import Plan, Rank, choose
from rankwise.measure.resume import launches_done
from rankwise.measure.samples import SCHEMA, Launch, concatenate
from rankwise.measure.shares import shares
from rankwise.measure.site import Site
from rankwise.measure.steps import LAST_PATIENCE, PATIENCE, Effort, steps_for

CENSUS_PATIENCE_S = 120.0
LEAST_LAUNCH_S = 2.0  # without its start; where there is less time for each, fewer launches are made
LEAST_EVER_S = 1.0  # of the first launch; further ones that would be shorter are not made
KEEP_EVERY_S = 20.0
FIT_S = 1.0  # kept for the fit and the files
MOST_BENDS = 4  # sizes added for each channel and launch

Said = Callable[[int, int, Launch], None]


@dataclass
class Measurement:
    """A measurement under way.

    Attributes:
        site: How ranks are started, and where they are.
        effort: How much is measured.
        plan: Who measures what; empty before the census.
        launches: Those that said something, the census not among them.
        census: What the census said.
        topologies: By host.
        assumed_hosts: Hosts whose topology was not seen but assumed to be that of this machine.
        began: When, in seconds of `time.monotonic`; the time that was asked for counts from here.
        startup_s: What a launch takes without measuring, as seen in the census and then in the last launch.
        made: Launches that ended, those that measured again what others disturbed not among them.
        planned: Launches that were to be made.
        again: Launches that measured again what others disturbed.
        asked: Tests that the fit is made from, with their channels.
        interrupted: Whether the user stopped it.
        before: Samples of an interrupted measurement that this one goes on with.
        kept: Called with all samples now and then, so that what was measured outlives this process.
    """

    site: Site
    effort: Effort
    plan: Plan = field(default_factory=Plan)
    launches: list[Launch] = field(default_factory=list)
    census: Launch = field(default_factory=Launch)
    topologies: dict[str, NodeTopology] = field(default_factory=dict)
    assumed_hosts: list[str] = field(default_factory=list)
    unbound: list[int] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    startup_s: float = 0.0
    made: int = 0
    planned: int = 0
    again: int = 0
    asked: set[tuple[str, str]] = field(default_factory=set)
    interrupted: bool = False
    before: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SCHEMA))
    kept: Callable[[pl.DataFrame], None] = lambda samples: None

    def prepare(self) -> None:
        """Compile, ask the ranks where they are, and choose who measures.

        Raises:
            RankwiseError: Nothing can be measured with this launcher line.
        """
        self.site.prepare()
        start = time.monotonic()
        with self.site.command(["census"]) as command:
            launching.run(command, self.census, CENSUS_PATIENCE_S, environment=self.site.environment())
        self.startup_s = time.monotonic() - start
        if self.census.world < 2:
            raise RankwiseError(
                "the launcher line started one rank, which has nobody to talk to", "add `-n 2`"
            )
        self.topologies, self.assumed_hosts = self.site.topologies(self.census)
        ranks = []
        for number, about in sorted(self.census.ranks.items()):
            host = about["host"]
            cores, pus = self.site.cores(self.topologies[host], about)
            if not cores:
                raise RankwiseError(
                    f"rank {number} on `{host}` may use the cores {about['allowed']}, which this machine does not have",
                    "run `rankwise measure` on one of the nodes that are measured",
                )
            if len(cores) > 1:
                self.unbound.append(number)
            ranks.append(Rank(number, host, cores, pus))
        self.plan = choose(ranks, self.topologies, self.site.same_machine)
        self.plan.yields = self.site.waiting == "yield"
        if not self.plan.pairs:
            raise RankwiseError(
                "all ranks may only use the same core, so no channel can be measured",
                "let the launcher spread them, for example `mpiexec -n 2 --bind-to core`",
            )

    def measure(self, said: Said = lambda done, total, launch: None) -> None:
        """Run all launches, then again what others disturbed; an interruption ends them and keeps what there is.

        That ends when nothing is disturbed any more, or when twice the time that was asked for is over.

        Args:
            said: Called as points end, with their number, the number there will be, and the launch under way.
        """
        around = self._limits()
        done = 0
        first, before = self.next_launch(), launches_done(self.before)
        self.planned = left = self._launches_left()
        end = self.began + self.seconds_left() - FIT_S
        for ran in range(left):
            start = time.monotonic()
            seconds, more = launch_seconds(left - ran, ran, end - start, self.startup_s)
            if not more:
                break
            effort = replace(self.effort, seconds=seconds * self.effort.launches, pingpong=self._sizes())
            patience = LAST_PATIENCE if more == 1 else PATIENCE
            stop = max(seconds, end - start - self.startup_s)
            parts = shares(self.samples())
            steps = steps_for(self.plan, effort, around, before + ran, patience, stop, ran > 0, parts)
            tests = [
                (words.partition(":")[0], steps.channels[at]) for at, words in enumerate(steps.arguments, 1)
            ]
            self.asked |= {each for each in tests if each[0] in _OF_FIT}
            self._launch(first + ran, steps, done, steps.points * left, said)
            if self.interrupted:
                return
            done += steps.points
            self.made += 1
            around |= self._limits()
        self._measure_again(first + left, seconds, end + self.effort.seconds, said)

    def _measure_again(self, number: int, seconds: float, end: float, said: Said) -> None:
        """Launches of what others disturbed, as long as the last one at most, until nothing is or the time is over."""
        while points := disturbed_points(self.samples()):
            left = end - time.monotonic() - self.startup_s
            if left < LEAST_EVER_S:
                return
            pingpong, eager = (
                tuple(sorted({size for name, *_, size in points if name == test}))
                for test in ("pingpong", "eager")
            )
            effort = replace(
                self.effort,
                seconds=min(seconds, left) * self.effort.launches,
                pingpong=pingpong,
                eager=eager,
            )
            steps = steps_for(self.plan, effort, {}, stop_s=left, only=points)
            if not steps.arguments:
                return
            self._launch(number + self.again, steps, 0, 0, said)
            if self.interrupted:
                return
            self.again += 1

    def _launch(self, number: int, steps: Steps, done: int, total: int, said: Said) -> None:
        """One launch, whose samples are kept whatever ends it."""
        start = time.monotonic()
        launch = Launch(number, channels=steps.channels, sharing=self._share_cores())
        launch.context = self.context() | {"launch": launch.number}
        self.launches.append(launch)
        heard = self._hearer(launch, done, total, said)
        longest = 5 * steps.seconds + CENSUS_PATIENCE_S
        try:
            with self.site.command(steps.arguments) as command:
                launching.run(command, launch, longest, heard, self.site.environment())
        except launching.Interrupted:
            self.interrupted = True
            return
        finally:
            self.kept(self.samples())
        if launch.steps_s:
            self.startup_s = max(0.0, time.monotonic() - start - launch.steps_s)

    def _share_cores(self) -> bool:
        return self.plan.yields or any(pair.shares_a_core for pair in self.plan.pairs.values())

    def others(self) -> float | None:
        """Part of all cores' time that others used around the samples that count; `None` if it is not known."""
        parts = [keep_undisturbed(group).select("others") for _, group in self.samples().group_by("channel")]
        share: float | None = pl.concat(parts).mean().item() if parts else None
        return share

    def seconds_left(self) -> float:
        """What was asked for, from the beginning to the end: what is resumed has launches behind it."""
        return self.effort.seconds * self._launches_left() / self.effort.launches

    def expected_s(self) -> float:
        """About how long it will still take: a launch is made, however short the time."""
        least = self.startup_s + LEAST_EVER_S + FIT_S
        return max(least, self.began + self.seconds_left() - time.monotonic())

    def _launches_left(self) -> int:
        return max(1, self.effort.launches - launches_done(self.before))

    def left_out(self) -> list[str]:
        """What of the fit there was no time for, in words; the questions say so themselves."""
        if self.interrupted:
            return []
        seen = set(self.samples().select("test", "channel").unique().iter_rows())
        lacking = [
            f"{what} of `{channel}`"
            for test, what in _OF_FIT.items()
            for channel in self.plan.pairs
            if (test, channel) in self.asked - seen
        ]
        if self.made < self.planned:
            lacking.append(f"{self.planned - self.made} of {self.planned} launches")
        return lacking

    def next_launch(self) -> int:
        """Number of the first launch: after those of the measurement that this one goes on with."""
        return 0 if self.before.is_empty() else 1 + int(self.before.select(pl.max("launch")).item())

    def _hearer(self, launch: Launch, done: int, total: int, said: Said) -> Callable[[], None]:
        saved = time.monotonic()

        def heard() -> None:
            nonlocal saved
            said(done + len(launch.points), total, launch)
            if time.monotonic() - saved > KEEP_EVERY_S:
                self.kept(self.samples())
                saved = time.monotonic()

        return heard

    def _sizes(self) -> tuple[int, ...]:
        """Sizes of the ping-pong: those of the effort, and more where the curves seen so far bend."""
        trips = self.samples().filter((pl.col("test") == "pingpong") & (pl.col("rotate_bytes") == 0))
        more: set[int] = set()
        for _, of_channel in trips.group_by("channel"):
            medians = of_channel.group_by("bytes").agg(pl.col("value1").median()).sort("bytes")
            more |= set(bends(medians["bytes"].to_list(), medians["value1"].to_list(), MOST_BENDS))
        return tuple(sorted({*self.effort.pingpong, *more}))

    def samples(self) -> pl.DataFrame:
        """All samples so far."""
        return pl.concat([self.before, concatenate(self.launches)], how="diagonal_relaxed")

    def _limits(self) -> dict[str, tuple[int, int]]:
        samples = self.samples().filter(pl.col("test") == "eager")
        limits = {}
        for channel in samples["channel"].unique():
            below, above = eager_limit(collect(samples.filter(pl.col("channel") == channel)))
            if below is not None and above is not None:
                limits[channel] = (below, above)
        return limits

    def context(self) -> dict[str, Any]:
        """What the samples of a launch that starts now are of."""
        cores = {
            channel: {
                side: {"rank": end.rank, "host": end.host, "core": end.core, "os_index": end.pu}
                for side, end in (("source", pair.source), ("destination", pair.destination))
            }
            for channel, pair in self.plan.pairs.items()
        }
        return {
            "rankwise": rankwise.__version__,
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "command": self.site.description,
            "library": self.census.library,
            "variables": self.census.variables,
            "machine": platform.machine(),
            "kernel": platform.release(),
            "processor": _processor(),
            "ranks": self.census.ranks,
            "pairs": cores,
            "environment": {
                k: MASK if is_secret(k) else v for k, v in os.environ.items() if k.startswith(_TELLING)
            },
        }


_OF_FIT = {
    "eager": "the eager limit",
    "send_overhead": "the sender's overhead",
    "receive_overhead": "the receiver's overhead",
    "stream": "the gap between messages",
}


def launch_seconds(left: int, ran: int, remaining_s: float, startup_s: float) -> tuple[float, int]:
    """How long the next launch may take without its start, and how many there will be with it.

    Args:
        left: Launches that may still be made.
        ran: How many were.
        remaining_s: Time for all of them.
        startup_s: What each takes to start and to end.

    Returns:
        (0, 0) if no further launch is worth its time; the first one always is.
    """
    more = max(1, min(left, int(remaining_s / (startup_s + LEAST_LAUNCH_S))))
    seconds = remaining_s / more - startup_s
    if ran and seconds < LEAST_EVER_S:
        return 0.0, 0
    return max(seconds, LEAST_EVER_S), more


_TELLING = ("MPIR_CVAR_", "MPICH_", "OMPI_MCA_", "FI_", "UCX_", "I_MPI_", "SLURM_JOB_ID", "SLURM_CPU_BIND")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
