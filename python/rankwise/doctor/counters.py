# SPDX-License-Identifier: BSD-3-Clause
"""Whether the kernel lets this user count what its own processes do (perf_event_open)."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from pathlib import Path

from rankwise.errors import RankwiseError
from rankwise.recording.samples import absent_counter

_CALL_NUMBERS = {"x86_64": 298, "aarch64": 241, "ppc64le": 319, "riscv64": 241}
_ATTRIBUTES_BYTES = 64  # PERF_ATTR_SIZE_VER0, which every kernel takes
_HARDWARE, _INSTRUCTIONS = 0, 1
_SOFTWARE, _CONTEXT_SWITCHES = 1, 3
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
    """Open and close a counter of what happens in the kernel only, as a recording does.

    Raises:
        RankwiseError: There is none, with the kernel's reason.
    """
    _open(_SOFTWARE, _CONTEXT_SWITCHES, of_kernel=True)
    return "the kernel counts faults, switches and migrations for this user"


def _open(kind: int, event: int, of_kernel: bool = False) -> None:
    """Words for what does not work are those of recordings."""
    number = _CALL_NUMBERS.get(platform.machine())
    if number is None:
        raise RankwiseError(f"not known how to count on `{platform.machine()}`")
    flags = _DISABLED | (0 if of_kernel else _NO_KERNEL | _NO_HYPERVISOR)
    head = struct.pack("=IIQQQQQ", kind, _ATTRIBUTES_BYTES, event, 0, 0, 0, flags)
    attributes = ctypes.create_string_buffer(head.ljust(_ATTRIBUTES_BYTES, b"\0"))
    libc = ctypes.CDLL(None, use_errno=True)
    counter = libc.syscall(number, attributes, 0, -1, -1, 0)
    if counter >= 0:
        os.close(counter)
        return
    code = ctypes.get_errno()
    level = ""
    if code in (errno.EACCES, errno.EPERM) and _PARANOID.exists():
        level = f"perf_event_paranoid is {_PARANOID.read_text().strip()}"
    absent = absent_counter("", code, level)
    raise RankwiseError(absent.why, hint=absent.remedy)
