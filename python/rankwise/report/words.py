# SPDX-License-Identifier: BSD-3-Clause
"""Numbers and names of a report as text, the same in every view."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import datetime, timezone

from rankwise.placement.distribution_data import MessageDistribution, SizeRange
from rankwise.quantities import bytes_text, count_text, counted, seconds_text
from rankwise.report.data import (
    Collective,
    CollectiveSize,
    PlacedDistribution,
    ReportData,
    UnsplitCall,
    Waiting,
    WaitingCall,
)
from rankwise.report.data.communication import CommMatrix, PairWaits
from rankwise.report.data.network import NetworkPair
from rankwise.report.hosts import short_names

CORE_BOUNDS = (
    "time without a core is in neither column; how much of it each call had is known only roughly, so a share is given "
    "as a range"
)
COMPLETE = "every rank left its records, and all its calls ended"
_MANY = 512
_NOTHING_KNOWN = "all of it may be transferring, or waiting for a core"


def percent(share: float | None) -> str:
    """`37.2 %`; a dash for what has no share, `< 0.1 %` for what is there but little."""
    if share is None:
        return "-"
    if 0 < share < 0.0005:
        return "< 0.1 %"
    return f"{share * 100:.1f} %"


def bounds_text(least: float, most: float) -> str:
    """`37.2 %`, `1-11 %` for a share that is known within bounds only."""
    if round(least, 3) == round(most, 3):
        return percent(least)
    low, high = f"{least * 100:.0f}", f"{most * 100:.0f}"
    return f"{low} %" if low == high else f"{low}-{high} %"


def complete(column: list[float | None]) -> list[float] | None:
    """The times of all ranks; `None` if one is not known."""
    known = [value for value in column if value is not None]
    return known if len(known) == len(column) else None


def waited_for_cores(report: ReportData) -> bool:
    """Whether waiting for a core is at least the one percent that a headline would round to."""
    share = report.summary.runqueue_wait_share
    return share is not None and share >= 0.005


def mpi_on_core(report: ReportData) -> str:
    """Share of the ranks' time inside MPI without waiting for a core: `9-11 %`."""
    summary = report.summary
    if summary.mpi_on_core_share is None or summary.unattributed_share is None:
        return "-"
    low = f"{summary.mpi_on_core_share * 100:.0f}"
    high = f"{(summary.mpi_on_core_share + summary.unattributed_share) * 100:.0f}"
    return f"{low} %" if low == high else f"{low}-{high} %"


def headline(report: ReportData) -> str:
    """`lmp on 16 ranks, 12.3 s; 37 % of it in MPI`; `...; 89 % of it waiting for a core, 9-11 % in MPI`.

    How it ended comes first where that was before MPI_Finalize: `...; rank 3 called MPI_Abort; 37 % of it in MPI`.
    """
    program, summary = report.program, report.summary
    inside = ""
    if summary.runqueue_wait_share is not None and waited_for_cores(report):
        inside = f"; {summary.runqueue_wait_share * 100:.0f} % of it waiting for a core"
        inside += "" if summary.mpi_on_core_share is None else f", {mpi_on_core(report)} in MPI"
    elif summary.mpi_share is not None:
        inside = f"; {summary.mpi_share * 100:.0f} % of it in MPI"
    ended = f"; {program.ending.brief}" if program.ending else ""
    ranks = counted(program.world_size, "rank")
    return f"{program.name} on {ranks}, {seconds_text(program.elapsed_s)}{ended}{inside}"


def first_line(report: ReportData) -> str:
    """`lmp: 16 ranks, 4 nodes, 12.3 s`."""
    program = report.program
    parts = [counted(program.world_size, "rank")]
    if program.hosts:
        parts.append(counted(len(program.hosts), "node"))
    return f"{program.name}: {', '.join([*parts, seconds_text(program.elapsed_s)])}"


def complete_text(report: ReportData) -> str:
    """Of a recording that lacks nothing; of one that was generated, what it is."""
    text = f"complete: {COMPLETE}"
    return f"{text}; {circumstances(report)}" if report.program.generated else text


