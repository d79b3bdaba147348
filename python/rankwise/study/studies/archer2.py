# SPDX-License-Identifier: BSD-3-Clause
"""Three orders of ranks within ARCHER2's nodes, predicted from ping-pongs of one pair a channel, beside IMB's times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from rankwise.study.full_nodes import Call, FullNodes, Predicted
from rankwise.study.measured import measured
from rankwise.study.ordering import Orders, Pair, median_error
from rankwise.study.platforms import platforms
from rankwise.study.request import Request
from rankwise.study.result import Cell, Figure, Series, StudyResult, Table

SUMMARY = "three orders of ranks in ARCHER2's nodes, beside what was measured"
CLAIMS = ()
TAKES: tuple[str, ...] = ("--ranks",)
MODES = ("machine",)

ORDERS = ("cores", "cyclic", "rank")
UP_TO_BYTES = 64 << 10
"""Up to here rings are judged by time; above, ranks share caches and memory that no ping-pong shows."""
USUAL_RANKS = 512
"""Collectives are predicted on so many at most, unless ranks are asked for."""
ALGORITHMS = {
    "allgather": ("ring", "recursive_doubling", "bruck"),
    "allgatherv": ("ring", "recursive_doubling", "bruck"),
    "allreduce": ("recursive_doubling", "rabenseifner"),
    "alltoall": ("bruck", "linear", "pairwise"),
    "alltoallv": ("linear", "pairwise"),
}
"""MPICH's. Which one Cray's library took is not known."""
MISSING = [
    "what a message costs while other ranks of the node send theirs is not in a ping-pong: small messages, and those"
    " that are copied once (8 to 64 KiB), take half as long or less than they were measured",
    "a cache that is just full (2 MiB a message) is taken to hold everything: there `rank` was slower than `cores`",
    "collectives of Cray MPICH that go through memory of all ranks of a node are not MPICH's algorithms",
]


@dataclass(frozen=True)
class Time:
    """A time of a call in an order, measured and predicted."""

    measured_s: float
    predicted: Predicted
    algorithm: str

    @property
    def ratio(self) -> float:
        """Predicted over measured."""
        return self.predicted.time_s / self.measured_s


Times = dict[tuple[Call, str], Time]


def run(request: Request) -> StudyResult:
    """The study.

    Raises:
        RankwiseError: The machine's nodes have not 128 cores, or nothing was measured on the number of ranks.
    """
    known = {(call, order): time_s for call, order, time_s in _measured()}
    request.check_measured(call.ranks for call, _ in known)
    platform = platforms(request, "archer2")[0]
    nodes = FullNodes(platform)
    rings: Times = {}
    rules: Times = {}
    nearest: Times = {}
    for (call, order), time_s in known.items():
        if not _is_asked(call, request):
            continue
        request.progress(f"{call.benchmark} of {call.bytes} bytes on {call.nodes} nodes, {order}")
        by_rules = Time(time_s, nodes.predict(call, _alike(order)), "")
        if call.benchmark == "sendrecv":
            rings[call, order] = by_rules
            continue
        rules[call, order] = by_rules
        name = _nearest(nodes, call, known)
        nearest[call, order] = (
            Time(time_s, nodes.predict(call, _alike(order), name), name) if name else by_rules
        )
    up_to = {key: time for key, time in rings.items() if key[0].bytes <= UP_TO_BYTES}
    above = {key: time for key, time in rings.items() if key[0].bytes > UP_TO_BYTES}
    parts = {
        "Sendrecv up to 64 KiB": up_to,
        "Sendrecv above": above,
        "collectives by MPICH's rules": rules,
        "collectives by MPICH's nearest algorithm": nearest,
    }
    return StudyResult(
        study="archer2",
        title="Orders of ranks within the nodes of ARCHER2",
        on=[platform.name],
        how="predicted",
        verdict="Orders that are right: "
        + "; ".join(f"{name} {Orders.of(_pairs(times))}" for name, times in parts.items())
        + f". Sendrecv up to 64 KiB is off by {100 * _error(up_to.values()):.0f} % in the median; two runs with the"
        f" ranks on the same cores differ by {100 * _runs_apart(up_to):.0f} %.",
        tables=[
            _summary("Orders and errors", parts),
            _summary("Collectives by MPICH's nearest algorithm", _by_benchmark(nearest)),
            _chosen(rings | nearest),
            _rows("Sendrecv", rings),
            _rows("Collectives by MPICH's nearest algorithm", nearest),
        ],
        figures=[_figure(rings, count) for count in sorted({call.nodes for call, _ in rings})],
        missing=MISSING,
    )


def _alike(order: str) -> str:
    """The order under which the ranks are on the same cores."""
    return "rank" if order == "rank" else "cores"


def _measured() -> Iterator[tuple[Call, str, float]]:
    """Calls with an order and the mean time over the ranks."""
    for row in measured("archer2_orders").sort("benchmark", "nodes", "bytes", "order").iter_rows(named=True):
        call = Call(row["benchmark"].lower(), row["nodes"], row["ranks"], row["bytes"])
        yield call, row["order"], row["t_avg_us"] * 1e-6


def _is_asked(call: Call, request: Request) -> bool:
    """Collectives of 2048 ranks are millions of messages; they are left out unless they are asked for."""
    if request.ranks is not None:
        return call.ranks == request.ranks
    return call.benchmark == "sendrecv" or call.ranks <= USUAL_RANKS


def _nearest(nodes: FullNodes, call: Call, known: dict[tuple[Call, str], float]) -> str:
    """MPICH's algorithm whose time is nearest to that of one node in the order `rank`; empty if it was not measured."""
    one = replace(call, nodes=1, ranks=call.ranks // call.nodes)
    time_s = known.get((one, "rank"))
    if time_s is None:
        return ""
    return min(
        ALGORITHMS[call.benchmark],
        key=lambda name: abs(math.log(nodes.predict(one, "rank", name).time_s / time_s)),
    )


def _pairs(times: Times) -> list[Pair]:
    """Of each call both placements: `cores` and `cyclic` are two runs of one, `rank` is the other.

    They differ if `rank` differs from both runs in the same direction; by how much says the nearer one.
    """
    pairs = []
    for call in dict.fromkeys(call for call, _ in times):
        known = {order: times[call, order] for order in ORDERS if (call, order) in times}
        runs = [known[order].measured_s / known["rank"].measured_s for order in ("cores", "cyclic")]
        nearer = min(runs, key=lambda ratio: abs(math.log(ratio)))
        is_clear = all(ratio > 1 for ratio in runs) or all(ratio < 1 for ratio in runs)
        predicted = known["cores"].predicted.time_s / known["rank"].predicted.time_s
        pairs.append(Pair(nearer if is_clear else 1.0, predicted))
    return pairs


def _runs_apart(times: Times) -> float:
    """How far the two runs of one placement are apart, in the median."""
    return median_error(
        time.measured_s / times[call, "cyclic"].measured_s
        for (call, order), time in times.items()
        if order == "cores"
    )


def _error(times: Iterable[Time]) -> float:
    return median_error(time.ratio for time in times)


def _by_benchmark(times: Times) -> dict[str, Times]:
    names = dict.fromkeys(call.benchmark for call, _ in times)
    return {
        f"{name} {words}": part
        for name in names
        for words, few in (("up to 2 KiB", True), ("above", False))
        if (
            part := {
                key: time
                for key, time in times.items()
                if key[0].benchmark == name and (key[0].bytes <= 2048) == few
            }
        )
    }


def _summary(title: str, parts: dict[str, Times]) -> Table:
    rows: list[list[Cell]] = []
    for name, times in parts.items():
        orders = Orders.of(_pairs(times))
        rows.append(
            [
                name,
                orders.right,
                orders.different,
                orders.said_same,
                orders.same,
                round(_error(times.values()), 3),
            ]
        )
    columns = ["", "orders right", "of", "no difference said", "of", "median error"]
    notes = [
        "times are different if `rank` differs by more than 10 % from `cores` and from `cyclic`, which are two runs"
        " with the ranks on the same cores"
    ]
    return Table(title, columns, rows, notes)


def _chosen(times: Times) -> Table:
    """The order whose time is predicted to be least, as `place` judges placements, beside the fastest."""
    rows: list[list[Cell]] = []
    for name in dict.fromkeys(call.benchmark for call, _ in times):
        calls = [call for call in dict.fromkeys(call for call, _ in times) if call.benchmark == name]
        losses = []
        for call in calls:
            orders = [order for order in ORDERS if (call, order) in times]
            chosen = min(orders, key=lambda order: times[call, order].predicted.time_s)
            least_s = min(times[call, order].measured_s for order in orders)
            losses.append(times[call, chosen].measured_s / least_s)
        good = sum(loss <= 1.1 for loss in losses)
        rows.append([name, good, len(losses), round(max(losses), 3)])
    columns = ["pattern", "chosen order is the fastest or within 10 % of it", "of", "longest by the fastest"]
    return Table("What `place` would choose among the orders", columns, rows)


def _rows(title: str, times: Times) -> Table:
    rows: list[list[Cell]] = [
        [
            call.benchmark,
            call.nodes,
            call.bytes,
            order,
            time.algorithm or None,
            time.measured_s * 1e6,
            round(time.predicted.time_s * 1e6, 2),
            round(time.ratio, 3),
            time.predicted.where,
            time.predicted.decides,
        ]
        for (call, order), time in times.items()
    ]
    columns = ["call", "nodes", "bytes", "order", "algorithm", "measured (us)", "predicted (us)", "ratio"]
    return Table(title, [*columns, "bytes come from", "what decides"], rows)


def _figure(times: Times, nodes: int) -> Figure:
    series = []
    for order in ("cores", "rank"):
        of = {
            call.bytes: time
            for (call, each), time in times.items()
            if call.nodes == nodes and each == order and call.bytes
        }
        sizes = [float(size) for size in of]
        series.append(Series(order, sizes, [time.predicted.time_s * 1e6 for time in of.values()]))
        series.append(
            Series(f"{order}, measured", sizes, [time.measured_s * 1e6 for time in of.values()], True)
        )
    return Figure(
        name=f"archer2-sendrecv-{nodes}",
        title=f"Sendrecv on {nodes} full nodes",
        x_label="bytes",
        y_label="time of an iteration (us)",
        series=series,
        x_scale="log",
        y_scale="log",
    )
