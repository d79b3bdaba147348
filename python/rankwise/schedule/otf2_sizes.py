# SPDX-License-Identifier: BSD-3-Clause
"""Blocks of collectives from the bytes sent and received that an OTF2 trace states for each call.

Score-P counts what a rank would send and receive if all exchanged directly (its `scorep_mpi_coll_bytes`): an allreduce
of b bytes on n ranks is n b sent and n b received, (n - 1) b if in place. What other ranks' records tell (lengths of a
gatherv) is taken from them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from rankwise.errors import RankwiseError

_MOST_BYTES = 1 << 40
_KNOWN = (
    *("barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall"),
    *(
        "alltoallv",
        "alltoallw",
        "reduce",
        "allreduce",
        "reduce_scatter",
        "reduce_scatter_block",
        "scan",
        "exscan",
    ),
)


class Blocks:
    """Arguments of `ProgramBuilder.collective` for calls of all ranks.

    Args:
        members: World ranks of each communicator.
        omitted: Gets what had to be assumed.
    """

    def __init__(self, members: Mapping[int, list[int]], omitted: dict[str, int]):
        self._members, self._omitted = members, omitted
        self._noted: dict[tuple[int, str, int], list[tuple[int, int]]] = {}
        self._count: dict[tuple[int, int, str], int] = defaultdict(int)  # calls noted, by rank
        self._used: dict[tuple[int, int, str], int] = defaultdict(int)
        self._index = {comm: {rank: at for at, rank in enumerate(group)} for comm, group in members.items()}

    def note(self, rank: int, name: str, comm: int, root: int, sent: int, received: int) -> None:
        """A call that `arguments` will be asked for; all ranks' first."""
        at = self._index.get(comm, {}).get(rank)
        if at is None:
            return
        k = self._count[rank, comm, name]
        self._count[rank, comm, name] += 1
        ranks = self._noted.setdefault((comm, name, k), [(0, 0)] * len(self._members[comm]))
        ranks[at] = (sent, received)

    def arguments(
        self, rank: int, name: str, comm: int, root: int, sent: int, received: int
    ) -> dict[str, Any] | None:
        """Arguments for one call; `None` for records that move no data."""
        if name not in _KNOWN:
            if sent or received:
                self._omitted[f"collectives of the kind `{name}`"] += 1
            return None
        me, n = self._index[comm].get(rank, 0), len(self._members[comm])
        k = self._used[rank, comm, name]
        self._used[rank, comm, name] += 1
        ranks = self._noted.get((comm, name, k), [(sent, received)] * n)
        out = self._of(name, me, n, root, sent, received, ranks)
        if any(value > _MOST_BYTES for value in [out.get("bytes", 0), *out.get("sizes", [])]):
            raise RankwiseError(
                f"rank `{rank}`: a {name} of more than {_MOST_BYTES} bytes",
                "the trace is damaged; write it again",
            )
        return out

    def _of(
        self, name: str, me: int, n: int, root: int, sent: int, received: int, ranks: list[tuple[int, int]]
    ) -> dict[str, Any]:
        if name == "barrier":
            return {}
        if name == "bcast":
            return {"bytes": received, "root": root}
        if name in ("gather", "reduce", "gatherv"):
            own = sent or (received // max(n - 1, 1) if me == root and name != "gatherv" else 0)
            out = {"bytes": own, "root": root}
            if name == "gatherv" and me == root:
                out |= _lengths([each for each, _ in ranks])
            return out
        if name in ("scatter", "scatterv"):
            own = received or (sent // max(n - 1, 1) if me == root and name == "scatter" else 0)
            out = {"bytes": own, "root": root}
            if name == "scatterv" and me == root:
                out |= _lengths([each for _, each in ranks])
            return out
        if name in ("allgather", "alltoall", "allreduce", "reduce_scatter_block"):
            return {"bytes": _share(sent, n)}
        if name == "allgatherv":
            return {"bytes": _share(sent, n)} | _lengths([_share(each, n) for each, _ in ranks])
        if name == "reduce_scatter":
            return {"bytes": _share(received, n)} | _lengths([_share(each, n) for _, each in ranks])
        if name in ("alltoallv", "alltoallw"):
            self._omitted["alltoallv whose blocks are taken to be of one length"] += 1
            return {
                "bytes": sent,
                "sizes": [sent // n] * n,
                "receive_sizes": [each // n for each, _ in ranks],
            }
        block = sent // (n - me)
        if name == "scan" and (block * (n - me), block * (me + 1)) == (sent, received):
            return {"bytes": block}
        return {"bytes": (sent + received) // max(n - 1, 1)}  # in place, and exscan: none to oneself


def _share(total: int, n: int) -> int:
    """One of n equal blocks; of n - 1 if it was in place and n does not divide it."""
    if total % n and n > 1 and total % (n - 1) == 0:
        return total // (n - 1)
    return total // n


def _lengths(sizes: list[int]) -> dict[str, Any]:
    return {"sizes": sizes, "total_bytes": sum(sizes)}