def not_recorded(report: ReportData) -> list[str]:
    """What is missing, and why; not once more what the line of how it ended says."""
    ended = report.program.ending is not None
    return [f"{gap.what}: {gap.why}" for gap in report.gaps if not (ended and gap.of_the_end)]


def command_text(report: ReportData) -> str:
    """The launch line, quoted for a shell."""
    return shlex.join(report.program.command)


def circumstances(report: ReportData) -> str:
    """MPI library, hosts, exit status, date."""
    program = report.program
    parts = ["generated, not measured", program.mpi] if program.generated else [program.mpi]
    if len(program.hosts) == 1:
        parts.append(f"host {program.hosts[0]}")
    elif program.hosts:
        parts.append(f"{len(program.hosts)} hosts")
    if program.exit_status is not None:
        parts.append(f"exit status {program.exit_status}")
    if program.started_s is not None:
        started = datetime.fromtimestamp(program.started_s, timezone.utc)
        parts.append(f"{started:%Y-%m-%d %H:%M} UTC")
    return ", ".join(parts)


def messages_and_bytes(report: ReportData) -> str:
    """How much was called and sent."""
    summary = report.summary
    text = f"{plural(summary.mpi_calls, 'MPI call')}; {plural(summary.messages, 'message')} "
    text += f"with {bytes_text(summary.bytes)}"
    if summary.collective_messages:
        text += (
            f", inside collectives {percent(summary.collective_messages / summary.messages)} of the messages"
        )
        if summary.bytes:
            text += f" and {percent(summary.collective_bytes / summary.bytes)} of the bytes"
    return text


def recording_cost(report: ReportData) -> str:
    """What the recording may have cost, as far as that is known."""
    cost, share = report.summary.call_cost_s, report.summary.recording_share
    if cost is None:
        return "not measured in this run" if report.program.generated is None else "none: no program ran"
    if share is None:
        return (
            f"{cost * 1e9:.0f} ns a call, measured as the run began; its part of a rank's time is not known"
        )
    most = f"{share * 100:.2g}" if share < 0.1 else f"{share * 100:.0f}"
    text = f"{cost * 1e9:.0f} ns a call, measured as the run began; at most {most} % of a rank's time"
    aside_s = report.summary.recording_aside_s
    return text + (f", and {seconds_text(aside_s)} in MPI_Init and MPI_Finalize" if aside_s >= 1e-3 else "")


def clocks_text(waiting: Waiting) -> str:
    """How far the clocks may be wrong, of one host or of several."""
    within = max((clock.spread_s for clock in waiting.clocks), default=0.0)
    text = f"clocks of the ranks of a host are within {seconds_text(within)}"
    if len(waiting.clocks) > 1:
        bound = max(clock.bound_s for clock in waiting.clocks)
        text += f", those of {len(waiting.clocks)} hosts within {seconds_text(bound)} of the first one's"
    return text


def known_calls(waiting: Waiting) -> list[WaitingCall]:
    """Functions whose shares say something: not those that may be all transferring or all waiting for a core."""
    return [call for call in waiting.calls if not _says_nothing(call)]


def _says_nothing(call: WaitingCall) -> bool:
    part = call.transfer
    return part is not None and call.time_s > 0 and part.most_s - part.least_s >= 0.99 * call.time_s


def cores_apart(waiting: Waiting) -> bool:
    """Whether waiting for a core is at least one percent of the time of some function."""
    return any(call.core and call.core.most_s >= 0.005 * call.time_s for call in known_calls(waiting))


def waited_most(call: WaitingCall) -> tuple[str, str]:
    """How long the rank waited that waited most, and which it is."""
    return (seconds_text(call.most_s), str(call.most_rank)) if call.most_s > 0 else ("-", "-")


def waiting_shares(waiting: Waiting, call: WaitingCall) -> tuple[str, ...]:
    """Shares of a call's time: waiting, transferring, and with `cores_apart` for a core, which is not in the others."""
    apart = cores_apart(waiting)
    if not call.time_s:
        return ("-",) * (3 if apart else 2)
    if not apart or call.core is None or call.waiting is None or call.transfer is None:
        parts_s = (call.waiting_s, call.time_s - call.waiting_s - call.core_s, call.core_s)
        return tuple(percent(part_s / call.time_s) for part_s in parts_s[: 3 if apart else 2])
    parts = (call.waiting, call.transfer, call.core)
    return tuple(bounds_text(part.least_s / call.time_s, part.most_s / call.time_s) for part in parts)


