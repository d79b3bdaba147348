# SPDX-License-Identifier: BSD-3-Clause
"""A node's topology as the synthetic string of a machine file, where one says it all."""

from __future__ import annotations

from rankwise.errors import RankwiseError
from rankwise.machine.topology import NodeTopology, from_synthetic


def synthetic_of(node: NodeTopology) -> str | None:
    """Hwloc synthetic description that reads back as this very node; `None` if it is too irregular for one."""
    packages = node.package_count
    groups = packages
    words = [f"package:{packages}"]
    for name, of_core in reversed(node.caches):
        count = len(set(of_core))
        if -1 in of_core or count % groups:
            return None
        words.append(f"{name.lower()}:{count // groups}")
        groups = count
    threads = len(node.pus[0])
    if node.cores % groups or any(len(pus) != threads for pus in node.pus):
        return None
    order = [pu for pus in node.pus for pu in pus]
    natural = order == list(range(len(order)))
    indexes = "" if natural else f"(indexes={','.join(map(str, order))})"
    words += [f"core:{node.cores // groups}", f"pu:{threads}{indexes}"]
    memories = len(set(node.numa_nodes))
    variants = [words]
    if memories > 1:
        variants = (
            [[*words[:1], f"numa:{memories // packages}", *words[1:]]] if memories % packages == 0 else []
        )
    for variant in variants:
        text = " ".join(variant)
        try:
            if from_synthetic(text).sha256 == node.sha256:
                return text
        except RankwiseError:
            continue
    return None
