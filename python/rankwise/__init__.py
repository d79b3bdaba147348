# SPDX-License-Identifier: BSD-3-Clause
"""Where an MPI program's messages go, what its ranks share, and where they should run instead."""

__version__ = "0.1.0"
