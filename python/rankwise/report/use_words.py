# SPDX-License-Identifier: BSD-3-Clause
"""Words for what the ranks used of their nodes, the same in every view.

Headings are in parts, which the terminal has below each other. Cells are whole: each view wraps long ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from rankwise.quantities import CLOCKS, bytes_text, count_text, counted, seconds_text
from rankwise.report.hosts import hosts_text, short_names
from rankwise.report.use_data import (
    AbsentSources,
    CoreUse,
    Counter,
    InterfaceUse,
    InterruptLine,
    MaskChange,
    Moment,
    NodeMoment,
    RankUse,
    TcpUse,
    Track,
    Use,
)
from rankwise.report.words import percent

MACHINE = "the lab's machine"

RANK_USE = (
    "user",
    "system",
    "waiting\nfor a core",
    "voluntary\nswitches",
    "involuntary\nswitches",
    "migrations",
    "minor\nfaults",
    "major\nfaults",
    "peak\nmemory",
    "memory by\nNUMA node",
    "allowed\nPUs",
    "ran on\nPUs",
    "changes of\nallowed",
)


def rank_use(ranks: RankUse, at: int) -> tuple[str, ...]:
    """The row of a rank, for headings `RANK_USE`; a dash for what is not known."""
    times = (ranks.user_s[at], ranks.system_s[at], ranks.runqueue_wait_s[at])
    switches = (ranks.voluntary_switches[at], ranks.involuntary_switches[at])
    faults = (ranks.minor_faults[at], ranks.major_faults[at])
    moved, seen = ranks.migrations[at], ranks.moves_seen[at]
    peak, memory = ranks.peak_memory_bytes[at], ranks.memory_bytes[at]
    return (
        *("-" if time is None else seconds_text(time) for time in times),
        *map(_count, switches),
        f"≥ {count_text(seen)}" if moved is None and seen else _count(moved),
        *map(_count, faults),
        "-" if peak is None else bytes_text(peak),
        "-"
        if memory is None
        else ", ".join(f"{node}: {bytes_text(size)}" for node, size in enumerate(memory) if size),
        _numbered("PU", ranks.allowed[at]) or "-",
        _numbered("PU", ranks.ran_on[at]) or "-",
        count_text(ranks.mask_changes[at]),
    )


def set_by(change: MaskChange) -> str:
    """Which file's code changed what a rank may use."""
    if change.set_by is None:
        return "-"
    return change.set_by or "no call seen"


def _numbered(what: str, numbers: str | None) -> str:
    """`rank 0`, as a number alone would read as how many; `0-3 8`, which does not; empty without numbers."""
    return f"{what} {numbers}" if numbers and numbers.isdecimal() else numbers or ""


def _count(value: int | None) -> str:
    return "-" if value is None else count_text(value)


def worst_ranks(use: Use, named: Collection[int] = ()) -> list[int]:
    """Places in the columns by rank: first of ranks that are named, then of those that waited longest for a core.

    Where that is not known, or is the same, those are first that lost their core most often.
    """
    ranks = use.ranks
    return sorted(
        range(len(ranks.rank)),
        key=lambda at: (
            ranks.rank[at] not in named,
            -(ranks.runqueue_wait_s[at] or 0),
            -(ranks.involuntary_switches[at] or 0),
        ),
    )


def named_first(use: Use, places: Iterable[int], named: Collection[int]) -> list[int]:
    """Some places by rank, but for those that are named, which are first."""
    ranks = use.ranks.rank
    return sorted(places, key=lambda at: (ranks[at] not in named, ranks[at]))


def rank_order(named: Collection[int]) -> tuple[str, str]:
    """Which ranks those of `worst_ranks` are, where there are more: the word behind their number, and their order."""
    longest = "that waited longest for a core"
    return ("ranks:", f"those that findings name, then those {longest}") if named else ("ranks", longest)


def rank_notes(use: Use) -> list[str]:
    """What a reader needs to know of the columns by rank."""
    ranks = use.ranks
    found = []
    if any(moved is None and seen for moved, seen in zip(ranks.migrations, ranks.moves_seen, strict=True)):
        found.append(
            "migrations ≥ 3: nothing counts them; so often a rank was seen on another core than before"
        )
    elif "first thread" in ranks.migrations_of:
        found.append("migrations are those of each rank's first thread")
    return found


