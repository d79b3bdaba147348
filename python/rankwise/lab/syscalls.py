# SPDX-License-Identifier: BSD-3-Clause
"""The Linux calls of the lab that Python lacks before 3.12: namespaces, mounts, host name, rights.

Imports nothing of Rankwise: the small programs `enter.py` and `pin.py`, which are started once a node and
once a rank, load this file alone.
"""

from __future__ import annotations

import ctypes
import os

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_REMOUNT = 0x20
MS_NOATIME = 0x400
MS_NODIRATIME = 0x800
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
MS_RELATIME = 0x200000

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_NAME = 15
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
PR_SET_PTRACER = 0x59616D61
PR_SET_PTRACER_ANY = 2**64 - 1

# In the order in which they must be entered: the user namespace gives the right to enter the others.
NAMESPACES = (
    ("user", CLONE_NEWUSER),
    ("ipc", CLONE_NEWIPC),
    ("uts", CLONE_NEWUTS),
    ("net", CLONE_NEWNET),
    ("pid", CLONE_NEWPID),
    ("mnt", CLONE_NEWNS),
)

# Version of the two structures of capset(2): 64 capabilities in two words each.
_CAPABILITY_VERSION_3 = 0x20080522
# What a mount in a user namespace must keep when it becomes read-only.
_KEPT = {
    "nosuid": MS_NOSUID,
    "nodev": MS_NODEV,
    "noexec": MS_NOEXEC,
    "noatime": MS_NOATIME,
    "nodiratime": MS_NODIRATIME,
    "relatime": MS_RELATIME,
}

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Give this process new namespaces (unshare(2))."""
    _check(_libc.unshare(flags), "unshare")


def setns(descriptor: int, kind: int) -> None:
    """Enter the namespace of an open /proc/PID/ns file (setns(2))."""
    _check(_libc.setns(descriptor, kind), "setns")


def mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """Mount (mount(2))."""
    words = [None if word is None else word.encode() for word in (source, target, kind, options)]
    _check(_libc.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]), f"mount on {target}")


def unmount(target: str) -> None:
    """Detach a mount now, and let go of it when nobody uses it any more (umount2(2) with MNT_DETACH)."""
    _check(_libc.umount2(target.encode(), 2), f"unmount {target}")


def set_host_name(name: str) -> None:
    """Name the host of this UTS namespace (sethostname(2))."""
    encoded = name.encode()
    _check(_libc.sethostname(encoded, len(encoded)), "sethostname")


def prctl(option: int, value: int | bytes) -> None:
    """Set an attribute of this process (prctl(2))."""
    argument = ctypes.c_char_p(value) if isinstance(value, bytes) else ctypes.c_ulong(value)
    nothing = ctypes.c_ulong(0)
    _check(_libc.prctl(option, argument, nothing, nothing, nothing), "prctl")


def make_read_only(path: str) -> None:
    """Mount a file or directory on itself, with all that is mounted below, so that nobody writes there."""
    mount(path, path, None, MS_BIND | MS_REC)
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        mounts = [line.split(" ")[:6] for line in file]
    # The last one there is on top, with what is mounted in it; what older ones have below is out of reach.
    reached = {[number for number, _, _, _, point, _ in mounts if point == path][-1]}
    for number, parent, _, _, point, options in mounts:
        if parent in reached:
            reached.add(number)
        if number in reached:
            flags = sum(_KEPT.get(option, 0) for option in options.split(","))
            mount("none", point, None, MS_REMOUNT | MS_BIND | MS_RDONLY | flags)


def give_up_rights() -> None:
    """Leave this process, and what it becomes and starts, without any capability and without a way to get one."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    try:
        for capability in range(64):
            prctl(PR_CAPBSET_DROP, capability)
    except OSError:
        pass  # The kernel has no more of them; or we may not, and no new privileges are to be had anyway.
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    _check(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")


def enter(pid: int) -> bool:
    """Enter the namespaces of a process; skips those this process is in already.

    Returns:
        Whether a new PID namespace was entered, which only takes effect in the next child.
    """
    opened = []
    for name, kind in NAMESPACES:
        path = f"/proc/{pid}/ns/{name}"
        if os.readlink(path) != os.readlink(f"/proc/self/ns/{name}"):
            opened.append((os.open(path, os.O_RDONLY | os.O_CLOEXEC), kind))
    for descriptor, kind in opened:
        setns(descriptor, kind)
        os.close(descriptor)
    return any(kind == CLONE_NEWPID for _, kind in opened)
