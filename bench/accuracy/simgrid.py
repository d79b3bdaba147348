# SPDX-License-Identifier: BSD-3-Clause
"""SimGrid's replay of the same schedules (`smpirun -replay`), to have its predictions beside ours.

It gets what its own formats can say of the machine file: latency, bandwidth, overheads and eager limit of the network,
latency and bandwidth inside a node, the rate of each interface, and cores that compute at their share of the processors
behind the lab's cores. It knows no core that ranks of several nodes share, and no rank that wakes up.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rankwise.machine.channels import NETWORK, NODE, PACKAGE
from rankwise.scratch import scratch

if TYPE_CHECKING:
    from rankwise import _core
    from rankwise.machine.machine import LinkClass, Machine
    from rankwise.machine.placement import Placement

HOW_TO_INSTALL = "on Debian `apt-get install libsimgrid-dev`"
LIMIT_S = 60.0
_FLOPS_PER_S = 1e9  # of a core: computation is a time here, in ns one operation each
_EVERY_SIZE = 2**31 - 1
_OPERATION = re.compile(r"l(\d+): (send|recv|calc) (\d+)(?:b (?:to|from) (\d+) tag (\d+))?")
_ORDER = re.compile(r"l(\d+) requires l(\d+)")
_TIME = re.compile(r"Simulation time ([0-9.e+-]+)")
# Its model of TCP has factors fitted to another cluster, and traffic of acknowledgements.
_SETTINGS = {
    "smpi/bw-factor": "0:1",
    "smpi/lat-factor": "0:1",
    "network/crosstraffic": "0",
    "smpi/simulate-computation": "yes",
}


def smpirun() -> str | None:
    """The replay tool on PATH."""
    return shutil.which("smpirun")


def simulated_s(
    schedule: _core.schedule.Schedule, machine: Machine, placement: Placement, limit_s: float = LIMIT_S
) -> float | None:
    """What SimGrid says that a schedule takes; `None` where it is not installed, or did not say in time."""
    program = smpirun()
    if program is None or _link(machine, NETWORK) is None:
        return None
    with scratch("simgrid") as directory:
        traces = []
        for rank, actions in enumerate(actions_of(schedule.write_goal())):
            path = directory / f"{rank}.trace"
            path.write_text("\n".join(actions) + "\n", encoding="ascii")
            traces.append(str(path))
        (directory / "traces").write_text("\n".join(traces) + "\n", encoding="utf-8")
        (directory / "hosts").write_text("".join(f"node{node}\n" for node in placement.node.tolist()))
        (directory / "platform.xml").write_text(platform(machine, placement))
        settings = _SETTINGS | overheads(machine) | eager_limit(machine)
        words = [program, "-np", str(placement.ranks), "-hostfile", "hosts", "-platform", "platform.xml"]
        words += [f"--cfg={key}:{value}" for key, value in settings.items()] + ["-replay", "traces"]
        try:
            said = _said(words, directory, limit_s)
        except (OSError, subprocess.SubprocessError):
            return None
        times = [float(time) for time in _TIME.findall(said)]
    return max(times, default=None)


def _said(words: list[str], directory: Path, limit_s: float) -> str:
    """Output of a program, which does not outlive its time: `smpirun` is a shell that starts the real one."""
    with subprocess.Popen(
        words,
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=limit_s)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words, said)
    return said


def actions_of(goal: str) -> Iterator[list[str]]:
    """The schedule as each rank's actions, in its order: what is required is waited for just before.

    Requests are told apart by their tag alone, so each message has its own: the k-th of a sender, receiver and tag.
    """
    numbers: dict[tuple, int] = {}
    for rank, block in enumerate(goal.split("\nrank ")[1:]):
        requires = defaultdict(list)
        for later, earlier in _ORDER.findall(block):
            requires[int(later)].append(int(earlier))
        seen: dict[tuple, int] = defaultdict(int)
        under_way: dict[int, str] = {}
        actions = [f"{rank} init"]
        for label, kind, value, peer, tag in _OPERATION.findall(block):
            for earlier in requires[int(label)]:
                if earlier in under_way:
                    actions.append(under_way.pop(earlier))
            if kind == "calc":
                if int(value):
                    actions.append(f"{rank} compute {value}")
                continue
            ends = (rank, int(peer)) if kind == "send" else (int(peer), rank)
            key = (kind, *ends, tag)
            at = numbers.setdefault((*ends, tag, seen[key]), len(numbers))
            seen[key] += 1
            # A receive of 0 bytes would be one whose size its sender says, for which SimGrid waits at once.
            actions.append(f"{rank} i{kind} {peer} {at} {max(int(value), 1)}")
            under_way[int(label)] = f"{rank} wait {ends[0]} {ends[1]} {at}"
        yield [*actions, *under_way.values(), f"{rank} finalize"]


def overheads(machine: Machine) -> dict[str, str]:
    """SimGrid's overheads of sending and receiving by size: `over:seconds:seconds a byte;...`."""
    segments = _link(machine, NETWORK).segments

    def pieces(of_end: str) -> str:
        over, found = 0, []
        for segment in segments:
            overhead = (of_end == "receive" and segment.o_receive_s) or segment.o_s
            found.append(f"{over}:{overhead.value:.9g}:{segment.O_s_per_byte.value:.9g}")
            over = segment.up_to_bytes
        return ";".join(found)

    sending = pieces("send")
    return {"smpi/os": sending, "smpi/ois": sending, "smpi/or": pieces("receive")}


