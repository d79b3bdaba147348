# SPDX-License-Identifier: BSD-3-Clause
"""The process that holds one node's namespaces, and what a program sees differently there."""

from __future__ import annotations

import os
import signal
import tempfile
from typing import NoReturn

from rankwise.lab import syscalls


def hold_node(host: str, lifeline: int, ready: int) -> NoReturn:
    """Make this process the node `host`, say so on the pipe `ready`, and stay until the pipe `lifeline` ends.

    Called in a new process that is number 1 of its PID namespace.
    """
    syscalls.prctl(syscalls.PR_SET_NAME, host.encode()[:15])
    syscalls.unshare(
        syscalls.CLONE_NEWNET | syscalls.CLONE_NEWUTS | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWNS
    )
    syscalls.set_host_name(host)
    mount_own_files()
    os.write(ready, b"ready")
    os.close(ready)
    # Processes whose parents died become children of process 1: let the kernel reap them.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    os.chdir("/")
    os.read(lifeline, 1)
    os._exit(0)


def mount_own_files() -> None:
    """Shared memory, processes and network devices of this node only; all other files are the host's."""
    syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    mount_shared_memory()
    syscalls.mount("proc", "/proc", "proc", syscalls.MS_NOSUID | syscalls.MS_NODEV)
    mount_network_devices()


def mount_shared_memory() -> None:
    """An empty /dev/shm for this mount namespace."""
    syscalls.mount("tmpfs", "/dev/shm", "tmpfs", syscalls.MS_NOSUID | syscalls.MS_NODEV, "mode=1777")


def mount_network_devices() -> None:
    """A new /sys shows this namespace's interfaces; control groups, which MPI libraries ask, are put back."""
    with tempfile.TemporaryDirectory() as aside:
        syscalls.mount("/sys", aside, None, syscalls.MS_BIND | syscalls.MS_REC)
        syscalls.mount("sysfs", "/sys", "sysfs", syscalls.MS_NOSUID | syscalls.MS_NODEV)
        if os.path.isdir("/sys/fs/cgroup"):
            syscalls.mount(f"{aside}/fs/cgroup", "/sys/fs/cgroup", None, syscalls.MS_BIND | syscalls.MS_REC)
        syscalls.unmount(aside)
