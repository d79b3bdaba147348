# SPDX-License-Identifier: BSD-3-Clause
"""The process that holds one node's namespaces, and what a program sees differently there."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path
from typing import NoReturn

from rankwise.lab import syscalls

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "ptmx": "pts/ptmx",
}


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
    """Devices, shared memory, processes and network devices of this node only; all other files are the host's.

    What the kernel is set up with is read-only: files of /proc and /sys are open to the user 0 without any right.
    """
    syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    mount_devices()
    syscalls.mount("proc", "/proc", "proc", syscalls.MS_NOSUID | syscalls.MS_NODEV)
    mount_network_devices()
    syscalls.make_read_only("/sys")
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit() and not entry.is_symlink() and _may_be_written(entry):
            syscalls.make_read_only(entry.path)


def _may_be_written(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir() or bool(entry.stat().st_mode & 0o222)


def mount_devices() -> None:
    """A /dev without disks, memory, terminals of others or anything else of the host but what programs need."""
    with tempfile.TemporaryDirectory() as aside:
        syscalls.mount("/dev", aside, None, syscalls.MS_BIND | syscalls.MS_REC)
        syscalls.mount("tmpfs", "/dev", "tmpfs", syscalls.MS_NOSUID, "mode=755")
        for device in _DEVICES:
            Path("/dev", device).touch()
            syscalls.mount(f"{aside}/{device}", f"/dev/{device}", None, syscalls.MS_BIND)
        syscalls.unmount(aside)
    for name, target in _LINKS.items():
        os.symlink(target, f"/dev/{name}")
    for name in ("pts", "shm"):
        os.mkdir(f"/dev/{name}")
    flags = syscalls.MS_NOSUID | syscalls.MS_NOEXEC
    syscalls.mount("devpts", "/dev/pts", "devpts", flags, "newinstance,ptmxmode=0666,mode=620")
    mount_shared_memory()


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
