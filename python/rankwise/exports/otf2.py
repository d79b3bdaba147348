# SPDX-License-Identifier: BSD-3-Clause
"""Calls and messages as an OTF2 archive, as Score-P would have written it, through the otf2 package."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import rankwise
from rankwise.errors import RankwiseError
from rankwise.exports.calls import NAMES, calls
from rankwise.exports.otf2_sizes import from_others, sizes
from rankwise.exports.remarks import remarks
from rankwise.recording import Recording
from rankwise.recording.layouts import COLL_INTERCOMM
from rankwise.recording.raw import CALL_CLASSES, CALL_COLLECTIVES, CALL_NAMES
from rankwise.recording.traces.operations import Operations, event_classes
from rankwise.recording.traces.waits import Timeline

TICKS_PER_S = 10**9
_PROC_NULL, _WORLD, _NO_ROOT = -1, 0, 0xFFFFFFFF
_CLASSES = dict(zip(CALL_NAMES.tolist(), CALL_CLASSES.tolist(), strict=True))
_WITHOUT = {
    "rma": "one-sided calls",
    "partitioned": "calls of partitioned communication",
}
# Name of a record's writer in the otf2 package, and its arguments behind the time.
_Record = tuple[Any, ...]
_Records = defaultdict[int, list[_Record]]


def check() -> None:
    """Refuse, before any work, where the package is not there.

    Raises:
        RankwiseError: It is not.
    """
    try:
        import otf2  # noqa: F401
    except ImportError:
        raise RankwiseError(
            "OTF2 takes the otf2 package, which is not installed",
            "`pip install 'rankwise[otf2]'`; `--format perfetto` needs nothing",
        ) from None


def write(recording: Recording, directory: Path) -> list[str]:
    """Write the archive: traces.otf2, traces.def, and traces/ with the events of each rank's first thread.

    Returns:
        What it does not say of calls that are in it.

    Raises:
        RankwiseError: No exact trace of the whole run, or the archive cannot be written.
    """
    import otf2

    timeline = recording.timeline()
    try:
        with otf2.writer.open(str(directory), timer_resolution=TICKS_PER_S) as trace:
            trace.creator = f"rankwise {rankwise.__version__}"
            trace.description = "\n".join(remarks(recording))
            archive = _Archive(otf2, trace, timeline)
            archive.write(recording)
            if started_s := (recording.context["run"] or {}).get("start_s"):
                trace._realtime_timestamp = started_s  # it would say when the archive was written
    except Exception as error:
        # The package raises its own errors, Python's, and those of the library beneath it.
        if isinstance(error, (RankwiseError, OSError)):
            raise
        raise RankwiseError(
            f"the otf2 package cannot write the archive: {str(error).strip() or type(error).__name__}",
            "`--format perfetto` needs no other package",
        ) from error
    return [f"the messages of {count} {what}" for what, count in sorted(archive.without.items()) if count]


class _Archive:
    def __init__(self, otf2: Any, trace: Any, timeline: Timeline):
        self.otf2, self.trace, self.timeline = otf2, trace, timeline
        self.definitions = trace.definitions
        self.without: Counter[str] = Counter()
        self.regions: dict[str, Any] = {}
        self.comms: dict[int, tuple[Any, dict[int, int]]] = {}
        self.from_others = from_others(timeline)
        machine = self.definitions.system_tree_node("machine", class_name="machine")
        nodes = [
            self.definitions.system_tree_node(clock.host, class_name="node", parent=machine)
            for clock in timeline.clocks
        ]
        self.locations = []
        for rank, host in enumerate(timeline.host):
            group = self.definitions.location_group(f"MPI Rank {rank}", system_tree_parent=nodes[host])
            self.locations.append(self.definitions.location("Master thread", group=group))
        kind = otf2.GroupType.COMM_LOCATIONS
        self.definitions.group("", kind, otf2.Paradigm.MPI, members=self.locations)

    def write(self, recording: Recording) -> None:
        """All events of all ranks."""
        init, finalize = (_around(recording, name) for name in ("init", "finalize"))
        ended_s = dict(recording.ranks.filter(~pl.col("partial")).select("rank", "time_s").iter_rows())
        ranks = calls(self.timeline)
        # Times have no sign: they count from when the first rank called MPI_Init.
        shift_s = max(
            (init.get(rank, ("", 0.0))[1] - of.init_s for rank, of in enumerate(ranks)), default=0.0
        )
        program = self.definitions.region(recording.program_name, paradigm=self.otf2.Paradigm.USER)
        for rank, of in enumerate(ranks):
            writer = self.trace.event_writer_from_location(self.locations[rank])
            begin, end = (_ticks(part + shift_s) for part in (of.begin_s, of.end_s))
            name, lasts_s = init.get(rank, ("MPI_Init", 0.0))
            called, last = _ticks(np.array([of.init_s - lasts_s, of.init_s]) + shift_s)
            writer.enter(called, program)
            self._call(writer, name, called, last)
            at_enter, at_leave = self._records(rank)
            for row in np.flatnonzero(of.kind >= 0).tolist():
                # What was rounded apart does not overlap.
                called = max(begin[row], last)
                last = max(end[row], called)
                name = str(NAMES[of.kind[row]])
                self._call(writer, name, called, last, at_enter.get(row, ()), at_leave.get(row, ()))
            if rank in ended_s:
                name, lasts_s = finalize.get(rank, ("MPI_Finalize", 0.0))
                at_s = of.init_s + ended_s[rank] + shift_s
                called = max(_ticks(np.array([at_s]))[0], last)
                last = max(_ticks(np.array([at_s + lasts_s]))[0], called)
                self._call(writer, name, called, last)
            writer.leave(last, program)

    def _call(
        self,
        writer: Any,
        name: str,
        begin: int,
        end: int,
        at_enter: Iterable[_Record] = (),
        at_leave: Iterable[_Record] = (),
    ) -> None:
        if name not in self.regions:
            kind, roles = _CLASSES.get(name, ""), self.otf2.RegionRole
            role = roles.POINT2POINT if "send" in kind or "recv" in kind else roles.FUNCTION
            role = roles.COLL_OTHER if "collective" in kind else role
            self.regions[name] = self.definitions.region(
                name, region_role=role, paradigm=self.otf2.Paradigm.MPI
            )
        writer.enter(begin, self.regions[name])
        for when, records in ((begin, at_enter), (end, at_leave)):
            for record, *arguments in records:
                getattr(writer, record)(when, *arguments)
        writer.leave(end, self.regions[name])

    def _records(self, rank: int) -> tuple[_Records, _Records]:
        """What is recorded of a rank's operations, by row of the call at whose begin and at whose end."""
        events = self.timeline.ranks[rank]
        columns, classes = events.columns, event_classes(events.columns)
        at_enter: _Records = defaultdict(list)
        at_leave: _Records = defaultdict(list)
        for number, (given, begun, ended, done) in enumerate(_rows(events.operations)):
            kind, request = str(classes[given]), 2 * number
            blocking = kind in ("send", "recv", "sendrecv")
            if "collective" in kind:
                self._collective(rank, given, at_enter[begun], at_leave[ended], request)
            if "send" in kind and columns["send_peer"][given] >= 0:
                sent = self._message(rank, given, "send", given)
                at_enter[begun].append(("mpi_send", *sent) if blocking else ("mpi_isend", *sent, request))
                if not blocking:
                    at_leave[ended].append(("mpi_isend_complete", request))
            if "recv" in kind and blocking and columns["recv_peer"][given] >= 0:
                at_leave[ended].append(("mpi_recv", *self._message(rank, given, "recv", given)))
            if "recv" in kind and not blocking and columns["posted_peer"][given] != _PROC_NULL:
                at_enter[begun].append(("mpi_irecv_request", request + 1))
                if done >= 0 and columns["completion_is_receive"][done]:
                    known = columns["completion_peer"][done] >= 0
                    received = self._message(rank, given, "completion", done) if known else ()
                    name = "mpi_irecv" if known else "mpi_request_cancelled"
                    at_leave[ended].append((name, *received, request + 1))
        for kind, what in _WITHOUT.items():
            self.without[what] += int((classes == kind).sum())
        return at_enter, at_leave

    def _message(self, rank: int, given: int, prefix: str, row: int) -> _Record:
        """Peer, communicator, tag and bytes; a peer that is no member is one of the world's (intercommunicators)."""
        columns = self.timeline.ranks[rank].columns
        peer, tag, size = (int(columns[f"{prefix}_{name}"][row]) for name in ("peer", "tag", "bytes"))
        comm, members = self._comm(rank, given) or (None, {})
        if peer not in members:
            comm, members = self._numbered(_WORLD) or (None, {})
        if peer not in members:
            raise RankwiseError(
                f"rank `{rank}` has a message with rank `{peer}`, which MPI_COMM_WORLD does not have",
                "`rankwise report REC --check` says whether the recording is damaged",
            )
        return members[peer], comm, tag, size

    def _comm(self, rank: int, given: int) -> tuple[Any, dict[int, int]] | None:
        """A call's communicator with its members' places by world rank; `None` where they are not known."""
        own = int(self.timeline.ranks[rank].columns["comm"][given])
        return self._numbered(self.timeline.communicator_of[rank].get(own, -1))

    def _numbered(self, number: int) -> tuple[Any, dict[int, int]] | None:
        members = self.timeline.members[number] if number >= 0 else None
        if members is None:
            return None
        if number not in self.comms:
            ranks = [int(member) for member in members]
            locations, kind = [self.locations[member] for member in ranks], self.otf2.GroupType.COMM_GROUP
            group = self.definitions.group("", kind, self.otf2.Paradigm.MPI, members=locations)
            name = "MPI_COMM_WORLD" if number == _WORLD else f"communicator {number}"
            comm = self.definitions.comm(name, group=group)
            self.comms[number] = comm, {member: at for at, member in enumerate(ranks)}
        return self.comms[number]

    def _collective(
        self, rank: int, given: int, begun: list[_Record], ended: list[_Record], request: int
    ) -> None:
        columns = self.timeline.ranks[rank].columns
        kind = int(columns["kind"][given])
        name, found = str(CALL_COLLECTIVES[kind]), self._comm(rank, given)
        operation = getattr(self.otf2.CollectiveOp, name.upper(), None)
        if operation is None:
            self.without["neighbourhood collectives"] += 1
            return
        if found is None or rank not in found[1] or columns["flags"][given] & COLL_INTERCOMM:
            self.without["collectives of intercommunicators, and of unknown members"] += 1
            return
        comm, members = found
        root, own, total = (int(columns[key][given]) for key in ("root", "bytes", "bytes2"))
        got = self.from_others.get((rank, given), 0)
        both = sizes(name, len(members), members[rank], root, own, total, got)
        said = (operation, comm, root if root >= 0 else _NO_ROOT, *both)
        if CALL_CLASSES[kind] == "collective":
            begun.append(("mpi_collective_begin",))
            ended.append(("mpi_collective_end", *said))
        else:
            begun.append(("non_blocking_collective_request", request))
            ended.append(("non_blocking_collective_complete", *said, request))


def _rows(of: Operations) -> Iterator[tuple[int, int, int, int]]:
    columns = (of.given, of.begun, of.ended, of.completion)
    return zip(*(column.tolist() for column in columns), strict=True)


def _around(recording: Recording, kind: str) -> dict[int, tuple[str, float]]:
    """By rank, which call it began or ended MPI with, and how long that took; 0 where it was not timed."""
    found = recording.calls.filter(pl.col("class") == kind).select(
        "rank", "call", pl.col("time_s").fill_null(0.0)
    )
    return {rank: (name, lasts_s) for rank, name, lasts_s in found.iter_rows()}


def _ticks(seconds: np.ndarray) -> list[int]:
    ticks: list[int] = np.maximum(np.round(seconds * TICKS_PER_S), 0).astype(np.int64).tolist()
    return ticks
