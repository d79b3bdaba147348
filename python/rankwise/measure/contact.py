# SPDX-License-Identifier: BSD-3-Clause
"""What a rank's first message with another one costs it: from first round trips of ranks that have never met."""

from __future__ import annotations

import msgspec
import polars as pl

from rankwise.machine.channels import NETWORK, SELF
from rankwise.machine.estimate import Estimate
from rankwise.machine.machine import Machine
from rankwise.measure.fitting.fit import rest
from rankwise.measure.questions.message_cpu import used_by_waiting
from rankwise.measure.questions.peers import FAR, NEAR, first_contact

_LATER = "what later messages take, and ranks that wait"


def add_contact_times(machine: Machine, samples: pl.DataFrame) -> Machine:
    """The machine with `connect_s` for each link class whose kind of pairs met; as it is where none did.

    All channels inside a node have that of the ranks of one node: which of its pairs met is not varied by channel.

    Args:
        machine: As fitted.
        samples: Of all tests and launches.
    """
    share = used_by_waiting(samples)
    found = first_contact(samples, share.value if share else 0.0)
    links = []
    for link in machine.link_classes:
        kind = FAR if link.channel == NETWORK else NEAR
        connect_s: Estimate | None = None
        if kind in found and link.channel != SELF:
            connect_s = rest(found[kind], _LATER)
        links.append(msgspec.structs.replace(link, connect_s=connect_s))
    return msgspec.structs.replace(machine, link_classes=links)
