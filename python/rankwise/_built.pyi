# SPDX-License-Identifier: BSD-3-Clause
# cmake/built_of.py writes the module.
VERSION: str
COMMIT: str  # with +dirty if files were changed since; empty if unknown
COMPILER: str
NANOBIND: str
PYTHON: str
STABLE_ABI: bool
HWLOC: str  # version of the API; empty if the node's is used
MPI_HEADERS: dict[str, str]