def eager_limit(machine: Machine) -> dict[str, str]:
    """Up to which size SimGrid's sends end, and go, without a receive that is posted: below its two thresholds."""
    limit = _link(machine, NETWORK).eager_limit_bytes
    below = _EVERY_SIZE if limit is None else int(limit.value) + 1
    return {"smpi/async-small-thresh": str(below), "smpi/send-is-detached-thresh": str(below)}


def platform(machine: Machine, placement: Placement) -> str:
    """The machine as a platform of SimGrid: hosts, an interface each way, and a link inside each."""
    nodes = range(len(placement.node_names))
    network = _link(machine, NETWORK).segments
    inside = (_link(machine, PACKAGE) or _link(machine, NODE) or _link(machine, NETWORK)).segments
    rates = [
        each.capacity_bytes_per_s.value
        for each in machine.resources
        if each.kind in ("nic_tx", "nic_rx") and each.capacity_bytes_per_s
    ]
    rate = min(rates) if rates else _bandwidth(network)
    speed = f"{_FLOPS_PER_S * core_share(machine, placement):.9g}f"
    cores = max((placement.node == node).sum() for node in nodes)
    lines = ["<?xml version='1.0'?>", '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">']
    lines += ['<platform version="4.1">', '<zone id="lab" routing="Full">']
    lines += [f'<host id="node{node}" speed="{speed}" core="{cores}"/>' for node in nodes]
    for node in nodes:
        # Half of the latency on each cable.
        between, within = (each[0].L_s.value for each in (network, inside))
        cable = f'bandwidth="{rate:.9g}Bps" latency="{between / 2:.9g}s"'
        lines += [f'<link id="tx{node}" {cable}/>', f'<link id="rx{node}" {cable}/>']
        copies = f'bandwidth="{_bandwidth(inside):.9g}Bps" latency="{within:.9g}s"'
        lines.append(f'<link id="memory{node}" {copies} sharing_policy="FATPIPE"/>')
    for source in nodes:
        for to in nodes:
            path = [f"memory{source}"] if source == to else [f"tx{source}", f"rx{to}"]
            over = "".join(f'<link_ctn id="{link}"/>' for link in path)
            lines.append(f'<route src="node{source}" dst="node{to}" symmetrical="NO">{over}</route>')
    return "\n".join([*lines, "</zone>", "</platform>"]) + "\n"


def core_share(machine: Machine, placement: Placement) -> float:
    """What each rank has of a processor if all compute, where the lab's cores share those of one machine."""
    if machine.node.host_cores is None:
        return 1.0
    used = {
        machine.node.host_cores[node][core]
        for rank, node in enumerate(placement.node.tolist())
        for core in placement.cores_of(rank)
    }
    return min(1.0, len(used) / placement.ranks)


def _link(machine: Machine, channel: str) -> LinkClass | None:
    return next((each for each in machine.link_classes if each.channel == channel), None)


def _bandwidth(segments: list) -> float:
    """Of the largest messages."""
    gap = segments[-1].G_s_per_byte.value
    return 1 / gap if gap > 0 else 1e12
