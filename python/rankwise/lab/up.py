# SPDX-License-Identifier: BSD-3-Clause
"""Bring a lab up, and take it down."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from rankwise.errors import RankwiseError
from rankwise.lab import state
from rankwise.lab.addresses import data_address, management_address
from rankwise.lab.cores import map_cores
from rankwise.lab.permission import needs_user_namespace
from rankwise.machine.topology import NodeTopology, from_synthetic

MAX_NODES = 256
DEFAULT_MTU_BYTES = 1500
SWITCH_PLACES = ("apart", "receiving")
_DOWN_TIMEOUT_S = 10.0


def plan_lab(
    name: str,
    nodes: int,
    cores: int,
    rate_bytes_per_s: float,
    *,
    mapping: str = "round-robin",
    irq_core: int | None = None,
    switch: str | None = None,
    node: NodeTopology | None = None,
    mtu_bytes: int = DEFAULT_MTU_BYTES,
) -> state.Lab:
    """A lab that is not up yet; raises on what cannot be.

    Args:
        name: Part of the nodes' host names, `rw-NAME-node0` and so on.
        nodes: Number of nodes.
        cores: Virtual cores of each.
        rate_bytes_per_s: What each node's interface carries in each direction.
        mapping: How virtual cores are mapped onto the host's PUs, one of `rankwise.lab.cores.MAPPINGS`.
        irq_core: Virtual core of each node that processes what its interface receives; `None`: the kernel's choice.
        switch: With `irq_core`, which PUs the emulated switch uses, one of `SWITCH_PLACES`; `None`: `apart`.
        node: What each node looks like; one package of `cores` cores if `None`.
        mtu_bytes: Largest IP packet.
    """
    state.check_name(name)
    if not 1 <= nodes <= MAX_NODES:
        raise RankwiseError(
            f"a lab has 1 to {MAX_NODES} nodes, not `{nodes}`", hint="for example `--nodes 4`"
        )
    if not 1 <= cores <= 1024:
        raise RankwiseError(f"a node has 1 to 1024 cores, not `{cores}`", hint="for example `--cores 4`")
    if irq_core is not None and not 0 <= irq_core < cores:
        raise RankwiseError(f"a node of {cores} cores has no core `{irq_core}`", hint="cores count from 0")
    if switch is not None and irq_core is None:
        raise RankwiseError(
            f"the switch is `{switch}` by the cores that receive, and none is chosen",
            hint="add `--irq-core K`, or leave `--switch` out",
        )
    if node is None:
        node = from_synthetic(f"package:1 core:{cores}")
    elif node.cores != cores:
        raise RankwiseError(
            f"`{node.description}` has {node.cores} cores, but `--cores {cores}` was asked for",
            hint=f"leave `--cores` out, or use `--cores {node.cores}`",
        )
    placed = map_cores(nodes, cores, sorted(os.sched_getaffinity(0)), mapping)
    return state.Lab(
        schema=state.SCHEMA,
        name=name,
        rate_bytes_per_s=rate_bytes_per_s,
        mtu_bytes=mtu_bytes,
        node=node.to_dict(),
        mapping=mapping,
        irq_core=irq_core,
        receive_steering="off",
        switch=switch or SWITCH_PLACES[0],
        user_namespace=needs_user_namespace(),
        front=state.Front(f"rw-{name}-front", management_address(-1), 0),
        nodes=[
            state.Node(f"rw-{name}-node{at}", data_address(at), management_address(at), 0, pus)
            for at, pus in enumerate(placed)
        ],
    )


def bring_up(lab: state.Lab) -> state.Lab:
    """Start the keeper of a planned lab and wait until its network is there."""
    lock = state.create(lab.name)
    try:
        _write_files(lab)
        _start_keeper(lab.directory, lock)
        return state.load(lab.name)
    except BaseException:
        shutil.rmtree(lab.directory, ignore_errors=True)
        raise
    finally:
        os.close(lock)


def take_down(name: str) -> None:
    """End a lab with every process in it; returns when they are gone."""
    try:
        lab = state.find(name)
    except state.DamagedLabError:
        _end_unknown(state.directory_of(name))
        return
    # Nodes take their processes along; launchers on the front end, which has no PID namespace, are told.
    for pid in _others_beside(lab["front"]["pid"]):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    os.kill(lab["front"]["pid"], signal.SIGTERM)
    deadline = time.monotonic() + _DOWN_TIMEOUT_S
    while state.is_alive(state.directory_of(name)):
        if time.monotonic() > deadline:
            os.kill(lab["front"]["pid"], signal.SIGKILL)
        time.sleep(0.01)
    while any(_is_held(node) for node in lab["nodes"]) and time.monotonic() < deadline:
        time.sleep(0.01)
    state.remove_dead()


def _end_unknown(directory: Path) -> None:
    """End the keeper of a lab that no file describes; its nodes go with it."""
    deadline = time.monotonic() + _DOWN_TIMEOUT_S
    keeper = b"\0rankwise.lab.keeper\0" + bytes(directory) + b"\0"
    while state.is_alive(directory) and time.monotonic() < deadline:
        for entry in (entry for entry in os.listdir("/proc") if entry.isdigit()):
            with contextlib.suppress(OSError):
                if keeper in Path(f"/proc/{entry}/cmdline").read_bytes():
                    os.kill(int(entry), signal.SIGKILL)
        time.sleep(0.05)
    state.remove_dead()


def _others_beside(front: int) -> list[int]:
    """Processes on the front end, but for the one that holds it."""
    name = os.readlink(f"/proc/{front}/ns/uts")
    beside = []
    for pid in (int(entry) for entry in os.listdir("/proc") if entry.isdigit()):
        with contextlib.suppress(OSError):
            if pid != front and os.readlink(f"/proc/{pid}/ns/uts") == name:
                beside.append(pid)
    return beside


def _is_held(node: dict[str, Any]) -> bool:
    # The number may be another process's by now.
    try:
        return Path(f"/proc/{node['pid']}/comm").read_text().strip() == str(node["host"])[:15]
    except OSError:
        return False


def _write_files(lab: state.Lab) -> None:
    hosts = ["127.0.0.1 localhost", f"{lab.front.address} {lab.front.host}"]
    hosts += [f"{node.address} {node.host}" for node in lab.nodes]
    (lab.directory / "hosts").write_text("\n".join(hosts) + "\n")
    (lab.directory / "plan.json").write_bytes(msgspec.json.encode(lab))
    enter = [
        sys.executable,
        "-I",
        "-S",
        str(Path(__file__).with_name("enter.py")),
        str(lab.directory / "lab.json"),
    ]
    agent = lab.directory / "agent"
    agent.write_text(f'#!/bin/sh\nexec {shlex.join(enter)} ssh "$@"\n')
    agent.chmod(0o700)


def _start_keeper(directory: Path, lock: int) -> None:
    reader, writer = os.pipe()
    words = ["-m", "rankwise.lab.keeper", str(directory), str(lock), str(writer)]
    with open(directory / "keeper.log", "wb") as log:
        subprocess.run(
            [sys.executable, *words],
            check=False,
            pass_fds=(lock, writer),
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
        )
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read().decode()
    if answer != "up":
        last = (directory / "keeper.log").read_text().strip().splitlines()[-1:]
        raise RankwiseError(
            "the lab could not be brought up",
            hint="see what works here: `rankwise doctor`",
            causes=(answer or "its keeper ended at once", *last),
        )
