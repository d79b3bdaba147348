# SPDX-License-Identifier: BSD-3-Clause
"""SimGrid's time-independent traces (`smpirun -trace-ti`): one action a line, `0 send 1 0 1000 6`.

The format is that of SimGrid 3.19 to 4 (its `smpi_replay`), and the older one without tags. Computation is in
floating-point operations, for which a rate is needed. As in SimGrid's own replay, all actions are taken to be on
MPI_COMM_WORLD: the traces do not say communicators.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.schedule.inputs import read_bytes
from rankwise.schedule.simgrid_collectives import COLLECTIVES
from rankwise.schedule.simgrid_values import element_bytes, integer, number, size
from rankwise.schedule.simgrid_wildcards import ANY_TAG, Wildcards

_ANY = 0xFFFFFFFF
_UNKNOWN_SIZE = 1 << 40  # a receive that does not say how much: the message decides
_LINE = re.compile(r"\s*[0-9]+\s+[A-Za-z]")
_NAME = re.compile(r"\S*[./]\S*")
_TRIED_LINES = 16  # that tell an index from GOAL, which can have millions
_LONGEST_NAME = 4000
_HINT = "docs/predict.md says which SimGrid traces are read"


def looks_like(text: str) -> bool:
    """Whether text is a trace: its first line that is not empty has a rank and an action."""
    return bool(_LINE.match(next(_lines(text), "")))


def _lines(text: str) -> Iterator[str]:
    """Lines that say something, one by one: text can be a GOAL file of many gigabytes."""
    every = (match.group() for match in re.finditer(r"[^\n]+", text))
    return (line.strip() for line in every if line.strip() and not line.startswith("#"))


def _may_be_index(path: Path, lines: Sequence[str]) -> bool:
    """Whether the first lines of text are names, or some are of files that are there."""
    return any(_trace_file(path, line) for line in lines) or (
        bool(lines) and all(_NAME.fullmatch(line) for line in lines)
    )


def _trace_file(index: Path, line: str) -> Path | None:
    """The file that a line of an index names; smpirun writes names relative to where it was started."""
    if len(line) > _LONGEST_NAME or "\0" in line:
        return None
    return next((path for path in (index.parent / line, Path(line)) if path.is_file()), None)


def files_of(path: Path, text: str) -> list[Path] | None:
    """The trace files an index names, beside it or in the working directory; `None` if it is no index.

    Raises:
        RankwiseError: A file that it names is not there.
    """
    if not _may_be_index(path, list(islice(_lines(text), _TRIED_LINES))):
        return None
    found, missing = [], None
    for entry, line in enumerate(_lines(text), 1):
        file = _trace_file(path, line)
        if file:
            found.append(file)
        elif missing is None:
            missing = (entry, line)
    if missing:
        raise RankwiseError(
            f"`{path}` entry {missing[0]}: there is no file `{missing[1]}`, beside it or in the working directory",
            "an index names the trace file of each rank; run where smpirun wrote them, or copy them too",
        )
    return found


def read(
    files: Sequence[Path], flops_per_s: float | None, library: str
) -> tuple[_core.schedule.Schedule, dict[str, int]]:
    """The schedule of a trace in one or several files.

    Args:
        files: Of one or several ranks each.
        flops_per_s: Speed of a core; `None` is enough for traces without computation.
        library: Whose collective algorithms to follow, `mpich` or `openmpi`.

    Returns:
        The schedule, its messages matched, and what was left out: sentence -> how often.

    Raises:
        RankwiseError: With file and line.
    """
    return Reader(files, flops_per_s, library).read()


Request = tuple[int, int, int]  # source, destination, tag


class Reader:
    """One trace while it is read.

    Attributes:
        ranks: How many there are.
        builder: Takes the calls.
        default_type: Of each rank, the size of what is counted where no datatype is named.
    """

    def __init__(self, files: Sequence[Path], flops_per_s: float | None, library: str):
        self._files, self._flops_per_s = files, flops_per_s
        self._texts = [_text(path) for path in files]
        self._where = (files[0], 0)
        self._omitted: dict[str, int] = defaultdict(int)
        there = {rank for rank, _ in self._lines()}
        self.ranks = 1 + max(there, default=-1)
        if self.ranks == 0:
            raise RankwiseError(f"`{files[0]}` has no action", _HINT)
        if len(there) < self.ranks:
            lacking = next(rank for rank in range(self.ranks) if rank not in there)
            raise RankwiseError(
                f"`{files[0]}`: rank `{lacking}` has no action, but rank `{self.ranks - 1}` has",
                "name the index that lists the files of all ranks, as `smpirun -trace-ti` writes it",
            )
        self.builder = _core.schedule.ProgramBuilder(self.ranks, library, "line")
        self.default_type = [1] * self.ranks
        # Requests by (source, destination, tag), as waits name them; a collective's by None.
        self._requests: list[dict[Request | None, deque[list[int]]]] = [
            defaultdict(deque) for _ in range(self.ranks)
        ]
        self._any_any: dict[tuple[int, int], int] = {}  # receives of any source and tag -> line
        self._rest_ps = [0.0] * self.ranks
        try:
            self._wildcards = Wildcards(self._texts, self._lines())
        except ValueError as error:
            raise self._error(str(error)) from None

    def read(self) -> tuple[_core.schedule.Schedule, dict[str, int]]:
        """Read every line."""
        for rank, words in self._lines():
            self.builder.at(rank, self._where[1])
            name = words[1].lower()
            try:
                if name in _ACTIONS:
                    _ACTIONS[name](self, rank, words[2:])
                elif name in COLLECTIVES:
                    self.builder.wait(rank, COLLECTIVES[name](self, rank, words[2:], nonblocking=False))
                elif name.startswith("i") and name[1:] in COLLECTIVES:
                    requests = COLLECTIVES[name[1:]](self, rank, words[2:], nonblocking=True)
                    self._requests[rank][None].append(requests)
                else:
                    raise self._error(f"the action `{words[1]}` is not known")
            except (ValueError, OverflowError) as error:
                raise self._error(f"`{' '.join(words)[:200]}`: {error}") from None
            except IndexError:
                raise self._error(f"`{' '.join(words)[:200]}` lacks an argument") from None
            except RankwiseError as error:
                if error.message.startswith(f"`{self._where[0]}`"):
                    raise
                raise self._error(error.message) from None
        self._end()
        return self.builder.finish(), dict(self._omitted)

    def _end(self) -> None:
        for (rank, _), line in self._any_any.items():
            raise RankwiseError(
                f"`{self._files[0]}` rank {rank} line {line}: a receive from any source with any tag, and no wait "
                "says what it took",
                "name the tag in the program, and trace it again",
            )
        left = sum(len(each) for requests in self._requests for each in requests.values())
        if left:
            self._omitted["requests that nobody waits for"] += left

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """Rank and words of each line; `_where` is the line."""
        for path, text in zip(self._files, self._texts, strict=True):
            for at, line in enumerate(text.split("\n"), 1):
                words = line.split()
                if not words or words[0].startswith("#"):
                    continue
                self._where = (path, at)
                if len(words) < 2 or not words[0].isdigit() or len(words[0]) > 7:
                    raise self._error(f"`{line.strip()[:200]}` is not a rank and an action")
                yield int(words[0]), words

    def _error(self, what: str) -> RankwiseError:
        return RankwiseError(f"`{self._where[0]}` line {self._where[1]}: {what}", _HINT)

    def _message(self, rank: int, arguments: list[str]) -> tuple[int, int, int]:
        """Peer, tag and bytes of `PEER TAG SIZE [TYPE]`, or, older, `PEER SIZE`."""
        peer = integer(arguments[0])
        older = len(arguments) == 2
        tag = 0 if older else integer(arguments[1])
        each = element_bytes(arguments[3]) if len(arguments) > 3 else self.default_type[rank]
        if peer >= self.ranks:
            raise ValueError(f"rank `{peer}` of `{self.ranks}`")
        return peer, tag, size(arguments[1 if older else 2], each)

    def send(self, rank: int, arguments: list[str], synchronous: bool = False) -> None:
        """A blocking send; a negative rank is MPI_PROC_NULL."""
        peer, tag, length = self._message(rank, arguments)
        if peer >= 0:
            self.builder.send(rank, peer, length, 0, tag, synchronous)

    def ssend(self, rank: int, arguments: list[str]) -> None:
        """A send that waits for its receive."""
        self.send(rank, arguments, synchronous=True)

    def isend(self, rank: int, arguments: list[str], synchronous: bool = False) -> None:
        """A nonblocking send."""
        peer, tag, length = self._message(rank, arguments)
        if peer >= 0:
            request = self.builder.isend(rank, peer, length, 0, tag, synchronous)
            self._requests[rank][rank, peer, tag].append([request])

    def issend(self, rank: int, arguments: list[str]) -> None:
        """A nonblocking send that waits for its receive."""
        self.isend(rank, arguments, synchronous=True)

    def receive(self, rank: int, arguments: list[str]) -> None:
        """A blocking receive."""
        request, _ = self._post(rank, *self._message(rank, arguments))
        if request is not None:
            self.builder.wait(rank, [request])

    def ireceive(self, rank: int, arguments: list[str]) -> None:
        """A nonblocking receive."""
        request, key = self._post(rank, *self._message(rank, arguments))
        if request is not None:
            self._requests[rank][key].append([request])

    def _post(self, rank: int, peer: int, tag: int, length: int) -> tuple[int | None, tuple[int, int, int]]:
        """Post a receive: its request, `None` for one from MPI_PROC_NULL, and what a wait calls it."""
        length = length or _UNKNOWN_SIZE
        if peer >= 0:
            request = self.builder.ireceive(rank, peer, length, 0, self._wildcards.tag(rank, peer, tag))
            return request, (peer, rank, tag)
        if self._wildcards.from_nobody(rank, tag):
            return None, (-1, rank, tag)
        request = self.builder.ireceive(rank, _ANY, length, 0, tag)
        if tag in ANY_TAG:
            self._any_any[rank, request] = self._where[1]
        return request, (-1, rank, tag)

    def send_receive(self, rank: int, arguments: list[str]) -> None:
        """`SENDCOUNT DESTINATION RECEIVECOUNT SOURCE [SENDTYPE RECEIVETYPE]`."""
        count, to, expected, source = arguments[:4]
        peer, tag, length = self._message(rank, [to, "0", count, *arguments[4:5]])
        request, _ = self._post(rank, *self._message(rank, [source, "0", expected, *arguments[5:6]]))
        requests = [] if request is None else [request]
        if peer >= 0:
            requests.append(self.builder.isend(rank, peer, length, 0, tag))
        self.builder.wait(rank, requests)

    def wait(self, rank: int, arguments: list[str]) -> None:
        """`SOURCE DESTINATION TAG`, or, older, nothing: the last request."""
        own = self._requests[rank]
        if not arguments:
            if own:
                key = next(reversed(own))
                self.builder.wait(rank, own[key].pop())
                self._forget(rank, key)
            return
        source, destination, tag = map(integer, arguments[:3])
        named = [(source, destination, tag)]
        named += [(source, rank, any_tag) for any_tag in ANY_TAG]
        named += [(-1, rank, each) for each in (tag, *ANY_TAG)]
        # SimGrid gives nonblocking collectives negative tags of their own.
        found = next((key for key in named if own.get(key)), None)
        if found is None and not (tag < 0 and own.get(None)):
            return  # a test has completed it
        requests = own[found].popleft()
        self._forget(rank, found)
        if found is not None and found[0] < 0 <= source and tag not in ANY_TAG:
            self.builder.resolve(rank, requests[0], source, 0, tag)
            self._any_any.pop((rank, requests[0]), None)
        self.builder.wait(rank, requests)

    def _forget(self, rank: int, key: Request | None) -> None:
        if not self._requests[rank][key]:
            del self._requests[rank][key]

    def wait_all(self, rank: int, arguments: list[str]) -> None:
        """All open requests of the rank, as SimGrid does, whatever the number behind it."""
        waiting = [
            request for each in self._requests[rank].values() for requests in each for request in requests
        ]
        self.builder.wait(rank, sorted(waiting))
        self._requests[rank].clear()

    def wait_any(self, rank: int, arguments: list[str]) -> None:
        """The trace does not say which: the request that is open longest."""
        self._omitted["calls of MPI_Waitany, taken to wait for the oldest request"] += 1
        own = self._requests[rank]
        if own:
            key = min(own, key=lambda each: own[each][0])
            self.builder.wait(rank, own[key].popleft())
            self._forget(rank, key)

    def test(self, rank: int, arguments: list[str]) -> None:
        """Whether it had completed is not told; its wait, if there is one, completes it."""
        self._omitted["tests, whose requests end where they are waited for"] += 1

    def compute(self, rank: int, arguments: list[str]) -> None:
        """`FLOPS`."""
        flops = number(arguments[0])
        if flops > 0 and self._flops_per_s is None:
            raise RankwiseError(
                f"`{self._where[0]}` line {self._where[1]}: computation in floating-point operations, of which it is "
                "not known how many a second a core does",
                "say it: `--flops 1e9`; for traces that smpirun measured it is its `--cfg=smpi/host-speed`",
                status=2,
            )
        self._elapse(rank, flops / (self._flops_per_s or 1.0))

    def sleep(self, rank: int, arguments: list[str]) -> None:
        """`SECONDS`."""
        self._elapse(rank, number(arguments[0]))

    def _elapse(self, rank: int, seconds: float) -> None:
        self._rest_ps[rank] += seconds * 1e12
        if self._rest_ps[rank] > 1e17:
            raise ValueError(f"a computation of {seconds:g} s")
        whole = math.floor(self._rest_ps[rank])
        self._rest_ps[rank] -= whole
        self.builder.compute(rank, whole)

    def combine(self, rank: int, flops: str) -> None:
        """Computation of a reduction; SimGrid writes -1 or 0 for none."""
        if number(flops, least=-1.0) > 0:
            self.compute(rank, [flops])

    def init(self, rank: int, arguments: list[str]) -> None:
        """An argument says that sizes count doubles where no type is named."""
        self.default_type[rank] = 8 if arguments else 1

    def nothing(self, rank: int, arguments: list[str]) -> None:
        """Takes no time."""

    def communicator(self, rank: int, arguments: list[str]) -> None:
        """Of no use: no action names a communicator."""
        self._omitted["calls that make communicators; all messages are taken to be on MPI_COMM_WORLD"] += 1


_ACTIONS = {
    "init": Reader.init,
    "finalize": Reader.nothing,
    "location": Reader.nothing,
    "comm_size": Reader.nothing,
    "comm_split": Reader.communicator,
    "comm_dup": Reader.communicator,
    "send": Reader.send,
    "ssend": Reader.ssend,
    "isend": Reader.isend,
    "issend": Reader.issend,
    "recv": Reader.receive,
    "irecv": Reader.ireceive,
    "sendrecv": Reader.send_receive,
    "wait": Reader.wait,
    "waitall": Reader.wait_all,
    "waitany": Reader.wait_any,
    "test": Reader.test,
    "compute": Reader.compute,
    "sleep": Reader.sleep,
}


def _text(path: Path) -> str:
    data = read_bytes(path)
    try:
        return data.decode("ascii")
    except UnicodeDecodeError as error:
        raise RankwiseError(f"`{path}` byte {error.start}: not text, so no trace of SimGrid", _HINT) from None
