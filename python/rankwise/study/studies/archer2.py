# SPDX-License-Identifier: BSD-3-Clause
"""Three orders of ranks within ARCHER2's nodes, predicted from ping-pongs of one pair a channel, beside IMB's times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rankwise.study.full_nodes import Call, FullNodes, Predicted
from rankwise.study.measured import measured
from rankwise.study.ordering import Orders, Pair, median_error
from rankwise.study.platforms import platforms
from rankwise.study.request import Request
from rankwise.study.result import Cell, Figure, Series, StudyResult, Table, Target, microseconds
from rankwise.study.run.kept import KeptPredictions
from rankwise.study.run.placed_calls import order_that_is_placed

SUMMARY = "three orders of ranks in ARCHER2's nodes, beside what was measured"
CLAIMS = ()
TAKES: tuple[str, ...] = ("--ranks",)
MODES = ("machine",)

ORDERS = ("cores", "cyclic", "rank")
UP_TO_BYTES = 64 << 10
"""Up to here rings are judged by time; above, ranks share caches and memory that no ping-pong shows."""
USUAL_RANKS = 512
"""Collectives are predicted on so many at most, unless ranks are asked for."""
LIBRARIES = ("cray", "mpich")
"""Whose rules choose the algorithms of collectives (docs/internals/collectives.md)."""
SMALL, LARGE, BY_CRAY, BY_MPICH = (
    "Sendrecv up to 64 KiB",
    "Sendrecv above",
    "collectives by Cray MPICH's rules",
    "collectives by MPICH's rules",
)
MISSING = [
    "what a message costs while other ranks of the node send theirs is not in a ping-pong: small messages of rings take"
    " about half as long as they were measured, in both orders",
    "why many small messages of one call (Alltoallv) take half again as long on one node, and three times as long on"
    " four, where consecutive ranks are on different NUMA nodes",
    "a cache that is just full (2 MiB a message) is taken to hold everything: there `rank` was slower than `cores`",
    "up to which size Cray MPICH gathers and broadcasts is not published: read off the steps of the measured curves,"
    " at 32 KiB of all blocks together for 128, 512 and 2048 ranks",
]


@dataclass(frozen=True)
class Time:
    """A time of a call in an order, measured and predicted."""

    measured_s: float
    predicted: Predicted

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
    known = {key: time_s for key, time_s in known.items() if _is_asked(key[0], request)}
    calls = dict.fromkeys(call for call, _ in known)
    kept = KeptPredictions(request.directory, Predicted, platform.machine)
    parts: dict[str, Times] = {SMALL: {}, LARGE: {}, BY_CRAY: {}, BY_MPICH: {}}
    for at, call in enumerate(calls):
        request.progress(f"{call.benchmark} of {call.bytes} bytes on {call.nodes} nodes", at / len(calls))
        for library in LIBRARIES if call.benchmark != "sendrecv" else ("cray",):
            for order in [order for order in ORDERS if (call, order) in known]:
                predicted = kept.get(nodes.predict, call, _alike(order), library)
                parts[_part(call, library)][call, order] = Time(known[call, order], predicted)
    orders = KeptPredictions(request.directory, str, platform.machine)
    placed = {}

    def placed_order(call: Call) -> str:
        return order_that_is_placed(nodes, call)

    for call in calls:
        if call.nodes == 1:
            request.progress(f"placing {call.benchmark} of {call.bytes} bytes", 1.0)
            placed[call] = orders.get(placed_order, call)
    return result(platform.name, {name: times for name, times in parts.items() if times}, placed)


def result(on: str, parts: dict[str, Times], placed: dict[Call, str]) -> StudyResult:
    """What is found.

    Args:
        on: Name of the machine.
        parts: Times by what they are of.
        placed: The order that `place` chose for calls on one node.
    """
    rings = parts.get(SMALL, {}) | parts.get(LARGE, {})
    collectives = parts.get(BY_CRAY, {})
    choices = _choices(rings | collectives, placed)
    small = parts.get(SMALL, {})
    said = "; ".join(f"{name} {Orders.of(_pairs(times))}" for name, times in parts.items())
    return StudyResult(
        study="archer2",
        title="Orders of ranks within the nodes of ARCHER2",
        on=[on],
        how="predicted",
        verdict=f"Orders that are right: {said}. Sendrecv up to 64 KiB is off by"
        f" {100 * _error(small.values()):.0f} % in the median; two runs with the ranks on the same cores differ by"
        f" {100 * _runs_apart(small):.0f} %. `place` chooses the faster order in {choices.right} of"
        f" {choices.different} calls on one node whose orders differ.",
        targets=_targets(small, collectives, choices),
        tables=[
            _with_rule(_summary("Orders and errors", parts), collectives),
            _summary("Collectives by Cray MPICH's rules", _by_benchmark(collectives)),
            choices.table,
            _rows("Sendrecv", rings),
            _rows("Collectives by Cray MPICH's rules, each", collectives),
        ],
        figures=[_figure(rings, count) for count in sorted({call.nodes for call, _ in rings})],
        missing=MISSING,
    )


def _part(call: Call, library: str) -> str:
    if call.benchmark == "sendrecv":
        return SMALL if call.bytes <= UP_TO_BYTES else LARGE
    return BY_CRAY if library == "cray" else BY_MPICH


def _targets(small: Times, collectives: Times, choices: Choices) -> list[Target]:
    rings, others = Orders.of(_pairs(small)), Orders.of(_pairs(collectives))
    return [
        Target.of(f"{SMALL}: orders right", _percent(rings.right, rings.different), "at least", 100),
        Target.of(f"{SMALL}: median error", round(100 * _error(small.values()), 1), "at most", 20),
        Target.of("collectives: orders right", _percent(others.right, others.different), "at least", 90),
        Target.of(
            "collectives: no difference said where there is none",
            _percent(others.said_same, others.same),
            "at least",
            90,
        ),
        Target.of(
            "`place` chooses the faster order", _percent(choices.right, choices.different), "at least", 100
        ),
    ]


def _percent(part: int, of: int) -> float | None:
    return round(100 * part / of, 1) if of else None


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
        error = round(_error(times.values()), 3)
        rows.append([name, orders.right, orders.different, orders.said_same, orders.same, error])
    columns = ["", "orders right", "of", "no difference said", "where none", "median error"]
    notes = [
        "times are different if `rank` differs by more than 10 % from `cores` and from `cyclic`, which are two runs"
        " with the ranks on the same cores"
    ]
    return Table(title, columns, rows, notes)


def _with_rule(summary: Table, collectives: Times) -> Table:
    """The table with what a rule does that knows nothing: that `rank` is always faster."""
    rule = Orders.of(Pair(pair.measured, math.inf) for pair in _pairs(collectives))
    row: list[Cell] = [
        "collectives by the rule that `rank` is faster",
        rule.right,
        rule.different,
        rule.said_same,
        rule.same,
        None,
    ]
    return Table(summary.title, summary.columns, [*summary.rows, row], summary.notes)


@dataclass(frozen=True)
class Choices:
    """What `place` chose of two orders.

    Attributes:
        right: Calls whose orders differ and of which the faster one was chosen.
        different: Calls whose orders differ.
        table: By benchmark.
    """

    right: int
    different: int
    table: Table


def _choices(times: Times, placed: dict[Call, str]) -> Choices:
    rows: list[list[Cell]] = []
    for name in dict.fromkeys(call.benchmark for call in placed):
        own = {key: time for key, time in times.items() if key[0].benchmark == name and key[0] in placed}
        pairs = dict(zip(dict.fromkeys(call for call, _ in own), _pairs(own), strict=True))
        clear = {call: pair for call, pair in pairs.items() if pair.differs}
        right = sum((placed[call] == "rank") == (pair.measured > 1) for call, pair in clear.items())
        longest = max(own[call, placed[call]].measured_s / _least_s(own, call) for call in pairs)
        rows.append([name, right, len(clear), round(longest, 3)])
    columns = ["pattern", "faster order chosen", "of", "longest by the fastest"]
    notes = [
        "`place` begins with the ranks in the order `cores`, on one node, and has `rank` to choose",
        "counted are calls whose orders differ by more than 10 %; longest: of all calls, what the chosen order took",
    ]
    table = Table("What `place` chooses", columns, rows, notes)
    return Choices(sum(int(row[1] or 0) for row in rows), sum(int(row[2] or 0) for row in rows), table)


def _least_s(times: Times, call: Call) -> float:
    return min(times[call, order].measured_s for order in ORDERS if (call, order) in times)


def _rows(title: str, times: Times) -> Table:
    rows: list[list[Cell]] = [
        [
            call.benchmark,
            call.nodes,
            call.bytes,
            order,
            microseconds(time.measured_s),
            microseconds(time.predicted.time_s),
            round(time.ratio, 3),
            time.predicted.where,
            time.predicted.decides,
        ]
        for (call, order), time in times.items()
    ]
    columns = ["call", "nodes", "bytes", "order", "measured (us)", "predicted (us)", "ratio"]
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
        series.append(Series(order, sizes, [microseconds(time.predicted.time_s) for time in of.values()]))
        series.append(
            Series(f"{order}, measured", sizes, [microseconds(time.measured_s) for time in of.values()], True)
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
