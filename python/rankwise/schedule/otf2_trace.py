# SPDX-License-Identifier: BSD-3-Clause
"""OTF2 traces, as Score-P writes them, read through the otf2 package.

What is outside MPI regions is computation, in wall time: a trace does not say when a rank lost its core. Records of one
MPI call, between the enter and the leave of its region, are one call: a send and a receive of one region are posted
together. What precedes the end of MPI_Init and follows the begin of MPI_Finalize is left out.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.schedule.otf2_sizes import Blocks

_TAG_BITS = 0x7FFFFFFF  # OTF2's tags have no sign, MPI's are not negative


# Kind and numbers of a record, as `_Survey` takes them from an event.
Record = tuple[Any, ...]


@dataclass
class Call:
    """One MPI call: the computation before it in ticks, its records, and the number of its first event."""

    gap: int
    event: int
    records: list[Record] = field(default_factory=list)  # in their order


def read(path: Path, library: str) -> tuple[_core.schedule.Schedule, dict[str, int]]:
    """The schedule of a trace.

    Args:
        path: The anchor file, `traces.otf2`.
        library: Whose collective algorithms to follow, `mpich` or `openmpi`.

    Returns:
        The schedule, its messages matched, and what was left out: sentence -> how often.

    Raises:
        RankwiseError: The otf2 package is not installed, or the trace cannot be read or holds no MPI.
    """
    try:
        import otf2
    except ImportError:
        raise RankwiseError(
            f"`{path}` is an OTF2 trace, for which the otf2 package is needed",
            "`pip install 'rankwise[otf2]'`, or record with `rankwise record --trace`",
        ) from None
    try:
        with _quiet(), otf2.reader.open(str(path)) as trace:
            survey = _Survey(otf2, trace.definitions)
            for location, event in trace.events:
                survey.take(location, event)
            ticks_per_s = trace.timer_resolution
    except Exception as error:
        # The package raises its own errors, Python's, and those of the library beneath it.
        if isinstance(error, RankwiseError):
            raise
        raise RankwiseError(
            f"`{path}` cannot be read by the otf2 package: {str(error).strip() or type(error).__name__}",
            "check the trace: `otf2-print --show-global-defs`",
        ) from None
    if not survey.ranks:
        raise RankwiseError(
            f"`{path}` has no MPI ranks", "trace the program with `scorep mpicc`, MPI included"
        )
    try:
        return _Writer(survey, ticks_per_s, library).write()
    except (TypeError, OverflowError):
        # What `ProgramBuilder` does not take: times and sizes of more than 63 bits.
        raise RankwiseError(
            f"`{path}` has times, sizes or tags that no run has",
            "check the trace: `otf2-print --show-global-defs`",
        ) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what the package and the library beneath it print, tracebacks too, before they raise an error."""
    sys.stderr.flush()
    before = os.dup(2)
    try:
        with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stderr(nowhere):
            os.dup2(nowhere.fileno(), 2)
            yield
    finally:
        os.dup2(before, 2)
        os.close(before)


