# SPDX-License-Identifier: BSD-3-Clause
"""What findings look at: a recording and what is worked out of it, each once."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rankwise.errors import RankwiseError
from rankwise.findings import places
from rankwise.findings.cores import CoreTaken, cores_taken, receiving_pus
from rankwise.findings.data import Efficiency
from rankwise.findings.efficiency import Computation, Replayed, computation, of_recording, replayed
from rankwise.findings.finding import LEAST_S, LEAST_SHARE
from rankwise.findings.late import LatePair, in_turns, late_pairs
from rankwise.findings.on_machine import OnMachine
from rankwise.findings.spread import Spread, best_spread
from rankwise.launchers.bound import Asked, asked, bound, instead, on_pus, yielding
from rankwise.launchers.line import Launcher
from rankwise.recording import Recording
from rankwise.recording.emulated import is_emulated
from rankwise.recording.raw import CALL_NAMES
from rankwise.recording.traces.operations import ALONE_IN_FILES, SPINNING_GAP_S

if TYPE_CHECKING:
    from rankwise.recording.traces.waits import Timeline

_LONGEST_NAP_S = 0.01
_FAULTS_PER_S = 10
"""Major page faults, as where a report calls them many."""

_LEAST_FAULTS, _FAULT_S = 100, 2e-4
"""A program that starts has some; and a page comes from flash in so long, so that it is at least that."""


@dataclass(frozen=True)
class Times:
    """Times of the ranks in seconds, as columns by rank.

    What a rank waited for a core may have been inside MPI or outside: hence the least and the most.

    Attributes:
        elapsed_s: Of the run.
        time_s: From MPI_Init to MPI_Finalize.
        mpi_s: Inside MPI.
        useful_least_s: Outside MPI on a core.
        useful_most_s: Outside MPI.
        still_s: Of the time outside MPI, in which the rank neither ran nor waited for a core.
        core_s: It waited for a core; `None` where that was not sampled.
        files_s: In calls of MPI that read or write files for the rank alone, which counts as useful.
        core_outside_s: Of that outside MPI, at most; all of it without a trace.
    """

    elapsed_s: float
    time_s: npt.NDArray[np.float64]
    mpi_s: npt.NDArray[np.float64]
    useful_least_s: npt.NDArray[np.float64]
    useful_most_s: npt.NDArray[np.float64]
    still_s: npt.NDArray[np.float64]
    core_s: npt.NDArray[np.float64] | None
    core_outside_s: npt.NDArray[np.float64]
    files_s: npt.NDArray[np.float64]


@dataclass(frozen=True)
class NodeSeats:
    """The ranks of one node and the PUs that they may use, as OS indices of the machine behind it.

    Attributes:
        host: Its name.
        ranks: Their ranks.
        pus: Of each of them.
        all_pus: How many the node has; `None` where that is not known.
    """

    host: str
    ranks: list[int]
    pus: list[frozenset[int]]
    all_pus: int | None

    def crowded(self) -> tuple[frozenset[int], list[int]] | None:
        """PUs that are fewer than the ranks that may use no others, and these ranks; `None` where there are none.

        Ranks whose PUs are not known are left out.
        """
        found = []
        for some in {*self.pus, frozenset().union(*self.pus)}:
            inside = [rank for rank, pus in zip(self.ranks, self.pus, strict=True) if pus and pus <= some]
            if len(inside) > len(some):
                found.append((some, inside))
        # The most too many, on as few PUs as that is true of.
        return min(
            found, key=lambda each: (len(each[0]) - len(each[1]), len(each[0]), min(each[0])), default=None
        )

    def free(self, some: frozenset[int], inside: list[int]) -> int:
        """How many PUs of the node are left when each rank that is not inside has one; 0 where that is not known."""
        if self.all_pus is None:
            return 0
        return max(self.all_pus - len(some) - (len(self.ranks) - len(inside)), 0)


class Evidence:
    """What findings look at.

    Args:
        recording: The run.
        on_machine: The run predicted on a machine, where one is given.
    """

    def __init__(self, recording: Recording, on_machine: OnMachine | None = None):
        self.recording = recording
        self._on_machine = on_machine

    @property
    def on_machine(self) -> OnMachine:
        """The run predicted on a machine.

        Raises:
            RankwiseError: None is given.
        """
        if self._on_machine is None:
            raise RankwiseError("this needs a machine file (`rankwise report REC --machine FILE`)")
        return self._on_machine

    @property
    def has_machine(self) -> bool:
        """Whether one is given."""
        return self._on_machine is not None

    @cached_property
    def memory_spread(self) -> Spread | None:
        """What the same ranks save spread over the memories and caches of their nodes; `None` if nothing is known.

        Raises:
            RankwiseError: As `OnMachine.recorded`, or no machine is given.
        """
        return best_spread(self.on_machine)

    @cached_property
    def replayed(self) -> Replayed:
        """The run on an ideal network."""
        return replayed(self.recording)

    @cached_property
    def computation(self) -> Computation | None:
        """How long each rank computed; `None` without times."""
        return computation(self.recording, self.replayed)

    @cached_property
    def efficiency(self) -> Efficiency | None:
        """The POP efficiencies; `None` without times."""
        return of_recording(self.recording, replay=self.replayed)

    @property
    def elapsed_s(self) -> float:
        """Run time."""
        return float(self.recording.ranks["time_s"].to_numpy().max(initial=0.0))

    @property
    def mpi_share(self) -> float:
        """Part of the ranks' time inside MPI; 1 where it was not timed."""
        ranks = self.recording.ranks
        if ranks["mpi_s"].null_count() or not self.elapsed_s:
            return 1.0
        return float(ranks["mpi_s"].to_numpy().sum() / ranks["time_s"].to_numpy().sum())

    @property
    def in_lab(self) -> bool:
        """Whether its nodes are emulated on one machine."""
        return is_emulated(self.recording.context["run"])

    @cached_property
    def times(self) -> Times:
        """Of all ranks.

        Raises:
            RankwiseError: The run is not known whole, or was not timed.
        """
        context, ranks = self.recording.context, self.recording.ranks.sort("rank")
        if context["missing_ranks"] or context["partial_ranks"] or ranks["partial"].any():
            raise RankwiseError("not every rank is recorded to its end")
        if not len(ranks) or ranks["mpi_s"].null_count():
            raise RankwiseError("the calls were counted and not timed")
        if (ranks["threads"] > 1).any():
            raise RankwiseError(
                "several threads of a rank call MPI: what is computed beside that is not known"
            )
        time, mpi, outside = (
            ranks[name].to_numpy().astype(float) for name in ("time_s", "mpi_s", "compute_s")
        )
        core = (
            None
            if ranks["runqueue_wait_s"].null_count()
            else ranks["runqueue_wait_s"].to_numpy().astype(float)
        )
        still = np.zeros(len(time))
        for each in context["stood_still"]:
            still[each["rank"]] = each["time_s"]
        files = self._in_files_s()
        files = np.minimum(files, mpi)
        elsewhere = self._asked_s() - files
        mpi, outside = np.clip(mpi + elsewhere, 0, None), np.clip(outside - elsewhere, 0, None)
        least = outside - self._may_have_asked_s()
        core_outside = np.zeros(len(time)) if core is None else self._core_outside_s(core)
        least = np.clip(least - core_outside, 0, None)
        still = np.minimum(still, outside)
        return Times(float(time.max()), time, mpi, least, outside, still, core, core_outside, files)

    def _in_files_s(self) -> npt.NDArray[np.float64]:
        names = CALL_NAMES[ALONE_IN_FILES].tolist()
        calls = self.recording.calls.filter(pl.col("call").is_in(names))
        by_rank = dict(calls.group_by("rank").agg(pl.col("time_s").sum()).iter_rows())
        return np.array([by_rank.get(rank) or 0.0 for rank in self.recording.ranks.sort("rank")["rank"]])

    def _asked_s(self) -> npt.NDArray[np.float64]:
        """By rank, how long it was outside MPI only to poll again, where a trace tells."""
        try:
            return np.array([each.asked_s for each in self.timeline.ranks])
        except RankwiseError:
            return np.zeros(len(self.recording.ranks))

    def _core_outside_s(self, core_s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        try:
            known = [each.core_outside_s for each in self.timeline.ranks]
        except RankwiseError:
            return core_s
        return np.array([most if each is None else each for each, most in zip(known, core_s, strict=True)])

    def _may_have_asked_s(self) -> npt.NDArray[np.float64]:
        """By rank, how long it may have been outside MPI only to poll again, where no trace tells.

        That is a microsecond a poll; or all of the time in which it slept, where it polled as often as one that sleeps
        for 10 ms each time.
        """
        if self.recording.context["trace"]["bytes"]:
            return np.zeros(len(self.recording.ranks))
        calls = self.recording.calls.filter(pl.col("call").str.contains("^MPI_(Test|Im?probe)"))
        polls = calls.group_by("rank").agg(pl.col("count").sum())
        busy = self.recording.table("rank_use").select("rank", busy_s=pl.col("user_s") + pl.col("system_s"))
        ranks = self.recording.ranks.sort("rank").join(polls, on="rank", how="left")
        ranks = ranks.join(busy, on="rank", how="left")
        count = ranks["count"].fill_null(0).to_numpy()
        slept_s = (
            ranks.select(pl.col("time_s") - pl.col("busy_s") - pl.col("runqueue_wait_s").fill_null(0.0))
            .to_series()
            .fill_null(0.0)
            .to_numpy()
        )
        naps_s = np.where(slept_s <= count * _LONGEST_NAP_S, slept_s, 0.0)
        return np.maximum(naps_s, count * SPINNING_GAP_S)

    @cached_property
    def core_waiting(self) -> float | None:
        """Part of the ranks' time in which they waited for a core; `None` where that was not sampled in all of them."""
        ranks = self.recording.ranks
        if not len(ranks) or ranks["runqueue_wait_s"].null_count() or not ranks["time_s"].sum() > 0:
            return None
        return float(ranks["runqueue_wait_s"].sum()) / float(ranks["time_s"].sum())

    def core_waiting_of(self, ranks: Collection[int]) -> float | None:
        """The same of some ranks."""
        table = self.recording.ranks.filter(pl.col("rank").is_in(list(ranks)))
        if not len(table) or table["runqueue_wait_s"].null_count() or not table["time_s"].sum() > 0:
            return None
        return float(table["runqueue_wait_s"].sum()) / float(table["time_s"].sum())

    @cached_property
    def timeline(self) -> Timeline:
        """The exact trace.

        Raises:
            RankwiseError: There is none, or its clocks cannot be related.
        """
        if not self.recording.context["trace"]["bytes"]:
            raise RankwiseError("this needs `rankwise record --trace --exact-times`")
        return self.recording.timeline()

    @cached_property
    def waits(self) -> pl.DataFrame:
        """Waiting and transferring by rank and call, from the exact trace (`rankwise.recording.traces.waits.waits`).

        Raises:
            RankwiseError: As `timeline`.
        """
        return self.timeline.waits()

    @cached_property
    def late_pairs(self) -> list[LatePair]:
        """Who waits for whom that is outside MPI, from the exact trace.

        Raises:
            RankwiseError: As `timeline`.
        """
        return late_pairs(self.timeline)

    def costly_pairs(self, pairs: Iterable[LatePair], bound_s: float) -> list[tuple[float, LatePair]]:
        """What mending some waiting saves of the run time, most first, where it is worth telling.

        It is the waiting, less what the late rank computes more all in all (that is load imbalance) and what it waited
        for a core outside MPI.

        Args:
            pairs: Who waits for whom.
            bound_s: It saves no more.

        Raises:
            RankwiseError: As `times`; or none is sure, as late ranks waited for a core, and what they surely computed
                may be what they were late by.
        """
        found, at_most_s = [], 0.0
        for pair in pairs:
            of_late, of_waiting = self.times.useful_most_s[pair.late], self.times.useful_most_s[pair.waiting]
            core_s = float(self.times.core_outside_s[pair.late])
            saved_s = pair.waited_s - max(float(of_late - of_waiting), 0.0)
            found.append((min(saved_s - core_s, bound_s), pair))
            at_most_s = max(at_most_s, min(saved_s, bound_s, float(self.times.useful_least_s[pair.late])))
        limit_s = max(LEAST_S, LEAST_SHARE * self.times.elapsed_s)
        costly = [each for each in found if each[0] >= limit_s]
        waiting = self.core_waiting or 0.0
        if not costly and at_most_s >= limit_s and waiting >= LEAST_SHARE:
            raise RankwiseError(
                f"it could not be judged, because ranks waited for a core for {waiting * 100:.0f} % of their time",
                "record with a core for each rank, where nothing else runs",
            )
        return sorted(costly, key=lambda each: (-each[0], -each[1].waited_s))

    @cached_property
    def in_turns(self) -> list[list[int]]:
        """Groups of ranks that compute one after the other (`late.in_turns`).

        Raises:
            RankwiseError: As `times` and `timeline`.
        """
        return in_turns(self.late_pairs, self.times.useful_least_s)

    @cached_property
    def masks(self) -> dict[int, list[tuple[float, frozenset[int]]]]:
        """By rank, the OS PUs that its first thread might use, and from when on; empty where it was not sampled."""
        found: dict[int, list[tuple[float, frozenset[int]]]] = {}
        table = self.recording.table("rank_masks").sort("time_s", maintain_order=True)
        for rank, time_s, pus in table.select("rank", "time_s", "pus").iter_rows():
            known = found.setdefault(rank, [])
            if not known or known[-1][1] != frozenset(pus):
                known.append((time_s, frozenset(pus)))
        return found

    @cached_property
    def mask_changed(self) -> set[int]:
        """Ranks that might use other cores later than at launch."""
        return {rank for rank, known in self.masks.items() if len(known) > 1}

    @cached_property
    def mask_setters(self) -> dict[tuple[int, float], str | None]:
        """Rank and time of `masks` -> name of the file whose code set them.

        Empty where no call of libc's was seen, `None` where that is not known or nothing did since the launch.
        """
        table = self.recording.table("rank_masks").select("rank", "time_s", "set_by")
        return {(rank, time_s): path and path.rsplit("/", 1)[-1] for rank, time_s, path in table.iter_rows()}

    def core_waits_s(self, ranks: Collection[int]) -> float | None:
        """Mean time that some ranks waited for a core; `None` where that was not sampled in all of them."""
        table = self.recording.ranks
        waits = table.filter(table["rank"].is_in(list(ranks)))["runqueue_wait_s"]
        return None if waits.null_count() or not len(waits) else float(waits.to_numpy().mean())

    def core_cost_s(self, waited_s: float) -> float:
        """Run time that a core for each rank saves, at most, where ranks waited for one for so long.

        Ranks that look for messages wait for a core as well, and that costs nothing while the messages are not there.
        The run never takes less than a rank computes, nor less than it takes on an ideal network.
        """
        try:
            least_s = float(self.times.useful_least_s.max())
        except RankwiseError:
            least_s = 0.0
        if self.efficiency is not None and self.efficiency.ideal_s is not None:
            least_s = max(least_s, self.efficiency.ideal_s)
        return min(waited_s, max(self.elapsed_s - least_s, 0.0))

    @cached_property
    def nodes(self) -> list[NodeSeats]:
        """By node that has ranks, with the cores they had last; in a lab the one machine behind its nodes."""
        found: dict[str, list[dict[str, Any]]] = {}
        for entry in self.recording.context["bindings"]:
            found.setdefault("the lab's machine" if self.in_lab else entry["host"], []).append(entry)
        sizes = {}
        for host in self.recording.context["hosts"]:
            if host["topology"] is not None and not self.in_lab:
                sizes[host["host"]] = sum(len(core) for core in host["topology"]["pus"])
        return [
            NodeSeats(
                name,
                [entry["rank"] for entry in entries],
                [self._pus(entry) for entry in entries],
                sizes.get(name),
            )
            for name, entries in found.items()
        ]

    def cores_of(self, host: str, pus: Collection[int]) -> int:
        """In how many cores of a node some PUs are; the PUs themselves count where its topology is not known."""
        for each in self.recording.context["hosts"]:
            if each["host"] == host and each["topology"] is not None:
                return sum(bool(set(core) & set(pus)) for core in each["topology"]["pus"]) or len(pus)
        return len(pus)

    def _pus(self, binding: dict[str, Any]) -> frozenset[int]:
        known = self.masks.get(binding["rank"]) if binding["rank"] in self.mask_changed else None
        return known[-1][1] if known else frozenset(binding.get("host_pus", binding["pus"]))

    @cached_property
    def pu_of(self) -> dict[int, int]:
        """The only PU that a rank ran on, by rank, where there is one; in a lab of the machine behind it."""
        ran_on = dict(self.recording.table("rank_use").select("rank", "ran_on").iter_rows())
        found = {}
        for node in self.nodes:
            for rank, pus in zip(node.ranks, node.pus, strict=True):
                seen = pus if len(pus) == 1 else ran_on.get(rank) or ()
                if len(seen) == 1 and rank not in self.mask_changed:
                    found[rank] = next(iter(seen))
        return found

    def shares_pu(self, rank: int) -> bool:
        """Whether another rank of its node may use the only PU that it ran on."""
        return any(
            other != rank and self.pu_of[rank] in ({self.pu_of[other]} if other in self.pu_of else pus)
            for node in self.nodes
            if rank in node.ranks
            for other, pus in zip(node.ranks, node.pus, strict=True)
        )

    @cached_property
    def cores_taken(self) -> list[CoreTaken]:
        """What took the cores of ranks from them, where that was sampled."""
        return cores_taken(self.recording, self.pu_of)

    @cached_property
    def taken_by(self) -> dict[str, npt.NDArray[np.float64]]:
        """By cause and rank, how long something kept it from computing outside MPI; 0 where that is not known.

        `interrupts`, less what the core of its node's ranks with the least has, `steal`, and `paging`: it stood still
        and had many major faults.

        Raises:
            RankwiseError: As `times`.
        """
        found = {name: np.zeros(len(self.times.time_s)) for name in ("interrupts", "steal", "paging")}
        least: dict[str, float] = {}
        for each in self.cores_taken:
            least[each.host] = min(each.interrupts, least.get(each.host, 1.0))
        for each in self.cores_taken:
            own_s = self.times.useful_least_s[each.rank]
            found["interrupts"][each.rank] = (each.interrupts - least[each.host]) * own_s
            found["steal"][each.rank] = each.steal * own_s
        faults = self.recording.table("rank_use").select("rank", "major_faults").drop_nulls()
        for rank, count in faults.iter_rows():
            if count >= max(_LEAST_FAULTS, _FAULTS_PER_S * self.times.time_s[rank]):
                found["paging"][rank] = min(self.times.still_s[rank], count * _FAULT_S)
        return found

    @cached_property
    def taken_s(self) -> npt.NDArray[np.float64]:
        """By rank, all of `taken_by`."""
        total: npt.NDArray[np.float64] = np.sum(list(self.taken_by.values()), axis=0)
        return np.minimum(total, self.times.useful_least_s)

    @cached_property
    def receiving_pus(self) -> dict[tuple[str, int], str]:
        """PUs by host that alone take what a network interface receives, and which."""
        return receiving_pus(self.recording)

    @cached_property
    def command(self) -> list[str]:
        """The launch line as typed; empty where it is not known."""
        return list((self.recording.context["run"] or {}).get("command") or [])

    @property
    def launcher(self) -> Launcher | None:
        """What launched it; `None` where it was recorded without `rankwise record`."""
        used = (self.recording.context["run"] or {}).get("launcher")
        if not used:
            return None
        return Launcher(used["kind"], "", used["path"], used["version"], used["vendor"])

    @cached_property
    def threads(self) -> dict[int, float]:
        """By rank, how many of its threads ran at a time, in the mean; without ranks where that was not looked at."""
        busy = self.recording.table("rank_use").select("rank", "threads_busy").drop_nulls()
        return dict(busy.iter_rows())

    def bound_command(self, cores: int | None = None) -> str | None:
        """The launch line with each rank bound to cores of its own, as this launcher wants it.

        `None` in a lab, and where the line is not known or cannot be changed so.

        Args:
            cores: For each rank; by default as many as a rank has threads that run.
        """
        if self.in_lab or not self.command or not self.launcher:
            return None
        if "MVAPICH" in self.recording.context["mpi"]["version"]:
            return None  # it binds by variables of its own, after the launcher
        cores = cores or max([1, *(round(each) for each in self.threads.values())])
        words = bound(self.command, self.launcher, cores)
        return shlex.join(words) if words else None

    @cached_property
    def asked(self) -> Asked | None:
        """The binding that the launch line asks for; `None` in a lab, or where that is not understood."""
        return asked(self.command, self.launcher) if self.launcher and not self.in_lab else None

    def masks_command(self) -> str | None:
        """The launch line that prints the cores it gives each rank, in place of the program."""
        if not self.launcher or self.in_lab:
            return None
        words = instead(self.command, self.launcher, ["grep", "Cpus_allowed_list", "/proc/self/status"])
        return shlex.join(words) if words else None

    def yielding_command(self) -> str | None:
        """The launch line with ranks that give up their core when they wait, where this library is known to do that."""
        if not self.launcher or self.in_lab or "MVAPICH" in self.recording.context["mpi"]["version"]:
            return None
        words = yielding(self.command, self.launcher)
        return shlex.join(words) if words else None

    def spun_s(self, ranks: Collection[int]) -> float:
        """Mean user time that some ranks spent inside MPI, at least; 0 where that is not known.

        All that they computed outside is taken to be user time.
        """
        use = self.recording.table("rank_use").select("rank", "user_s").drop_nulls()
        outside = dict(self.recording.ranks.select("rank", "compute_s").drop_nulls().iter_rows())
        spun = [
            max(user - outside[rank], 0.0)
            for rank, user in use.iter_rows()
            if rank in outside and rank in ranks
        ]
        return sum(spun) / len(ranks) if len(spun) == len(ranks) else 0.0

    @cached_property
    def threads_wait_s(self) -> dict[int, float]:
        """Of ranks with more threads that run than PUs: how long the first thread waited for a core, where sampled."""
        use = self.recording.table("rank_use").select("rank", "threads_crowded").drop_nulls()
        shared = {rank for rank, part in use.iter_rows() if part >= 0.5}
        lacking = [
            rank
            for node in self.nodes
            for rank, pus in zip(node.ranks, node.pus, strict=True)
            if rank in shared and self.threads.get(rank, 0.0) >= len(pus) + 0.5
        ]
        waited = {rank: self.core_waits_s([rank]) for rank in lacking}
        return {rank: each for rank, each in waited.items() if each is not None}

    def swapped_command(self, one: int, other: int) -> str | None:
        """The launch line with each rank on the PU where it ran, but for two that change places.

        `None` in a lab, on several nodes, and where the line is not known or cannot be changed so.
        """
        if (
            self.in_lab
            or not self.launcher
            or len(self.nodes) > 1
            or len(self.pu_of) < len(self.nodes[0].ranks)
        ):
            return None
        pus = self.pu_of | {one: self.pu_of[other], other: self.pu_of[one]}
        words = on_pus(self.command, self.launcher, [pus[rank] for rank in sorted(pus)])
        return shlex.join(words) if words else None

    def record_command(self, *options: str) -> str | None:
        """To record the same again with other options; `None` in a lab, or where the line is not known."""
        if self.in_lab or not self.command:
            return None
        return shlex.join(["rankwise", "record", *options, "--", *self.command])

    def place_of(self, rank: int, call: str) -> str | None:
        """Where in the program most of a rank's time in a call was spent; `None` where that is not known."""
        return places.place_of(self.recording.call_sites, rank, call)

    def others_wait_at(self, ranks: Collection[int]) -> str | None:
        """A line that says where the other ranks spent most of their time in MPI; `None` where that is not known."""
        at = places.waits_at(self.recording.call_sites, ranks)
        return None if at is None else f"the others spend most of their MPI time in {at}"
