# SPDX-License-Identifier: BSD-3-Clause
"""Tuners of a job's other nodes: what ranks carry there, and the tuner that the first rank of a node starts."""

from __future__ import annotations

import base64
import contextlib
import os
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from rankwise import whole_files
from rankwise.errors import RankwiseError
from rankwise.owner import write_owner
from rankwise.scratch import OWNER, remove_abandoned, remove_scratch
from rankwise.tune.attached import wait
from rankwise.tune.events import is_whole, read_events
from rankwise.tune.session import Asked, Session

# After its ranks a tuner looks once more before it ends, a second later at most.
_END_S = 3.0
_LOOK_S = 0.02
# A rank makes the directory, and its tuner, which it then starts, says whose it is, unless the rank was killed by then.
_UNOWNED_S = 60.0
# As many as Linux can have (tune/pu_set.hpp); those that are not there count for nothing.
_PUS = range(1 << 13)


class NodeAsked(msgspec.Struct, frozen=True):
    """What the tuner of another node is asked.

    Attributes:
        act: Change anything.
        irq: Interrupts may be moved as well.
        machine: The machine file that costs are taken from.
        pages: Directory of the ranks' pages, the same path on all nodes.
        events: Directory for `HOST.jsonl`, if all nodes share it.
    """

    act: bool
    irq: bool
    machine: str | None
    pages: str
    events: str | None


def node_environment(asked: NodeAsked) -> dict[str, str]:
    """Variables of ranks from which the library that they have preloaded starts a node's tuner (record/tune/node.c)."""
    # One word of letters, which any launcher and shell hands on as it is.
    text = base64.urlsafe_b64encode(msgspec.json.encode(asked)).decode()
    return {"RANKWISE_TUNE_PYTHON": sys.executable, "RANKWISE_TUNE_NODE": text}


def tune_node(text: str) -> None:
    """Tune the ranks of this node until the last one has ended; nobody listens: what is wrong goes to `HOST.log`.

    Args:
        text: What `node_environment` gave.

    Raises:
        RankwiseError: It is not that.
    """
    try:
        asked = msgspec.json.decode(base64.urlsafe_b64decode(text), type=NodeAsked)
    except (ValueError, msgspec.DecodeError):
        raise RankwiseError("`--node` is for ranks of `rankwise tune`", "leave it out", status=2) from None
    # Of the rank that started this: its core, and the session of the user where the job was launched.
    os.sched_setaffinity(0, _PUS)
    os.environ.pop("XDG_RUNTIME_DIR", None)
    scratch = Path(asked.pages).parent
    events = Path(asked.events) / socket.gethostname() if asked.events is not None else None
    try:
        write_owner(scratch / OWNER)
        remove_abandoned(scratch.parent, f"rankwise-tune-{os.geteuid()}-", _UNOWNED_S)
        _tune(asked, Path(f"{events}.jsonl") if events and os.access(events.parent, os.W_OK) else None)
    except (RankwiseError, OSError) as error:
        if events is not None:
            with contextlib.suppress(OSError):
                whole_files.write(Path(f"{events}.log"), f"{error}\n".encode())
    finally:
        remove_scratch(scratch)


def _tune(asked: NodeAsked, events: Path | None) -> None:
    session = Session(Asked(act=asked.act, irq=asked.irq, machine=asked.machine))
    try:
        plan = replace(session.plan, pages=Path(asked.pages), events=events, until_ranks_end=True)
        session.start(plan)
        wait(session)
    finally:
        early = session.close()
    if early:
        raise RankwiseError(early)


def await_events(directory: Path, hosts: Sequence[str]) -> list[str]:
    """Wait until tuners of other hosts, whose ranks have ended, have written their last events, or why there are none.

    Args:
        directory: Where `HOST.jsonl` are.
        hosts: As the launch line or the batch system names them.

    Returns:
        For each host whose events are not there, in a sentence why.
    """
    until = time.monotonic() + _END_S
    while time.monotonic() < until and not all(map(_has_ended, directory.glob("*.jsonl"))):
        time.sleep(_LOOK_S)
    there = {_short(file.name.removesuffix(".jsonl")) for file in directory.glob("*.jsonl")}
    return [_why(directory, host) for host in hosts if _short(host) not in there]


def _has_ended(file: Path) -> bool:
    try:
        return is_whole(read_events(file).events) or file.with_suffix(".log").exists()
    except RankwiseError:
        return True


def _why(directory: Path, host: str) -> str:
    for file in directory.glob("*.log"):
        if _short(file.name.removesuffix(".log")) == _short(host):
            with contextlib.suppress(OSError):
                return f"`{host}` was not tuned: {file.read_text(encoding='utf-8', errors='replace').strip()}"
    return f"`{host}` has no events in `{directory}`: it has no ranks, was not tuned, or does not see it"


def _short(host: str) -> str:
    return host.partition(".")[0]