def unsplit_text(call: UnsplitCall) -> str:
    """Why a function's waiting is not told apart."""
    mean_s = call.time_s / call.count
    return (
        f"not told apart: {call.call}, whose calls take {seconds_text(mean_s)} on average: "
        f"the clocks are known to {seconds_text(call.clocks_s)}"
    )


def not_split_texts(waiting: Waiting, ranks: int) -> list[str]:
    """Functions of which waiting is not told apart, with their time a rank; a sentence for each reason."""
    by_reason: dict[str, list[str]] = {}
    rest = [(call.call, call.time_s, _NOTHING_KNOWN) for call in waiting.calls if _says_nothing(call)]
    for name, time_s, why in [(call.call, call.time_s, call.why) for call in waiting.not_split] + rest:
        by_reason.setdefault(why, []).append(f"{name} {seconds_text(time_s / ranks)}")
    return [f"not told apart: {', '.join(calls[:6])} a rank: {why}" for why, calls in by_reason.items()]


def without_bytes(report: ReportData) -> str:
    """Which call sites have no bytes, and why."""
    sites = report.call_sites
    unknown = sorted({site.call for site in sites if site.bytes is None})
    if len(unknown) == len({site.call for site in sites}):
        return "no place has bytes: this recording was made before they were counted"
    few = ", ".join(f"`{call}`" for call in unknown[:3]) + (", ..." if unknown[3:] else "")
    return f"bytes of {few} are not here: another call completes, or starts, what was begun"


def plural(count: int, noun: str) -> str:
    """`1 message`, `320 k messages`."""
    return f"{count_text(count)} {noun}" + ("" if count == 1 else "s")


def size_text(size: int) -> str:
    """A power of two as the size ranges have it: `256 B`, `4 KiB`."""
    for scale, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= scale and size % scale == 0:
            return f"{size // scale} {unit}"
    return f"{size} B"


def range_text(part: SizeRange | CollectiveSize) -> str:
    """`0-256 B`, `256 B-4 KiB`, `4-64 KiB`, `over 256 KiB`, `all sizes`."""
    if part.up_to_bytes is None:
        return "all sizes" if part.over_bytes is None else f"over {size_text(part.over_bytes)}"
    low, high = size_text(part.over_bytes or 0).split(), size_text(part.up_to_bytes)
    return f"{low[0]}-{high}" if high.endswith(f" {low[1]}") else f"{' '.join(low)}-{high}"


def placed_text(placed: PlacedDistribution) -> str:
    """`4x4 blocked, on 4 nodes of package:2 core:2, cores in OS order`."""
    known = {"logical": "", "os": ", cores in OS order", "packages": ", packages in turn"}
    order = known.get(placed.core_order or "logical", f", cores in the order {placed.core_order}")
    return f"{placed.name}, on {placed.nodes}{order}"


_ALONE = {
    "package": "stayed inside a package (intra-CMP)",
    "node": "went from package to package of a node (inter-CMP)",
    "network": "went from node to node (inter-node)",
    "unbound": "stayed inside a node; between which of its cores is not known",
}


def one_channel(distribution: MessageDistribution) -> str | None:
    """A sentence without a full stop, where one channel has all messages; `None` where several have some."""
    total = distribution.total
    alone = [each for each in total.channels if each.messages == total.messages and each.messages]
    if not alone:
        return None
    # A cache is part of its package: the narrowest says most.
    found = next((each for each in alone if each.part_of), alone[0])
    way = f"went between cores {found.name}" if found.part_of else _ALONE[found.channel]
    even = even_shares(distribution).get(found.channel, 0.0)
    others = "" if even > 0.9995 else f"; if every rank talked to every other alike, {percent(even)} would"
    return f"all {bytes_text(total.bytes)}, in {plural(total.messages, 'message')}, {way}{others}"


