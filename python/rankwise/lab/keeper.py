# SPDX-License-Identifier: BSD-3-Clause
"""The process that holds a lab: `python -m rankwise.lab.keeper DIRECTORY LOCK_FD READY_FD`.

It is the lab's front end and switch; each node is a process that does nothing but wait for this one's end, which
it sees as the end of a pipe, however it comes about. A node takes all its processes along (it is process 1 of its
PID namespace), and the namespaces go with their last process: nothing is left but files.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import msgspec

from rankwise.lab import network, state, syscalls
from rankwise.lab.counters import COUNTERS
from rankwise.lab.node import hold_node, mount_shared_memory


def main(argv: list[str]) -> int:
    """Bring the lab of `DIRECTORY/plan.json` up, answer on `READY_FD`, stay until SIGTERM."""
    # The lock descriptor is inherited, and held by being open.
    directory, ready = Path(argv[1]), int(argv[3])
    if os.fork():
        # Nobody's child, so that nobody has to wait for it.
        os._exit(0)
    try:
        switch = bring_up(directory)
    except Exception as error:
        os.write(ready, f"{type(error).__name__}: {error}".encode())
        return 1
    os.write(ready, b"up")
    os.close(ready)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    status = switch.wait()
    sys.stderr.write(f"the lab's switch ended with status {status}\n")
    return 1


def bring_up(directory: Path) -> subprocess.Popen[bytes]:
    """Make the namespaces and the network, and write `lab.json`.

    Returns:
        The switch, which runs as long as the lab does.
    """
    lab = msgspec.json.decode((directory / "plan.json").read_bytes(), type=state.Lab)
    syscalls.prctl(syscalls.PR_SET_NAME, b"rankwise-lab")
    if lab.user_namespace:
        become_root_of_user_namespace()
    syscalls.unshare(
        syscalls.CLONE_NEWNET | syscalls.CLONE_NEWUTS | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWNS
    )
    syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    syscalls.set_host_name(lab.front.host)
    syscalls.mount(str(directory / "hosts"), "/etc/hosts", None, syscalls.MS_BIND)
    mount_shared_memory()
    network.make_switch()
    lab.front.pid = os.getpid()
    # Nobody writes; the writing end is open for as long as this process lives.
    lifeline, _ = os.pipe()
    for at, node in enumerate(lab.nodes):
        node.pid = fork_node(node.host, lifeline)
        network.connect_node(at, node.pid, len(lab.nodes), lab.mtu_bytes)
        if lab.irq_core is not None:
            lab.receive_steering = network.steer_receiving(node.pid, node.cores[lab.irq_core]) or "on"
    switch = network.start_switch(len(lab.nodes), lab.rate_bytes_per_s, directory / COUNTERS)
    if lab.irq_core is not None:
        of_nodes = {pu for node in lab.nodes for pu in node.cores}
        receiving = {node.cores[lab.irq_core] for node in lab.nodes}
        usable = os.sched_getaffinity(switch.pid)
        os.sched_setaffinity(switch.pid, network.switch_pus(usable, of_nodes, receiving, lab.switch))
    state.save(lab, directory)
    return switch


def become_root_of_user_namespace() -> None:
    """Get the rights of root over namespaces that are made from now on, and over nothing else."""
    user, group = os.geteuid(), os.getegid()
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    # Otherwise /proc/PID/ns of this process is closed to its own user, who must enter.
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)


def fork_node(host: str, lifeline: int) -> int:
    """Start the process that holds a node's namespaces.

    Args:
        host: Name of the node.
        lifeline: Reading end of a pipe whose end is the node's.

    Returns:
        Its process number; its namespaces are ready to be connected.
    """
    reader, writer = os.pipe()
    helper = os.fork()
    if helper == 0:
        # A new PID namespace is for children only, and a process can make one only once: hence two forks.
        _become_node(host, lifeline, writer)
    os.close(writer)
    os.waitpid(helper, 0)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode().splitlines()
    if said[1:] != ["ready"]:
        raise OSError(f"node `{host}`: {said[-1] if said else 'ended at once'}")
    return int(said[0])


def _become_node(host: str, lifeline: int, answer: int) -> NoReturn:
    try:
        # Whoever waits for the keeper's end, or for its lock, is not to wait for the nodes too.
        for descriptor in set(range(3, 256)) - {lifeline, answer}:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        syscalls.unshare(syscalls.CLONE_NEWPID)
        heard, tell = os.pipe()
        child = os.fork()
        if child:
            os.write(answer, f"{child}\n".encode())
            os._exit(0)
        os.close(tell)
        os.read(heard, 1)
        hold_node(host, lifeline, answer)
    except OSError as error:
        os.write(answer, str(error).encode())
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
