# SPDX-License-Identifier: BSD-3-Clause
"""One measurement: a census of the ranks, the launches, and what is kept of them."""

from __future__ import annotations

import datetime
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

import rankwise
from rankwise.errors import RankwiseError
from rankwise.machine.topology import NodeTopology, from_this_machine
from rankwise.measure import launch as launching
from rankwise.measure.fit import eager_limit
from rankwise.measure.plan import Plan, Rank, choose
from rankwise.measure.points import collect
from rankwise.measure.samples import Launch, concatenate
from rankwise.measure.steps import Effort, steps_for

CENSUS_PATIENCE_S = 120.0
PATIENCE = 1.5  # of the time aimed at


class Site:
    """How ranks are started and where they are: this machine, or the nodes a launcher reaches from here.

    The lab has one of its own.
    """

    waiting = "spin"

    def command(self, words: Sequence[str], program: Path, arguments: Sequence[str]) -> list[str]:
        """The whole command of one launch."""
        return [*words, str(program), *arguments]

    def environment(self) -> dict[str, str] | None:
        """Of the launcher; `None` for ours."""
        return None

    def topology(self, host: str, about: dict[str, str]) -> tuple[NodeTopology, str]:
        """A host's topology and how it is known: `seen` or `assumed`."""
        return from_this_machine(), "seen" if about.get("boot") == _boot_id() else "assumed"

    def cores(
        self, host: str, node: NodeTopology, allowed: list[int]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Logical cores of a rank, and for each the OS index to bind to."""
        cores = node.cores_of(allowed)
        return cores, tuple(next(pu for pu in node.pus[core] if pu in allowed) for core in cores)

    def same_machine(self, one: str, other: str) -> bool:
        """Whether two hosts have the same PUs."""
        return False

    def node_text(self) -> str | None:
        """Synthetic description of the nodes, where the site knows it."""
        return None


@dataclass
class Session:
    """A measurement under way.

    Attributes:
        words: The launcher line.
        effort: How much is measured.
        site: How ranks are started.
        plan: Who measures what; empty before the census.
        launches: Those that said something, the census not among them.
        census: What the census said.
        topologies: By host.
        assumed_hosts: Hosts whose topology was not seen but assumed to be that of this machine.
        interrupted: Whether the user stopped it.
    """

    words: list[str]
    effort: Effort
    site: Site = field(default_factory=Site)
    plan: Plan = field(default_factory=Plan)
    launches: list[Launch] = field(default_factory=list)
    census: Launch = field(default_factory=Launch)
    topologies: dict[str, NodeTopology] = field(default_factory=dict)
    assumed_hosts: list[str] = field(default_factory=list)
    unbound: list[int] = field(default_factory=list)
    interrupted: bool = False
    program: Path = Path()

    def prepare(self) -> None:
        """Compile, ask the ranks where they are, and choose who measures.

        Raises:
            RankwiseError: Nothing can be measured with this launcher line.
        """
        self.program, _ = launching.build(self.words)
        command = self.site.command(self.words, self.program, ["census"])
        launching.run(command, self.census, CENSUS_PATIENCE_S, environment=self.site.environment())
        if self.census.world < 2:
            raise RankwiseError(
                "the launcher line started one rank, which has nobody to talk to", "add `-n 2`"
            )
        ranks = []
        for number, about in sorted(self.census.ranks.items()):
            host = about["host"]
            if host not in self.topologies:
                self.topologies[host], known = self.site.topology(host, about)
                if known == "assumed":
                    self.assumed_hosts.append(host)
            allowed = _numbers(about["allowed"])
            cores, pus = self.site.cores(host, self.topologies[host], allowed)
            if not cores:
                raise RankwiseError(
                    f"rank {number} on `{host}` may use the cores {about['allowed']}, which this machine does not have",
                    "run `rankwise measure` on one of the nodes that are measured",
                )
            if len(cores) > 1:
                self.unbound.append(number)
            ranks.append(Rank(number, host, cores, pus))
        self.plan = choose(ranks, self.topologies, self.site.same_machine)
        if not self.plan.pairs:
            raise RankwiseError(
                "all ranks may only use the same core, so no channel can be measured",
                "let the launcher spread them, for example `mpiexec -n 2 --bind-to core`",
            )

    def measure(self, said: Callable[[int, int, Launch], None] = lambda done, total, launch: None) -> None:
        """Run all launches; an interruption ends them and keeps what there is.

        Args:
            said: Called as points end, with their number, the number there will be, and the launch under way.
        """
        around: dict[str, tuple[int, int]] = {}
        done = 0
        start = time.monotonic()
        for number in range(self.effort.launches):
            # On a busy machine a launch takes longer than its points ask for.
            if number and (time.monotonic() - start) * (number + 1) / number > PATIENCE * self.effort.seconds:
                return
            steps = steps_for(self.plan, self.effort, around)
            launch = Launch(number, channels=steps.channels)
            launch.context = self._context(launch)
            self.launches.append(launch)
            total = steps.points * self.effort.launches
            command = self.site.command(self.words, self.program, steps.arguments)
            finished = done
            try:
                launching.run(
                    command,
                    launch,
                    5 * steps.seconds + CENSUS_PATIENCE_S,
                    lambda launch=launch, finished=finished, total=total: said(
                        finished + len(launch.points), total, launch
                    ),
                    self.site.environment(),
                )
            except launching.Interrupted:
                self.interrupted = True
                return
            done += steps.points
            around |= self._limits()

    def samples(self) -> pl.DataFrame:
        """All samples so far."""
        return concatenate(self.launches)

    def _limits(self) -> dict[str, tuple[int, int]]:
        samples = self.samples().filter(pl.col("test") == "eager")
        limits = {}
        for channel in samples["channel"].unique():
            below, above = eager_limit(collect(samples.filter(pl.col("channel") == channel)))
            if below is not None and above is not None:
                limits[channel] = (below, above)
        return limits

    def _context(self, launch: Launch) -> dict:
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
            "command": " ".join(self.words),
            "library": self.census.library,
            "variables": self.census.variables,
            "machine": platform.machine(),
            "kernel": platform.release(),
            "processor": _processor(),
            "ranks": self.census.ranks,
            "pairs": cores,
            "environment": {k: v for k, v in os.environ.items() if k.startswith(_TELLING)},
            "launch": launch.number,
        }


_TELLING = ("MPIR_CVAR_", "MPICH_", "OMPI_MCA_", "FI_", "UCX_", "I_MPI_", "SLURM_JOB_ID", "SLURM_CPU_BIND")


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")


def _numbers(text: str) -> list[int]:
    """Numbers of a kernel list, `0-3,8`."""
    found: list[int] = []
    for word in text.split(","):
        first, _, last = word.partition("-")
        if first.isdigit():
            found += range(int(first), int(last or first) + 1)
    return found
