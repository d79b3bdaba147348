# SPDX-License-Identifier: BSD-3-Clause
"""The list of checks; each tries one thing and says what it found, or why not and what to do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rankwise.errors import RankwiseError

MODULE_HINT = "load your MPI module first, for example `module load openmpi`"


@dataclass(frozen=True)
class Check:
    """One finding.

    Attributes:
        name: What was tried, stable for scripts.
        ok: Whether it works.
        needed_for: What does not work without it.
        found: What was found, or why it does not work.
        hint: What to do, `None` if nothing needs doing or can be done.
    """

    name: str
    ok: bool
    needed_for: str
    found: str
    hint: str | None = None


def examine() -> list[Check]:
    """Try everything; takes about a second, most of it compilers and launchers that are asked for their version."""
    return [check for section in _SECTIONS for check in section()]


def _tried(name: str, needed_for: str, attempt: Callable[[], str]) -> Check:
    try:
        return Check(name, True, needed_for, attempt())
    except RankwiseError as error:
        return Check(name, False, needed_for, "; ".join([error.message, *error.causes]), error.hint)


def _recorder() -> Iterator[Check]:
    from rankwise.launchers.detect import FLAVOURS, NAMES
    from rankwise.record.library import PRELOADED, library_directory

    try:
        directory = library_directory()
    except RankwiseError as error:
        yield Check("recorder", False, "record", error.message, error.hint)
        return
    for flavour in FLAVOURS:
        path = directory / PRELOADED.replace(".so", f"_{flavour}.so")
        found = f"{NAMES[flavour]}: `{path.name}`"
        yield Check("recorder", path.exists(), "record", found if path.exists() else f"{found} is missing")


def _launchers() -> Iterator[Check]:
    from rankwise.launchers.identify import identify

    seen: set[str | tuple[str, str | None, str]] = set()
    for word in ("mpiexec", "mpirun", "mpiexec.hydra", "mpiexec.mpich", "mpiexec.openmpi", "srun"):
        path = shutil.which(word)
        if path is None or os.path.realpath(path) in seen:
            continue
        seen.add(os.path.realpath(path))
        launcher = identify(word)
        if launcher is None:
            hint = "start programs with MPICH's, Intel's or Open MPI's mpiexec, or with srun"
            yield Check("launcher", False, "record, run", f"`{path}` does not say whose it is", hint)
            continue
        # One installation has its launcher under several names, in wheels as copies.
        installed = (launcher.vendor, launcher.version, os.path.dirname(os.path.realpath(path)))
        if installed not in seen:
            seen.add(installed)
            version = launcher.version or "of unknown version"
            yield Check("launcher", True, "record, run", f"{launcher.vendor} {version}: `{path}`")
    if not seen:
        yield Check("launcher", False, "record, run", "no `mpiexec`, `mpirun` or `srun` on PATH", MODULE_HINT)


def _compiler() -> Iterator[Check]:
    from rankwise.site_build import find_mpicc, probe

    def attempt() -> str:
        toolchain = probe(find_mpicc("mpiexec"))
        return f"{toolchain.version.split(',')[0]} (`{toolchain.soname}`): `{toolchain.mpicc}`"

    yield _tried("compiler", "measure, workloads", attempt)


def _hwloc() -> Iterator[Check]:
    from rankwise.machine import hwloc

    def attempt() -> str:
        version = hwloc.library().hwloc_get_api_version()
        return f"hwloc {version >> 16}.{version >> 8 & 255}: `{hwloc.library_path()}`"

    yield _tried("hwloc", "topologies: report, place", attempt)


def _kernel() -> Iterator[Check]:
    from rankwise.doctor import kernel
    from rankwise.doctor.counters import hardware_counters, software_events

    yield _tried("counters", "hardware counters in recordings", hardware_counters)
    yield _tried("events", "faults, switches and migrations counted by the kernel", software_events)
    yield _tried("irqs", "interrupts by core: which core serves the network", kernel.interrupts)
    yield _tried("runqueue", "time that ranks wait for a core, which is no computation", kernel.run_queue)
    yield _tried("numa", "on which memory a rank's pages are", kernel.memory_nodes)
    yield _tried(
        "copies", "messages of one node copied once: without, twice, and slower", kernel.single_copies
    )
    yield _tried("seccomp", "nothing itself: it may be why others fail", kernel.no_filter)


def _lab() -> Iterator[Check]:
    from rankwise.lab.permission import needs_user_namespace

    def attempt() -> str:
        return "namespaces through a user namespace" if needs_user_namespace() else "namespaces as root"

    yield _tried("lab", "lab", attempt)


def _tune() -> Iterator[Check]:
    from rankwise.doctor import tuning

    yield _tried("tuner", "tune", tuning.tuner)
    yield _tried("node", "tune: what it sees of the node", tuning.seen)
    yield _tried("masks", "tune: ranks on other cores", tuning.masks)
    yield _tried("movers", "tune: two that move ranks would fight", tuning.movers)


_SECTIONS = (_recorder, _launchers, _compiler, _hwloc, _kernel, _lab, _tune)