class _Survey:
    """All calls of all ranks, and the communicators."""

    def __init__(self, otf2: Any, definitions: Any):
        self._otf2 = otf2
        self._mpi = otf2.Paradigm.MPI
        kinds = otf2.GroupType
        worlds = [
            g for g in definitions.groups if g.group_type == kinds.COMM_LOCATIONS and g.paradigm == self._mpi
        ]
        self.ranks = [location._ref for location in worlds[0].members] if worlds else []
        self._rank_of = {ref: rank for rank, ref in enumerate(self.ranks)}
        self.members: dict[int, list[int]] = {}  # of each communicator, by its reference, as world ranks
        for comm in definitions.comms:
            if hasattr(comm, "group") and not hasattr(comm, "groupA"):
                refs = [location._ref for location in comm.group.members]
                if all(ref in self._rank_of for ref in refs):
                    self.members[comm._ref] = [self._rank_of[ref] for ref in refs]
        count = len(self.ranks)
        self.calls: list[list[Call]] = [[] for _ in range(count)]
        self.received: list[dict[int, Record]] = [{} for _ in range(count)]  # by request, what it took
        self.omitted: dict[str, int] = defaultdict(int)
        self._depth = [0] * count
        self._free_since: list[int | None] = [None] * count
        self._last = [0] * count
        self._open: list[Call | None] = [None] * count
        self._ended = [False] * count
        self._events = [0] * count
        events = otf2.events
        self._takers: dict[type, Callable[[int, Any], Record]] = {
            events.MpiSend: lambda r, e: ("send", e.receiver, e.communicator._ref, e.msg_tag, e.msg_length),
            events.MpiRecv: lambda r, e: ("recv", e.sender, e.communicator._ref, e.msg_tag, e.msg_length),
            events.MpiIsend: lambda r, e: (
                "isend", e.receiver, e.communicator._ref, e.msg_tag, e.msg_length, e.request_id
            ),
            events.MpiIrecvRequest: lambda r, e: ("irecv", e.request_id),
            events.MpiIsendComplete: lambda r, e: ("end", e.request_id),
            events.MpiIrecv: self._received,
            events.MpiCollectiveEnd: lambda r, e: ("collective", *self._collective(e)),
        }  # fmt: skip
        # Records of newer versions of the package.
        for name, taker in (
            ("MpiMrecv", self._takers[events.MpiRecv]),
            ("MpiImrecvRequest", self._takers[events.MpiIrecvRequest]),
            ("MpiImrecv", self._received),
            ("NonBlockingCollectiveRequest", lambda r, e: ("begin", e.request_id)),
            ("NonBlockingCollectiveComplete", lambda r, e: ("ended", e.request_id, *self._collective(e))),
        ):
            if hasattr(events, name):
                self._takers[getattr(events, name)] = taker

    def _collective(self, event: Any) -> Record:
        name = str(event.collective_op).rpartition(".")[2].lower()
        return name, event.communicator._ref, event.root, event.size_sent, event.size_received

    def _received(self, rank: int, event: Any) -> Record:
        self.received[rank][event.request_id] = (
            event.sender, event.communicator._ref, event.msg_tag, event.msg_length
        )  # fmt: skip
        return "end", event.request_id

    def take(self, location: Any, event: Any) -> None:
        """One event, in order of its location."""
        rank = self._rank_of.get(location._ref)
        if rank is None:
            self.omitted["events of threads that are no MPI rank"] += 1
            return
        self._events[rank] += 1
        kind = type(event)
        events = self._otf2.events
        if kind is events.Enter and event.region.paradigm == self._mpi:
            self._enter(rank, event)
        elif kind is events.Leave and event.region.paradigm == self._mpi:
            self._leave(rank, event)
        elif kind in self._takers:
            if not self._ended[rank]:
                call = self._open[rank]
                if call is None:  # a record outside any region is a call by itself
                    call = Call(self._gap(rank, event.time), self._events[rank])
                    self.calls[rank].append(call)
                    self._free_since[rank] = event.time
                call.records.append(self._takers[kind](rank, event))
        elif kind.__name__.startswith("Rma"):
            self.omitted["records of one-sided communication, taken as no time"] += 1
        self._last[rank] = event.time

    def _gap(self, rank: int, now: int) -> int:
        since = self._free_since[rank]
        return 0 if since is None else max(0, now - since)

    def _enter(self, rank: int, event: Any) -> None:
        self._depth[rank] += 1
        if self._depth[rank] > 1 or self._ended[rank]:
            return
        name = event.region.name
        if name in ("MPI_Init", "MPI_Init_thread", "MPI_Session_init"):
            self._free_since[rank] = None
        call = self._open[rank] = Call(self._gap(rank, event.time), self._events[rank])
        self.calls[rank].append(call)
        self._ended[rank] = name in ("MPI_Finalize", "MPI_Session_finalize")

    def _leave(self, rank: int, event: Any) -> None:
        self._depth[rank] = max(0, self._depth[rank] - 1)
        if self._depth[rank] == 0:
            self._open[rank] = None
            self._free_since[rank] = event.time

    def close(self, rank: int) -> None:
        """A trace that ends before MPI_Finalize computes until its last event."""
        if not self._ended[rank] and self._depth[rank] == 0 and self._free_since[rank] is not None:
            self.calls[rank].append(Call(self._gap(rank, self._last[rank]), self._events[rank]))


