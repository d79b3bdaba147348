# SPDX-License-Identifier: BSD-3-Clause
"""What a network interface can do, as R. Brightwell, D. Doerfler and K. Underwood (2006) compare them.

For people who choose between machines: predictions follow `progress`, `overlap` and the numbers of the link class.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec


class Capabilities(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """Of the interface between nodes; what is not known is left out.

    Attributes:
        source: Where this is from.
        protocol_work: Who does the work of the protocol.
        transmit_dma: Which messages the interface fetches from memory itself.
        connections: Whether a peer costs memory before the first message.
        registration: Memory that has to be registered before the interface may use it.
        independent_progress: Whether long messages advance without calls of MPI.
        offloaded_matching: Whether the interface matches messages with receives.
        overlap: How much of a transfer a rank can compute through: little, all, or all once the receive was met.
    """

    source: Annotated[str, msgspec.Meta(min_length=1)]
    protocol_work: Literal["host", "interface", "both"] | None = None
    transmit_dma: Literal["none", "long", "all"] | None = None
    connections: Literal["connectionless", "connection-oriented"] | None = None
    registration: Literal["none", "receive", "both"] | None = None
    independent_progress: bool | None = None
    offloaded_matching: bool | None = None
    overlap: Literal["little", "after-match", "full"] | None = None
