# SPDX-License-Identifier: BSD-3-Clause
"""Tries to leave its node or to change the host: prints `NAME refused` or `NAME done`, one line a trial.

    escapes.py OUTSIDE_PID OUTSIDE_PORT ADDRESS_OF_A_STRING_THERE

Whatever a trial changes by success is harmless, or is what was there before.
"""

import contextlib
import ctypes
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

libc = ctypes.CDLL(None, use_errno=True)
outside, port, address = map(int, sys.argv[1:])
PTRACE_ATTACH, CLONE_NEWNS, CLONE_NEWUSER = 16, 0x20000, 0x10000000
NR_REBOOT, NR_INIT_MODULE = {"x86_64": (169, 175), "aarch64": (142, 105)}[os.uname().machine]
RESTART = "/proc/sys/kernel/ctrl-alt-del"


def called(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def rewrite(path):
    """Write what is there already; a success is as good as that of any other value."""
    with open(path, "r+b", buffering=0) as file:
        file.write(file.read())


def opened(path, flags=os.O_RDONLY):
    os.close(os.open(path, flags))


def made_device(kind, device):
    with tempfile.TemporaryDirectory() as directory:
        os.mknod(f"{directory}/device", kind | 0o600, device)
        opened(f"{directory}/device")


def host_disk():
    about = os.stat("/")
    made_device(stat.S_IFBLK, about.st_dev)


def enter(kind, flag):
    # Number 1 is the node's own; where that is open, so are the namespaces' rights.
    with open(f"/proc/1/ns/{kind}", "rb") as file:
        called(libc.setns(file.fileno(), flag))


def mount(source, target, kind, flags=0, options=None):
    called(libc.mount(source, target, kind, ctypes.c_ulong(flags), options))


def escape_chroot():
    with tempfile.TemporaryDirectory() as directory:
        os.chroot(directory)


def run(*words):
    ended = subprocess.run(words, capture_output=True, check=False)
    if ended.returncode:
        raise OSError(ended.stderr.decode(errors="replace"))


def network(what, *how, **options):
    try:
        with IPRoute() as netlink:
            getattr(netlink, what)(*how, **options)
    except NetlinkError as error:
        raise OSError(error.code, str(error)) from None


def set_uid_program():
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        copy = f"{directory}/id"
        with open("/usr/bin/id", "rb") as source, open(copy, "wb") as target:
            target.write(source.read())
        os.chown(copy, 1, 1)
        os.chmod(copy, 0o4755)
        run("sh", "-c", f"test $({copy} -u) != $(id -u)")


def any_right():
    with open("/proc/self/status", encoding="ascii") as file:
        rights = [
            line.split()[1] for line in file if line.startswith(("CapPrm", "CapEff", "CapBnd", "CapAmb"))
        ]
    if not any(int(each, 16) for each in rights):
        raise OSError("none")


def write_sysctl_in_a_user_namespace():
    called(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS))
    with contextlib.suppress(OSError):
        mount(b"none", b"/proc/sys", None, 0x1020)  # remount, bind, writable
    rewrite(RESTART)


def unmount_in_a_user_namespace():
    called(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS))
    called(libc.umount2(b"/proc/sys", 2))


def fresh_proc_in_a_user_namespace():
    called(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS))
    mount(b"proc", b"/mnt", b"proc")


def reach_abstract_socket():
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(f"\0rankwise-outside-{outside}")


def reach_host():
    socket.create_connection(("127.0.0.1", port), timeout=2).close()


def write_memory():
    with open(f"/proc/{outside}/mem", "r+b", buffering=0) as file:
        file.seek(address)
        file.write(b"theirs")


TRIALS = {
    "sysctl": lambda: rewrite(RESTART),
    "core-pattern": lambda: rewrite("/proc/sys/kernel/core_pattern"),
    "network-sysctl": lambda: rewrite("/proc/sys/net/ipv4/ip_forward"),
    "sysrq": lambda: opened("/proc/sysrq-trigger", os.O_WRONLY),
    "interrupts": lambda: rewrite("/proc/irq/default_smp_affinity"),
    "sys": lambda: rewrite("/sys/class/net/eth0/mtu"),
    "sys-kernel": lambda: rewrite("/sys/kernel/mm/transparent_hugepage/enabled"),
    "control-group": lambda: os.mkdir("/sys/fs/cgroup/rankwise-escape"),
    "disk": lambda: opened("/dev/vda"),
    "memory-device": lambda: opened("/dev/mem"),
    "kernel-log": lambda: opened("/dev/kmsg"),
    "kernel-memory": lambda: opened("/proc/kcore"),
    "disk-made": host_disk,
    "memory-device-made": lambda: made_device(stat.S_IFCHR, os.makedev(1, 1)),
    "mount": lambda: mount(b"none", b"/mnt", b"tmpfs"),
    "remount": lambda: mount(b"none", b"/proc/sys", None, 0x1020),
    "unmount": lambda: called(libc.umount2(b"/proc/sys", 2)),
    "mount-namespace": lambda: enter("mnt", CLONE_NEWNS),
    "network-namespace": lambda: enter("net", 0x40000000),
    "root-of-1": lambda: os.listdir("/proc/1/root/"),
    "chroot": escape_chroot,
    "kill": lambda: os.kill(outside, signal.SIGCONT),
    "ptrace": lambda: called(libc.ptrace(PTRACE_ATTACH, outside, None, None)),
    "ptrace-of-1": lambda: called(libc.ptrace(PTRACE_ATTACH, 1, None, None)),
    "memory": write_memory,
    "raw-socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close(),
    "packet-socket": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close(),
    "host-port": reach_host,
    "host-abstract-socket": reach_abstract_socket,
    "reboot": lambda: called(libc.syscall(NR_REBOOT, 0xFEE1DEAD, 672274793, 0, None)),
    "module": lambda: called(libc.syscall(NR_INIT_MODULE, None, 0, b"")),
    "clock": lambda: __import__("time").clock_settime(0, __import__("time").time()),
    "host-name": lambda: socket.sethostname(socket.gethostname()),
    "limit": lambda: network("tc", "del", index=socket.if_nametoindex("eth0"), parent=0xFFFFFFFF),
    "interface": lambda: network("link", "set", index=socket.if_nametoindex("eth0"), mtu=1400),
    "route": lambda: network("route", "add", dst="10.99.0.0/16", oif=socket.if_nametoindex("eth0")),
    "other-user": lambda: os.setuid(1),
    "set-uid-program": set_uid_program,
    "rights": any_right,
    "sysctl-in-user-namespace": write_sysctl_in_a_user_namespace,
    "unmount-in-user-namespace": unmount_in_a_user_namespace,
    "proc-in-user-namespace": fresh_proc_in_a_user_namespace,
}


def tried(name):
    """In a process of its own: a success may take this one elsewhere."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    try:
        TRIALS[name]()
    except OSError:
        os._exit(1)
    except BaseException as error:
        sys.stderr.write(f"{name}: {error!r}\n")
        os._exit(2)
    os._exit(0)


for name in TRIALS:
    status = os.waitstatus_to_exitcode(tried(name))
    print(name, {0: "done", 1: "refused"}.get(status, f"failed {status}"), flush=True)
