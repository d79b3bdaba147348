# SPDX-License-Identifier: BSD-3-Clause
"""What a run was made with: binding, libraries, program and nodes, in words that are equal where they are."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from rankwise.findings.evidence import Evidence
from rankwise.machine.topology import NodeTopology
from rankwise.quantities import bytes_text, counted
from rankwise.recording import Recording
from rankwise.recording.completeness import ranks_text

_MOST_RANKS = 4


def circumstances(evidence: Evidence) -> dict[str, str]:
    """What differs in time only for a reason, that first which explains most."""
    recording = evidence.recording
    context = recording.context
    run = context["run"] or {}
    mpi, launcher = context["mpi"], run.get("launcher")
    hosts = [host["host"] for host in context["hosts"]]
    found = {
        "binding": _bound(recording),
        "cores changed after launch": _changed(evidence),
        "MPI": recording.mpi_text,
        "MPI library": mpi["library"] or "not known",
        "program": recording.program_name,
        "command": shlex.join(run.get("command") or []) or "not known",
        "ranks": counted(recording.world_size, "rank"),
        "nodes": ", ".join(hosts),
        "topology": _topology(context["hosts"]),
        "launcher": "not known"
        if launcher is None
        else f"{launcher['vendor']} {launcher['version'] or ''}".rstrip(),
        "recorded": _recorded(context),
        "settings": " ".join(f"{name}={value}" for name, value in (run.get("settings") or {}).items())
        or "none",
    }
    if lab := run.get("lab"):
        found["lab"] = f"{len(lab['nodes'])} nodes, {bytes_text(lab['rate_bytes_per_s'])}/s"
    return found


def seats(recording: Recording) -> dict[int, tuple[int, tuple[int, ...]]]:
    """Of each rank its node, in the order of `context["hosts"]`, and the OS PUs that it might use at launch."""
    hosts = {host["host"]: at for at, host in enumerate(recording.context["hosts"])}
    return {
        each["rank"]: (hosts[each["host"]], tuple(each.get("host_pus") or each["pus"]))
        for each in recording.context["bindings"]
    }


def moved_text(before: Recording, after: Recording) -> list[str]:
    """Which ranks have other PUs, or another node, in words; empty where none has or the ranks are not as many."""
    if before.world_size != after.world_size:
        return []
    one, other = seats(before), seats(after)
    moved = [rank for rank in sorted(one.keys() & other.keys()) if one[rank] != other[rank]]
    if not moved:
        return []
    named = [f"rank {rank}: {_seat(one[rank])} -> {_seat(other[rank])}" for rank in moved[:_MOST_RANKS]]
    more = [f"and {len(moved) - _MOST_RANKS} more"] if len(moved) > _MOST_RANKS else []
    return [f"{len(moved)} of {counted(before.world_size, 'rank')} run elsewhere", *named, *more]


def _seat(seat: tuple[int, tuple[int, ...]]) -> str:
    node, pus = seat
    return f"node {node}, {pus_text(pus)}"


def pus_text(pus: Sequence[int]) -> str:
    """`PU 3`, `PUs 0-3, 8`, `any PU` where none is known."""
    if not pus:
        return "any PU"
    runs: list[list[int]] = []
    for pu in sorted(pus):
        if runs and pu == runs[-1][1] + 1:
            runs[-1][1] = pu
        else:
            runs.append([pu, pu])
    text = ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)
    return f"PU{'' if len(pus) == 1 else 's'} {text}"


def _bound(recording: Recording) -> str:
    bindings = recording.context["bindings"]
    if not bindings or any(each["bound"] is None for each in bindings):
        return "not known"
    bound = sum(each["bound"] for each in bindings)
    sizes = sorted({len(each["cores"]) for each in bindings if each["bound"]})
    if not bound:
        return "no rank is bound"
    cores = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]}-{sizes[-1]}"
    of = "all ranks" if bound == len(bindings) else f"{bound} of {counted(len(bindings), 'rank')}"
    return f"{of} bound, each to {cores} core{'' if cores == '1' else 's'}"


def _changed(evidence: Evidence) -> str:
    if not evidence.masks:
        return "not known"
    return f"of {ranks_text(sorted(evidence.mask_changed))}" if evidence.mask_changed else "of no rank"


def _topology(hosts: list[dict[str, Any]]) -> str:
    kinds: dict[str, int] = {}
    for host in hosts:
        text = "not known"
        if host["topology"] is not None:
            node = NodeTopology.from_dict(host["topology"])
            pus = sum(map(len, node.pus))
            text = f"{counted(node.package_count, 'package')}, {counted(node.cores, 'core')}, {counted(pus, 'PU')}"
            text += f" ({node.sha256[:8]})"
        kinds[text] = kinds.get(text, 0) + 1
    return "; ".join(f"{counted(count, 'node')} of {text}" for text, count in kinds.items())


def _recorded(context: dict[str, Any]) -> str:
    if not context["recorder"]["timed"]:
        return "counts only"
    return "times and a trace" if context["trace"]["ranks"] else "times"
