# SPDX-License-Identifier: BSD-3-Clause
"""A recording as other rooms see it: data frames and what is known about the run."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise.errors import RankwiseError
from rankwise.recording import collection

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from rankwise.machine.placement import Placement
    from rankwise.machine.topology import Topology
    from rankwise.recording.traces.clocks import HostClock
    from rankwise.recording.traces.waits import Timeline


class Recording:
    """One run. Tables are read when they are first asked for; their columns are listed in ARCHITECTURE.md.

    Attributes:
        path: The recording directory.
        context: Content of context.json.
        job: Which of several MPI jobs was asked for; `None`: the largest.
    """

    def __init__(
        self,
        path: Path,
        context: dict[str, Any],
        tables: dict[str, pl.DataFrame] | None = None,
        job: str | None = None,
    ):
        self.path = path
        self.context = context
        self.job = job
        self._tables = dict(tables or {})

    @classmethod
    def open(cls, path: str | os.PathLike[str], job: str | None = None) -> Recording:
        """Open a recording, collecting it first if that was not done since its raw files changed.

        A recording that cannot be written to, or has no space, is collected in memory.

        Args:
            path: The recording directory.
            job: Number or name of an MPI job, where several were recorded; `None` for the largest. Its tables are made
                in memory.

        Raises:
            RankwiseError: Not a recording directory, an empty one, one of a newer format, or one without that job.
        """
        directory = Path(path)
        if job is not None:
            collected = collection.make(directory, job)
            return cls(directory, collected.context, collected.tables, job)
        if (context := collection.current(directory)) is not None:
            return cls(directory, context)
        collected = collection.make(directory)
        context = collected.context
        with suppress(OSError):
            context = collection.save(directory, collected)
        return cls(directory, context, collected.tables)

    def table(self, name: str) -> pl.DataFrame:
        """A table by its file name without `.parquet`."""
        if name not in self._tables:
            found = collection.read_table(self.path, self.context, name)
            # The tables are a cache: what cannot be read is made again.
            self._tables |= collection.make(self.path).tables if found is None else {name: found}
        return self._tables[name]

    @property
    def messages(self) -> pl.DataFrame:
        """Messages by source, destination, call, algorithm and size range, as sent."""
        return self.table("messages")

    @property
    def received(self) -> pl.DataFrame:
        """Point-to-point messages as received."""
        return self.table("received")

    @property
    def calls(self) -> pl.DataFrame:
        """Count, time and bytes by rank and MPI function."""
        return self.table("calls")

    @property
    def durations(self) -> pl.DataFrame:
        """How many calls took how long, by rank and MPI function."""
        return self.table("durations")

    @property
    def call_sites(self) -> pl.DataFrame:
        """Calls by the place in the program they came from; empty without `--callsites`."""
        return self.table("call_sites")

    @property
    def network_time(self) -> pl.DataFrame:
        """The transport's calls by rank and peer node: count, bytes and time."""
        return self.table("network_time")

    @property
    def performance_variables(self) -> pl.DataFrame:
        """MPI's own performance variables by rank."""
        return self.table("performance_variables")

    @property
    def ranks(self) -> pl.DataFrame:
        """Time in MPI and outside by rank."""
        return self.table("ranks")

    @property
    def collectives(self) -> pl.DataFrame:
        """Collective calls by rank, communicator, root and size."""
        return self.table("collectives")

    @property
    def communicators(self) -> pl.DataFrame:
        """Communicators and their members."""
        return self.table("communicators")

    @property
    def world_size(self) -> int:
        """Number of ranks in MPI_COMM_WORLD, whether they left something or not."""
        size: int = self.context["world_size"]
        return size

    @property
    def program_name(self) -> str:
        """File names of the executables, two at most."""
        executables = (self.context["run"] or {}).get("programs") or self.context["executables"]
        return " + ".join(Path(path).name for path in executables[:2]) or "unknown program"

    @property
    def mpi_text(self) -> str:
        """MPI library and version, one line."""
        mpi = self.context["mpi"]
        lines = [line for line in mpi["version"].splitlines() if line.strip()]
        text = " ".join(lines[0].replace("Version:", "").split()).rstrip(",") if lines else mpi["family"]
        return str(text).split(",")[0]

    @cached_property
    def topology(self) -> Topology | None:
        """The nodes, in the order of `context["hosts"]`; `None` if one of them is not known."""
        from rankwise.machine.topology import NodeTopology, Topology

        nodes = [host["topology"] for host in self.context["hosts"]]
        return None if None in nodes else Topology(tuple(NodeTopology.from_dict(node) for node in nodes))

    @cached_property
    def placement(self) -> Placement | None:
        """Where the ranks ran, on `topology`; a rank that was not bound has all cores of its node.

        `None` if a node's topology is not known, or a rank left nothing.
        """
        from rankwise.machine.placement import Placement

        if self.topology is None or self.context["missing_ranks"]:
            return None
        names = [host["host"] for host in self.context["hosts"]]
        bindings = self.context["bindings"]
        return Placement.from_bindings(
            self.topology,
            [names.index(entry["host"]) for entry in bindings],
            [b["pus"] for b in bindings],
            names,
        )

    @property
    def lab_rate_bytes_per_s(self) -> float | None:
        """Of the interfaces of the lab that it was made in; `None` outside of labs."""
        return ((self.context["run"] or {}).get("lab") or {}).get("rate_bytes_per_s")

    @property
    def generated(self) -> str | None:
        """What it was generated from and on what, if no program ran; `None` of what was recorded."""
        from rankwise.record.manifest import generated_from

        return generated_from(self.context["run"])

    @property
    def in_lab(self) -> bool:
        """Whether it was made in a lab, whose nodes are one host."""
        return bool((self.context["run"] or {}).get("lab"))

    @cached_property
    def _timeline(self) -> Timeline | RankwiseError:
        """Why there is none is kept as well: many ask, and each time the traces would be read."""
        from rankwise.recording.traces.waits import Timeline

        try:
            return Timeline.of(self.path, self.job)
        except RankwiseError as error:
            return error

    def clocks(self) -> list[HostClock]:
        """How the clocks of the hosts relate, from an exact trace's messages, and how far that may be wrong.

        Raises:
            RankwiseError: No exact trace of the whole run, or hosts that its messages do not relate.
        """
        return self.timeline().clocks

    def waits(self) -> pl.DataFrame:
        """Time in receives and synchronising collectives by rank and call: as `rankwise.recording.traces.waits.waits`.

        Raises:
            RankwiseError: No exact trace of the whole run, or hosts whose clocks its messages do not relate.
        """
        return self.timeline().waits()

    def timeline(self) -> Timeline:
        """The traces of all ranks with all that relates them; read once.

        Raises:
            RankwiseError: As `waits`.
        """
        if isinstance(self._timeline, RankwiseError):
            raise self._timeline
        return self._timeline

    def collective_messages(self) -> pl.DataFrame:
        """Messages of collectives by communicator, source and destination.

        Those that callers record one by one are not among them.

        Raises:
            RankwiseError: The raw files cannot be read.
        """
        from rankwise.recording.communicators import unify
        from rankwise.recording.expansion import by_communicator
        from rankwise.recording.job import choose_job
        from rankwise.recording.raw import read

        job = choose_job(read(self.path), self.job)
        return by_communicator(job, unify(job))

    def events(self, rank: int) -> dict[str, np.ndarray]:
        """The trace of a rank's first thread as numpy columns (`core/trace/event_columns.hpp`), in ticks.

        `seconds_per_tick` and `problem` are in it, too. Empty if no trace was recorded.

        Raises:
            RankwiseError: The raw files cannot be read.
            KeyError: The rank left nothing.
        """
        from rankwise.recording.job import choose_job
        from rankwise.recording.raw import read

        firsts = {t.rank["world_rank"]: t for t in choose_job(read(self.path), self.job).first_threads}
        thread = firsts[rank]
        return thread.record.events() | {"seconds_per_tick": thread.rank["seconds_per_tick"]}
