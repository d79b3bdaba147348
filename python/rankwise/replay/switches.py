# SPDX-License-Identifier: BSD-3-Clause
"""Parts of the model that can be left out; kept by itself because the help of commands lists them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Switches:
    """Parts of the model that can be left out, each by itself.

    Attributes:
        interfaces: Messages queue at the interfaces of their nodes.
        core_sharing: Ranks on one core share its time.
        progress: Rendezvous advance only inside MPI calls where the link class says so.
        handshake: A rendezvous waits for the receiver's answer.
        switches: Messages pass switches, whose ports they queue at, where the machine names them.
        memory: Jobs of one memory slow each other down.
        caches: Copies through one cache slow each other down.
        interrupts: One core of each node does the asynchronous part of host-processed protocols.
        slowdown: How long a rank computes depends on who computes beside it.
        buffers: Buffers of a connection can be full, where the link class says how large they are.
        contacts: The first message of a rank with another one costs more, where the link class says so.
    """

    interfaces: bool = True
    core_sharing: bool = True
    progress: bool = True
    handshake: bool = True
    switches: bool = True
    memory: bool = True
    caches: bool = True
    interrupts: bool = True
    slowdown: bool = True
    buffers: bool = True
    contacts: bool = True
