# SPDX-License-Identifier: BSD-3-Clause
"""Reports of as many ranks as are asked for, without a run: the numbers are drawn at random, so that none are alike."""

import msgspec
import numpy as np

from rankwise.placement.distribution import CommMatrix
from rankwise.report import data
from rankwise.report.data import communication, map, over_time
from rankwise.report.matrix import detailed

PER_NODE = 64


def enlarged(report: data.ReportData, ranks: int) -> data.ReportData:
    """The report of a small run with other columns by rank, other pairs, and nodes of 64 cores."""
    chance = np.random.default_rng(0)
    per_node = min(PER_NODE, ranks // 4)
    nodes = -(-ranks // per_node)
    hosts = [f"node{at:05}" for at in range(nodes)]
    parts = chance.random((6, ranks))
    whole = parts.sum(axis=0)
    # Few ranks send to all, many to six others: each is about the most pairs that a page has.
    source, step = (each.ravel() for each in np.indices((ranks, ranks if ranks <= 256 else 6)))
    destination = (source + step * (ranks // step.max())) % ranks
    kind = map.NodeKind(
        pus=[[core, core + per_node] for core in range(per_node)],
        packages=[core * 2 // per_node for core in range(per_node)],
        numa_nodes=[core * 4 // per_node for core in range(per_node)],
        caches=[map.CacheLevel("L3", [core * 8 // per_node for core in range(per_node)])],
    )

    def node(at: int) -> map.MapNode:
        own = list(range(at * per_node, min((at + 1) * per_node, ranks)))
        sizes = [int(size) for size in chance.integers(1, 10**9, 5)]
        return map.MapNode(
            hosts[at], 0, own, [[each] for each in range(len(own))], *sizes[:3],
            [map.NodeInterface("eth0", *sizes[3:])], [0],
        )  # fmt: skip

    def random_like(columns: msgspec.Struct) -> msgspec.Struct:
        made = {}
        for name, kind in columns.__annotations__.items():
            if "list[list" in kind:
                made[name] = [[1, 2]] * ranks
            elif "float" in kind:
                made[name] = chance.random(ranks).tolist()
            elif "int" in kind:
                made[name] = chance.integers(0, 10**6, ranks).tolist()
            else:
                made[name] = ["0-3" if "str" in kind else False] * ranks
        return msgspec.structs.replace(columns, **made | {"rank": list(range(ranks))})

    near = [(at, (at + step) % nodes) for at in range(nodes) for step in range(min(nodes, 8))]
    links = map.NodeLinks(
        *(list(ends) for ends in zip(*near, strict=True)),
        *(chance.integers(1, 10**9, len(near)).tolist() for _ in range(2)),
        left_out=0,
    )
    pairs = len(source)

    def numbers(count: int) -> list[int]:
        return chance.integers(1, 10**9, count).tolist()

    def part(name: str, kind: str, every: int, timed: bool) -> communication.MatrixPart:
        places = list(range(0, pairs, every))
        return communication.MatrixPart(
            name, kind, places, numbers(len(places)), numbers(len(places)),
            chance.random(len(places)).tolist() if timed else None,
        )  # fmt: skip

    in_parts = [
        part("point-to-point", "point-to-point", 1, True),
        part("collective", "collective", 3, False),
        part("MPI_COMM_WORLD", "communicator", 9, False),
    ]
    host = [rank // per_node for rank in range(ranks)]
    return msgspec.structs.replace(
        report,
        program=msgspec.structs.replace(
            report.program, world_size=ranks, hosts=hosts, elapsed_s=float(whole.max())
        ),
        ranks=msgspec.structs.replace(random_like(report.ranks), host=host, time_s=whole.tolist()),
        time=data.TimeParts(*(part.tolist() for part in parts), why_not_split=None),
        matrix_parts=communication.MatrixParts(in_parts, ["what nobody knows"]),
        pair_waits=communication.PairWaits(
            1, source.tolist(), destination.tolist(), chance.random(pairs).tolist(), numbers(pairs),
            [communication.WorstPair(1, 2, 3.0, 4, "MPI_Recv", 2.0)], [(2, 3.0)],
        ),
        sizes=communication.MessageSizes(
            "as it ran", ["L3", "package", "node", "network"], [0] + [2**at for at in range(23)],
            *(chance.integers(1, 10**9, (4, 24)).tolist() for _ in range(4)), chance.random((4, 24)).tolist(),
            chance.integers(0, 2, (4, 24)).tolist(), chance.integers(1, 10**10, (4, 24)).tolist(), None,
        ),
        over_time=over_time.OverTime(
            12.5, *chance.dirichlet([4, 2, 3, 2, 1], 240).T.tolist(), -(-ranks // 256),
            ["".join(row) for row in chance.choice(list("cqwto"), (-(-ranks // -(-ranks // 256)), 240))],
            over_time.Iterations(
                0, "MPI_Send to rank 1", 12, 2000,
                *(np.arange(at, 12.5, 0.00625)[:1999].tolist() for at in (0, 0.00625)), [1] * 1999,
                *(chance.random(1999).tolist() for _ in range(2)), 0.5, 0.25, 0.75,
            ),
            None,
        ),
        call_sites=[
            data.CallSite(
                "MPI_Send", f"/lib/{at % 3}.so", at, f"call_{at % 40}", "_Z", "a.c", at, at + 1, at / 10, 8 * at, 0.1
            )
            for at in range(400)
        ],
        matrix=communication.CommMatrix(
            ranks, 1, source.tolist(), destination.tolist(),
            *(chance.integers(1, 10**9, len(source)).tolist() for _ in range(2)),
        ),
        map=map.Map([kind], [map.PlacedMap("as it ran", [node(at) for at in range(nodes)], links)]),
        use=msgspec.structs.replace(
            report.use,
            ranks=random_like(report.use.ranks),
            counters=[
                msgspec.structs.replace(counter, count=chance.random(ranks).tolist())
                for counter in report.use.counters
            ],
        ),
    )  # fmt: skip


def halo(report: data.ReportData, ranks: int, pairs: int) -> data.ReportData:
    """An enlarged report whose ranks have 26 neighbours in a grid of 16 by 16 by n, or so many that are nearest."""
    large, rank = enlarged(report, ranks), np.arange(ranks)
    steps = [x + 16 * y + 256 * z for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if x or y or z]
    steps = steps if pairs == 26 else list(range(1, pairs + 1))
    destination = np.concatenate([(rank + step) % ranks for step in steps])
    many = np.ones(len(destination), np.int64)
    found = detailed(
        CommMatrix(np.tile(rank, len(steps)), destination, many, many, 1000 * many), large.ranks.host
    )
    return msgspec.structs.replace(
        large, matrix=found, matrix_parts=communication.MatrixParts([], []), pair_waits=None
    )
