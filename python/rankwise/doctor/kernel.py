# SPDX-License-Identifier: BSD-3-Clause
"""What this machine's kernel lets a recording see, each tried or read; what is absent says what it costs."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from rankwise.errors import RankwiseError

_PROC = Path("/proc")
_SYS = Path("/sys")
_CONTAINER = "in a container ask for `--security-opt seccomp=unconfined`, or a profile that allows it"


def interrupts() -> str:
    """Interrupts and softirqs by core can be read."""
    sources = []
    for name in ("interrupts", "softirqs"):
        lines = _lines(_PROC / name)
        if len(lines) < 2:
            raise RankwiseError(
                f"`/proc/{name}` is empty or hidden here",
                "mount /proc without `hidepid` and `subset=pid`; containers may mask it",
            )
        sources.append(f"{len(lines) - 1} lines of `/proc/{name}`")
    return " and ".join(sources)


def run_queue() -> str:
    """How long a thread waited for a core can be read."""
    words = " ".join(_lines(_PROC / "self/schedstat")).split()
    if len(words) < 2:
        raise RankwiseError(
            "the kernel keeps no `/proc/PID/schedstat`",
            "a kernel with CONFIG_SCHED_INFO, as all large distributions have",
        )
    return "the kernel says how long threads wait for a core"


def memory_nodes() -> str:
    """NUMA nodes, and whether it can be read on which of them pages are."""
    nodes = sorted(each.name for each in (_SYS / "devices/system/node").glob("node[0-9]*"))
    if not nodes or not _lines(_PROC / "self/numa_maps"):
        raise RankwiseError(
            "the kernel does not say on which memory pages are (no `/proc/PID/numa_maps`)",
            "a kernel with CONFIG_NUMA; with one memory nothing is lost",
        )
    return f"{len(nodes)} NUMA node{'s' if len(nodes) > 1 else ''}, and on which of them pages are"


def single_copies() -> str:
    """One rank may read another's memory, as MPI libraries do to copy a message once (CMA)."""
    source, target = ctypes.create_string_buffer(b"x" * 8), ctypes.create_string_buffer(8)
    libc = ctypes.CDLL(None, use_errno=True)
    local, remote = (_Piece(ctypes.addressof(each), 8) for each in (target, source))
    if libc.process_vm_readv(os.getpid(), ctypes.byref(local), 1, ctypes.byref(remote), 1, 0) != 8:
        reason = os.strerror(ctypes.get_errno()).lower()
        raise RankwiseError(f"the kernel forbids process_vm_readv: {reason}", _CONTAINER)
    scope = " ".join(_lines(_PROC / "sys/kernel/yama/ptrace_scope")) or "0"
    if scope not in ("0", "1"):
        raise RankwiseError(
            f"ranks may not read each other's memory (kernel.yama.ptrace_scope is {scope})",
            "ask for `sysctl -w kernel.yama.ptrace_scope=1`",
        )
    return f"ranks may read each other's memory (ptrace_scope is {scope})"


def no_filter() -> str:
    """No filter of system calls is on this process."""
    mode = next(
        (line.split()[1] for line in _lines(_PROC / "self/status") if line.startswith("Seccomp:")), "0"
    )
    if mode != "0":
        raise RankwiseError("a filter of system calls is on this process, as in most containers", _CONTAINER)
    return "no filter of system calls"


class _Piece(ctypes.Structure):
    """struct iovec."""

    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
