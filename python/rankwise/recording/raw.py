# SPDX-License-Identifier: BSD-3-Clause
"""Raw recording files as numpy arrays."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from rankwise import regular_files
from rankwise._core import trace
from rankwise.errors import RankwiseError
from rankwise.record.directory import in_use
from rankwise.recording.files import raw_files
from rankwise.recording.layouts import (
    CALL_HISTOGRAM,
    CALL_TOTAL,
    COLLECTIVE_ENTRY,
    MPI_MPICH,
    MPI_OPENMPI,
    MPI_STANDARD_ABI,
    NETWORK_PEER,
    PEER_ENTRY,
    PROGRESS,
    RANK,
    SITE_ENTRY,
    TRANSPORT_ENTRY,
    UNTIMED,
)
from rankwise.recording.samples import Sampled, decode

FLAVOURS = {MPI_MPICH: "mpich", MPI_OPENMPI: "openmpi", MPI_STANDARD_ABI: "standard_abi"}

OTHER_RUN = "`recording.json` names another run than the raw files; the one that started last is taken"

CALLS = trace.calls()
CALL_NAMES = np.array([name for name, _, _ in CALLS])
CALL_CLASSES = np.array([kind for _, kind, _ in CALLS])
CALL_COLLECTIVES = np.array([operation for _, _, operation in CALLS])


@dataclass
class Thread:
    """One thread of one MPI process.

    Attributes:
        rank: What `rank_fields` gives, `node_file`, the name of its node's file without its ending, and `format`,
            the version of it.
        record: The reader's record; gives the trace's events.
    """

    rank: dict[str, Any]
    record: trace.ThreadRecord = field(repr=False)

    @property
    def process(self) -> tuple[str, int]:
        """Host and process number."""
        return self.rank["host"], self.rank["pid"]

    @cached_property
    def calls(self) -> np.ndarray:
        """Totals by call number."""
        return np.frombuffer(self.record.calls, CALL_TOTAL)

    @cached_property
    def peers(self) -> np.ndarray:
        """Messages by peer, call and size bin."""
        return np.frombuffer(self.record.peers, PEER_ENTRY)

    @cached_property
    def collectives(self) -> np.ndarray:
        """Collective calls by their arguments."""
        return np.frombuffer(self.record.collectives, COLLECTIVE_ENTRY)

    @cached_property
    def histograms(self) -> np.ndarray:
        """How long the calls of each function took: bin k counts those of [2^k, 2^(k+1)) ticks."""
        return np.frombuffer(self.record.histograms, CALL_HISTOGRAM)

    @cached_property
    def sites(self) -> np.ndarray:
        """Calls by the place they came from; `module` is an index of `record.modules`."""
        return np.frombuffer(self.record.sites, SITE_ENTRY)

    @cached_property
    def sampled(self) -> Sampled | None:
        """What was sampled of its process over time; the first thread has it."""
        return decode(self.record.samples, self.record.notes)

    @cached_property
    def network(self) -> np.ndarray:
        """Socket calls of its process by the addresses they were between, if it is the first thread; else none."""
        return np.frombuffer(self.record.network, NETWORK_PEER)

    @cached_property
    def transports(self) -> np.ndarray:
        """Calls of other transports by the peer's address, and the addresses of the process itself; likewise."""
        return np.frombuffer(self.record.transports, TRANSPORT_ENTRY)

    @cached_property
    def pus(self) -> list[int]:
        """OS indices of the hardware threads it was allowed to run on."""
        bits = np.unpackbits(np.frombuffer(self.rank["affinity"], np.uint8), bitorder="little")
        return np.flatnonzero(bits).tolist()

    @property
    def in_call(self) -> str | None:
        """The function it was in at the end, of those that wait for others; `None` if it was in none."""
        call = self.rank["in_call"]
        return None if call < 0 else str(CALL_NAMES[call])

    @property
    def in_call_since_s(self) -> float | None:
        """When that call began, in seconds since the return of MPI_Init; `None` without times."""
        if not self.rank["seconds_per_tick"] or not self.timed:
            return None
        return self.seconds(max(self.rank["in_call_begin_ticks"] - self.rank["init_ticks"], 0))

    @property
    def run_s(self) -> float:
        """Time from the return of MPI_Init to the call of MPI_Finalize, or as long as it is known to have run."""
        rank = self.rank
        if rank["finalize_ticks"]:
            return self.seconds(max(rank["finalize_ticks"] - rank["init_ticks"], 0))
        # A rank that was killed ran at least until its clocks were read last, until the call that did not return, and
        # as long as its calls took.
        end = max(rank["last_ticks"], rank["in_call_begin_ticks"] if self.in_call and self.timed else 0)
        return max(self.seconds(max(end - rank["init_ticks"], 0)), self.mpi_s)

    @property
    def mpi_s(self) -> float:
        """Time inside its calls; what begins and ends MPI is not in the time that is split."""
        own = ~np.isin(CALL_CLASSES, ["init", "finalize"])
        return self.seconds(float(self.calls["ticks"][own].sum(dtype=np.float64)))

    def has(self, flag: int) -> bool:
        """Whether a bit of rw_rank.flags is set."""
        return bool(self.rank["flags"] & flag)

    @property
    def timed(self) -> bool:
        """Whether its calls were timed, not only counted."""
        return not self.has(UNTIMED)

    def seconds(self, ticks: float) -> float:
        """A tick count as time."""
        seconds_per_tick: float = self.rank["seconds_per_tick"]
        return ticks * seconds_per_tick


