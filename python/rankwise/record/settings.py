# SPDX-License-Identifier: BSD-3-Clause
"""Variables that change what MPI libraries, networks and thread runtimes do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from rankwise.launchers.line import Segment
from rankwise.launchers.secrets import MASK, is_secret

_PREFIXES = (
    *("MPIR_CVAR_", "MPICH_", "MV2_", "I_MPI_", "OMPI_MCA_", "PMIX_MCA_", "PRTE_MCA_"),
    *("UCX_", "FI_", "PSM2_", "HCOLL_"),
)
_PREFIXES_OF_THREADS = ("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "BLIS_")
_NAME = re.compile(r"[A-Za-z_]\w*")
_MCA = ("--mca", "-mca", "--gmca", "-gmca", "--omca")
_ENVIRONMENT = ("-genv", "-env", "--genv", "--env")


def settings(segments: Sequence[Segment], environment: Mapping[str, str]) -> dict[str, str]:
    """What a run sets of them, by name: in the environment of its launch line, and in the line, which wins.

    In a line, that is MPICH's `-genv NAME VALUE`, Open MPI's `-x NAME=VALUE` and `--mca NAME VALUE`, which is
    `OMPI_MCA_NAME`; what stands behind the program is the program's.
    Values of what is named like a secret are masked.
    """
    words = [word for segment in segments for option in segment.options for word in option.words]
    found = {name: value for name, value in environment.items() if _is_setting(name)}
    for at, (option, name) in enumerate(pairwise(words)):
        value = words[at + 2] if at + 2 < len(words) else ""
        if option in _MCA and _NAME.fullmatch(name):
            found[f"OMPI_MCA_{name}"] = value
        elif option in _ENVIRONMENT and _is_setting(name):
            found[name] = value
        elif option == "-x" and "=" in name and _is_setting(name.partition("=")[0]):
            found[name.partition("=")[0]] = name.partition("=")[2]
    return {name: MASK if is_secret(name) else value for name, value in sorted(found.items())}


def _is_setting(name: str) -> bool:
    return name.startswith(_PREFIXES + _PREFIXES_OF_THREADS) and bool(_NAME.fullmatch(name))
