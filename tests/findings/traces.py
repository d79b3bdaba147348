# SPDX-License-Identifier: BSD-3-Clause
"""Exact traces written by hand, in milliseconds, of ranks that have a core each."""

from raw_writer import FINALIZED, TRACED, Rank, u, write_recording, z
from saved_topology import save_topology

from rankwise.recording import Recording

MS = 1_000_000


class Traced(Rank):
    """A rank of which each call says how long it computed before and how long the call took; `run_ns` follows them."""

    requests = 0
    at_ms = 0.0

    def call(self, name: str, compute_ms: float, inside_ms: float, payload: bytes = b"") -> None:
        self.event(name, round(compute_ms * MS), round(inside_ms * MS), payload)
        self.count(name, ns=round(inside_ms * MS))
        self.at_ms += compute_ms + inside_ms
        self.run_ns = round(self.at_ms * MS)

    def until(self, end_ms: float, compute_ms: float = 0.0) -> float:
        """How long a call takes that begins after some computation and ends at a time of the run."""
        return end_ms - self.at_ms - compute_ms

    def send_to(self, peer: int, compute_ms: float, inside_ms: float, size: int = 8, call="MPI_Send") -> None:
        self.call(call, compute_ms, inside_ms, u(0) + z(peer) + z(0) + u(size))

    def isend_to(self, peer: int, compute_ms: float, inside_ms: float, size: int = 8) -> None:
        self.send_to(peer, compute_ms, inside_ms, size, "MPI_Isend")
        self.requests += 1

    def recv_from(self, peer: int, compute_ms: float, inside_ms: float, size: int = 8) -> None:
        self.call("MPI_Recv", compute_ms, inside_ms, u(0) + z(peer) + z(0) + z(peer) + z(0) + u(size))

    def irecv_from(self, peer: int, compute_ms: float, inside_ms: float, size: int = 8) -> None:
        self.call("MPI_Irecv", compute_ms, inside_ms, u(0) + z(peer) + z(0) + u(size))
        self.requests += 1

    def wait(
        self, compute_ms: float, inside_ms: float, peer: int | None = None, size: int = 8, back: int = 1
    ) -> None:
        """For a send, or for a receive from a peer; `back`: how many requests ago it was taken."""
        what = u(0) if peer is None else u(1) + z(peer) + z(0) + u(size)
        self.call("MPI_Wait", compute_ms, inside_ms, u(1) + u(back) + what)

    def together(self, name: str, compute_ms: float, inside_ms: float, size: int = 8, root: int = -1) -> None:
        """A collective on all ranks."""
        self.call(name, compute_ms, inside_ms, u(0) + z(root) + u(0) + u(8) + u(size) + u(0) + u(0))


def traced(ranks: int) -> list[Traced]:
    return [Traced(me, ranks, affinity=(me,), flags=FINALIZED | TRACED) for me in range(ranks)]


def recording_of(path, ranks: list[Traced]) -> Recording:
    """Of ranks that end together, on one node of as many PUs."""
    for rank in ranks:
        rank.run_ns = max(each.run_ns for each in ranks)
    path = write_recording(path, ranks)
    save_topology(path / "raw" / "n0.topology.tar", tuple(rank.world_rank for rank in ranks))
    return Recording.open(path)
