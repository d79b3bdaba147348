# SPDX-License-Identifier: BSD-3-Clause
"""Eager limits as the MPI library declares them through MPI_T, beside those found by experiment."""

from __future__ import annotations

from collections.abc import Mapping

from rankwise.machine.channels import NETWORK

# Control variables that hold a limit in bytes; of transports that may be there without being used they are no evidence.
_INSIDE = ("btl_vader_eager_limit", "btl_sm_eager_limit")
_BETWEEN = ("btl_tcp_eager_limit", "MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD")
# Limits closer than this agree: headers are part of the library's.
_AGREE = 1.25


def declared(variables: Mapping[str, int], channel: str) -> tuple[str, int] | None:
    """Name and value of the variable that declares a channel's eager limit; `None` where the library does not tell."""
    for name in _BETWEEN if channel == NETWORK else _INSIDE:
        if variables.get(name, 0) > 0:
            return name, variables[name]
    return None


def differs(found: float, said: int) -> bool:
    """Whether what was found is another limit than what the library declares."""
    return max(found, 1.0) > _AGREE * said or said > _AGREE * max(found, 1.0)
