# SPDX-License-Identifier: BSD-3-Clause
"""Virtual cores: which PU of the host stands behind each core of each node."""

from __future__ import annotations

MAPPINGS = ("round-robin", "blocks")


def map_cores(nodes: int, cores: int, host_pus: list[int], mapping: str) -> list[list[int]]:
    """Host PU behind core `c` of node `n`, as `result[n][c]`.

    Args:
        nodes: Number of nodes.
        cores: Cores of each.
        host_pus: OS indices of the PUs that may be used; where fewer than the cores, they are shared.
        mapping: `round-robin` deals the PUs out core by core; `blocks` gives neighbouring cores the same PU.
    """
    total = nodes * cores
    if mapping == "round-robin" or total <= len(host_pus):
        flat = [host_pus[at % len(host_pus)] for at in range(total)]
    else:
        flat = [host_pus[at * len(host_pus) // total] for at in range(total)]
    return [flat[node * cores : (node + 1) * cores] for node in range(nodes)]
