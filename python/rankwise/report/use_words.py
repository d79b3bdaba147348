# SPDX-License-Identifier: BSD-3-Clause
"""Words for what the ranks used of their nodes, the same in every view."""

from __future__ import annotations

from collections.abc import Sequence

from rankwise.quantities import bytes_text, count_text, counted, seconds_text
from rankwise.report.use_data import CoreUse, Counter, InterfaceUse, InterruptLine, RankUse, Track, Use
from rankwise.report.words import percent

RANK_USE = ("user", "kernel", "waited", "lost core", "migrated", "faults", "peak", "ran on")


def rank_use(ranks: RankUse, at: int) -> tuple[str, ...]:
    """The row of a rank, for headings `RANK_USE`; a dash for what is not known."""
    times = [ranks.user_s[at], ranks.system_s[at]]
    minor, major = ranks.minor_faults[at], ranks.major_faults[at]
    switches = [ranks.voluntary_switches[at], ranks.involuntary_switches[at]]
    moved, seen = ranks.migrations[at], ranks.moves_seen[at]
    faults = None if minor is None or major is None else minor + major
    peak = ranks.peak_memory_bytes[at]
    return (
        *("-" if time is None else seconds_text(time) for time in times),
        *("-" if count is None else count_text(count) for count in switches),
        f"≥ {count_text(seen)}" if moved is None and seen else "-" if moved is None else count_text(moved),
        "-" if faults is None else count_text(faults),
        "-" if peak is None else bytes_text(peak),
        ranks.ran_on[at] or "-",
    )


def nothing_notable(use: Use) -> str:
    """That nothing stands out, with the sums."""
    ranks = use.ranks
    lost, moved, peak = (
        [value for value in column if value is not None]
        for column in (ranks.involuntary_switches, ranks.migrations, ranks.peak_memory_bytes)
    )
    parts = []
    if lost:
        parts.append(f"a rank lost its core {count_text(max(lost))} times at most")
    if moved:
        parts.append(f"came to another core {count_text(max(moved))} times at most")
    if peak:
        parts.append(f"and had up to {bytes_text(max(peak))}")
    return "nothing stands out" + (f": {', '.join(parts)}" if parts else "")


def sampled_text(use: Use) -> str:
    """How often was sampled, and what it cost."""
    often = "at the start and the end" if use.interval_s is None else f"every {seconds_text(use.interval_s)}"
    cost = (
        ""
        if use.cost_share is None
        else f", which cost at most {use.cost_share * 100:.2g} % of a rank's time"
    )
    return f"sampled {often}, when an MPI call ended (none inside of long calls){cost}"


def absent_sources(use: Use) -> list[str]:
    """Each source that is not there, with its reason and what would give it."""
    return [
        f"absent: {', '.join(each.sources)}: {each.why}"
        + (f"; {each.remedy}" if each.remedy else "")
        + (f" (on {counted(each.ranks, 'rank')})" if 0 < each.ranks < len(use.ranks.rank) else "")
        for each in use.absent
    ]


CORE_USE = ("programs", "kernel", "interrupts", "idle", "taken", "interrupts", "packets", "ranks")


def core_use(core: CoreUse) -> tuple[str, ...]:
    """The row of a core, for headings `CORE_USE`."""
    shares = (core.program_share, core.system_share, core.interrupt_share, core.idle_share, core.steal_share)
    counts = (core.interrupts, core.packets)
    return (
        *(percent(share) for share in shares),
        *("-" if count is None else count_text(count) for count in counts),
        core.ranks or "-",
    )


_RANKS_WIDTH = 12
INTERFACE_USE = ("received", "sent", "packets in", "packets out", "lost", "interrupts on", "ranks")


def interface_use(each: InterfaceUse) -> tuple[str, ...]:
    """The row of an interface, for headings `INTERFACE_USE`."""
    sizes, counts = (each.rx_bytes, each.tx_bytes), (each.rx_packets, each.tx_packets, each.lost)
    return (
        *("-" if size is None else bytes_text(size) for size in sizes),
        *("-" if count is None else count_text(count) for count in counts),
        f"PU {each.interrupt_pus}" if each.interrupt_pus else "-",
        "-" if each.ranks is None else _few(each.ranks) or "none",
    )


def _few(ranks: str) -> str:
    """The first ranks of many; all are in the JSON."""
    return ranks if len(ranks) <= _RANKS_WIDTH else f"{ranks[: _RANKS_WIDTH - 1].rpartition(' ')[0]} …"


