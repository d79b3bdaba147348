# SPDX-License-Identifier: BSD-3-Clause
"""Run by the launcher in the place of the program, once a rank: says where this process really is.

    python -I -S in_rank.py DIRECTORY MODULES FAMILY LAUNCHER [PROGRAM]

It appends one line of JSON (keys as of `rankwise.doctor.reports`) to the file of its host in DIRECTORY, as one write
so that lines of several ranks do not mix; where that directory is not seen, the line goes to stdout after `MARK`.
MPI is not needed, nor anything but the standard library: thousands of ranks start it at once from one file system. The
first of a host alone reads, from MODULES, what finds an MPI library, and describes its node for all of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import sys
from pathlib import Path
from typing import Any

MARK = "rankwise-doctor: "
# As record/placement/binding.c looks for them, then those of launchers that Rankwise only starts.
RANKS = (
    *("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"),
    *("FLUX_TASK_RANK", "PALS_RANKID", "ALPS_APP_PE", "JSM_NAMESPACE_RANK", "MV2_COMM_WORLD_RANK"),
)
SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", "FLUX_JOB_SIZE", "JSM_NAMESPACE_SIZE")
# What an MPI library asks its rank of; SLURM_PROCID is not among them.
INTERFACES = ("PMI_FD", "PMI_PORT", "PMI_RANK", "PMIX_RANK", "PMIX_NAMESPACE", "PALS_RANKID")


def report() -> dict[str, Any]:
    """Where this process is."""
    name = next((each for each in RANKS if os.environ.get(each, "").isdigit()), None)
    sizes = [int(os.environ[each]) for each in SIZES if os.environ.get(each, "").isdigit()]
    quota_cores, quota_of = quota()
    return {
        "host": socket.gethostname(),
        "rank": int(os.environ[name]) if name else None,
        "rank_from": name,
        "world_size": sizes[0] if sizes else None,
        "starts_mpi": any(each in os.environ for each in INTERFACES),
        "pid": os.getpid(),
        "pus": sorted(os.sched_getaffinity(0)),
        "ran_on": running_on(),
        "memory_nodes": indices(status_value("Mems_allowed_list")),
        "memory_policy": memory_policy(),
        "cpuset": cgroup_file("cpuset", "cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"),
        "quota_cores": quota_cores,
        "quota_of": quota_of,
    }


def text_of(path: str | Path) -> str | None:
    """What a file holds, `None` if it cannot be read."""
    try:
        return Path(path).read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None


def indices(text: str | None) -> list[int]:
    """`0-3,8` as a list; empty for what is none."""
    found: list[int] = []
    for part in (text or "").split(","):
        first, _, last = part.strip().partition("-")
        if first.isdigit() and (last or first).isdigit():
            found += range(int(first), int(last or first) + 1)
    return found


def status_value(key: str) -> str | None:
    """A line of /proc/self/status."""
    for line in (text_of("/proc/self/status") or "").splitlines():
        if line.startswith(key + ":"):
            return line.partition(":")[2].strip()
    return None


def running_on() -> int | None:
    """The PU this process is on: field 39 of its stat file, behind a name that may hold anything."""
    fields = (text_of("/proc/self/stat") or "").rpartition(")")[2].split()
    return int(fields[36]) if len(fields) > 36 else None


def memory_policy() -> str | None:
    """`default`, `bind:0`, `interleave:0-1`, ...; `None` where the kernel does not say."""
    words = (text_of("/proc/self/numa_maps") or "").split(None, 2)
    return words[1] if len(words) > 1 else None


def cgroup_directories(controller: str) -> list[str]:
    """The cgroup of this process for a controller and those it is in, innermost first."""
    for line in (text_of("/proc/self/cgroup") or "").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            top = "/sys/fs/cgroup"
        elif controller in controllers.split(","):
            top = f"/sys/fs/cgroup/{controllers}"
        else:
            continue
        if not os.path.isdir(top):
            continue
        parts = [part for part in path.split("/") if part and part != ".."]
        return [os.path.join(top, *parts[:depth]) for depth in range(len(parts), -1, -1)]
    return []


def cgroup_file(controller: str, *names: str) -> str | None:
    """The innermost of these files."""
    paths = (f"{directory}/{name}" for directory in cgroup_directories(controller) for name in names)
    return next((text for text in map(text_of, paths) if text), None)


def quota() -> tuple[float | None, str | None]:
    """The least processor time a cgroup allows, in cores, and its directory; `None` where there is no limit."""
    limits = []
    for directory in cgroup_directories("cpu"):
        words = (text_of(f"{directory}/cpu.max") or "").split()  # version 2
        if not words:
            files = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
            words = [text_of(f"{directory}/{name}") or "" for name in files]
        if len(words) == 2 and all(word.isdigit() for word in words) and int(words[1]):
            limits.append((int(words[0]) / int(words[1]), directory))
    return min(limits, default=(None, None))


def interfaces() -> list[dict[str, Any]]:
    """Network interfaces of this node but the loopback, and the devices of InfiniBand and its kin."""
    found: list[dict[str, Any]] = []
    with contextlib.suppress(OSError):
        for _, name in socket.if_nameindex():
            speed = text_of(f"/sys/class/net/{name}/speed") or ""
            mbit = int(speed) if speed.isdigit() else None
            state = text_of(f"/sys/class/net/{name}/operstate")
            if name != "lo":
                found.append({"name": name, "state": state, "mbit_per_s": mbit})
    for kind in ("infiniband", "cxi"):
        with contextlib.suppress(OSError):
            for name in sorted(os.listdir(f"/sys/class/{kind}")):
                found.append({"name": name, "state": kind, "mbit_per_s": None})
    return found


def mpi(modules: str, family: str, launcher: str, program: str | None) -> dict[str, str | None]:
    """The MPI library that a program is linked with here, or that there is; `path` is `None` if none is found."""
    try:
        sys.path += [str(Path(__file__).resolve().parents[2]), modules]
        from rankwise.launchers.detect import mpi_of
        from rankwise.launchers.library import expected_library
        from rankwise.launchers.line import Launcher, LaunchLine
    except Exception as error:
        return {"path": None, "how": f"this Rankwise cannot be read here: {error}"}
    try:
        if program is not None:
            found = mpi_of(program)
            if found.library is not None:
                return {"path": found.path, "how": found.reason}
        path = expected_library(
            LaunchLine(Launcher("none"), ()), [each for each in (program, launcher) if each], family or None
        )
        return {"path": path, "how": "found on this node" if path else "no MPI library was found"}
    except Exception as error:
        return {"path": None, "how": str(error)}


def topology() -> list[list[int | None]]:
    """[PU, package, core, NUMA node] of each PU of this node; what the kernel does not say is `None`.

    By hand and not through hwloc, because a rank has nothing but Python here.
    """
    memory: dict[int, int] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/sys/devices/system/node"):
            if re.fullmatch(r"node\d+", name):
                for pu in indices(text_of(f"/sys/devices/system/node/{name}/cpulist")):
                    memory[pu] = int(name[4:])
    found = []
    for pu in indices(text_of("/sys/devices/system/cpu/online")) or sorted(os.sched_getaffinity(0)):
        files = (
            f"/sys/devices/system/cpu/cpu{pu}/topology/{name}" for name in ("physical_package_id", "core_id")
        )
        package, core = (int(text) if text and text.isdigit() else None for text in map(text_of, files))
        found.append([pu, package, core, memory.get(pu)])
    return found


def node(modules: str, family: str, launcher: str, program: str | None) -> dict[str, Any]:
    """What is the same for all ranks of this node."""
    return {
        "topology": topology(),
        "interfaces": interfaces(),
        "mpi": mpi(modules, family, launcher, program),
    }


def main(directory: str, modules: str, family: str, launcher: str, program: str | None = None) -> None:
    """Write the line."""
    said = report()
    file = f"{directory}/{said['host'].replace('/', '_')}"
    here = os.path.isdir(directory)
    try:
        if here:
            os.close(os.open(f"{file}.first", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        said["node"] = node(modules, family, launcher, program)
    except OSError:
        said["node"] = None
    line = json.dumps(said, separators=(",", ":"))
    try:
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) if here else None
    except OSError:
        opened = None
    os.write(1 if opened is None else opened, f"{MARK if opened is None else ''}{line}\n".encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
