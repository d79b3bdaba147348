# SPDX-License-Identifier: BSD-3-Clause
"""How MPICH and Open MPI are told which algorithm a collective takes.

Names of MPICH's `MPIR_CVAR_X_INTRA_ALGORITHM` (4 and 5) and numbers of Open MPI's `coll_tuned_x_algorithm` (4.1 and
5.0), which count only with `coll_tuned_use_dynamic_rules`, beside those of `rankwise._core.collectives.algorithms`;
`None` for algorithms that are not modelled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_MPICH: dict[str, dict[str, str | None]] = {
    "allgather": {"ring": "ring", "recursive_doubling": "recursive_doubling", "brucks": "bruck"},
    "allreduce": {
        "recursive_doubling": "recursive_doubling",
        "reduce_scatter_allgather": "rabenseifner",
        "ring": "ring",
    },
    "alltoall": {"pairwise": "pairwise", "scattered": "linear", "brucks": "bruck"},
    "barrier": {"dissemination": "dissemination"},
    "bcast": {
        "binomial": "binomial",
        "scatter_recursive_doubling_allgather": "scatter_recursive_doubling_allgather",
        "scatter_ring_allgather": "scatter_ring_allgather",
    },
    "gather": {"binomial": "binomial"},
    "reduce": {"binomial": "binomial", "reduce_scatter_gather": "rabenseifner"},
    "scatter": {"binomial": "binomial"},
}
_OPENMPI: dict[str, dict[str, str | None]] = {
    "allgather": {
        "1": "linear",
        "2": "bruck",
        "3": "recursive_doubling",
        "4": "ring",
        "5": "neighbor_exchange",
        "6": None,
    },
    "allreduce": {
        "1": "linear",
        "2": "nonoverlapping",
        "3": "recursive_doubling",
        "4": "ring",
        "5": None,
        "6": "rabenseifner",
    },
    "alltoall": {"1": "linear", "2": "pairwise", "3": "bruck", "4": None, "5": None},
    "barrier": {
        "1": "linear",
        "2": None,
        "3": "recursive_doubling",
        "4": "dissemination",
        "5": None,
        "6": "tree",
    },
    "bcast": {
        "1": "linear",
        "2": "chain",
        "3": None,
        "4": None,
        "5": "binary",
        "6": "binomial",
        "7": "knomial",
        "8": "scatter_recursive_doubling_allgather",
        "9": "scatter_ring_allgather",
    },
    "gather": {"1": "linear", "2": "binomial", "3": "linear_sync"},
    "reduce": {
        "1": "linear",
        "2": "chain",
        "3": "segmented_chain",
        "4": "binary",
        "5": "binomial",
        "6": "in_order_binary",
        "7": "rabenseifner",
    },
    "scatter": {"1": "linear", "2": "binomial"},
}
_DYNAMIC = "OMPI_MCA_coll_tuned_use_dynamic_rules"


@dataclass(frozen=True)
class Forced:
    """An algorithm that a setting asks for.

    Attributes:
        variable: That sets it.
        value: Its value.
        algorithm: In the registry; `None` where it is not modelled.
    """

    variable: str
    value: str
    algorithm: str | None


def forced(settings: Mapping[str, str], family: str, operation: str) -> Forced | None:
    """What settings ask for; `None` if the library chooses by itself.

    Args:
        settings: As `rankwise.record.settings.settings` gives them.
        family: `mpich` or `openmpi`.
        operation: As the registry names it.
    """
    variable = variable_of(family, operation)
    value = settings.get(variable, "")
    if family == "openmpi":
        asked = value not in ("", "0", "ignore") and settings.get(_DYNAMIC, "").lower() in (
            "1",
            "true",
            "yes",
        )
        names = _OPENMPI
    else:
        asked, names = value not in ("", "auto"), _MPICH
    return Forced(variable, value, names.get(operation, {}).get(value)) if asked else None


def variable_of(family: str, operation: str) -> str:
    """Which variable asks for an algorithm."""
    if family == "openmpi":
        return f"OMPI_MCA_coll_tuned_{operation}_algorithm"
    return f"MPIR_CVAR_{operation.upper()}_INTRA_ALGORITHM"


def choices(family: str, operation: str) -> dict[str, str]:
    """Algorithms that can be asked for, as the registry names them -> the variable's value."""
    names = (_OPENMPI if family == "openmpi" else _MPICH).get(operation, {})
    return {algorithm: value for value, algorithm in names.items() if algorithm}


def asking(family: str, operation: str, value: str | None) -> dict[str, str]:
    """Settings that ask for an algorithm; `None`: that leave the choice to the library."""
    variable = variable_of(family, operation)
    if family == "openmpi":
        return {_DYNAMIC: "1", variable: value} if value else {variable: "0"}
    return {variable: value or "auto"}
