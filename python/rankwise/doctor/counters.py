# SPDX-License-Identifier: BSD-3-Clause
"""Whether the kernel lets this user count instructions of its own processes (perf_event_open)."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from pathlib import Path

from rankwise.errors import RankwiseError

_CALL_NUMBERS = {"x86_64": 298, "aarch64": 241, "ppc64le": 319, "riscv64": 241}
_ATTRIBUTES_BYTES = 64  # PERF_ATTR_SIZE_VER0, which every kernel takes
_HARDWARE, _INSTRUCTIONS = 0, 1
_SOFTWARE, _TASK_CLOCK = 1, 1
_DISABLED, _NO_KERNEL, _NO_HYPERVISOR = 1 << 0, 1 << 5, 1 << 6
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


def hardware_counters() -> str:
    """Open and close a counter of this process's instructions.

    Raises:
        RankwiseError: There is none, with the kernel's reason.
    """
    _open(_HARDWARE, _INSTRUCTIONS)
    return "the kernel counts instructions for this user"


def software_events() -> str:
    """Open and close a counter that the kernel keeps itself.

    Raises:
        RankwiseError: There is none, with the kernel's reason.
    """
    _open(_SOFTWARE, _TASK_CLOCK)
    return "the kernel counts faults, switches and migrations for this user"


def _open(kind: int, event: int) -> None:
    number = _CALL_NUMBERS.get(platform.machine())
    if number is None:
        raise RankwiseError(f"not known how to count on `{platform.machine()}`")
    flags = _DISABLED | _NO_KERNEL | _NO_HYPERVISOR
    head = struct.pack("=IIQQQQQ", kind, _ATTRIBUTES_BYTES, event, 0, 0, 0, flags)
    attributes = ctypes.create_string_buffer(head.ljust(_ATTRIBUTES_BYTES, b"\0"))
    libc = ctypes.CDLL(None, use_errno=True)
    counter = libc.syscall(number, attributes, 0, -1, -1, 0)
    if counter >= 0:
        os.close(counter)
        return
    code = ctypes.get_errno()
    if code in (errno.EACCES, errno.EPERM):
        level = _PARANOID.read_text().strip() if _PARANOID.exists() else "unknown"
        hint = "ask for `sysctl -w kernel.perf_event_paranoid=2`; recording works without counters"
        raise RankwiseError(f"the kernel forbids counting (perf_event_paranoid is {level})", hint=hint)
    if code in (errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP):
        raise RankwiseError("the kernel sees no hardware counters, as in most virtual machines")
    raise RankwiseError(f"the kernel cannot count: {os.strerror(code).lower()}")
