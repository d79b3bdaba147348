# SPDX-License-Identifier: BSD-3-Clause
"""Calls and messages as an OTF2 archive, as Score-P would have written it, through the otf2 package."""

from __future__ import annotations

import ctypes
import gc
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
# A function of the library, and its arguments behind the time.
_Record = tuple[Any, ...]
# By record, types of these arguments (OTF2_EvtWriter.h, the same in OTF2 2 and 3).
_ARGUMENTS = {
    **dict.fromkeys(("Enter", "Leave"), "I"),
    **dict.fromkeys(("MpiSend", "MpiRecv"), "IIIQ"),
    **dict.fromkeys(("MpiIsend", "MpiIrecv"), "IIIQQ"),
    **dict.fromkeys(("MpiIsendComplete", "MpiIrecvRequest", "MpiRequestCancelled"), "Q"),
    "MpiCollectiveBegin": "",
    "MpiCollectiveEnd": "BIIQQ",
    "NonBlockingCollectiveRequest": "Q",
    "NonBlockingCollectiveComplete": "BIIQQQ",
}
_TYPES = {"B": ctypes.c_uint8, "I": ctypes.c_uint32, "Q": ctypes.c_uint64}
_Records = defaultdict[int, list[_Record]]
_Columns = dict[str, list[int]]
_MESSAGE = {
    prefix: (f"{prefix}_peer", f"{prefix}_tag", f"{prefix}_bytes")
    for prefix in ("send", "recv", "completion")
}
_COLUMNS = (
    *("kind", "comm", "root", "flags", "bytes", "bytes2", "posted_peer", "completion_is_receive"),
    *(name for names in _MESSAGE.values() for name in names),
)


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
    import _otf2
    import otf2

    timeline = recording.timeline()
    try:
        with otf2.writer.open(str(directory), timer_resolution=TICKS_PER_S) as trace:
            trace.creator = f"rankwise {rankwise.__version__}"
            trace.description = "\n".join(remarks(recording))
            archive = _Archive(otf2, trace, timeline, _Library(_otf2))
            with _without_collection():
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


