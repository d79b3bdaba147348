# SPDX-License-Identifier: BSD-3-Clause
"""Nodes with several ports of a fabric, one of which has all the traffic."""

from types import SimpleNamespace

import polars as pl
import pytest

from rankwise.errors import RankwiseError
from rankwise.findings.defects import interface_idle
from rankwise.recording.snapshots import Port, Snapshot

GB = 10**9


def port(device, rate=12.5 * GB, layer="InfiniBand", active=True):
    return {
        "device": device,
        "port": "1",
        "link_layer": layer,
        "rate_bytes_per_s": rate,
        "active": active,
    }


def told(moved, ports, elapsed_s=10.0):
    """Of a node whose adapters received so many bytes, and sent half as many."""
    rows = [
        ("n0", device, "1", counter, size // half)
        for device, size in moved.items()
        for counter, half in (("port_rcv_data", 1), ("port_xmit_data", 2), ("port_rcv_packets", 1))
    ]
    schema = ["host", "device", "port", "counter", "count"]
    types = [pl.String] * 4 + [pl.Int64]
    table = pl.DataFrame(rows, schema=dict(zip(schema, types, strict=True)), orient="row")
    recording = SimpleNamespace(
        context={"nodes": [{"host": "n0", "ports": ports}]}, table=lambda name: {"port_counters": table}[name]
    )
    return interface_idle.find(SimpleNamespace(recording=recording, elapsed_s=elapsed_s))


def test_traffic_through_one_of_two_ports_is_told():
    # GIVEN 50 GB in 10 s through one of two ports of 100 Gb/s, which is 4 s of its wire
    (found,) = told({"mlx5_0": 50 * GB, "mlx5_1": 1000}, [port("mlx5_0"), port("mlx5_1")])
    assert found.sentence == "all traffic of n0 goes through mlx5_0/1, while mlx5_1/1 idles"
    assert "40 % of the run time" in found.evidence[0] and found.cost_s is None


@pytest.mark.parametrize(
    ("moved", "other"),
    [
        ({"mlx5_0": 50 * GB, "mlx5_1": GB}, {}),  # it has some of it
        ({"mlx5_0": 12 * GB, "mlx5_1": 0}, {}),  # half of 9.6 % of the run time
        ({"mlx5_0": 50 * GB, "mlx5_1": 0}, {"rate": 25 * GB}),  # of another speed
        ({"mlx5_0": 50 * GB, "mlx5_1": 0}, {"layer": "Ethernet"}),
        ({"mlx5_0": 50 * GB, "mlx5_1": 0}, {"active": False}),  # no cable
        ({"mlx5_0": 50 * GB}, {}),  # what it moved is not known
    ],
)
def test_a_port_that_may_not_take_half_of_it_is_not_told(moved, other):
    assert told(moved, [port("mlx5_0"), port("mlx5_1", **other)]) == []


def test_short_runs_are_not_told():
    # GIVEN a run of 20 ms whose port is busy for 19 ms
    assert told({"a": int(12.5e9 * 0.019), "b": 0}, [port("a"), port("b")], elapsed_s=0.02) == []


def test_without_counters_it_is_not_looked_for():
    with pytest.raises(RankwiseError, match="no port"):
        told({}, [])


def test_what_a_node_says_of_its_ports_is_read():
    at = "sys/class/infiniband/{}/ports/1/{}"
    files = {
        at.format("mlx5_0", "rate"): "100 Gb/sec (4X EDR)\n",
        at.format("mlx5_0", "state"): "4: ACTIVE\n",
        at.format("mlx5_0", "link_layer"): "InfiniBand\n",
        at.format("mlx5_1", "rate"): "2.5 Gb/sec (1X SDR)\n",
        at.format("mlx5_1", "state"): "1: DOWN\n",
        at.format("mlx5_2", "rate"): "unknown\n",
    }
    assert list(Snapshot(files).ports()) == [
        Port("mlx5_0", "1", "InfiniBand", 12.5e9, True),
        Port("mlx5_1", "1", "", 0.3125e9, False),
    ]
