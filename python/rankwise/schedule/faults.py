# SPDX-License-Identifier: BSD-3-Clause
"""What is wrong with a program as a whole, in sentences: unmatched messages, deadlocks, times that are too long."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.recording.job import choose_job
from rankwise.recording.layouts import TRACE_CUT
from rankwise.recording.raw import read
from rankwise.recording.recording import Recording

_MOST = 8  # operations of a circle that are named
_SENDS = ("send", "isend", "sendrecv", "isendrecv")
_RECEIVES = ("recv", "irecv", "sendrecv", "isendrecv")
_OF_MESSAGES = ("deadlock", "unanswered", "unreceived", "unsent")
_INCOMPLETE = "the schedule is incomplete; record the program to its end, or add the missing operation"
_UNIT = "look for a wrong unit: "


class Call(NamedTuple):
    """The MPI call of an operation.

    Attributes:
        name: Of the function.
        tag: The program's own, where the schedule has a number for tag and communicator; `None` of a collective.
    """

    name: str
    tag: int | None


class RecordedCalls:
    """The calls of a recording.

    Args:
        path: `NAME.rw`.
    """

    def __init__(self, path: Path):
        self._path = path

    def of(self, operation: _core.OperationAt) -> Call | None:
        """The call that an operation is of; `None` if the trace has none there."""
        functions, events = _core.trace.calls(), Recording.open(self._path).events(operation.rank)
        kinds, at = events["kind"], operation.number
        if at >= len(kinds) or kinds[at] >= len(functions):
            return None
        name, kind = functions[kinds[at]][:2]
        tag = -1
        if operation.kind == "send" and kind in _SENDS:
            tag = int(events["send_tag"][at])
        elif operation.kind == "recv" and kind in _RECEIVES:
            tag = int(events["recv_tag" if events["recv_peer"][at] >= 0 else "posted_tag"][at])
        return Call(name, tag if tag >= 0 else None)

    @cached_property
    def are_a_part(self) -> bool:
        """Whether only a part of the calls was traced."""
        return any(thread.has(TRACE_CUT) for thread in choose_job(read(self._path)).first_threads)


class FaultError(RankwiseError):
    """A program that cannot be replayed.

    Args:
        fault: What is wrong.
        path: Where the program is from, if it is known.
        calls: What its operations are calls of, if it was recorded.
    """

    def __init__(
        self,
        fault: _core.Fault,
        path: str | os.PathLike[str] | None = None,
        calls: RecordedCalls | None = None,
    ):
        message, hint = _Sentence(fault, calls).message_and_hint()
        if calls and fault.kind in _OF_MESSAGES and calls.are_a_part:
            message = f"only a part of the calls was traced, and its messages do not fit together: {message}"
            hint = (
                "record with `--trace`, or a part that begins and ends where all ranks have received what was sent to "
                "them, such as between two barriers (`--trace-calls`, `--phase`)"
            )
        super().__init__(message if path is None else f"`{path}`: {message}", hint)
        self.fault, self.path, self.calls = fault, path, calls

    def of_file(self, path: str | os.PathLike[str]) -> FaultError:
        """The same, of a program from a file."""
        return FaultError(self.fault, path, self.calls)

    def of_recording(self, path: Path) -> FaultError:
        """The same, with MPI calls; where only a part of the calls was traced, that is the reason."""
        return FaultError(self.fault, path, RecordedCalls(path))


class _Sentence:
    def __init__(self, fault: _core.Fault, calls: RecordedCalls | None):
        self._fault, self._calls, self._operations = fault, calls, fault.operations

    def message_and_hint(self) -> tuple[str, str]:
        message, hint = getattr(self, f"_{self._fault.kind}")()
        return message, hint

    def _circle(self) -> tuple[str, str]:
        message = f"operations wait for each other in a circle: {self._around()}"
        return message, "remove one `requires` of the circle"

    def _deadlock(self) -> tuple[str, str]:
        if any(each.synchronous for each in self._operations):
            hint = (
                "a synchronous send waits for its receive whatever its size: one of these ranks has to post its "
                "receive first"
            )
        elif any(each.kind == "send" for each in self._operations):
            hint = (
                "ranks that send to each other need a receive posted first, or messages of at most the eager limit "
                "(`eager_limit_bytes`) that fit into buffers (`socket_buffer_bytes`)"
            )
        else:
            hint = "one of these ranks has to send before it receives"
        return f"deadlock: {self._around()}", hint

    def _endless_receive(self) -> tuple[str, str]:
        return (
            f"{self._of(0)}: a receive from any source or with any tag that never ended",
            "replay the schedule as a whole, with more `--memory`",
        )

    def _intercommunicator(self) -> tuple[str, str]:
        where = f"rank {self._fault.rank}, event {self._fault.count}"
        return f"{where}: `{self._fault.call}` does not fit its intercommunicator", "record the program again"

    def _long_message(self) -> tuple[str, str]:
        return (
            f"a message of about `{self._fault.bytes}` bytes takes longer than 13 days",
            f"{_UNIT}the message's bytes, or a cost of each byte",
        )

    def _long_program(self) -> tuple[str, str]:
        return (
            "the program takes longer than 26 days, the most that is replayed",
            f"{_UNIT}a computation, a message's bytes, a number of the machine",
        )

    def _missing_peer(self) -> tuple[str, str]:
        return (
            f"rank `{self._operations[0].peer}` does not exist, {self._of(0)}",
            f"ranks are 0 to {self._fault.count - 1}",
        )

    def _small_receive(self) -> tuple[str, str]:
        message = f"a message of `{self._fault.bytes}` bytes meets a smaller receive, {self._of(0)}"
        hint = "a receive must be at least as large as its message"
        return message, f"{hint} ({self._of(1)})" if len(self._operations) > 1 else hint

    def _unanswered(self) -> tuple[str, str]:
        return f"an operation that nobody answers: {self._of(0)}", _INCOMPLETE

    def _unreceived(self) -> tuple[str, str]:
        send = self._operations[0]
        return self._unmatched("message that nobody receives", send.rank, send.peer), _INCOMPLETE

    def _unsent(self) -> tuple[str, str]:
        receive = self._operations[0]
        return self._unmatched("receive that nothing is sent to", receive.peer, receive.rank), _INCOMPLETE

    def _untraced(self) -> tuple[str, str]:
        return (
            f"rank `{self._fault.rank}` has no trace in this recording",
            "record it again with `rankwise record --trace`",
        )

    def _unmatched(self, what: str, source: int, destination: int) -> str:
        tag = self._tag_of(self._operations[0])
        tagged = "" if tag is None else f" with tag `{tag}`"
        others = self._fault.count - 1
        more = f" (and {others} more between these ranks)" if others > 0 else ""
        return f"a {what} from rank `{source}` to rank `{destination}`{tagged}{more}, {self._of(0)}"

    def _around(self) -> str:
        text = " waits for ".join(self._of(k) for k in range(min(len(self._operations), _MOST)))
        more = len(self._operations) - _MOST
        return f"{text}{f' and {more} more' if more > 0 else ''} waits for the first"

    def _call_of(self, operation: _core.OperationAt) -> Call | None:
        return self._calls.of(operation) if self._calls else None

    def _tag_of(self, operation: _core.OperationAt) -> int | None:
        call = self._call_of(operation)
        return operation.tag if call is None else call.tag

    def _of(self, number: int) -> str:
        """An operation, as "rank 3, line 12: `recv 10b from 4 tag 0`"."""
        operation = self._operations[number]
        call, tag = self._call_of(operation), self._tag_of(operation)
        where = f"rank {operation.rank}, {operation.unit} {operation.number}" + (
            f" ({call.name})" if call else ""
        )
        if operation.kind == "calc":
            return f"{where}: `calc {(operation.time_ps + 500) // 1000}`"
        to = "to" if operation.kind == "send" else "from"
        tagged = "" if tag is None else f" tag {tag}"
        synchronous = " (synchronous)" if operation.synchronous else ""
        return f"{where}: `{operation.kind} {operation.bytes}b {to} {operation.peer}{tagged}`{synchronous}"
