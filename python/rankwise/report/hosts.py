# SPDX-License-Identifier: BSD-3-Clause
"""Names of hosts, as short as they can be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankwise.recording import Recording

_NAMED = 4


def short_names(hosts: Sequence[str]) -> list[str]:
    """Without the domain that all have: `nid000001` of `nid000001.cluster.hpc.example.org`; addresses stay whole."""
    domains = {host.partition(".")[2] for host in hosts}
    if len(domains) != 1 or any(host.replace(".", "").isdecimal() or host.startswith(".") for host in hosts):
        return list(hosts)
    return [host.partition(".")[0] for host in hosts]


def hosts_text(names: Sequence[str], of: int) -> str:
    """` on n01, n02 (2 of 8 hosts)`; ` on all 8 hosts`, ` on 6 of 8 hosts`; nothing where there is only one host."""
    if of == 1:
        return ""
    if len(names) == of:
        return f" on all {of} hosts"
    if len(names) > _NAMED:
        return f" on {', '.join(names[:_NAMED])}, ... ({len(names)} of {of} hosts)"
    return f" on {', '.join(names)}"


def host_of_ranks(recording: Recording) -> list[int]:
    """By world rank, its host as a number; one more than there are where a rank left nothing."""
    hosts = {entry["host"]: at for at, entry in enumerate(recording.context["hosts"])}
    known = dict(recording.ranks.select("rank", "host").iter_rows())
    return [hosts.get(known.get(rank), len(hosts)) for rank in range(recording.world_size)]
