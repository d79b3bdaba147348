# SPDX-License-Identifier: BSD-3-Clause
"""The report as data: what every view shows, and what `rankwise report --json` prints.

The JSON schema is formats/report.schema.json. Adding keys is compatible, removing or changing one raises the number.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from rankwise.findings.data import Efficiency, Pattern, TransferSplit
from rankwise.findings.finding import Finding, NotLookedFor
from rankwise.placement.distribution_data import MessageDistribution
from rankwise.report.data.communication import CommMatrix, MatrixParts, MessageSizes, PairWaits
from rankwise.report.data.map import Map
from rankwise.report.data.network import Network
from rankwise.report.data.over_time import OverTime
from rankwise.report.predicted.data import Predicted
from rankwise.report.tuning import TunedChange
from rankwise.report.use_data import Use

SCHEMA: Final = "rankwise.report/1"

WITH_TRACE: Final = "this needs `rankwise record --trace --exact-times`"
"""Why something is not known that only an exact trace tells."""


class CallOfHungRanks(msgspec.Struct, frozen=True):
    """A call that did not return.

    Attributes:
        call: Its name.
        ranks: Who was in it.
        since_s: When the first of them entered it, after MPI_Init; `null` if it is not known.
    """

    call: str
    ranks: list[int]
    since_s: float | None


class Ending(msgspec.Struct, frozen=True):
    """How a run ended whose ranks did not all reach MPI_Finalize.

    Attributes:
        kind: `abort`, `crash`, `stopped` (from outside), or `unknown` (either of the last two).
        ranks: Those that ended it, or that others waited for.
        waiting: Calls that did not return.
        hung_s: How long all that waited did so; `null` if it is not known.
        brief: The same in a few words.
        text: The same in a sentence.
    """

    kind: Literal["abort", "crash", "stopped", "unknown"]
    ranks: list[int]
    waiting: list[CallOfHungRanks]
    hung_s: float | None
    brief: str
    text: str


class Program(msgspec.Struct, frozen=True):
    """What was run.

    Attributes:
        name: File name of the executable.
        command: The launch line as typed; empty if it is not known.
        world_size: Ranks of MPI_COMM_WORLD.
        hosts: Host names.
        mpi: MPI library and version, one line.
        started_s: Seconds since 1970, UTC.
        elapsed_s: From MPI_Init to MPI_Finalize, of the rank that took longest.
        exit_status: Of the launcher.
        generated: What it was generated from and on what, if no program ran; `null` of what was recorded.
        ending: How it ended before MPI_Finalize; `null` if all ranks reached that, or left nothing.
    """

    name: str
    command: list[str]
    world_size: int
    hosts: list[str]
    mpi: str
    started_s: float | None
    elapsed_s: float
    exit_status: int | None
    generated: str | None
    ending: Ending | None


class Summary(msgspec.Struct, frozen=True):
    """The numbers of the first line.

    Attributes:
        mpi_share: Share of the ranks' time inside MPI, waiting for a core there included.
        runqueue_wait_share: Share that they waited for a core; `null` if it was not sampled in all of them.
        mpi_on_core_share: Share that they were inside MPI on a core, at least; `null` likewise or without times.
        compute_on_core_share: Share that they were outside of MPI on a core, at least; `null` likewise.
        unattributed_share: Share on a core that may have been inside MPI or outside; with it, the three make 1.
        mpi_calls: MPI calls of all ranks.
        messages: Messages, those inside collectives and to self included.
        bytes: Their bytes.
        collective_messages: Of these, messages inside collectives.
        collective_bytes: Their bytes.
        calls_per_s: MPI calls in a second of the rank that made most.
        call_cost_s: What recording added to a call, measured as the run began; `null` if it was not.
        recording_share: Of the time of the rank where recording cost most; `null` if that is not known.
        recording_aside_s: What a rank took at most to open and read counters before MPI_Init returned and after
            MPI_Finalize was entered; in no share.
    """

    mpi_share: float | None
    runqueue_wait_share: float | None
    mpi_on_core_share: float | None
    compute_on_core_share: float | None
    unattributed_share: float | None
    mpi_calls: int
    messages: int
    bytes: int
    collective_messages: int
    collective_bytes: int
    calls_per_s: float | None
    call_cost_s: float | None
    recording_share: float | None
    recording_aside_s: float


class Gap(msgspec.Struct, frozen=True):
    """Something that is not in the recording.

    Attributes:
        what: What is missing.
        why: The reason.
        severity: `damaged`: nothing is predicted from what is left; `partial`: predictions are of a part of the run;
            `note`: nothing that predictions need.
        of_the_end: Whether it is missing because the run ended before MPI_Finalize, and `ending` says the same.
    """

    what: str
    why: str
    severity: Literal["damaged", "partial", "note"]
    of_the_end: bool = False


class Ranks(msgspec.Struct, frozen=True):
    """Time by rank, as columns of equal length, ordered by rank.

    Attributes:
        rank: World rank.
        host: Index into `program.hosts`.
        time_s: From MPI_Init to MPI_Finalize.
        mpi_s: Inside MPI; `null` if calls were only counted.
        compute_s: The rest; `null` likewise.
        runqueue_wait_s: Of the time, waited for a core, inside MPI or outside; `null` if it was not sampled.
        mpi_on_core_s: Inside MPI on a core; without a trace at least, as all of the waiting for a core may have been
            there. `null` if either is not known.
        compute_on_core_s: Computation, outside of MPI on a core; without a trace at least. `null` likewise.
        unattributed_s: On a core, inside MPI or outside: not known which without a trace. These three and
            `runqueue_wait_s` are `time_s`.
        partial: Whether the rank's recording is not complete.
    """

    rank: list[int]
    host: list[int]
    time_s: list[float]
    mpi_s: list[float | None]
    compute_s: list[float | None]
    runqueue_wait_s: list[float | None]
    mpi_on_core_s: list[float | None]
    compute_on_core_s: list[float | None]
    unattributed_s: list[float | None]
    partial: list[bool]


class TimeParts(msgspec.Struct, frozen=True):
    """By rank, its time in parts that make the whole, as columns of equal length in the order of `ranks`.

    Attributes:
        computation_s: Outside of MPI on a core; where something is unattributed, at least.
        core_s: Waiting for a core; 0 where that was not sampled.
        waiting_s: In MPI on a core, waiting for other ranks: until the last thing that a call needed had begun. Waiting
            for a core is taken off as of `WaitingCall`.
        transfer_s: In the same calls from then on.
        other_mpi_s: In calls whose waiting is not told apart.
        unattributed_s: On a core, in MPI or outside: not known which.
        why_not_split: Why no call's waiting is told apart; `null` if it is.
    """

    computation_s: list[float]
    core_s: list[float]
    waiting_s: list[float]
    transfer_s: list[float]
    other_mpi_s: list[float]
    unattributed_s: list[float]
    why_not_split: str | None


class Call(msgspec.Struct, frozen=True):
    """One MPI function. Starting and ending MPI is no part of the ranks' time, so it has no share.

    Attributes:
        call: Its name.
        count: Calls of all ranks.
        time_s: Time of all ranks inside it; `null` if calls were only counted.
        share: Of the time of all ranks; `null` for MPI_Init, MPI_Finalize and their like, and if not timed.
        share_of_mpi: Of their time inside MPI; `null` for the same.
        max_s: The longest call; `null` if not timed.
        bytes: Sent by its callers; received, for receives.
    """

    call: str
    count: int
    time_s: float | None
    share: float | None
    share_of_mpi: float | None
    max_s: float | None
    bytes: int


class CollectiveSize(msgspec.Struct, frozen=True):
    """Calls of one collective operation whose arguments are of one size range (over_bytes, up_to_bytes].

    Attributes:
        over_bytes: Lower end, exclusive; `null` for the first range, which includes arguments without bytes.
        up_to_bytes: Upper end, inclusive; `null` for the last range.
        calls: Calls of all ranks.
        bytes: Their arguments.
        time_s: Time of all ranks inside them; `null` if calls were only counted.
        share: Of the time of all ranks; `null` likewise.
    """

    over_bytes: int | None
    up_to_bytes: int | None
    calls: int
    bytes: int
    time_s: float | None
    share: float | None


class Collective(msgspec.Struct, frozen=True):
    """One collective operation with one algorithm.

    Attributes:
        call: MPI function.
        algorithm: What its messages follow, by the rules of the MPI library; `null` if it was not expanded into
            messages.
        calls: Calls of all ranks.
        ranks_min: Size of the smallest communicator.
        ranks_max: Size of the largest communicator.
        bytes_min: Smallest argument (see the table `collectives` of a recording).
        bytes_max: Largest argument.
        time_s: Time of all ranks inside it; `null` if calls were only counted.
        share: Of the time of all ranks; `null` likewise.
        messages: Messages of this call and algorithm.
        bytes: Their bytes.
        sizes: The same calls by the size of their arguments, in the ranges of the message distribution that occur.
        setting: What asked the library for an algorithm of its own, as `NAME=value`, which `algorithm` does not follow;
            `null` where nothing did.
    """

    call: str
    algorithm: str | None
    calls: int
    ranks_min: int | None
    ranks_max: int | None
    bytes_min: int
    bytes_max: int
    time_s: float | None
    share: float | None
    messages: int
    bytes: int
    sizes: list[CollectiveSize]
    setting: str | None


class CallSite(msgspec.Struct, frozen=True):
    """Calls of one MPI function that came from one place in the program.

    Attributes:
        call: The MPI function.
        module: Path of the file that the place is in; `null` for code that belongs to none.
        offset: In that file, of the instruction behind the call; an address where `module` is `null`.
        function: Of the program, as its source has it; `null` if its files do not say it.
        symbol: The same as the program's file has it: mangled in C++.
        file: Source file; `null` likewise.
        line: Its line; `null` likewise.
        count: Calls of all ranks.
        time_s: Time of all ranks inside them; `null` if calls were only counted.
        bytes: Sent by them; received, for receives. `null` where another call completes or starts what they began (the
            function's bytes are in `calls`), and in recordings that were made before the bytes of places were counted.
        share: Of the time of all ranks; `null` without times, and for MPI_Init, MPI_Finalize and their like.
    """

    call: str
    module: str | None
    offset: int
    function: str | None
    symbol: str | None
    file: str | None
    line: int | None
    count: int
    time_s: float | None
    bytes: int | None
    share: float | None


class Bounds(msgspec.Struct, frozen=True):
    """A time that is known within bounds.

    Attributes:
        least_s: The least it may be.
        most_s: The most it may be.
    """

    least_s: float
    most_s: float


class WaitingCall(msgspec.Struct, frozen=True):
    """Calls of one MPI function that need something of others.

    These are receives, and collectives that nobody leaves before everybody has come.

    Attributes:
        call: Its name.
        count: Calls of all ranks.
        time_s: Time of all ranks inside it.
        waiting_s: Of this, until the last thing that the call needed had begun, on a core; what is left beside
            `core_s` is transfer.
        core_s: Of the time, waiting for a core, which is known between samples (of 10 ms) and not by call: what of it
            was in MPI is taken to be spread evenly over the time in MPI between two samples. 0 if it was not sampled.
        core: Between what that may be; `null` if it was not sampled.
        waiting: Between what `waiting_s` may be; `null` likewise.
        transfer: Between what the transfer may be; `null` likewise.
        most_s: The waiting (`waiting_s`) of the rank that waited most.
        most_rank: That rank.
    """

    call: str
    count: int
    time_s: float
    waiting_s: float
    core_s: float
    core: Bounds | None
    waiting: Bounds | None
    transfer: Bounds | None
    most_s: float
    most_rank: int


class UnsplitCall(msgspec.Struct, frozen=True):
    """Calls of one MPI function that are too short for what is known of the clocks.

    Attributes:
        call: Its name.
        count: Calls of all ranks.
        time_s: Time of all ranks inside it.
        clocks_s: How far the clocks may be apart: more than half of the mean call.
    """

    call: str
    count: int
    time_s: float
    clocks_s: float


class NotSplit(msgspec.Struct, frozen=True):
    """Calls of one MPI function whose waiting is not told apart, or those of them for which that holds.

    Attributes:
        call: Its name.
        time_s: Time of all ranks inside them.
        why: Why, a phrase.
    """

    call: str
    time_s: float
    why: str


class Clock(msgspec.Struct, frozen=True):
    """How far the relation of a host's clock to the others may be wrong.

    Attributes:
        host: Its name.
        offset_s: What is added to its times to get those of the first host.
        bound_s: How far that may be wrong; 0 for the first host.
        spread_s: How far its own ranks are apart.
    """

    host: str
    offset_s: float
    bound_s: float
    spread_s: float


class Waiting(msgspec.Struct, frozen=True):
    """Waiting told apart from transferring, from an exact trace of the whole run.

    Attributes:
        calls: By MPI function, the longest first; empty if it could not be told.
        unsplit: Functions whose waiting is not told apart as the clocks do not allow it, the longest first.
        clocks: By host.
        why_not: Why it could not be told, and what to do; `null` if it could.
        not_split: Functions of which it is not told for another reason, where they have a hundredth of the time in MPI
            or more; the longest first.
    """

    calls: list[WaitingCall]
    unsplit: list[UnsplitCall]
    clocks: list[Clock]
    why_not: str | None
    not_split: list[NotSplit] = []


class Seat(msgspec.Struct, frozen=True):
    """The ranks of one node, and their cores.

    Attributes:
        node: Its name.
        ranks: World ranks, as `0-3 8`.
        cores: Logical cores in the order of the ranks, as `0-3 1`; of ranks that may use several, `any of 0-3` for all
            alike, else `0-1 2,3` with a word a rank.
    """

    node: str
    ranks: str
    cores: str


class PlacedDistribution(msgspec.Struct, frozen=True):
    """The message distribution under a placement.

    Attributes:
        name: The placement, for people.
        allocation: `recorded` for the one of the run, `blocked`, `cyclic`, `plane=K`, `explicit`, ...
        nodes: How many, and what each is.
        core_order: `logical`, `os`, `packages` or a list of cores; `null` where the placement names the cores itself.
        seats: Which ranks are where, by node that has ranks.
        distribution: Messages by channel and size.
    """

    name: str
    allocation: str
    nodes: str
    core_order: str | None
    seats: list[Seat]
    distribution: MessageDistribution


class ReportData(msgspec.Struct, frozen=True):
    """Everything that a report shows.

    Attributes:
        schema: `rankwise.report/1`.
        rankwise: Version that made it.
        recording: Path of the recording.
        program: What was run.
        summary: The first line.
        findings: What to fix: waiting for a core first, then what costs most.
        not_looked_for: Findings that this recording cannot have, and why.
        efficiency: The POP efficiencies; `null` without times.
        transfer_split: What transfer is lost to; `null` without a machine file, or where that cannot be predicted.
        gaps: What is not in the recording, and why.
        ranks: Time by rank.
        time: Each rank's time in parts; `null` if calls were not timed.
        map: Which ranks are on which cores, and the bytes between nodes.
        calls: Time by MPI function, the longest first; MPI_Init and its like behind them.
        call_sites: Calls by the place they came from, the longest first; empty without `--callsites`.
        collectives: Collective operations by algorithm, the longest first.
        waiting: Waiting and transferring; `null` without a trace.
        use: What the ranks used of their nodes.
        network: Time in the transport's own calls, where it goes through sockets.
        pattern: What pattern the messages have: those from point to point, if they have a tenth of the bytes, else all.
        matrix: Messages by source and destination.
        matrix_parts: The same by kind of call and by communicator.
        pair_waits: Who waits for whom; `null` where it is not known (`waiting.why_not`), or without a trace.
        sizes: Messages by channel and size.
        over_time: What ranks did when, and iterations; `null` without a trace.
        distributions: Messages by channel and size, for each placement.
        notes: What a reader should know about the numbers.
        tuning: What `rankwise tune` changed while it ran, or would have; empty without a tuner.
        predicted: Placements compared on a machine; `null` without a machine file.
    """

    schema: Literal["rankwise.report/1"]
    rankwise: str
    recording: str
    program: Program
    summary: Summary
    findings: list[Finding]
    not_looked_for: list[NotLookedFor]
    efficiency: Efficiency | None
    transfer_split: TransferSplit | None
    gaps: list[Gap]
    ranks: Ranks
    time: TimeParts | None
    map: Map
    calls: list[Call]
    call_sites: list[CallSite]
    collectives: list[Collective]
    waiting: Waiting | None
    use: Use
    network: Network
    matrix: CommMatrix
    pattern: Pattern
    distributions: list[PlacedDistribution]
    notes: list[str]
    matrix_parts: MatrixParts
    pair_waits: PairWaits | None
    sizes: MessageSizes
    over_time: OverTime | None
    tuning: list[TunedChange] = []
    predicted: Predicted | None = None


def to_dict(report: ReportData) -> dict[str, Any]:
    """JSON-able content, `schema` first."""
    content: dict[str, Any] = msgspec.to_builtins(report)
    return content


def json_schema() -> dict[str, Any]:
    """JSON schema of the report, as kept in formats/report.schema.json."""
    return msgspec.json.schema(ReportData)