def nothing_notable(use: Use) -> str:
    """That nothing stands out, with the sums."""
    ranks = use.ranks
    lost, moved, peak = (
        [value for value in column if value is not None]
        for column in (ranks.involuntary_switches, ranks.migrations, ranks.peak_memory_bytes)
    )
    parts = []
    if lost:
        parts.append(f"{count_text(max(lost))} involuntary context switches of a rank at most")
    if moved:
        parts.append(f"{count_text(max(moved))} migrations at most")
    if peak:
        parts.append(f"{bytes_text(max(peak))} of memory at most")
    return "nothing stands out" + (f": {', '.join(parts)}" if parts else "")


def sampled_text(use: Use) -> list[str]:
    """How often was sampled, and what it cost; why ranks were not; what a lab's cores are."""
    found = [] if use.why_not is None else [use.why_not]
    if use.ranks.rank or use.cores:
        often = (
            "at the start and the end" if use.interval_s is None else f"every {seconds_text(use.interval_s)}"
        )
        cost = (
            "" if use.cost_share is None else f", which cost at most {_cost(use.cost_share)} of a rank's time"
        )
        found.append(f"sampled {often}, when an MPI call ended (none inside of long calls){cost}")
    if use.emulated and use.cores:
        found.append(
            "the nodes of this lab share one machine: cores and interrupts are the machine's, shown once"
        )
    return found


def _cost(share: float) -> str:
    return "< 0.01 %" if share < 5e-5 else f"{share * 100:.2g} %"


def absent_sources(use: Use, hosts: Sequence[str]) -> list[str]:
    """Each source that is not there, with its reason, what would give it, and where, if not everywhere."""
    names = short_names(hosts)
    return [
        _absent(use, each)
        + (
            f" ({hosts_text([names[at] for at in each.hosts], len(hosts)).strip()})"
            if 0 < len(each.hosts) < len(hosts)
            else ""
        )
        for each in use.absent
    ]


def _absent(use: Use, each: AbsentSources) -> str:
    return (
        f"absent: {', '.join(each.sources)}: {each.why}"
        + (f"; {each.remedy}" if each.remedy else "")
        + (f" (on {counted(each.ranks, 'rank')})" if 0 < each.ranks < len(use.ranks.rank) else "")
    )


_SOFTIRQS = ("NET_RX", "NET_TX", "TIMER")
_LINES = ("RES", "CAL")
CORE_USE = (
    "user",
    "system",
    "irq",
    "softirq",
    "idle",
    "steal",
    "inter-\nrupts",
    "packets\nin",
    "packets\ndropped",
    *_SOFTIRQS,
    *_LINES,
    "bound\nranks",
)


def core_use(core: CoreUse, lines: dict[str, int] | None) -> tuple[str, ...]:
    """The row of a core, for headings `CORE_USE`.

    Args:
        core: The core.
        lines: Its interrupts by line; `None` if these are not known.
    """
    shares = (
        core.user_share,
        core.system_share,
        core.irq_share,
        core.softirq_share,
        core.idle_share,
        core.steal_share,
    )
    return (
        *(percent(share) for share in shares),
        *map(_count, (core.interrupts, core.packets, core.packets_dropped)),
        *(_count(core.softirqs.get(kind)) for kind in _SOFTIRQS),
        *("-" if lines is None else count_text(lines.get(name, 0)) for name in _LINES),
        _numbered("rank", core.ranks) or "-",
    )


def lines_by_core(use: Use) -> dict[tuple[int | None, int], dict[str, int]]:
    """Interrupts by line of each core that had some; an empty entry for other cores of hosts where lines are known."""
    hosts = {line.host for line in use.interrupts}
    found: dict[tuple[int | None, int], dict[str, int]] = {
        (core.host, core.pu): {} for core in use.cores if core.host in hosts
    }
    for line in use.interrupts:
        for pu, count in zip(line.pus, line.counts, strict=True):
            found.setdefault((line.host, pu), {})[line.line] = count
    return found


def worst_cores(use: Use) -> list[CoreUse]:
    """Those first that were in interrupts for most of the time, then those with the most interrupts."""
    return sorted(
        use.cores,
        key=lambda core: (-(core.irq_share or 0) - (core.softirq_share or 0), -(core.interrupts or 0)),
    )


CORE_NOTES = (
    "user to steal are shares of a core's time; packets in are what the kernel's stack took in there, of all programs "
    "and interfaces",
)

INTERFACE_USE = (
    "received",
    "sent",
    "packets\nin",
    "packets\nout",
    "lost",
    "interrupts\non PUs",
    "used by\nranks",
)


