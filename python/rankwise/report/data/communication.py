# SPDX-License-Identifier: BSD-3-Clause
"""Who sends to whom, who waits for whom, and how large messages are."""

from __future__ import annotations

from typing import Literal

import msgspec

MatrixKind = Literal["point-to-point", "collective", "communicator"]


class CommMatrix(msgspec.Struct, frozen=True):
    """Messages between ranks, or groups of them; only pairs that have some, as columns of equal length.

    Attributes:
        groups: Number of rows and of columns.
        ranks_per_group: Ranks in each group, but some may have fewer.
        source: Sending group.
        destination: Receiving group.
        messages: Messages.
        bytes: Their bytes.
        members: World ranks of each group, which is a node, or a part of a node, or some nodes; empty where each group
            has so many consecutive ranks.
    """

    groups: int
    ranks_per_group: int
    source: list[int]
    destination: list[int]
    messages: list[int]
    bytes: list[int]
    members: list[list[int]] = msgspec.field(default_factory=list)


class MatrixPart(msgspec.Struct, frozen=True):
    """A part of the messages of a `CommMatrix`, of pairs that have some, as columns of equal length.

    Attributes:
        name: For people: `point-to-point`, `collective`, or a communicator.
        kind: What it is a part by.
        pairs: Each pair's place in the matrix's columns.
        messages: Messages.
        bytes: Their bytes.
        time_s: From when both sides had begun until the receive ended, all messages of the pair together; at most that
            where one call ended several receives. `null` where it is not known.
    """

    name: str
    kind: MatrixKind
    pairs: list[int]
    messages: list[int]
    bytes: list[int]
    time_s: list[float] | None


class MatrixParts(msgspec.Struct, frozen=True):
    """The communication matrix in parts.

    Attributes:
        parts: By kind of call, then by communicator; none of a kind that is all there is.
        not_known: What is not told apart, and why, each a sentence without a full stop.
    """

    parts: list[MatrixPart]
    not_known: list[str]


class WorstPair(msgspec.Struct, frozen=True):
    """One rank's waiting for another.

    Attributes:
        waiting: The rank that waits.
        late: The rank that it waits for.
        waited_s: How long.
        calls: In how many calls.
        call: The MPI function in which it waited longest.
        call_s: In that.
    """

    waiting: int
    late: int
    waited_s: float
    calls: int
    call: str
    call_s: float


class PairWaits(msgspec.Struct, frozen=True):
    """Who waits for whom, of pairs that do, as columns of equal length.

    What a call waited for is the send, of several the one that began last, or the member of a collective that came
    last. These are the waits of `waiting`, without waiting for a core.

    Attributes:
        ranks_per_group: Ranks in each group, as of `CommMatrix`.
        waiting: Group that waits.
        late: Group that it waits for.
        waited_s: How long, the ranks of the group together.
        calls: In how many calls.
        worst: Pairs of ranks, the longest first.
        most_late: Ranks that are waited for, the longest first, and how long.
        members: As of `CommMatrix`.
    """

    ranks_per_group: int
    waiting: list[int]
    late: list[int]
    waited_s: list[float]
    calls: list[int]
    worst: list[WorstPair]
    most_late: list[tuple[int, float]]
    members: list[list[int]] = msgspec.field(default_factory=list)


class MessageSizes(msgspec.Struct, frozen=True):
    """Messages by channel and size, without those of a rank to itself.

    Sizes are in ranges (over, up to], which are powers of two. Each column by channel has a value for each range.

    Attributes:
        placement: Of `distributions`, whose channels these are; `null` where all are one, as it is not known.
        channels: `package`, `node`, `network`, `unbound`, or a cache level; `all` where they are not known.
        up_to_bytes: Upper end of each range, ascending; 0 for messages without bytes.
        messages: Messages.
        bytes: Their bytes.
        timed: Messages with a time: those from point to point whose receiver was waiting when they were sent.
        timed_bytes: Their bytes.
        time_s: Their time, from the begin of the send to the end of the receive.
        together: Of those with a time, how many ended in a call with others: they took that long at most.
        bandwidth: Bytes a second of those with a time; `null` where there are none, or more than half of their time is
            latency: up to a cache line of 64 bytes, and as long as they take less than twice the mean time of such
            (below n_1/2, R. W. Hockney, The science of computer benchmarking, 1996).
        not_timed: Why none has a time, a sentence without a full stop; `null` if some have.
    """

    placement: str | None
    channels: list[str]
    up_to_bytes: list[int]
    messages: list[list[int]]
    bytes: list[list[int]]
    timed: list[list[int]]
    timed_bytes: list[list[int]]
    time_s: list[list[float]]
    together: list[list[int]]
    bandwidth: list[list[float | None]]
    not_timed: str | None
