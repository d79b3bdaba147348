# SPDX-License-Identifier: BSD-3-Clause
"""Recordings written by hand of pairs of ranks that send each other messages in turn."""

from raw_writer import FINALIZED, TRACED, Rank, u, write_recording, z
from saved_topology import save_topology

from rankwise.recording import Recording

MS = 1_000_000
MB = 1_000_000
LAPS = 20


def save(path, ranks, packages=(0, 0)) -> Recording:
    path = write_recording(path, ranks)
    for host in {rank.host for rank in ranks}:
        save_topology(path / "raw" / f"{host}.topology.tar", packages)
    return Recording.open(path)


def pairs(path, node_of=(0, 1, 0, 1), message_ms=10, compute_ms=5, packages=(0, 0)) -> Recording:
    """Ranks 0 and 1, and 2 and 3, send each other 1 MB in turn; each computes before it sends."""
    ranks = []
    lap_ms = 2 * (message_ms + compute_ms)
    for me, node in enumerate(node_of):
        core = sum(other == node for other in node_of[:me])
        rank = Rank(me, 4, f"n{node}", affinity=(core,), flags=FINALIZED | TRACED)
        rank.run_ns = LAPS * lap_ms * MS
        peer = me ^ 1
        sent, received = u(0) + z(peer) + z(0) + u(MB), u(0) + z(peer) + z(0) + z(peer) + z(0) + u(MB)
        half = (message_ms + compute_ms) * MS
        for lap in range(LAPS):
            if me % 2 == 0:
                rank.event("MPI_Send", compute_ms * MS, 0, sent)
                rank.event("MPI_Recv", 0, half + message_ms * MS, received)
            else:
                rank.event("MPI_Recv", 0, half + (message_ms * MS if lap else 0), received)
                rank.event("MPI_Send", compute_ms * MS, 0, sent)
        rank.send(peer, MB, times=LAPS, ns=0)
        rank.recv(peer, MB, times=LAPS, ns=half + message_ms * MS)
        ranks.append(rank)
    return save(path, ranks, packages)
