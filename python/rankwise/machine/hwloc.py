# SPDX-License-Identifier: BSD-3-Clause
"""The adapter over libhwloc: whatever describes a node becomes hwloc's XML, the only form read from here on.

Only a few functions of the stable hwloc 2 ABI are called through ctypes; no object is followed by pointer.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path

from rankwise.errors import RankwiseError

_SONAME = "libhwloc.so.15"  # the ABI of all hwloc 2 releases
_INCLUDE_DISALLOWED = 1  # HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED
_environment_lock = threading.Lock()


@cache
def library() -> ctypes.CDLL:
    """The hwloc 2 library: `RANKWISE_HWLOC`, else the system's, else the one installed with Rankwise.

    Raises:
        RankwiseError: None can be loaded.
    """
    asked = os.environ.get("RANKWISE_HWLOC")
    candidates = [asked] if asked else [_SONAME, *own_copies()]
    causes = []
    for candidate in candidates:
        try:
            loaded = ctypes.CDLL(candidate)
            version = loaded.hwloc_get_api_version()
        except (OSError, AttributeError) as error:
            causes.append(str(error))
            continue
        if version >> 16 != 2:
            causes.append(f"{candidate} has the interface of hwloc {version >> 16}, not 2")
            continue
        _declare(loaded)
        return loaded
    hint = (
        "unset RANKWISE_HWLOC, or set it to a `libhwloc.so.15`" if asked else "set RANKWISE_HWLOC to its path"
    )
    raise RankwiseError(f"no hwloc 2 library: `{candidates[0]}` cannot be loaded", hint, causes=tuple(causes))


def own_copies() -> list[str]:
    """Paths of the hwloc that was installed with Rankwise."""
    # An editable install keeps built files away from the sources, where only importlib's metadata finds them.
    from importlib.metadata import PackageNotFoundError, files

    beside = Path(__file__).resolve().parent.parent / "_lib" / _SONAME
    try:
        listed = [Path(each.locate()) for each in files("rankwise") or [] if each.name == _SONAME]
    except PackageNotFoundError:
        listed = []
    return list(dict.fromkeys(str(path) for path in [beside, *listed] if path.is_file()))


def _declare(hwloc: ctypes.CDLL) -> None:
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


def xml_of_synthetic(description: str, typed: str | None = None) -> bytes:
    """XML of a synthetic description such as `package:2 core:2 pu:1`, which must end with its PU level.

    Args:
        description: For hwloc.
        typed: What the user wrote, for the error.
    """
    return _load(
        lambda hwloc, topology: hwloc.hwloc_topology_set_synthetic(topology, description.encode()),
        f"`{typed or description}` is not an hwloc synthetic description",
        "see `man hwloc` under synthetic topologies; for example `--node 'package:2 core:4 pu:2'`",
    )


def xml_of_file(path: str | os.PathLike[str]) -> bytes:
    """XML of the topology in an XML file that any version of hwloc wrote."""
    path = Path(path)
    return _load(
        lambda hwloc, topology: hwloc.hwloc_topology_set_xml(topology, os.fsencode(path)),
        f"`{path}` is not a topology that hwloc can read",
        f"write it on the node with `lstopo {path.name if path.suffix == '.xml' else 'node.xml'}`",
    )


def xml_of_this_machine() -> bytes:
    """XML of the node this process runs on, cores that its cgroup withholds included: all jobs see one node."""
    return _load(
        lambda hwloc, topology: hwloc.hwloc_topology_set_flags(topology, _INCLUDE_DISALLOWED),
        "hwloc cannot discover this machine",
        None,
    )


def xml_of_root(directory: str | os.PathLike[str]) -> bytes:
    """XML of a node whose /proc and /sys were saved below a directory."""
    wanted = {"HWLOC_FSROOT": str(directory), "HWLOC_COMPONENTS": "linux,stop", "HWLOC_THISSYSTEM": "0"}
    with _environment_lock:
        before = {name: os.environ.get(name) for name in wanted}
        os.environ.update(wanted)
        try:
            return _load(
                lambda hwloc, topology: hwloc.hwloc_topology_set_flags(topology, _INCLUDE_DISALLOWED),
                f"hwloc cannot read the node saved in `{directory}`",
                None,
            )
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def _load(prepare: Callable[[ctypes.CDLL, ctypes.c_void_p], int], failure: str, hint: str | None) -> bytes:
    hwloc = library()
    topology = ctypes.c_void_p()
    if hwloc.hwloc_topology_init(ctypes.byref(topology)):
        raise RankwiseError("hwloc cannot start", None)
    try:
        if prepare(hwloc, topology) or hwloc.hwloc_topology_load(topology):
            raise RankwiseError(failure, hint)
        return _export(hwloc, topology)
    finally:
        hwloc.hwloc_topology_destroy(topology)


def _export(hwloc: ctypes.CDLL, topology: ctypes.c_void_p) -> bytes:
    buffer, length = ctypes.c_void_p(), ctypes.c_int()
    if hwloc.hwloc_topology_export_xmlbuffer(topology, ctypes.byref(buffer), ctypes.byref(length), 0):
        raise RankwiseError("hwloc cannot write a topology as XML", None)
    try:
        return ctypes.string_at(buffer, length.value).rstrip(b"\0")
    finally:
        hwloc.hwloc_free_xmlbuffer(topology, buffer)
