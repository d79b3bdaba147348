# SPDX-License-Identifier: BSD-3-Clause
"""Run a command on a host of a lab.

    enter.py LAB.json exec HOST WORD...           exactly these words
    enter.py LAB.json ssh [-OPTION...] HOST WORD...   as `ssh` would: the words joined, for a shell

Run by its path with `python -I -S`, so it imports nothing but its neighbour `syscalls`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

if TYPE_CHECKING:
    from rankwise.lab import syscalls
else:
    import syscalls

_PRELOADED = "/librankwise_lab.so"


def main(argv: list[str]) -> int:
    """Enter the node and become the command, or wait for it where a new PID namespace needs a child."""
    state, how, words = argv[1], argv[2], argv[3:]
    while how == "ssh" and words and words[0].startswith("-"):
        words.pop(0)
    with open(state, encoding="utf-8") as file:
        lab = json.load(file)
    pids = {node["host"]: node["pid"] for node in lab["nodes"]} | {lab["front"]["host"]: lab["front"]["pid"]}
    if len(words) < 2 or words[0] not in pids:
        sys.stderr.write(f"rankwise: no node `{words[0] if words else ''}` in this lab\n")
        return 127
    directory = os.getcwd()
    take_place(lab, words[0])
    needs_child = syscalls.enter(pids[words[0]])
    os.chdir(directory)
    command = words[1:] if how == "exec" else ["/bin/sh", "-c", " ".join(words[1:])]
    # The front end's launchers must enter the nodes, which takes rights; what runs on a node has none.
    is_node = words[0] != lab["front"]["host"]
    if not needs_child:
        if is_node:
            syscalls.give_up_rights()
        os.execvp(command[0], command)
    child = os.fork()
    if child == 0:
        if is_node:
            syscalls.give_up_rights()
        # A launcher that dies takes its remote daemons along, as a broken ssh connection would.
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGTERM)
        os.execvp(command[0], command)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda received, _frame: os.kill(child, received))
    _, status = os.waitpid(child, 0)
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)


def take_place(lab: dict[str, Any], host: str) -> None:
    """Run on the host PUs behind a node's cores, and keep temporary files where other hosts do not see them.

    The front end has one PU, and its processes do not preempt each other: a launcher that forks a daemon goes on
    before the daemon runs, without which Open MPI complains.
    """
    nodes = {node["host"]: node["cores"] for node in lab["nodes"]}
    is_node = host in nodes
    os.sched_setaffinity(0, nodes[host] if is_node else {max(pu for cores in nodes.values() for pu in cores)})
    os.sched_setscheduler(0, os.SCHED_OTHER if is_node else os.SCHED_BATCH, os.sched_param(0))
    # Launchers' daemons name their directories by user and process number, which are only unique on a host.
    os.environ["TMPDIR"] = "/dev/shm"
    if is_node:
        # What was preloaded into the launcher is not for what it starts.
        kept = [each for each in os.environ.get("LD_PRELOAD", "").split(":") if not each.endswith(_PRELOADED)]
        os.environ["LD_PRELOAD"] = ":".join(kept)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
