# SPDX-License-Identifier: BSD-3-Clause
"""Time in the transport's own calls."""

from __future__ import annotations

import msgspec


class NetworkOfRank(msgspec.Struct, frozen=True):
    """One rank's time in the calls of one transport; a call inside another transport's has no time of its own.

    Attributes:
        rank: The rank.
        transport: `sockets`, `UCX`, `libfabric` or `PSM2`.
        send_s: In calls that sent something.
        receive_s: In calls that received something, or handed over a buffer for it.
        progress_s: Of sockets, in calls that looked whether there is something to do, or found nothing; of others, in
            calls for progress in which something happened.
        wait_s: In calls that may sleep until there is something, on all threads; of others than sockets, also in calls
            for progress in which nothing happened.
        sent_bytes: What the calls sent, with the MPI library's own headers; `null` where some do not say it.
        received_bytes: What they received; `null` likewise.
    """

    rank: int
    transport: str
    send_s: float
    receive_s: float
    progress_s: float
    wait_s: float
    sent_bytes: int | None
    received_bytes: int | None


class NetworkPair(msgspec.Struct, frozen=True):
    """Calls of one transport by the ranks of one node to and from another.

    Attributes:
        transport: As of `NetworkOfRank`.
        host: The node, an index into `program.hosts`.
        peer_host: The other one; `null` if its address is no rank's.
        address: That address then; `null` where it was not kept apart, or the calls do not say it.
        send_calls: Calls that sent something.
        send_bytes: What they sent; `null` where some do not say it.
        send_time_s: Time in them.
        receive_calls: Calls that received something, or handed over a buffer for it.
        receive_bytes: What they received; `null` where some do not say it.
        receive_time_s: Time in them.
    """

    transport: str
    host: int
    peer_host: int | None
    address: str | None
    send_calls: int
    send_bytes: int | None
    send_time_s: float
    receive_calls: int
    receive_bytes: int | None
    receive_time_s: float


class PerformanceVariable(msgspec.Struct, frozen=True):
    """One of MPI's own performance variables (MPI_T), as the ranks read it at the end.

    Attributes:
        name: As the library calls it.
        variable_class: `counter`, `aggregate`, `timer`, `size`, `level`, `high watermark` or `low watermark`.
        ranks: How many ranks have it.
        least: The least value of a rank.
        most: The most.
    """

    name: str
    variable_class: str
    ranks: int
    least: float
    most: float


class Network(msgspec.Struct, frozen=True):
    """Network time: in the transport's own calls, between MPI_Init and MPI_Finalize.

    Attributes:
        why_not: Why it is not known of all ranks; `null` if it is.
        ranks: By rank and transport; empty where no rank made such calls.
        pairs: Between nodes by transport, the most time first.
        outside_mpi_s: Of it, what threads spent that were not inside an MPI call; those of the library are among them.
        variables: MPI's performance variables by name; empty where the library offers none.
    """

    why_not: str | None
    ranks: list[NetworkOfRank]
    pairs: list[NetworkPair]
    outside_mpi_s: float
    variables: list[PerformanceVariable]
