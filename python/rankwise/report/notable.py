# SPDX-License-Identifier: BSD-3-Clause
"""What stands out of what ranks and nodes used: one sentence a kind, the worst first, and how many more there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from rankwise.findings.finding import LEAST_S
from rankwise.quantities import count_text, counted, seconds_text
from rankwise.recording import Recording
from rankwise.recording.completeness import ranks_text
from rankwise.report.hosts import short_names
from rankwise.report.use_data import CoreUse, Counter, RankUse, Use

# Of a rank, from here on it stands out; fewer in all than `_LEAST` do not, however short the run.
_MIGRATIONS_PER_S, _SWITCHES_PER_S, _MAJOR_FAULTS_PER_S, _LEAST = 1.0, 100.0, 10.0, 100
_SYSTEM_SHARE, _LEAST_PROCESSOR_S = 0.2, 0.1
_TURNS = 0.999
# Of the threads that ran; two, so that there is somebody to share with.
_CROWDED, _BUSY = 0.25, 1.5
# Of a node.
_INTERRUPT_SHARE, _STEAL_SHARE, _PER_S = 0.05, 0.02, 100.0
# Clock ticks of which /proc/stat counts processor time, so much of it that a share means something.
_LEAST_SOFTIRQ_S = 0.1


def notable(recording: Recording, use: Use) -> list[str]:
    """Sentences without a full stop; the first word of each is no name, so that it may have a capital."""
    return [
        *_rates(recording, use.ranks),
        *_crowded(use.ranks),
        *_system(use.ranks),
        *_turns(use.counters),
        *_Nodes(recording, use).sentences(),
    ]


def _crowded(ranks: RankUse) -> list[str]:
    """Threads that share a PU, which costs them half of it or more."""
    known = zip(ranks.threads_crowded, ranks.threads_busy, strict=True)
    crowded = {
        at: (share, busy)
        for at, (share, busy) in enumerate(known)
        if share is not None and share > _CROWDED and busy is not None and busy >= _BUSY
    }
    if not crowded:
        return []
    worst = max(crowded, key=lambda at: crowded[at])
    share, busy = crowded[worst]
    pus = ranks.threads_ran_on[worst]
    who = ranks_text([ranks.rank[at] for at in crowded])
    return [
        f"threads of {who} shared a core with another of the same rank: of rank {ranks.rank[worst]}, "
        f"{busy:.1f} ran in the mean, on {'PU' if pus.isdecimal() else 'PUs'} {pus}, "
        f"{share * 100:.0f} % of them with another beside them"
    ]


def _rates(recording: Recording, ranks: RankUse) -> list[str]:
    time_s = dict(recording.ranks.select("rank", "time_s").iter_rows())
    # A rank that is given other cores moves there: that is its own doing.
    moved = [
        None if count is None else max(count - changes, 0)
        for count, changes in zip(ranks.migrations, ranks.mask_changes, strict=True)
    ]
    found = []
    for counts, limit, what in (
        (moved, _MIGRATIONS_PER_S, "came to another core"),
        (ranks.involuntary_switches, _SWITCHES_PER_S, "lost the core to something else"),
        (ranks.major_faults, _MAJOR_FAULTS_PER_S, "waited for pages from a disk"),
    ):
        high = {
            rank: count
            for rank, count in zip(ranks.rank, counts, strict=True)
            if count is not None and count >= max(_LEAST, limit * (time_s.get(rank) or 0.0))
        }
        if high:
            most = max(high, key=lambda rank: high[rank] / (time_s.get(rank) or 1.0))
            found.append(
                f"{ranks_text(sorted(high))} {what} often: rank {most} most, {count_text(high[most])} times"
                + (_longest_wait(ranks, most) if counts is ranks.involuntary_switches else "")
            )
    return found


def _longest_wait(ranks: RankUse, most: int) -> str:
    """Who loses its core most often need not be who waits longest for it, and that is what costs time.

    Empty where nobody waited for so long that it is told apart from nothing.
    """
    waits = [wait_s or 0.0 for wait_s in ranks.runqueue_wait_s]
    longest = max(range(len(waits)), key=lambda at: waits[at])
    if waits[longest] < LEAST_S:
        return ""
    who = ", and it" if ranks.rank[longest] == most else f"; rank {ranks.rank[longest]}"
    return f"{who} waited longest for a core, {seconds_text(waits[longest])}"


def _system(ranks: RankUse) -> list[str]:
    shares = {
        rank: system / (user + system)
        for rank, user, system in zip(ranks.rank, ranks.user_s, ranks.system_s, strict=True)
        if user is not None and system is not None and user + system >= _LEAST_PROCESSOR_S
    }
    high = [rank for rank, share in shares.items() if share > _SYSTEM_SHARE]
    if not high:
        return []
    most = max(high, key=lambda rank: shares[rank])
    return [
        f"much processor time in the kernel: {shares[most] * 100:.0f} % of that of rank {most}"
        + _more(len(high) - 1, "rank", f"above {_SYSTEM_SHARE * 100:.0f} %")
    ]


def _turns(counters: Sequence[Counter]) -> list[str]:
    turns = [
        each.counter for each in counters if each.running_share is not None and each.running_share < _TURNS
    ]
    return [f"counters took turns, and what they counted is scaled: {', '.join(turns)}"] if turns else []


class _Nodes:
    """What stands out of nodes."""

    def __init__(self, recording: Recording, use: Use):
        self.recording, self.use = recording, use
        self.hosts = [host["host"] for host in recording.context["hosts"]]
        self.names = short_names(self.hosts)
        self.elapsed_s = recording.table("core_samples").select(pl.max("time_s")).item() or 0.0
        self.cores: dict[int | None, list[CoreUse]] = {}
        for core in use.cores:
            self.cores.setdefault(core.host, []).append(core)

    def sentences(self) -> list[str]:
        return [
            *self._lines(),
            *self._received(),
            *self._in_interrupts(),
            *self._stolen(),
        ]

    def _of(self, host: int | None) -> str:
        return "the machine" if host is None else self.names[host]

    def _limit(self, host: int | None, pus: int) -> float:
        """The share of one core that is far from what is even over all of them."""
        return max(0.5, min(2 / max(len(self.cores.get(host, ())), pus, 1), 0.8))

    def _ranks_on(self, host: int | None, pu: int) -> str:
        """`; rank 3 ran there`, of ranks that were seen on a PU."""
        on_host = {
            entry["rank"]
            for entry in self.recording.context["bindings"]
            if host is None or entry["host"] == self.hosts[host]
        }
        seen = self.recording.table("rank_use").filter(pl.col("ran_on").list.contains(pu))["rank"].to_list()
        ranks = sorted(on_host.intersection(seen))
        return f"; {ranks_text(ranks)} ran there" if ranks else ""

    def _steered(self, host: int | None, pu: int) -> str:
        """Whether the kernel hands packets on to a PU (RPS)."""
        rps = {
            each.interface
            for each in self.use.queues
            if each.how == "rps" and (host is None or each.host == host) and pu in _numbers(each.pus)
        }
        return f", which RPS of {', '.join(sorted(rps)[:4])} hands packets to" if rps else ""

    def _lines(self) -> list[str]:
        """The core that most interrupts of a network interface went to, where there were many."""
        by_device: dict[tuple[int | None, str], dict[int, int]] = {}
        for line in self.use.interrupts:
            if line.device is not None:
                counts = by_device.setdefault((line.host, line.device), {})
                for pu, count in zip(line.pus, line.counts, strict=True):
                    counts[pu] = counts.get(pu, 0) + count
        found = []
        for (host, device), counts in by_device.items():
            total, pu = sum(counts.values()), max(counts, key=lambda each: counts[each])
            if total > _PER_S * self.elapsed_s and counts[pu] > self._limit(host, len(counts)) * total:
                found.append((total, host, device, pu, counts[pu] / total))
        if not found:
            return []
        total, host, device, pu, share = max(found, key=lambda each: each[0])
        return [
            f"PU {pu} of {self._of(host)} took {share * 100:.0f} % of the {count_text(total)} interrupts of {device}"
            + self._ranks_on(host, pu)
            + _more(len(found) - 1, "interface", "with most interrupts on one core")
        ]

    def _received(self) -> list[str]:
        found = []
        for host, own in self.cores.items():
            work, what = self._work(own)
            total = sum(work.values())
            if len(own) > 1 and what:
                pu = max(work, key=lambda each: work[each])
                if work[pu] > self._limit(host, len(own)) * total:
                    found.append((work[pu] / total, total, host, pu, what))
        if not found:
            return []
        share, _, host, pu, what = max(found, key=lambda each: each[:2])
        return [
            f"PU {pu} of {self._of(host)} did {share * 100:.0f} % of the network's receive work ({what})"
            + self._steered(host, pu)
            + self._ranks_on(host, pu)
            + _more(len(found) - 1, "node", "likewise")
        ]

    def _work(self, own: Sequence[CoreUse]) -> tuple[Mapping[int, float], str]:
        """What each PU took in, and what was counted; no words where that is too little.

        NET_RX softirqs say it last: a core that only hands packets on to others has them as well.
        """
        packets = {core.pu: core.packets for core in own if core.packets is not None}
        if packets:
            return packets, self._enough(packets, "packets")
        net_rx = {core.pu: core.softirqs.get("NET_RX", 0) for core in own}
        time_s = {
            core.pu: core.softirq_share * self.elapsed_s for core in own if core.softirq_share is not None
        }
        if self._enough(net_rx, "NET_RX") and sum(time_s.values()) >= _LEAST_SOFTIRQ_S:
            return time_s, f"of {seconds_text(sum(time_s.values()))} in softirqs"
        return net_rx, self._enough(net_rx, "NET_RX")

    def _enough(self, counts: Mapping[int, int], what: str) -> str:
        total = sum(counts.values())
        return f"{count_text(total)} {what}" if total > _PER_S * self.elapsed_s else ""

    def _in_interrupts(self) -> list[str]:
        shares = [((core.irq_share or 0.0) + (core.softirq_share or 0.0), core) for core in self.use.cores]
        high = [(share, core) for share, core in shares if share > _INTERRUPT_SHARE]
        if not high:
            return []
        share, core = max(high, key=lambda each: each[0])
        nodes = len({core.host for _, core in high})
        above = f"of {counted(nodes, 'node')} above {_INTERRUPT_SHARE * 100:.0f} %"
        return [
            f"PU {core.pu} of {self._of(core.host)} was in interrupts for {share * 100:.0f} % of the time"
            + self._ranks_on(core.host, core.pu)
            + _more(len(high) - 1, "PU", above)
        ]

    def _stolen(self) -> list[str]:
        by_host = {
            host: max((core.steal_share or 0.0 for core in own), default=0.0)
            for host, own in self.cores.items()
        }
        high = [host for host, share in by_host.items() if share > _STEAL_SHARE]
        if not high:
            return []
        most = max(high, key=lambda host: by_host[host])
        return [
            f"up to {by_host[most] * 100:.0f} % of a core's time on {self._of(most)} was taken by the host of the VM "
            "(steal)" + _more(len(high) - 1, "node", f"above {_STEAL_SHARE * 100:.0f} %")
        ]


def _more(count: int, noun: str, what: str) -> str:
    return f"; {counted(count, f'more {noun}')} {what}" if count else ""


def _numbers(text: str | None) -> set[int]:
    """Of `0-3 8`."""
    found: set[int] = set()
    for part in (text or "").split():
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found
