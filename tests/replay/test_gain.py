# SPDX-License-Identifier: BSD-3-Clause
"""The table that ends the demo: runs beside predictions whose numbers are known beforehand."""

import runpy
import sys
from pathlib import Path

from machines import text
from raw_writer import FINALIZED, TRACED, Rank, u, write_recording, z
from saved_topology import save_topology

from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology, from_synthetic
from rankwise.placement import file as placement_file

TOP = Path(__file__).resolve().parents[2]
GAIN = TOP / "examples" / "gain.py"
S = 10**9  # ticks are nanoseconds


def run_of(path, hosts, seconds):
    """Rank 0 computes for half a second and sends 8 bytes to rank 1; each rank has a core of its host to itself."""
    ranks = [
        Rank(me, 2, host=host, affinity=(me,), flags=FINALIZED | TRACED, run_ns=int(seconds * S))
        for me, host in enumerate(hosts)
    ]
    ranks[0].event("MPI_Send", S // 2, 0, u(0) + z(1) + z(0) + u(8))
    ranks[1].event("MPI_Recv", 0, int(seconds * S), u(0) + z(0) + z(0) + z(0) + z(0) + u(8))
    write_recording(path, ranks)
    for host in set(hosts):
        save_topology(path / "raw" / f"{host}.topology.tar", (0, 0))
    return path


def test_the_table_has_what_was_measured_beside_what_was_predicted(tmp_path, monkeypatch, capsys):
    # GIVEN a network of half a second and nodes without any latency: 1 s on two nodes, half of it on one
    machine = tmp_path / "m.machine.toml"
    machine.write_text(text(network={"L_s": 0.5}, node={}))
    trace = run_of(tmp_path / "app.rw", ("n0", "n1"), 1.0)
    nodes = Topology.of(from_synthetic("package:1 core:2 pu:1"), 1)
    placement = tmp_path / "app.placement.json"
    placement_file.save(Placement.explicit(nodes, [(0, [0]), (0, [1])]), placement)
    # AND two runs each: 2 s as recorded, 1 s blocked, 0.5 s as placed; all of the second pair were disturbed alike
    runs = tmp_path / "app.runs"
    for number in (1, 2):
        run_of(runs / f"before-{number}.rw", ("n0", "n1"), 2.0 * number)
        run_of(runs / f"blocked-{number}.rw", ("n0", "n0"), 1.0 * number)
        run_of(runs / f"placed-{number}.rw", ("n0", "n0"), 0.5 * number)
    # WHEN
    monkeypatch.setattr(sys, "argv", [str(GAIN), *map(str, (trace, machine, placement, runs))])
    runpy.run_path(str(GAIN), run_name="__main__")
    # THEN
    head, *rows = capsys.readouterr().out.splitlines()
    assert "median of 2 runs (their range)" in head
    found = [" ".join(row.split()) for row in rows]
    assert [row.split(" (")[0] for row in found] == [
        "as recorded 3.00 s",
        "blocked 1.50 s",
        "as placed 0.75 s",
        "gained 75%",
        "gained, blocked 50%",
    ]
    # AND gains are those of pairs, which the disturbance does not move
    assert "gained 75% (75% to 75%)" in found[3] and "gained, blocked 50% (50% to 50%)" in found[4]
    predictions = [row.split(") ")[1].split(" (")[0] for row in found]
    assert predictions == ["1.00 s", "0.50 s", "0.50 s", "50%", "0%"]