def idle_interfaces(use: Use, hosts: Sequence[str]) -> list[str]:
    """Interfaces that nothing went through, and those that no rank used, by name: on which hosts."""
    idle: dict[str, list[str]] = {}
    unused: dict[str, list[InterfaceUse]] = {}
    for each in use.interfaces:
        if each.idle:
            state = f" ({each.state})" if each.state and each.state not in ("up", "unknown") else ""
            idle.setdefault(each.interface + state, []).append(hosts[each.host])
        elif each.ranks == "":
            unused.setdefault(each.interface, []).append(each)
    several = len(hosts) > 1

    def on(count: int) -> str:
        return f" on {counted(count, 'host')}" if several else ""

    found = []
    if idle:
        found.append(f"idle: {', '.join(name + on(len(where)) for name, where in idle.items())}")
    if unused:
        names = [f"{name}{on(len(each))} ({', '.join(_unused(each))})" for name, each in unused.items()]
        found.append(f"no rank used: {', '.join(names)}")
    return found


def _unused(each: Sequence[InterfaceUse]) -> list[str]:
    """State where they agree, and what went through them."""
    states = {one.state for one in each}
    known = [size for one in each for size in (one.rx_bytes, one.tx_bytes) if size is not None]
    state = states.pop() if len(states) == 1 else None
    return [
        *([state] if state and state != "unknown" else []),
        bytes_text(sum(known)) if known else "bytes not known",
    ]


def interrupt_line(line: InterruptLine, host: str | None) -> str:
    """`eth0, 38 (virtio3-input.0): 20.8 k, on PU 1 (100 %)`."""
    of = f"{line.device}, " if line.device else ""
    where = f"{host}: " if host else ""
    most = line.counts[0] / line.count if line.count else 0.0
    return (
        f"{where}{of}{line.line} ({line.what}): {count_text(line.count)}, on PU {line.pus[0]} {percent(most)}"
    )


def counter_text(counter: Counter, at: int) -> str:
    """What a counter says of a rank; times as times."""
    count = counter.count[at]
    if count is None:
        return "-"
    if counter.counter in ("task-clock", "cpu-clock"):
        return seconds_text(count * 1e-9)
    return count_text(round(count))


def over_time(use: Use) -> list[tuple[str, Sequence[float]]]:
    """What changes while it runs: a label and a value for each piece; without what is not known."""
    columns = {
        "lost cores": [each.involuntary_switches_per_s for each in use.over_time],
        "page faults": [each.faults_per_s for each in use.over_time],
        "interrupts": [each.interrupts_per_s for each in use.nodes_over_time],
        "network softirqs": [each.network_softirqs_per_s for each in use.nodes_over_time],
        "bytes of interfaces": [each.bytes_per_s for each in use.nodes_over_time],
        "in the kernel": [each.system_share for each in use.over_time],
        "waiting for a core": [each.runqueue_wait_share for each in use.over_time],
    }
    return [(label, [v or 0.0 for v in values]) for label, values in columns.items() if any(values)]


def memory_use(use: Use, hosts: Sequence[str]) -> list[str]:
    """What each socket's memory controllers moved, where that could be counted."""
    found = []
    for each in use.memory:
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
        where = f"{hosts[each.host]}, " if len(hosts) > 1 else ""
        if parts:
            found.append(f"memory of {where}the socket of PU {each.pu}: {', '.join(parts)}, by all programs")
    return found


def track_name(track: Track, hosts: Sequence[str]) -> str:
    """`rank 3`, or `n01 eth0` of what is not a rank where there are several hosts."""
    several = len(hosts) > 1 and not track.of.startswith("rank ")
    return f"{hosts[track.host]} {track.of}" if several else track.of


def track_rate_text(kind: str, value: float) -> str:
    """A value of a track with its unit."""
    if kind == "waiting for a core":
        return f"{value * 100:.1f} %"
    return f"{bytes_text(round(value)) if kind.startswith('bytes') else count_text(round(value))} a second"


def rate_text(label: str, value: float) -> str:
    """A value of `over_time` with its unit."""
    if label in ("in the kernel", "waiting for a core"):
        return f"{value * 100:.1f} %"
    if label == "bytes of interfaces":
        return f"{bytes_text(value)} a second"
    return f"{count_text(round(value))} a second"


def piece_text(use: Use) -> str:
    """How long a piece of `over_time` is."""
    first = (use.over_time or use.nodes_over_time)[0]
    return seconds_text(first.end_s - first.begin_s)
