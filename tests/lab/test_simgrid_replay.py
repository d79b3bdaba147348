# SPDX-License-Identifier: BSD-3-Clause
"""SimGrid's replay of a schedule: its actions, its platform, and what it says where it is installed."""

import xml.etree.ElementTree as ElementTree

import msgspec
import pytest
import waiting
from accuracy import simgrid

from rankwise.machine.estimate import Estimate
from rankwise.machine.file import load
from rankwise.machine.machine import topology_of
from rankwise.machine.placement import Placement
from rankwise.schedule.source import load as load_source

GOAL = """
num_ranks 2
rank 0 {
a: calc 1000000
b: send 1000b to 1 tag 7
c: send 0b to 1 tag 7
d: calc 500
b requires a
c requires a
d requires b
}
rank 1 {
a: recv 1000b from 0 tag 7
b: recv 0b from 0 tag 7
c: calc 100
b requires a
c requires b
}
"""
ESTIMATE = '{{ value = {}, obtained = "assumed", source = "test" }}'
MACHINE = """
schema = "rankwise.machine/1"
name = "two nodes"
[node]
count = 2
topology = "package:1 core:2"
host_cores = [[0, 1], [0, 1]]
[[resources]]
name = "nic_tx"
kind = "nic_tx"
discipline = "fifo"
per = "node"
capacity_bytes_per_s = {rate}
[[link_classes]]
channel = "network"
protocol = "host-processed"
progress = "independent"
overlap = true
[[link_classes.segments]]
up_to_bytes = 4096
{small}
[[link_classes.segments]]
{large}
"""


def segment(latency, overhead):
    values = {
        "L_s": latency,
        "o_s": overhead,
        "o_receive_s": 2 * overhead,
        "g_s": 0.0,
        "G_s_per_byte": 1e-8,
        "O_s_per_byte": 1e-9,
    }
    return "\n".join(f"{key} = {ESTIMATE.format(value)}" for key, value in values.items())


@pytest.fixture
def machine(tmp_path):
    path = tmp_path / "two.machine.toml"
    rate = ESTIMATE.format(1e7)
    path.write_text(MACHINE.format(rate=rate, small=segment(1e-4, 1e-5), large=segment(2e-4, 3e-5)))
    return load(path)


@pytest.fixture
def schedule(tmp_path):
    path = tmp_path / "two.goal"
    path.write_text(GOAL)
    return load_source(path).schedule


def placed(machine, tmp_path, cores):
    return Placement.explicit(topology_of(machine, tmp_path), cores)


def test_what_is_required_is_waited_for_just_before(schedule):
    # THEN messages have tags of their own, one of no bytes has one, and the last waits come at the end
    assert list(simgrid.actions_of(schedule.write_goal())) == [
        ["0 init", "0 compute 1000000", "0 isend 1 0 1000", "0 isend 1 1 1", "0 wait 0 1 0", "0 compute 500",
         "0 wait 0 1 1", "0 finalize"],
        ["1 init", "1 irecv 0 0 1000", "1 wait 0 1 0", "1 irecv 0 1 1", "1 wait 0 1 1", "1 compute 100",
         "1 finalize"],
    ]  # fmt: skip


def test_numbers_are_those_of_the_machine_file(machine, tmp_path):
    overheads = simgrid.overheads(machine)
    assert overheads["smpi/os"] == "0:1e-05:1e-09;4096:3e-05:1e-09"
    assert overheads["smpi/or"] == "0:2e-05:1e-09;4096:6e-05:1e-09"
    # GIVEN a rank on each node, on two processors, and both on the same
    apart, together = (
        placed(machine, tmp_path, cores) for cores in ([(0, (0,)), (1, (1,))], [(0, (0,)), (1, (0,))])
    )
    assert [simgrid.core_share(machine, each) for each in (apart, together)] == [1.0, 0.5]
    root = ElementTree.fromstring(simgrid.platform(machine, together))
    assert [host.get("speed") for host in root.iter("host")] == ["500000000f"] * 2
    cables = {link.get("id"): link for link in root.iter("link")}
    assert (cables["tx0"].get("bandwidth"), cables["rx1"].get("latency")) == ("10000000Bps", "5e-05s")
    assert len(list(root.iter("route"))) == 4


def test_without_it_nothing_is_said(machine, schedule, tmp_path, monkeypatch):
    monkeypatch.setattr(simgrid, "smpirun", lambda: None)
    placement = placed(machine, tmp_path, [(0, (0,)), (1, (1,))])
    assert simgrid.simulated_s(schedule, machine, placement) is None


def test_a_replay_that_is_not_done_in_time_is_ended_with_all_that_it_started(
    machine, schedule, tmp_path, monkeypatch
):
    # GIVEN, as SimGrid's, a shell that waits for the program
    program = tmp_path / "smpirun"
    program.write_text(f"#!/bin/sh\nsleep 600 &\necho $! > {tmp_path}/started\nwait\n")
    program.chmod(0o755)
    monkeypatch.setattr(simgrid, "smpirun", lambda: str(program))
    placement = placed(machine, tmp_path, [(0, (0,)), (1, (1,))])
    assert simgrid.simulated_s(schedule, machine, placement, limit_s=1.0) is None
    started = int((tmp_path / "started").read_text())
    assert waiting.until(lambda: waiting.has_ended(started))


def test_it_replays_the_schedule_where_it_is_installed(machine, schedule, tmp_path):
    if not simgrid.smpirun():
        pytest.skip(f"SimGrid is not installed: {simgrid.HOW_TO_INSTALL}")
    placement = placed(machine, tmp_path, [(0, (0,)), (1, (1,))])
    # THEN 1 ms of computation, then 0.1 ms for 1000 bytes at 10 MB/s, the latency, and overheads of some 30 us each
    found = simgrid.simulated_s(schedule, machine, placement)
    assert 1.1e-3 < found < 2e-3


LATE_RECEIVER = """
num_ranks 2
rank 0 {
a: send 50000b to 1 tag 7
}
rank 1 {
a: calc 50000000
b: recv 50000b from 0 tag 7
b requires a
}
"""


def test_what_is_eager_is_there_when_its_receiver_comes(machine, tmp_path):
    if not simgrid.smpirun():
        pytest.skip(f"SimGrid is not installed: {simgrid.HOW_TO_INSTALL}")
    # GIVEN 50 kB, which take 5 ms, for a rank that computes for 50 ms before it receives them
    path = tmp_path / "late.goal"
    path.write_text(LATE_RECEIVER)
    schedule = load_source(path).schedule
    placement = placed(machine, tmp_path, [(0, (0,)), (1, (1,))])

    def limited(limit):
        (link,) = machine.link_classes
        limit = limit and Estimate(limit, "assumed", source="test")
        return msgspec.structs.replace(
            machine, link_classes=[msgspec.structs.replace(link, eager_limit_bytes=limit)]
        )

    # THEN they come meanwhile if they are eager, as all are without a limit, and afterwards if they are not
    for limit in (None, 50000.0):
        assert 50e-3 < simgrid.simulated_s(schedule, limited(limit), placement) < 52e-3
    assert 55e-3 < simgrid.simulated_s(schedule, limited(49999.0), placement) < 57e-3
