# SPDX-License-Identifier: BSD-3-Clause
"""Recordings made in a lab: nodes and cores are those of the emulated cluster, not of the host behind it."""

from __future__ import annotations

from typing import Any, TypeGuard

from rankwise.recording.job import Job


def emulated_hosts(hosts: list[dict[str, Any]], run: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The hosts with the topology that the lab's nodes are meant to have."""
    if not is_emulated(run):
        return hosts
    node = run["lab"]["node"]
    return [host | {"topology": node, "topology_file": None, "topology_problem": None} for host in hosts]


def emulated_bindings(bindings: list[dict[str, Any]], run: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The bindings with the PUs and cores of the lab's nodes; the host's PUs are kept as `host_pus`."""
    if not is_emulated(run):
        return bindings
    ranks, pus_of_core = run["placement"]["ranks"], run["lab"]["node"]["pus"]
    changed = []
    for binding in bindings:
        cores = sorted(ranks[binding["rank"]]["cores"])
        pus = sorted(pu for core in cores for pu in pus_of_core[core])
        bound = len(cores) < len(pus_of_core)
        changed.append(binding | {"pus": pus, "cores": cores, "bound": bound, "host_pus": binding["pus"]})
    return changed


def placement_problems(job: Job, run: dict[str, Any] | None) -> list[str]:
    """Ranks that the recorder saw elsewhere than where the lab had put them."""
    if not is_emulated(run):
        return []
    placed, nodes = run["placement"], run["lab"]["nodes"]
    problems = []
    for thread in job.first_threads:
        rank = thread.rank["world_rank"]
        node = nodes[placed["ranks"][rank]["node"]]
        wanted = sorted({node["cores"][core] for core in placed["ranks"][rank]["cores"]})
        if (thread.rank["host"], sorted(thread.pus)) != (node["host"], wanted):
            problems.append(
                f"rank {rank} ran on `{thread.rank['host']}`, host PUs {sorted(thread.pus)}; "
                f"the lab had put it on `{node['host']}`, host PUs {wanted}"
            )
    return problems


def is_emulated(run: dict[str, Any] | None) -> TypeGuard[dict[str, Any]]:
    """Whether a recording (content of recording.json) was made in a lab."""
    return bool(run and run.get("lab") and run.get("placement"))