@dataclass
class RawRecording:
    """All threads of all nodes' files.

    Attributes:
        threads: Those of the run.
        problems: What is damaged of the files.
        notes: What is unusual of them, and damages nothing.
        nodes: What was sampled of the nodes, by the name of the node's file without its ending.
    """

    threads: list[Thread]
    problems: list[str]
    notes: list[str]
    nodes: dict[str, Sampled] = field(default_factory=dict)


def damage_of_samples(raw: RawRecording) -> list[str]:
    """What was left out of samples as damaged, of ranks and of nodes."""
    found = [
        f"{thread.rank['node_file']}.rwn: rank {thread.rank['world_rank']}: {problem}"
        for thread in raw.threads
        if thread.sampled is not None
        for problem in thread.sampled.problems
    ]
    return found + [
        f"{file}.rwn: the node: {each}" for file, node in raw.nodes.items() for each in node.problems
    ]


def rank_fields(record: trace.ThreadRecord) -> dict[str, Any]:
    """The fields of a thread's rw_rank, texts decoded and `affinity` as bytes.

    Beside them `seconds_per_tick` (0 if it is not known), and of its rw_progress `in_call`, a number of the call table
    (-1: it was in none of these calls), and `in_call_begin_ticks`.
    """
    fields = dict(zip(RANK.names or (), np.frombuffer(record.rank, RANK)[0].item(), strict=True))
    for name, value in fields.items():
        if isinstance(value, bytes):
            fields[name] = value.split(b"\0")[0].decode(errors="replace")
    progress = np.frombuffer(record.progress, PROGRESS)[0]
    return fields | {
        "affinity": fields["affinity"].tobytes(),
        "seconds_per_tick": record.seconds_per_tick,
        "in_call": int(progress["call"]) - 1,
        "in_call_begin_ticks": int(progress["begin_ticks"]),
    }


def read(directory: Path) -> RawRecording:
    """Read every node's file; what is damaged is left out and said.

    Raises:
        RankwiseError: No recording directory, no file that can be read, or no rank in any.
    """
    raw = RawRecording([], [], [])
    failures: list[RankwiseError] = []
    by_run: dict[str, list[Thread]] = {}
    files = raw_files(directory)
    for path in files:
        try:
            node = trace.NodeFile(str(path))
        except RankwiseError as error:
            failures.append(error)
            raw.problems.append(error.message)
            continue
        raw.problems += [f"{path.name}: {problem}" for problem in node.problems]
        raw.notes += [f"{path.name}: {note}" for note in node.notes]
        if (sampled := decode(node.samples, node.notes_of_samples)) is not None:
            raw.nodes[path.stem] = sampled
        by_run.setdefault(str(node.run), []).extend(
            Thread(rank_fields(record) | {"node_file": path.stem, "format": node.version}, record)
            for record in node.threads
        )
    run = _run_named(directory)
    if run is None or (run not in by_run and any(by_run.values())):
        if run is not None:
            raw.notes.append(OTHER_RUN)
        run = _last_run(by_run)
    raw.threads = by_run.pop(run, [])
    if others := sum(map(len, by_run.values())):
        raw.notes.append(f"{others} threads of another run left files here; they are left out")
    if not raw.threads:
        if use := in_use(directory):
            raise RankwiseError(
                f"the recording `{directory}` is still being recorded by {use.holder}, and no rank wrote anything yet",
                "wait until it ends",
            )
        if failures:
            raise failures[0]
        if files:  # who makes one has called MPI_Init
            why = "its ranks could not write into their files"
            if not raw.problems:
                why = "its ranks ended, or found no space, before they wrote anything"
            raise RankwiseError(
                f"the recording `{directory}` is empty: {why}",
                f"see whether its file system has space: `df -h {quote(str(directory))}`",
                causes=tuple((raw.problems + raw.notes)[:3]),
            )
        if (written := _manifest(directory)) and written.get("end_s") is None:
            raise RankwiseError(
                f"the recording `{directory}` is empty: `rankwise record` was ended before any rank called MPI_Init",
                "record it again",
            )
        raise RankwiseError(
            f"the recording `{directory}` is empty: no rank called MPI_Init with the recorder in it",
            "see what works here: `rankwise doctor`",
        )
    _tell_hosts_apart(raw.threads)
    return raw


def _manifest(directory: Path) -> dict[str, Any]:
    """What recording.json holds, as far as it can be read."""
    try:
        content = json.loads(regular_files.read_bytes(directory / "recording.json"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _run_named(directory: Path) -> str | None:
    """The run that recording.json names."""
    named = _manifest(directory).get("run")
    return named if isinstance(named, str) else None


def _last_run(by_run: dict[str, list[Thread]]) -> str:
    """The run that started last."""

    def start(run: str) -> int:
        return max((thread.rank["first_realtime_ns"] for thread in by_run[run]), default=0)

    return max(by_run, key=start, default="")


def _tell_hosts_apart(threads: list[Thread]) -> None:
    """Nodes of one name are hosts of their own, named as their files are."""
    files: dict[str, set[str]] = {}
    for thread in threads:
        files.setdefault(thread.rank["host"], set()).add(thread.rank["node_file"])
    for thread in threads:
        if len(files[thread.rank["host"]]) > 1:
            thread.rank["host"] = thread.rank["node_file"]
