# SPDX-License-Identifier: BSD-3-Clause
"""A node's topology as the synthetic string of a machine file, where one says it all."""

from __future__ import annotations

from rankwise.machine.topology import NodeTopology, from_synthetic


def synthetic_of(node: NodeTopology) -> str | None:
    """Synthetic description for hwloc that reads back as this very node; `None` if it is too irregular for one."""
    threads = len(node.pus[0])
    if any(len(pus) != threads for pus in node.pus) or any(-1 in of_core for _, of_core in node.caches):
        return None
    levels = [("package", node.package_count)]
    levels += [(name.lower(), len(set(of_core))) for name, of_core in reversed(node.caches)]
    memories = len(set(node.numa_nodes))
    # Memory may belong to a package, or to any level inside; with one memory there is nothing to say.
    places = range(1, len(levels) + 1) if memories > 1 else [None]
    for place in places:
        all_levels = list(levels)
        if place is not None:
            all_levels.insert(place, ("numa", memories))
        text = _text([*all_levels, ("core", node.cores)], threads, [pu for pus in node.pus for pu in pus])
        if text is not None and from_synthetic(text).sha256 == node.sha256:
            return text
    return None


def _text(levels: list[tuple[str, int]], threads: int, order: list[int]) -> str | None:
    """Levels with how many of each a node has, as hwloc wants them: how many each has of the next."""
    words, above = [], 1
    for name, count in levels:
        if count % above:
            return None
        words.append(f"{name}:{count // above}")
        above = count
    indexes = "" if order == list(range(len(order))) else f"(indexes={','.join(map(str, order))})"
    return " ".join([*words, f"pu:{threads}{indexes}"])
