# SPDX-License-Identifier: BSD-3-Clause
"""Which link class of a machine file is that of a channel."""

from __future__ import annotations

from rankwise.errors import RankwiseError
from rankwise.machine.channels import NETWORK, NODE, PACKAGE, SELF, UNBOUND
from rankwise.machine.machine import Machine


def link_index(machine: Machine, channel: str) -> int:
    """Index of the link class of a channel, or of the next wider channel inside the node (formats/machine.md).

    Inside nodes of one core nothing can be measured, so what a rank sends itself may have to be the network's.

    Raises:
        RankwiseError: There is none.
    """
    known = [link.channel for link in machine.link_classes]
    caches = {name for name in (*known, channel) if name.startswith("L")}
    inside = [SELF, *sorted(caches), PACKAGE, NODE]
    candidates = {NETWORK: [NETWORK], UNBOUND: [NODE]}.get(channel)
    if candidates is None:
        candidates = inside[inside.index(channel) :]
        if channel == SELF:
            candidates.append(NETWORK)
    for name in candidates:
        if name in known:
            return known.index(name)
    raise RankwiseError(
        f"machine `{machine.name}` has no link class for channel `{channel}`",
        "measure it, for example `rankwise measure -- mpiexec -n 4`, or add `[[link_classes]]` by hand",
    )
