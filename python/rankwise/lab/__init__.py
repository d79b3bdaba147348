# SPDX-License-Identifier: BSD-3-Clause
"""An emulated cluster on one Linux machine: nodes are namespaces, joined by rate-limited interfaces."""
