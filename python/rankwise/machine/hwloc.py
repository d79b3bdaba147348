# SPDX-License-Identifier: BSD-3-Clause
"""The adapter over libhwloc: whatever describes a node becomes hwloc's XML, the only form read from here on."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import rankwise
from rankwise import regular_files
from rankwise.errors import RankwiseError
from rankwise.machine import hwloc_calls

_SONAME = "libhwloc.so.15"  # the ABI of all hwloc 2 releases
_LIMIT_S = 60
_MOST_BYTES = 64 << 20
_COUNTED = re.compile(rb"""<object\b[^>]*\btype=["'](?:PU|NUMANode|NUMA)["'][^>]*>""")
_OS_INDEX = re.compile(rb"""\bos_index=["']([^"']*)["']""")
_MOST_DIGITS = 6


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
        hwloc_calls.declare(loaded)
        return loaded
    hint = (
        "unset RANKWISE_HWLOC, or set it to a `libhwloc.so.15`" if asked else "set RANKWISE_HWLOC to its path"
    )
    raise RankwiseError(f"no hwloc 2 library: `{candidates[0]}` cannot be loaded", hint, causes=tuple(causes))


class _Symbol(ctypes.Structure):
    """`Dl_info` of `dladdr`."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def library_path() -> str:
    """The file of `library()`: what an MPI has loaded goes by its soname here, and nowhere else."""
    symbol = _Symbol()
    ctypes.CDLL(None).dladdr(library().hwloc_get_api_version, ctypes.byref(symbol))
    return os.path.abspath(os.fsdecode(symbol.file))


def own_copies() -> list[str]:
    """Paths of the hwloc that was installed with Rankwise."""
    # An editable install keeps built files away from the sources.
    beside = [Path(place).resolve() / "_lib" / _SONAME for place in rankwise.__path__]
    return [str(path) for path in beside if path.is_file()]


@cache
def xml_of_synthetic(description: str, typed: str | None = None) -> bytes:
    """XML of a synthetic description such as `package:2 core:2 pu:1`, which must end with its PU level.

    Args:
        description: For hwloc.
        typed: What the user wrote, for the error.
    """
    return _apart(
        "synthetic",
        description,
        f"`{typed or description}` is not an hwloc synthetic description",
        "see `man hwloc` under synthetic topologies; for example `--node 'package:2 core:4 pu:2'`",
    )


def xml_of_file(path: str | os.PathLike[str]) -> bytes:
    """XML of the topology in an XML file that any version of hwloc wrote."""
    path = Path(path)
    _check_numbers(path)
    return _apart(
        "xml",
        os.path.abspath(path),
        f"`{path}` is not a topology that hwloc can read",
        f"write it on the node with `lstopo {path.name if path.suffix == '.xml' else 'node.xml'}`",
    )


def _check_numbers(path: Path) -> None:
    """Refuse numbers of PUs and NUMA nodes for which hwloc would make sets of billions."""
    try:
        text = regular_files.read_bytes(path, _MOST_BYTES)
    except OSError as error:
        raise RankwiseError(f"`{path}` cannot be read: {(error.strerror or str(error)).lower()}") from None
    for element in _COUNTED.finditer(text):
        number = _OS_INDEX.search(element[0])
        if number and not (number[1].isdigit() and len(number[1]) <= _MOST_DIGITS):
            line = text.count(b"\n", 0, element.start()) + 1
            raise RankwiseError(
                f"`{path}` line {line} key `os_index`: `{number[1].decode('ascii', 'replace')}` is no number "
                "of a PU or NUMA node",
                f"write the file again on the node: `lstopo {path.name}`",
            )


def xml_of_this_machine() -> bytes:
    """XML of the node this process runs on, cores that its cgroup withholds included: all jobs see one node."""
    try:
        return hwloc_calls.xml(library(), "this")
    except hwloc_calls.Failure:
        raise RankwiseError("hwloc cannot discover this machine", None) from None


def xml_of_root(directory: str | os.PathLike[str]) -> bytes:
    """XML of a node whose /proc and /sys were saved below a directory."""
    failure = f"hwloc cannot read the node saved in `{directory}`"
    return _apart("root", os.path.abspath(directory), failure, None)


def _apart(kind: str, text: str, failure: str, hint: str | None) -> bytes:
    """What `hwloc_calls` says of a description, in a process of its own: hwloc ends its process on some."""
    if "\0" in text:
        raise RankwiseError(failure, hint)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HWLOC_")}
    if kind == "root":
        environment |= {"HWLOC_FSROOT": text, "HWLOC_COMPONENTS": "linux,stop", "HWLOC_THISSYSTEM": "0"}
    words = [sys.executable, "-I", "-S", hwloc_calls.__file__, library_path(), kind, text]
    try:
        ended = subprocess.run(
            words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=_LIMIT_S
        )
    except (subprocess.TimeoutExpired, OSError) as error:
        why = f"no answer in {_LIMIT_S} s" if isinstance(error, subprocess.TimeoutExpired) else str(error)
        raise RankwiseError(failure, hint, causes=(why,)) from None
    if ended.returncode == 0 and ended.stdout:
        return ended.stdout
    causes: tuple[str, ...] = ()
    if ended.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        causes = (f"hwloc came to no end in {hwloc_calls.CPU_S} s of a processor",)
    elif ended.returncode < 0:
        causes = (f"hwloc ended itself by {signal.Signals(-ended.returncode).name}: it contradicts itself",)
    raise RankwiseError(failure, hint, causes=causes)
