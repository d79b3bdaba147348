# SPDX-License-Identifier: BSD-3-Clause
"""Become one rank of a program, on its core: `pin.py RUN.json PROGRAM ARGUMENT...`.

Run by its path with `python -I -S` once for each rank, so it imports nothing but its neighbour `syscalls`.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

if TYPE_CHECKING:
    from rankwise.lab import syscalls
else:
    import syscalls

_FAILED = 125
_NOT_EXECUTABLE, _NOT_FOUND = 126, 127
# Hydra (PMI), Open MPI 4, Open MPI 5 and other users of PMIx.
_RANK_VARIABLES = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK")


# How long a rank that waits sleeps after every sixth look for messages (timer slack; 50 us otherwise). Seven that sleep
# 50 us take half of a core from the eighth, on a cluster nothing; with longer sleeps messages are late.
_SLEEP_NS = 150_000


def main(argv: list[str]) -> int:
    """Bind this process, check that the kernel and the launcher did as planned, and become the program."""
    with open(argv[1], encoding="utf-8") as file:
        run = json.load(file)
    rank = next((int(os.environ[name]) for name in _RANK_VARIABLES if name in os.environ), None)
    if rank is None or rank >= len(run["ranks"]):
        return _end_all(f"the launcher started rank `{rank}` of {len(run['ranks'])}")
    wanted = run["ranks"][rank]
    if socket.gethostname() != wanted["host"]:
        return _end_all(f"rank {rank} was started on `{socket.gethostname()}`, not on `{wanted['host']}`")
    try:
        os.sched_setaffinity(0, wanted["host_pus"])
    except OSError as error:
        return _say(f"rank {rank} cannot run on host PUs {wanted['host_pus']}: {error.strerror}")
    if os.sched_getaffinity(0) != set(wanted["host_pus"]):
        return _say(f"rank {rank} is not bound to host PUs {wanted['host_pus']}")
    _look_seldom()
    _take_own_share()
    _let_neighbours_copy()
    for name, value in run["environment"].items():
        if name == "LD_PRELOAD" and os.environ.get(name):
            value = f"{value}:{os.environ[name]}"
        os.environ[name] = value
    os.environ["RANKWISE_LAB_NODE"] = str(wanted["node"])
    os.environ["RANKWISE_LAB_CORES"] = ",".join(map(str, wanted["cores"]))
    try:
        os.execvp(argv[2], argv[2:])
    except OSError as error:
        _say(f"`{argv[2]}` cannot be started: {error.strerror}")
        return _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE


def _look_seldom() -> None:
    """Let this process's sleeps take longer; it stays so when it becomes the program."""
    try:
        with open("/proc/self/timerslack_ns", "w", encoding="ascii") as file:
            file.write(str(_SLEEP_NS))
    except OSError:
        pass  # ranks that wait look more often then


def _take_own_share() -> None:
    """Let this process be a session of its own: kernels that group processes give each session a share (autogroup).

    Hydra makes each rank one. Open MPI starts a node's ranks in the session of its daemon, so shares and turns would be
    those of nodes. A leader of processes, which its ranks are, may not begin a session, so it first follows its parent.
    """
    try:
        if os.getsid(0) != os.getpid():
            if os.getpgid(0) == os.getpid():
                os.setpgid(0, os.getpgid(os.getppid()))
            os.setsid()
    except OSError:
        pass  # it shares its session's turns then


def _let_neighbours_copy() -> None:
    """Let ranks of this node read each other's memory (process_vm_readv) where Yama leaves that to debuggers."""
    # Without Yama there is no such setting, and nothing forbids it.
    with contextlib.suppress(OSError):
        syscalls.prctl(syscalls.PR_SET_PTRACER, syscalls.PR_SET_PTRACER_ANY)


def _say(what: str) -> int:
    sys.stderr.write(f"rankwise: {what}\n")
    return _FAILED


def _end_all(what: str) -> int:
    # Hydra waits for the other ranks of one that exits, whatever its status, but not of one that a signal ended.
    _say(what)
    os.kill(os.getpid(), signal.SIGKILL)
    return _FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv))