def interface_use(each: InterfaceUse) -> tuple[str, ...]:
    """The row of an interface, for headings `INTERFACE_USE`."""
    sizes, counts = (each.rx_bytes, each.tx_bytes), (each.rx_packets, each.tx_packets, each.lost)
    return (
        *("-" if size is None else bytes_text(size) for size in sizes),
        *map(_count, counts),
        _numbered("PU", each.interrupt_pus) or "-",
        "-" if each.ranks is None else _numbered("rank", each.ranks) or "none",
    )


INTERFACE_NOTES = (
    "packets are counted before the interface cuts them into frames (GSO) and after it joins received ones (GRO): they "
    "are neither frames nor messages",
)


def worst_interfaces(use: Use) -> list[InterfaceUse]:
    """Those that something went through, with the most bytes first."""
    return sorted(
        (each for each in use.interfaces if not each.idle),
        key=lambda each: -(
            (each.lost or 0) * 1_000_000_000_000 + (each.rx_bytes or 0) + (each.tx_bytes or 0)
        ),
    )


def idle_interfaces(use: Use, hosts: Sequence[str]) -> list[str]:
    """Interfaces that nothing went through, and those that no rank used, by name: on which hosts."""
    names = short_names(hosts)
    idle: dict[str, list[str]] = {}
    unused: dict[str, list[InterfaceUse]] = {}
    for each in use.interfaces:
        if each.idle:
            state = f" ({each.state})" if each.state and each.state not in ("up", "unknown") else ""
            idle.setdefault(each.interface + state, []).append(names[each.host])
        elif each.ranks == "":
            unused.setdefault(each.interface, []).append(each)
    found = []
    if idle:
        found.append(f"idle: {_first([name + hosts_text(on, len(hosts)) for name, on in idle.items()])}")
    if unused:
        said = [
            f"{name}{hosts_text([names[one.host] for one in each], len(hosts))} ({', '.join(_unused(each))})"
            for name, each in unused.items()
        ]
        found.append(f"no rank used: {_first(said)}")
    return found


def _first(said: Sequence[str]) -> str:
    """A list with an end."""
    more = len(said) - _NAMED
    return "; ".join(said[:_NAMED]) + (f"; {more} more" if more > 0 else "")


def _unused(each: Sequence[InterfaceUse]) -> list[str]:
    """State where they agree, and what went through them."""
    states = {one.state for one in each}
    known = [size for one in each for size in (one.rx_bytes, one.tx_bytes) if size is not None]
    state = states.pop() if len(states) == 1 else None
    return [
        *([state] if state and state != "unknown" else []),
        bytes_text(sum(known)) if known else "bytes not known",
    ]


INTERRUPT_LINE = ("count", "most on", "line", "what it is of")


def interrupt_line(line: InterruptLine) -> tuple[str, str, str, str]:
    """The row of a line, for headings `INTERRUPT_LINE`: `20.8 k`, `PU 1 (100 %)`, `38`, `eth0: virtio3-input.0`."""
    most = line.counts[0] / line.count if line.count else 0.0
    of = f"{line.device}: " if line.device else ""
    return count_text(line.count), f"PU {line.pus[0]} ({percent(most)})", line.line, of + line.what


_NAMED = 8  # interfaces of a sentence
_HOW = {"interrupt": "interrupt goes to", "allowed": "interrupt may go to", "rps": "RPS", "xps": "XPS"}
QUEUE_USE = ("interface", "served by", "queues", "PUs")


