# SPDX-License-Identifier: BSD-3-Clause
"""Recordings written by hand of ranks whose cores were sampled: what else than ranks had them."""

import io
import tarfile
from pathlib import Path

from raw_writer import NODE_NOTES, NODE_SAMPLES, Rank, RawFile, notes_bytes, samples_bytes
from saved_topology import save_topology

from rankwise.recording import Recording
from rankwise.recording.layouts import NOTE_COLUMNS

START, MS = 10_000, 1_000_000
STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def computing(useful_ms, hosts=None, **more) -> list[Rank]:
    """Ranks of a run of 1 s that are outside MPI for as long as said, each bound to a core of its own."""
    made = []
    hosts = hosts or ["n0"] * len(useful_ms)
    for me, useful in enumerate(useful_ms):
        rank = Rank(me, len(useful_ms), host=hosts[me], affinity=(hosts[:me].count(hosts[me]),), **more)
        rank.count("MPI_Allreduce", ns=(1000 - useful) * MS)
        made.append(rank)
    return made


def recorded_on_nodes(path: Path, ranks: list[Rank], of_cores, receiver: int | None = 0) -> Recording:
    """A recording of nodes of four PUs.

    Args:
        path: Where it goes.
        ranks: Its ranks.
        of_cores: By host, for each PU the hundredths of a second of each state that it was in meanwhile, by name.
        receiver: The PU that takes what each node's eth0 receives; `None`: the kernel's choice.
    """
    (path / "raw").mkdir(parents=True)
    for host in {rank.host for rank in ranks}:
        file = RawFile()
        owners = [file.add(rank) for rank in ranks if rank.host == host]
        notes = [(START, NOTE_COLUMNS, 4, f"cpu:{state}") for state in STATES]
        log = notes_bytes([*notes, (START, NOTE_COLUMNS, 8, "interface:eth0")])
        pus = [of_cores[host][pu] if pu < len(of_cores[host]) else {} for pu in range(4)]
        grown = [each.get(state, 0) for state in STATES for each in pus]
        first, last = [0] * (len(grown) + 8), [*grown, 1000, 1000, 0, 0, 1000, 1000, 0, 0]
        rows = samples_bytes([[START, *first], [START + 1000 * MS, *last]])
        file.add_run(NODE_NOTES, log, len(log), owner=owners[0])
        file.add_run(NODE_SAMPLES, rows, len(rows), owner=owners[0])
        file.write(path / "raw" / f"{host}.rwn")
        save_topology(path / "raw" / f"{host}.topology.tar")
        with tarfile.open(path / "raw" / f"{host}.start.tar", "w") as archive:
            mask = f"{0 if receiver is None else 1 << receiver:x}\n".encode()
            entry = tarfile.TarInfo("sys/class/net/eth0/queues/rx-0/rps_cpus")
            entry.size = len(mask)
            archive.addfile(entry, io.BytesIO(mask))
    return Recording.open(path)


def in_interrupts(share_percent: int) -> dict[str, int]:
    """A PU that was in interrupts for so much of the second, else with its rank."""
    return {"user": 100 - share_percent, "softirq": share_percent}
