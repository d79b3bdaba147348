# SPDX-License-Identifier: BSD-3-Clause
"""From a core scan to what predictions know of the core that serves the network."""

import polars as pl
import pytest

from rankwise.machine.estimate import Estimate
from rankwise.machine.file import SCHEMA as MACHINE_SCHEMA
from rankwise.machine.file import dumps, loads
from rankwise.machine.machine import LinkClass, Machine, Segment
from rankwise.machine.nodes import Node
from rankwise.machine.topology import from_synthetic
from rankwise.measure.interrupt_core import interrupt_core
from rankwise.measure.plan import End, Pair, Plan
from rankwise.measure.samples import SCHEMA

NODE = "package:2 l3:1 core:2 pu:1(indexes=0,2,1,3)"
SERVING, NEAR, FAR = 0, 2, (1, 3)  # OS indices: OS core 2 is logical core 1, in the package of OS core 0
P, PER_BYTE = 2e-6, 1e-10


def scan(share=1.0, dearer=P, far=3e-6) -> pl.DataFrame:
    """Samples of a scan: streams on the serving core are dearer, short trips to the far package longer."""
    rows = []
    for cpu in (SERVING, NEAR, *FAR):
        for size in (8, 65536):
            on = cpu == SERVING
            trip = 10e-6 + (far if cpu in FAR else 0.0)
            further = 1e-6 + size * 1e-9 + (dearer + (size - 8) * PER_BYTE if on else 0.0)
            for launch in range(7):
                wobble = 1 + 1e-4 * launch
                common = {"launch": launch, "test": "core_scan", "channel": "network", "pairs": 1}
                common |= {"bytes": size, "switches": 0, "source_cpu": cpu, "messages": 1000, "value5": -1.0}
                rows.append(
                    common
                    | {"setting": 0, "value1": trip * wobble, "value2": further * wobble, "value4": 1.0}
                )
                for core, of_core in ((SERVING, share), (NEAR, 1 - share)):
                    rows.append(common | {"setting": core + 1, "value4": of_core})
    return pl.DataFrame([dict.fromkeys(SCHEMA) | row for row in rows], schema=SCHEMA, orient="row")


def plan() -> Plan:
    ends = End(0, "a", 0, 0), End(1, "b", 0, 0)
    return Plan(pairs={"network": Pair(*ends)}, nodes=dict.fromkeys("ab", from_synthetic(NODE)))


def network(protocol="host-processed", latency=20e-6) -> LinkClass:
    def number(value: float) -> Estimate:
        return Estimate(value, "measured", low=value, high=value, samples=9)

    segment = Segment(number(latency), number(1e-6), number(0.0), number(1e-9), number(0.0))
    return LinkClass("network", protocol, "in-call", False, [segment])


def test_the_core_that_serves_has_what_it_costs_and_the_network_no_longer():
    (found,), (link,) = interrupt_core(scan(), plan(), [network()])
    # THEN per message and per byte it costs what streams on it cost more, and its cache's cores are the near ones
    assert (found.kind, found.core, found.per) == ("interrupt_core", 0, "node")
    assert found.per_message_s.value == pytest.approx(P, rel=0.01)
    assert found.capacity_bytes_per_s.value == pytest.approx(1 / PER_BYTE, rel=0.01)
    assert found.per_message_s.obtained == "assumed" and "lower bound" in found.per_message_s.source
    assert found.far_factor.value == pytest.approx(4.0, rel=0.01) and found.far_factor.obtained == "measured"
    # AND the ping-pong's latency, which held it, is shorter by it
    assert link.segments[0].L_s.value == pytest.approx(18e-6, rel=0.01)
    machine = Machine(MACHINE_SCHEMA, "test", Node(count=2, topology=NODE), [link], [found])
    assert loads(dumps(machine)) == machine


def test_what_cannot_be_told_apart_is_left_out():
    (found,), (link,) = interrupt_core(scan(dearer=0.0, far=0.0), plan(), [network()])
    assert (found.per_message_s, found.far_factor) == (None, None)
    assert link == network()
    # A message cannot cost that core more than its whole way takes.
    (found,), (link,) = interrupt_core(scan(), plan(), [network(latency=1e-6)])
    assert found.per_message_s is None and link == network(latency=1e-6)


@pytest.mark.parametrize(
    ("samples", "link"), [(scan(share=0.5), network()), (scan(), network(protocol="offloaded"))]
)
def test_no_core_serves_where_several_do_or_the_interface_does(samples, link):
    assert interrupt_core(samples, plan(), [link]) == ([], [link])
