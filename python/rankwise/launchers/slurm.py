# SPDX-License-Identifier: BSD-3-Clause
"""Slurm's srun.

`--export=ALL,NAME=VALUE` sets a variable for the tasks and not for srun, but where srun has one of that name that
one counts, so it is taken from srun. A comma ends a value there (quotes would become part of it), so a variable with
one is set for srun instead and taken along by name. Seen with 22.05.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from rankwise.errors import RankwiseError
from rankwise.launchers.line import Launch, LaunchLine, Option, Segment
from rankwise.launchers.preload import merge
from rankwise.launchers.scan import Syntax

_ONE = """
    account acctg-freq array bb bbf bcast-exclude begin chdir cluster-constraint clusters comment constraint
    container core-spec cores-per-socket cpu-bind cpu_bind cpu-freq cpus-per-gpu cpus-per-task deadline
    delay-boot dependency distribution epilog error exclude export extra extra-node-info gid gpu-bind gpu-freq
    gpus gpus-per-node gpus-per-socket gpus-per-task gres gres-flags het-group hint input jobid job-name
    licenses mail-type mail-user mcs-label mem mem-bind mem_bind mem-per-cpu mem-per-gpu mincpus mpi msg-timeout
    network nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket
    open-mode output partition power prefer priority profile prolog qos relative reservation segment signal
    slurmd-debug sockets-per-node switches task-epilog task-prolog thread-spec threads threads-per-core time
    time-min tmp tres-bind tres-per-task tree-width uid wait wckey
"""
# getopt_long takes an optional value only after `=`, never from the next word.
_NONE = """
    contiguous disable-status exact external get-user-env help hold label multi-prog no-allocate no-kill
    overcommit overlap oversubscribe preserve-env pty quiet quit-on-interrupt reboot resv-ports spread-job
    stepmgr test-only unbuffered usage use-min-nodes verbose version bcast compress exclusive immediate
    kill-on-bad-exit nice propagate send-libs x11
"""

SYNTAX = Syntax(
    arity={name: count for names, count in ((_ONE, 1), (_NONE, 0)) for name in names.split()},
    equals=True,
    letters="AaBbcCdDeGiJLMmnNopqrSTtwWx",
    aliases={"n": "ntasks", "N": "nodes", "D": "chdir"},
)


def count_ranks(segment: Segment) -> int | None:
    """`-n`, else nodes times tasks a node, else what the allocation says."""
    tasks = segment.number("ntasks")
    if tasks is not None:
        return tasks
    nodes, per_node = segment.number("nodes"), segment.number("ntasks-per-node")
    if nodes is not None and per_node is not None:
        return nodes * per_node
    if nodes is None and per_node is None and os.environ.get("SLURM_NTASKS", "").isdigit():
        return int(os.environ["SLURM_NTASKS"])
    return nodes


def emit_environment(line: LaunchLine, variables: Mapping[str, str], inherited: Mapping[str, str]) -> Launch:
    """Set variables with `--export`, added to the user's own list."""
    environment: dict[str, str] = {}
    segments = []
    for segment in line.segments:
        given = segment.last("export")
        chosen = given.values[0] if given and given.values else inherited.get("SLURM_EXPORT_ENV", "ALL")
        # A list alone means nothing but the list; beside NONE it would be ignored.
        items = [item for item in chosen.split(",") if item and item not in ("NONE", "NIL")]
        theirs = dict(item.split("=", 1) for item in items if "=" in item)
        items = [item for item in items if item.partition("=")[0] not in variables]
        for name, value in variables.items():
            merged = merge(name, value, theirs.get(name, inherited.get(name)))
            items.append(_item(name, merged, environment))
        option = Option("export", (",".join(items),), (f"--export={','.join(items)}",))
        kept = tuple(o for o in segment.options if o.name != "export")
        segments.append(replace(segment, options=(option, *kept)))
    return Launch(line.words(segments), environment, tuple(name for name in variables if name in inherited))


def _item(name: str, value: str, environment: dict[str, str]) -> str:
    if "," not in value:
        return f"{name}={value}"
    if name == "LD_PRELOAD":
        hint = "install Rankwise, and preload libraries, under a path without one"
        raise RankwiseError(f"srun cannot pass on `{name}={value}`: it has a comma", hint=hint)
    environment[name] = value
    return name