def queue_use(use: Use, hosts: Sequence[str]) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Hosts whose queues are served alike; of these rows for headings `QUEUE_USE`, each word once for all below it."""
    alike: dict[int, dict[tuple[str, str, str], list[str]]] = {}
    for each in use.queues:
        if each.pus is not None:
            alike.setdefault(each.host, {}).setdefault((each.interface, each.how, each.pus), []).append(
                each.queue
            )
    names = short_names(hosts)
    found: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for host, served in alike.items():
        ways = [*_HOW, *(how for _, how, _ in served)]
        order = sorted(served, key=lambda key: (key[0], ways.index(key[1])))
        rows: list[tuple[str, ...]] = []
        above = ("", "")
        for interface, how, pus in order:
            new = interface != above[0], (interface, how) != above
            first = interface if new[0] else "", _HOW.get(how, how) if new[1] else ""
            rows.append((*first, ", ".join(served[interface, how, pus]), pus or "none"))
            above = interface, how
        found.setdefault(tuple(rows), []).append(names[host])
    return [(hosts_text(on, len(hosts)).removeprefix(" "), list(rows)) for rows, on in found.items()]


TCP_USE = ("segments\nsent", "sent\nagain", "segments\nreceived", "with\nerrors", "causes")


def tcp_use(each: TcpUse) -> tuple[str, ...]:
    """The row of a node, for headings `TCP_USE`."""
    causes = [f"{name.replace('_', ' ')} {count_text(n)}" for name, n in (each.causes or {}).items() if n]
    return (
        *map(
            count_text,
            (each.sent_segments, each.retransmitted_segments, each.received_segments, each.bad_segments),
        ),
        ", ".join(causes) or ("-" if each.causes is None else "none"),
    )


def worst_tcp(use: Use) -> list[TcpUse]:
    """Those nodes first that sent most again."""
    return sorted(use.tcp, key=lambda each: -each.retransmitted_segments)


def counter_heading(counter: Counter) -> str:
    """Its name; ` (user)` where it does not count in the kernel."""
    return counter.counter + (" (user)" if counter.user_only else "")


def counter_text(counter: Counter, at: int) -> str:
    """What a counter says of a rank; times as times."""
    count = counter.count[at]
    if count is None:
        return "-"
    if counter.counter in CLOCKS:
        return seconds_text(count * 1e-9)
    return count_text(round(count))


def over_time(use: Use) -> list[tuple[str, Sequence[float | None]]]:
    """What changes while it runs: a label and a value for each piece; `None` where it is not known.

    What is not known anywhere is left out.
    """
    columns: dict[str, list[float | None]] = {
        "involuntary switches": [each.involuntary_switches_per_s for each in use.over_time],
        "page faults": [each.faults_per_s for each in use.over_time],
        "interrupts": [each.interrupts_per_s for each in use.nodes_over_time],
        "NET_RX and NET_TX": [each.network_softirqs_per_s for each in use.nodes_over_time],
        "bytes of interfaces": [each.bytes_per_s for each in use.nodes_over_time],
        "system time": [each.system_share for each in use.over_time],
        "waiting for a core": [each.runqueue_wait_share for each in use.over_time],
    }
    return [
        (label, values) for label, values in columns.items() if any(value is not None for value in values)
    ]


def most(values: Sequence[float | None]) -> float:
    """The highest of those that are known."""
    return max(value for value in values if value is not None)


def pieces(use: Use) -> Sequence[Moment | NodeMoment]:
    """Pieces that the values of `over_time` are of."""
    return use.over_time or use.nodes_over_time


_SOCKETS = 8  # with a sentence each


def memory_use(use: Use, hosts: Sequence[str]) -> list[str]:
    """What each socket's memory controllers moved, where that could be counted."""
    found, names = [], short_names(hosts)
    most = sorted(use.memory, key=lambda each: -(each.read_bytes or 0) - (each.written_bytes or 0))
    for each in most[:_SOCKETS]:
        ways = (
            ("read", each.read_bytes, each.read_bytes_per_s),
            ("written", each.written_bytes, each.written_bytes_per_s),
        )
        parts = [
            f"{bytes_text(size)} {way}"
            + (f" ({bytes_text(round(per_s))} a second)" if per_s is not None else "")
            for way, size, per_s in ways
            if size is not None
        ]
        host = MACHINE if each.host is None else names[each.host]
        where = f"{host}, " if len(hosts) > 1 else ""
        if parts:
            found.append(f"memory of {where}the socket of PU {each.pu}: {', '.join(parts)}, by all programs")
    if len(most) > _SOCKETS:
        found.append(f"memory of {len(most) - _SOCKETS} more sockets is in `rankwise report --json`")
    return found


def track_name(track: Track, hosts: Sequence[str]) -> str:
    """`rank 3`, or `n01 eth0` of what is not a rank where there are several hosts."""
    several = len(hosts) > 1 and not track.of.startswith("rank ")
    host = MACHINE if track.host is None else short_names(hosts)[track.host]
    return f"{host} {track.of}" if several else track.of


def track_rate_text(kind: str, value: float) -> str:
    """A value of a track with its unit."""
    if kind == "waiting for a core":
        return f"{value * 100:.1f} %"
    return f"{bytes_text(round(value)) if kind.startswith('bytes') else count_text(round(value))} a second"


def rate_text(label: str, value: float) -> str:
    """A value of `over_time` with its unit."""
    if label in ("system time", "waiting for a core"):
        return f"{value * 100:.1f} %"
    if label == "bytes of interfaces":
        return f"{bytes_text(value)} a second"
    return f"{count_text(round(value))} a second"


def piece_text(use: Use) -> str:
    """How long a piece of `over_time` is."""
    first = pieces(use)[0]
    return seconds_text(first.end_s - first.begin_s)
