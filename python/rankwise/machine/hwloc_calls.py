# SPDX-License-Identifier: BSD-3-Clause
"""The calls of hwloc 2 that are needed, through ctypes; no object is followed by pointer.

hwloc ends its process where a description contradicts itself. So what was not made by this very machine is loaded by
running this file in a process of its own, which imports nothing of Rankwise: `FILE LIBRARY synthetic|xml|root TEXT`
writes XML to stdout, and leaves with 1 if hwloc refuses and 2 if it cannot write.
"""

from __future__ import annotations

import ctypes
import os
import sys

INCLUDE_DISALLOWED = 1  # HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED
REFUSED, NOT_WRITTEN = 1, 2
CPU_S = 10  # the largest machines take less than one


class Failure(Exception):
    """hwloc refuses (`REFUSED`) or cannot write (`NOT_WRITTEN`)."""

    def __init__(self, status: int):
        super().__init__(status)
        self.status = status


def declare(hwloc: ctypes.CDLL) -> None:
    """Say what the functions take."""
    topology = ctypes.c_void_p
    for name, arguments in {
        "hwloc_topology_init": [ctypes.POINTER(topology)],
        "hwloc_topology_destroy": [topology],
        "hwloc_topology_set_flags": [topology, ctypes.c_ulong],
        "hwloc_topology_set_synthetic": [topology, ctypes.c_char_p],
        "hwloc_topology_set_xml": [topology, ctypes.c_char_p],
        "hwloc_topology_load": [topology],
        "hwloc_topology_export_xmlbuffer": [
            topology,
            ctypes.POINTER(ctypes.c_void_p),
            ctypes.POINTER(ctypes.c_int),
            ctypes.c_ulong,
        ],
        "hwloc_free_xmlbuffer": [topology, ctypes.c_void_p],
    }.items():
        getattr(hwloc, name).argtypes = arguments


def xml(hwloc: ctypes.CDLL, kind: str, text: bytes = b"") -> bytes:
    """XML of a topology.

    Args:
        hwloc: The library, declared.
        kind: `synthetic` and `xml` are made of `text`; else what hwloc discovers, with cores that are not allowed.
        text: A description, or the path of a file.

    Raises:
        Failure: There is none.
    """
    topology = ctypes.c_void_p()
    if hwloc.hwloc_topology_init(ctypes.byref(topology)):
        raise Failure(REFUSED)
    try:
        if kind == "synthetic":
            refused = hwloc.hwloc_topology_set_synthetic(topology, text)
        elif kind == "xml":
            refused = hwloc.hwloc_topology_set_xml(topology, text)
        else:
            refused = hwloc.hwloc_topology_set_flags(topology, INCLUDE_DISALLOWED)
        if refused or hwloc.hwloc_topology_load(topology):
            raise Failure(REFUSED)
        return _export(hwloc, topology)
    finally:
        hwloc.hwloc_topology_destroy(topology)


def _export(hwloc: ctypes.CDLL, topology: ctypes.c_void_p) -> bytes:
    buffer, length = ctypes.c_void_p(), ctypes.c_int()
    if hwloc.hwloc_topology_export_xmlbuffer(topology, ctypes.byref(buffer), ctypes.byref(length), 0):
        raise Failure(NOT_WRITTEN)
    try:
        return ctypes.string_at(buffer, length.value).rstrip(b"\0")
    finally:
        hwloc.hwloc_free_xmlbuffer(topology, buffer)


def main(argv: list[str]) -> int:
    """One description, in a process that may be ended."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 1))
    library, kind, text = argv
    hwloc = ctypes.CDLL(library)
    declare(hwloc)
    try:
        content = xml(hwloc, kind, os.fsencode(text))
    except Failure as failure:
        return failure.status
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()
    # Nothing of what was loaded is needed again, and taking it down is what may fail.
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