def placed_notes(placed: PlacedDistribution) -> list[str]:
    """What to know about one distribution."""
    found, distribution = [], placed.distribution
    certain = all(share.channel != "unbound" for share in distribution.total.channels)
    if distribution.unbound_ranks and not certain:
        found.append(
            f"{distribution.unbound_ranks} of {distribution.ranks} ranks had several cores to run on: "
            "channels inside a node that are not certain are not known."
        )
    if distribution.shared_cores:
        found.append("Several ranks share a core.")
    nodes = distribution.nodes_used
    if placed.allocation != "recorded" and not placed.nodes.startswith(f"{nodes} node"):
        found.append(f"Only {nodes} of the nodes have ranks.")
    if distribution.self_messages:
        found.append(
            f"{plural(distribution.self_messages, 'message')} to self "
            f"({bytes_text(distribution.self_bytes)}) left out of all shares."
        )
    if distribution.unknown_messages:
        found.append(
            f"{plural(distribution.unknown_messages, 'message')} of unknown destination left out of all shares."
        )
    return found


def argument_text(collective: Collective) -> str:
    """Sizes of a collective's argument: `8 B`, `8 B to 4.1 kB`."""
    low, high = bytes_text(collective.bytes_min), bytes_text(collective.bytes_max)
    return low if low == high else f"{low} to {high}"


def mean_call(calls: Collective | CollectiveSize) -> str:
    """How long a call took, in the mean."""
    return "-" if calls.time_s is None else seconds_text(calls.time_s / calls.calls)


def collectives_notes(report: ReportData) -> list[str]:
    """What the algorithms of collectives are told from, in sentences without a full stop."""
    if not report.collectives:
        return []
    notes = [
        "the algorithm is the one that is taken for generated runs: no MPI library was asked"
        if report.program.generated
        else f"the algorithm is what {report.program.mpi} takes by its rules for such ranks and sizes: MPI does not "
        "tell which one it took"
    ]
    for setting, calls in _by_setting(report).items():
        notes.append(
            f"`{setting}` was set for the run: the algorithm and the messages of {' and '.join(calls)} are those "
            "without it"
        )
    return notes


def _by_setting(report: ReportData) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in report.collectives:
        calls = found.setdefault(each.setting, []) if each.setting else []
        if each.call not in calls:
            calls.append(each.call)
    return found


def sizes_text(collective: Collective) -> str:
    """Sizes of its communicators: `16`, `4-16`."""
    if collective.ranks_min is None:
        return "-"
    low, high = collective.ranks_min, collective.ranks_max
    return str(low) if low == high else f"{low}-{high}"


def even_shares(distribution: MessageDistribution) -> dict[str, float]:
    """The even distribution by channel."""
    return {each.channel: each.share for each in distribution.even}


def together(part: SizeRange, key: str) -> list[float] | None:
    """Shares of all ranks together by channel, where they differ visibly from the averages over ranks.

    Table 1 of Chai, Gao & Panda (2007) has these, "the total message distribution"; their figures have averages.

    Args:
        part: A size range, or all sizes.
        key: `message_share` or `byte_share`.
    """
    pairs = [(getattr(share, key) or 0.0, getattr(share, f"{key}_of_all") or 0.0) for share in part.channels]
    return [total for _, total in pairs] if any(abs(a - b) >= 0.001 for a, b in pairs) else None


def node_pair_text(report: ReportData, pair: NetworkPair) -> str:
    """Two nodes between which there were messages: `n01 - n02`; an address where that is no rank's."""
    hosts = short_names(report.program.hosts)
    nobody = "others" if pair.transport == "sockets" else "any"
    peer = hosts[pair.peer_host] if pair.peer_host is not None else pair.address or nobody
    return f"{hosts[pair.host]} - {peer}"


def bytes_or_dash(size: int | None) -> str:
    """A size, or `-` if it is not known."""
    return "-" if size is None else bytes_text(size)


