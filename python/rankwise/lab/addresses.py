# SPDX-License-Identifier: BSD-3-Clause
"""Names and numbers of a lab's interfaces. Each lab has a network of its own, so all labs use the same."""

from __future__ import annotations

DATA_INTERFACE, MANAGEMENT_INTERFACE = "eth0", "mgmt0"
DATA_NETWORK, MANAGEMENT_NETWORK, PREFIX_LENGTH = "10.77", "10.78", 16


def data_address(node: int) -> str:
    """Address of node 0, 1, ... on the data network."""
    return _address(DATA_NETWORK, node)


def management_address(node: int) -> str:
    """Address of node 0, 1, ... on the management network; -1 is the front end."""
    return _address(MANAGEMENT_NETWORK, node)


def hardware_address(network: int, node: int) -> str:
    """A locally administered Ethernet address, known beforehand so that no ARP is needed."""
    high, low = divmod(node + 2, 256)
    return f"02:72:77:{network:02x}:{high:02x}:{low:02x}"


def _address(network: str, node: int) -> str:
    # The front end, node -1, is x.x.0.1.
    high, low = divmod(node + 2, 256)
    return f"{network}.{high}.{low}"