@contextmanager
def _without_collection() -> Iterator[None]:
    """Among many tuples that live on, a search for garbage takes a fourth of the time and finds none."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class _Library:
    """Functions of the library that write records.

    The package's own ones declare them anew for each record, and make and delete attributes, which takes most of their
    time.
    """

    def __init__(self, package: Any):
        self._check = package.ErrorCodes.HandleErrorCode
        self._error = package.ErrorCodes.ErrorCode
        library = package.Config.conf.lib
        every = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64)
        for name, types in _ARGUMENTS.items():
            declared = ctypes.PYFUNCTYPE(ctypes.c_int, *every, *(_TYPES[each] for each in types))
            setattr(self, name, declared((f"OTF2_EvtWriter_{name}", library)))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """One of them, by the name of its record."""

    def check(self, status: int) -> None:
        """Raise what the package would raise."""
        self._check(self._error(status))


class _Archive:
    def __init__(self, otf2: Any, trace: Any, timeline: Timeline, library: _Library):
        self.otf2, self.trace, self.timeline, self.library = otf2, trace, timeline, library
        self.definitions = trace.definitions
        self.without: Counter[str] = Counter()
        self.regions: dict[str, int] = {}
        self.comms: dict[int, tuple[int, dict[int, int]]] = {}
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
        program = self.definitions.region(recording.program_name, paradigm=self.otf2.Paradigm.USER)._ref
        for rank, of in enumerate(ranks):
            begin, end = (_ticks(part + shift_s) for part in (of.begin_s, of.end_s))
            name, lasts_s = init.get(rank, ("MPI_Init", 0.0))
            first, last = _ticks(np.array([of.init_s - lasts_s, of.init_s]) + shift_s)
            rows = np.flatnonzero(of.kind >= 0)
            called = [(first, last, self._region(name), -1)]
            for row, name in zip(rows.tolist(), NAMES[of.kind[rows]].tolist(), strict=True):
                # What was rounded apart does not overlap.
                at = max(begin[row], last)
                last = max(end[row], at)
                called.append((at, last, self._region(name), row))
            if rank in ended_s:
                name, lasts_s = finalize.get(rank, ("MPI_Finalize", 0.0))
                at_s = of.init_s + ended_s[rank] + shift_s
                at = max(_ticks(np.array([at_s]))[0], last)
                last = max(_ticks(np.array([at_s + lasts_s]))[0], at)
                called.append((at, last, self._region(name), -1))
            self._write(rank, program, called)

    def _write(self, rank: int, program: int, called: list[tuple[int, int, int, int]]) -> None:
        """The records of a rank, whose calls have begin, end, region and row."""
        location = self.locations[rank]
        writer = self.trace.event_writer_from_location(location).handle
        address = ctypes.cast(writer, ctypes.c_void_p).value
        enter, leave = self.library.Enter, self.library.Leave
        at_enter, at_leave = self._records(rank)
        (first, *_), (_, last, *_) = called[0], called[-1]
        failed = enter(address, None, first, program)
        for begin, end, region, row in called:
            failed = failed or enter(address, None, begin, region)
            for record, *arguments in at_enter.get(row, ()):
                failed = failed or record(address, None, begin, *arguments)
            for record, *arguments in at_leave.get(row, ()):
                failed = failed or record(address, None, end, *arguments)
            failed = failed or leave(address, None, end, region)
        failed = failed or leave(address, None, last, program)
        self.library.check(failed)
        # What the package would have counted.
        inside = sum(len(some) for records in (at_enter, at_leave) for some in records.values())
        location._number_of_events_written += 2 + 2 * len(called) + inside
        self.trace._update_timestamps(first)
        self.trace._update_timestamps(last)

    def _region(self, name: str) -> int:
        if name not in self.regions:
            kind, roles = _CLASSES.get(name, ""), self.otf2.RegionRole
            role = roles.POINT2POINT if "send" in kind or "recv" in kind else roles.FUNCTION
            role = roles.COLL_OTHER if "collective" in kind else role
            region = self.definitions.region(name, region_role=role, paradigm=self.otf2.Paradigm.MPI)
            self.regions[name] = region._ref
        return self.regions[name]

    def _records(self, rank: int) -> tuple[_Records, _Records]:
        """What is recorded of a rank's operations, by row of the call at whose begin and at whose end."""
        events = self.timeline.ranks[rank]
        classes = event_classes(events.columns)
        # Lists are looked into one by one in a fraction of the time of arrays.
        columns = {name: events.columns[name].tolist() for name in _COLUMNS}
        kinds, write, message = classes.tolist(), self.library, self._messages(rank, columns)
        at_enter: _Records = defaultdict(list)
        at_leave: _Records = defaultdict(list)
        for number, (given, begun, ended, done) in enumerate(_rows(events.operations)):
            kind, request = kinds[given], 2 * number
            blocking = kind in ("send", "recv", "sendrecv")
            if "collective" in kind:
                self._collective(rank, given, columns, at_enter[begun], at_leave[ended], request)
            if "send" in kind and columns["send_peer"][given] >= 0:
                sent = message(given, "send", given)
                at_enter[begun].append(
                    (write.MpiSend, *sent) if blocking else (write.MpiIsend, *sent, request)
                )
                if not blocking:
                    at_leave[ended].append((write.MpiIsendComplete, request))
            if "recv" in kind and blocking and columns["recv_peer"][given] >= 0:
                at_leave[ended].append((write.MpiRecv, *message(given, "recv", given)))
            if "recv" in kind and not blocking and columns["posted_peer"][given] != _PROC_NULL:
                at_enter[begun].append((write.MpiIrecvRequest, request + 1))
                if done >= 0 and columns["completion_is_receive"][done]:
                    known = columns["completion_peer"][done] >= 0
                    received = message(given, "completion", done) if known else ()
                    record = write.MpiIrecv if known else write.MpiRequestCancelled
                    at_leave[ended].append((record, *received, request + 1))
        for kind, what in _WITHOUT.items():
            self.without[what] += int((classes == kind).sum())
        return at_enter, at_leave

    def _messages(self, rank: int, columns: _Columns) -> Callable[[int, str, int], _Record]:
        """A function that gives peer, communicator, tag and bytes, for a call, columns and a row of these."""
        comms = columns["comm"]
        parts = {prefix: [columns[name] for name in names] for prefix, names in _MESSAGE.items()}
        places: dict[int, tuple[int, dict[int, int]]] = {}

        def message(given: int, prefix: str, row: int) -> _Record:
            peers, tags, sizes = parts[prefix]
            peer, own = peers[row], comms[given]
            comm, members = places.get(own) or places.setdefault(own, self._comm(rank, own) or (0, {}))
            if peer not in members:  # one of the world's: an intercommunicator
                comm, members = self._numbered(_WORLD) or (0, {})
            if peer not in members:
                raise RankwiseError(
                    f"rank `{rank}` has a message with rank `{peer}`, which MPI_COMM_WORLD does not have",
                    "`rankwise report REC --check` says whether the recording is damaged",
                )
            return members[peer], comm, tags[row], sizes[row]

        return message

    def _comm(self, rank: int, own: int) -> tuple[int, dict[int, int]] | None:
        """A rank's communicator with its members' places by world rank; `None` where they are not known."""
        return self._numbered(self.timeline.communicator_of[rank].get(own, -1))

    def _numbered(self, number: int) -> tuple[int, dict[int, int]] | None:
        known = self.comms.get(number)
        members = self.timeline.members[number] if known is None and number >= 0 else None
        if members is not None:
            ranks = [int(member) for member in members]
            locations, kind = [self.locations[member] for member in ranks], self.otf2.GroupType.COMM_GROUP
            group = self.definitions.group("", kind, self.otf2.Paradigm.MPI, members=locations)
            name = "MPI_COMM_WORLD" if number == _WORLD else f"communicator {number}"
            comm = self.definitions.comm(name, group=group)
            known = self.comms[number] = comm._ref, {member: at for at, member in enumerate(ranks)}
        return known

    def _collective(
        self,
        rank: int,
        given: int,
        columns: _Columns,
        begun: list[_Record],
        ended: list[_Record],
        request: int,
    ) -> None:
        kind = columns["kind"][given]
        name, found = str(CALL_COLLECTIVES[kind]), self._comm(rank, columns["comm"][given])
        operation = getattr(self.otf2.CollectiveOp, name.upper(), None)
        if operation is None:
            self.without["neighbourhood collectives"] += 1
            return
        if found is None or rank not in found[1] or columns["flags"][given] & COLL_INTERCOMM:
            self.without["collectives of intercommunicators, and of unknown members"] += 1
            return
        comm, members = found
        root, own, total = (columns[key][given] for key in ("root", "bytes", "bytes2"))
        got = self.from_others.get((rank, given), 0)
        both = sizes(name, len(members), members[rank], root, own, total, got)
        said = (operation.value, comm, root if root >= 0 else _NO_ROOT, *both)
        write = self.library
        if CALL_CLASSES[kind] == "collective":
            begun.append((write.MpiCollectiveBegin,))
            ended.append((write.MpiCollectiveEnd, *said))
        else:
            begun.append((write.NonBlockingCollectiveRequest, request))
            ended.append((write.NonBlockingCollectiveComplete, *said, request))


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