class _Writer:
    def __init__(self, survey: _Survey, ticks_per_s: int, library: str):
        self.survey = survey
        self.builder = _core.schedule.ProgramBuilder(len(survey.ranks), library, "event")
        self.picoseconds = 1e12 / ticks_per_s
        self.comms = {ref: self.builder.communicator(group) for ref, group in survey.members.items()}
        self.blocks = Blocks(survey.members, survey.omitted)
        self.omitted = survey.omitted
        self.requests: list[dict[int, list[int]]] = [{} for _ in survey.ranks]
        self.begun: list[dict[int, Record]] = [{} for _ in survey.ranks]

    def write(self) -> tuple[_core.schedule.Schedule, dict[str, int]]:
        for rank, calls in enumerate(self.survey.calls):
            self.survey.close(rank)
            for call in calls:
                for record in call.records:
                    self._note(rank, record)
        for rank, calls in enumerate(self.survey.calls):
            for call in calls:
                self.builder.at(rank, call.event)
                self.builder.compute(rank, round(call.gap * self.picoseconds))
                self._call(rank, call.records)
        left = sum(map(len, self.requests))
        if left:
            self.omitted["requests that nobody waits for"] += left
        return self.builder.finish(), dict(self.omitted)

    def _note(self, rank: int, record: Record) -> None:
        """What other ranks' records must be known for: lengths of collectives, what a request will be."""
        if record[0] == "collective":
            self.blocks.note(rank, *record[1:])
        elif record[0] == "ended":
            self.begun[rank][record[1]] = record[2:]
            self.blocks.note(rank, *record[2:])

    def _call(self, rank: int, records: list[Record]) -> None:
        together = {"send", "recv"} <= {record[0] for record in records}
        waits: list[int] = []
        # Receives of the call are posted before its sends.
        for record in sorted(records, key=lambda each: each[0] != "recv") if together else records:
            waits += self._record(rank, record, together)
        self.builder.wait(rank, waits)

    def _record(self, rank: int, record: Record, together: bool) -> list[int]:
        """Write one record; what the call waits for at its end."""
        kind = record[0]
        if kind in ("send", "recv", "isend"):
            message = self._message(rank, *record[1:5])
            if message is None:
                return []
            if kind == "isend":
                self.requests[rank][record[5]] = [self.builder.isend(rank, *message)]
                return []
            if together:
                post = self.builder.isend if kind == "send" else self.builder.ireceive
                return [post(rank, *message)]
            (self.builder.send if kind == "send" else self.builder.receive)(rank, *message)
        elif kind == "irecv":
            self._post(rank, record[1])
        elif kind == "begin":
            begun = self.begun[rank].pop(record[1], None)
            if begun is not None:
                self.requests[rank][record[1]] = self._collective(rank, begun, nonblocking=True)
        elif kind in ("end", "ended"):
            return self.requests[rank].pop(record[1], [])
        elif kind == "collective":
            return self._collective(rank, record[1:], nonblocking=False)
        return []

    def _post(self, rank: int, request: int) -> None:
        took = self.survey.received[rank].get(request)
        if took is None:
            self.omitted["receives that never ended (cancelled, or behind the trace's end)"] += 1
            return
        message = self._message(rank, *took)
        if message is not None:
            self.requests[rank][request] = [self.builder.ireceive(rank, *message)]

    def _message(
        self, rank: int, peer: int, comm: int, tag: int, length: int
    ) -> tuple[int, int, int, int] | None:
        """Arguments of the builder: world rank, bytes, communicator, tag."""
        members = self.survey.members.get(comm)
        if members is None:
            self.omitted["messages of intercommunicators"] += 1
            return None
        if peer >= len(members):
            raise RankwiseError(
                f"rank `{rank}` has a message with rank `{peer}` of a communicator of `{len(members)}` ranks",
                "the trace is damaged; write it again",
            )
        return members[peer], length, self.comms[comm], tag & _TAG_BITS

    def _collective(self, rank: int, record: Record, nonblocking: bool) -> list[int]:
        name, comm, root, sent, received = record
        members = self.survey.members.get(comm)
        if members is None:
            self.omitted["collectives of intercommunicators"] += 1
            return []
        arguments = self.blocks.arguments(rank, name, comm, root, sent, received)
        if arguments is None:
            return []
        return self.builder.collective(
            rank, name, comm=self.comms[comm], nonblocking=nonblocking, **arguments
        )
