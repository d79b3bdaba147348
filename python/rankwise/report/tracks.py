# SPDX-License-Identifier: BSD-3-Clause
"""What happened when, a track for each rank, core and interface: the timeline of what was sampled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from rankwise.recording import Recording
from rankwise.report.nodes import of_machines
from rankwise.report.use_data import MOST_TRACKS, Timeline, Track

_MOST_PIECES = 60
_Floats = npt.NDArray[np.float64]


def timeline(recording: Recording) -> Timeline | None:
    """Tracks on one axis of time, the busiest of each kind; `None` where nothing was sampled between start and end.

    There are no more pieces than intervals between samples, and between two samples what is counted grows evenly.
    """
    ranks, (cores, machines) = recording.table("rank_samples"), of_machines(recording, "core_samples")
    interfaces, ports = recording.table("interface_samples"), recording.table("port_samples")
    sampled = [(frame, key) for frame, key in ((ranks, ["rank"]), (cores, ["host", "pu"])) if len(frame)]
    most_rows = max((_most(frame.group_by(key).len()["len"]) for frame, key in sampled), default=0)
    end_s = max((_most(frame["time_s"]) for frame, _ in sampled), default=0)
    if most_rows < 3 or end_s <= 0:
        return None
    edges = np.linspace(0, end_s, min(int(most_rows) - 1, _MOST_PIECES) + 1)
    hosts = {host["host"]: at for at, host in enumerate(recording.context["hosts"])}
    sums = {
        "interfaces": _both_ways(interfaces, ("rx_bytes", "tx_bytes"), ("host", "interface")),
        "memory": _both_ways(
            of_machines(recording, "memory_samples")[0], ("read_bytes", "written_bytes"), ("host", "pu")
        ),
        "ports": _both_ways(ports, ("rx_bytes", "tx_bytes"), ("host", "port")),
    }
    found = [
        *_busiest(_waits(ranks, hosts, recording, edges)),
        *_busiest(_by(cores, ("host", "pu"), "interrupts", "interrupts", "PU {}", machines, edges)),
        *_busiest(_by(cores, ("host", "pu"), "net_rx", "NET_RX", "PU {}", machines, edges)),
        *_busiest(_by(sums["interfaces"], ("host", "interface"), "bytes", "bytes", "{}", hosts, edges)),
        *_busiest(
            _by(
                sums["memory"], ("host", "pu"), "bytes", "bytes of memory", "socket of PU {}", machines, edges
            )
        ),
        *_busiest(_by(sums["ports"], ("host", "port"), "bytes", "bytes of ports", "{}", hosts, edges)),
    ]
    # Of nodes that are emulated on one machine, whose hosts cannot be told apart, one stands for all.
    apart = list({(track.kind, track.host, track.of): track for track in reversed(found)}.values())[::-1]
    return Timeline(edges_s=edges.tolist(), tracks=apart) if apart else None


def _both_ways(frame: pl.DataFrame, ways: tuple[str, str], key: tuple[str, str]) -> pl.DataFrame:
    """With `bytes`, the sum of two columns, null where one is; one that is null throughout is not counted there."""
    ever = [pl.col(way).is_not_null().any().over(key) for way in ways]
    parts = [pl.when(known).then(pl.col(way)).otherwise(0.0) for way, known in zip(ways, ever, strict=True)]
    return frame.with_columns(bytes=pl.when(ever[0] | ever[1]).then(parts[0] + parts[1]))


def _most(column: pl.Series) -> float:
    return float(column.cast(pl.Float64).to_numpy().max())


def _rates(time: _Floats, column: _Floats, edges: _Floats) -> list[float | None]:
    """Per second in each piece; `None` before the first and behind the last sample that knows it."""
    known = ~np.isnan(column)
    if known.sum() < 2:
        return [None] * (len(edges) - 1)
    time, column = time[known], column[known]
    rates = np.diff(np.interp(edges, time, column)) / np.diff(edges)
    middle = (edges[:-1] + edges[1:]) / 2
    inside = (middle >= time[0]) & (middle <= time[-1])
    return [float(rate) if there else None for rate, there in zip(rates, inside, strict=True)]


def _by(
    frame: pl.DataFrame,
    key: tuple[str, str],
    column: str,
    kind: str,
    name: str,
    hosts: Mapping[str, int | None],
    edges: _Floats,
) -> Iterator[Track]:
    """A track for each row of the key, its first part being the host."""
    for (host, of), rows in frame.group_by(key, maintain_order=True):
        rates = _rates(rows["time_s"].to_numpy(), rows[column].cast(pl.Float64).to_numpy(), edges)
        yield Track(
            kind=kind, host=hosts.get(str(host), 0), of=name.format(of), per_s=rates, pu=None, moves_s=[]
        )


def _waits(
    samples: pl.DataFrame, hosts: dict[str, int], recording: Recording, edges: _Floats
) -> Iterator[Track]:
    """Of each rank, the part of the time that its first thread waited for a core, and where it was."""
    host_of = dict(recording.ranks.select("rank", "host").iter_rows())
    for (rank,), rows in samples.group_by("rank", maintain_order=True):
        time = rows["time_s"].to_numpy()
        pus = rows["pu"].to_list()
        at = np.clip(np.searchsorted(time, edges[1:], side="right") - 1, 0, None)
        yield Track(
            kind="waiting for a core",
            host=hosts.get(host_of.get(rank, ""), 0),
            of=f"rank {rank}",
            per_s=_rates(time, rows["runqueue_wait_s"].cast(pl.Float64).to_numpy(), edges),
            pu=[pus[each] for each in at.tolist()],
            moves_s=[
                float(time[each])
                for each in range(1, len(pus))
                if None not in (pus[each - 1], pus[each]) and pus[each - 1] != pus[each]
            ],
        )


def _busiest(tracks: Iterator[Track]) -> list[Track]:
    """Of many those with the most, in their order; without those that are known to be nothing all the time."""
    found = [track for track in tracks if any(track.per_s) or track.moves_s]
    most = sorted(found, key=lambda track: -max((value or 0.0 for value in track.per_s), default=0.0))
    kept = {id(track) for track in most[:MOST_TRACKS]}
    return [track for track in found if id(track) in kept]