def network_text(report: ReportData) -> list[str]:
    """What there is to say of network time besides its table, in sentences without a full stop."""
    network = report.network
    lines = []
    if network.ranks:
        if len(report.program.hosts) == 1:
            lines.append(
                "all ranks ran on one node: this is their time in a transport's calls, and nothing crossed a network"
            )
        progress, wait = (
            sum(getattr(rank, name) for rank in network.ranks) for name in ("progress_s", "wait_s")
        )
        lines.append(
            f"{seconds_text(progress)} went into looking for messages, {seconds_text(wait)} into sleeping until "
            "one came"
        )
        if any(pair.receive_bytes is None and pair.address is None for pair in network.pairs):
            lines.append(
                "a receive by tag says neither from whom nor how many bytes: the senders' rows have them"
            )
        if network.outside_mpi_s > 0:
            lines.append(
                f"of sending, receiving and looking, {seconds_text(network.outside_mpi_s)} by threads that were not "
                "inside an MPI call"
            )
    elif network.why_not is None:
        lines.append(
            "none: no rank used sockets, UCX, libfabric or PSM2 where that is seen (memory of the node, or another way)"
        )
    changed = [variable for variable in network.variables if variable.most > 0]
    if changed:
        most = ", ".join(f"{each.name} up to {count_text(round(each.most))}" for each in changed[:3])
        lines.append(
            f"MPI's own performance variables: {most}"
            f"{', more are in `rankwise report --json`' if len(network.variables) > 3 else ''}"
        )
    if network.why_not is not None:
        lines.append(f"not known of {'all ranks' if network.ranks else 'any rank'}: {network.why_not}")
    return lines


def nodes_first(report: ReportData, matrix: CommMatrix | PairWaits) -> bool:
    """Whether rows of a drawn matrix are nodes first, and the ranks of each can be seen: the page carries this answer.

    That takes many ranks, and an order of them in which nodes are rows: that of a map, or by rank where the ranks of
    each node are next to each other.
    """
    if matrix.ranks_per_group > 1 or not has_many(report.program.world_size):
        return False
    mapped = any(len(placed.nodes) > 1 for placed in report.map.placed)
    return mapped or nodes_in_turn(report.ranks.rank, report.ranks.host)


def has_many(ranks: int) -> bool:
    """Whether so many ranks are better seen by node first."""
    return ranks > _MANY


def nodes_in_turn(ranks: Sequence[int], hosts: Sequence[int]) -> bool:
    """Whether each of several nodes has consecutive ranks."""
    host = dict(zip(ranks, hosts, strict=True))
    begins = [
        host.get(0),
        *(host[rank] for rank in ranks if rank > 0 and host[rank] != host.get(rank - 1)),
    ]
    return 1 < len(begins) == len(set(begins))


def matrix_unit(report: ReportData, matrix: CommMatrix | PairWaits) -> str:
    """What a row of a drawn matrix is."""
    if nodes_first(report, matrix):
        return "node"
    if matrix.ranks_per_group == 1:
        return "rank"
    if not matrix.members:
        return f"group of {matrix.ranks_per_group} ranks"
    hosts = len(set(report.ranks.host))
    if len(matrix.members) < hosts:
        return f"group of {counted(-(-hosts // len(matrix.members)), 'node')}"
    return "node" if len(matrix.members) == hosts else f"group of {matrix.ranks_per_group} ranks of a node"


def matrix_help(report: ReportData, matrix: CommMatrix | PairWaits) -> str:
    """What can be done with a drawn matrix, and what its lines are."""
    clicks = "" if nodes_first(report, matrix) else "Double click, "
    moves = f"{clicks}`+` and `-` zoom; drag, or arrow keys at an edge, move."
    if matrix.ranks_per_group > 1:
        more = "There are too many pairs of ranks for this page. "
        if isinstance(matrix, CommMatrix):
            more = (
                "There are too many pairs of ranks for this page: `rankwise export --format mtx` writes all. "
            )
    elif nodes_first(report, matrix):
        more = "Few and large nodes are in parts. A click on a pair, or Enter, shows its ranks; Backspace leads back. "
    else:
        more = ""
    nodes = max([len(placed.nodes) for placed in report.map.placed] + [len(set(report.ranks.host))])
    return more + ("Lines are where a node ends. " if nodes > 1 else "") + moves
