# SPDX-License-Identifier: BSD-3-Clause
"""Machines: the nodes' topology, link classes of the channels, shared resources, where each number is from."""
