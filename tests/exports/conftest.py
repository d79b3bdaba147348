# SPDX-License-Identifier: BSD-3-Clause
"""A ring of 23 laps, written down as its ranks would: what every export of it must say is known."""

import json

import pytest
from raw_writer import FINALIZED, MANIFEST, TRACED, Rank, u, write_recording, z

LAPS, BYTES, US = 23, 1000, 1000  # ticks are nanoseconds
HOP_US, SEND_US, WORK_US = 5, 2, 10


class RingRank(Rank):
    """A rank with its own clock; calls are written into the trace and into the tables."""

    now = 0

    def until(self, call, begin, end, payload):
        self.event(call, begin - self.now, end - begin, payload)
        self.now = end

    def sends(self, peer, begin):
        self.until("MPI_Send", begin, begin + SEND_US * US, u(0) + z(peer) + z(7) + u(BYTES))
        self.send(peer, BYTES, ns=SEND_US * US)

    def receives(self, peer, end):
        began = self.now
        self.until("MPI_Recv", began, end, u(0) + z(peer) + z(7) + z(peer) + z(7) + u(BYTES))
        self.recv(peer, BYTES, ns=end - began)


@pytest.fixture
def ring(tmp_path):
    """Function -> a recording: a token of 1000 bytes goes round, a hop takes 5 us, each rank computes 10 us first."""

    def make(ranks=4, per_node=2, name="ring.rw", flags=TRACED, last=FINALIZED, laps=LAPS):
        made = [
            RingRank(
                me, ranks, host=f"n{me // per_node}", flags=flags | (last if me == ranks - 1 else FINALIZED)
            )
            for me in range(ranks)
        ]
        for _ in range(laps):
            begin = made[0].now + WORK_US * US
            for me, rank in enumerate(made):
                rank.sends((me + 1) % ranks, begin)
                arrives = begin + HOP_US * US
                made[(me + 1) % ranks].receives(me, arrives)
                begin = arrives + WORK_US * US
        for rank in made:
            rank.count("MPI_Init", ns=300_000)
            rank.mpi_ns -= 300_000
            rank.run_ns = rank.now
        path = write_recording(tmp_path / name, made)
        about = MANIFEST | {
            "ranks": ranks,
            "programs": ["/bin/ring"],
            "command": ["mpiexec", "-n", str(ranks), "./ring"],
        }
        (path / "recording.json").write_text(json.dumps(about))
        return path

    return make
