# SPDX-License-Identifier: BSD-3-Clause
"""Eager limits as the MPI library declares them through MPI_T, beside those found by experiment."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rankwise.machine.channels import NETWORK
from rankwise.machine.estimate import Estimate
from rankwise.machine.machine import LinkClass

# Control variables that hold a limit in bytes; of transports that may be there without being used they are no evidence.
_INSIDE = ("btl_vader_eager_limit", "btl_sm_eager_limit")
_BETWEEN = ("btl_tcp_eager_limit", "MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD")
# Limits closer than this agree: headers are part of the library's.
_AGREE = 1.25


def declared_limit(variables: Mapping[str, int], channel: str) -> tuple[str, int] | None:
    """Name and value of the variable that declares a channel's eager limit; `None` where the library does not tell."""
    for name in _BETWEEN if channel == NETWORK else _INSIDE:
        if variables.get(name, 0) > 0:
            return name, variables[name]
    return None


def differs(found: float, said: int) -> bool:
    """Whether what was found is another limit than what the library declares."""
    return max(found, 1.0) > _AGREE * said or said > _AGREE * max(found, 1.0)


def narrow_eager_limits(links: list[LinkClass], variables: Mapping[str, int]) -> list[LinkClass]:
    """Link classes whose eager limit, where experiments only say between which sizes it is, is the declared one."""

    def limit(link: LinkClass) -> Estimate | None:
        found, said = link.eager_limit_bytes, declared_limit(variables, link.channel)
        if found is None or found.obtained != "measured" or found.high is None or said is None:
            return found
        # The next size that was tried is one more than `high`; headers are part of what is declared.
        if not found.value < said[1] <= found.high + 1:
            return found
        between = f"by experiment between {found.value:.0f} and {found.high:.0f} bytes"
        return Estimate(
            value=min(float(said[1]), found.high),
            obtained="published",
            source=f"the library's {said[0]} = {said[1]}; {between}",
        )

    return [msgspec.structs.replace(link, eager_limit_bytes=limit(link)) for link in links]
