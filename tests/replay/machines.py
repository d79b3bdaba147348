# SPDX-License-Identifier: BSD-3-Clause
"""Machine files for tests: nodes of two cores, round numbers, every part chosen by the caller."""

from __future__ import annotations

from rankwise.machine.file import loads
from rankwise.machine.machine import Machine

_NUMBER = '{{ value = {}, obtained = "assumed", source = "test" }}'


def _link(channel: str, values: dict) -> str:
    keys = ("L_s", "o_s", "g_s", "G_s_per_byte", "O_s_per_byte")
    lines = [
        "[[link_classes]]",
        f'channel = "{channel}"',
        'protocol = "offloaded"',
        f'progress = "{values.get("progress", "independent")}"',
        f"overlap = {str(values.get('overlap', True)).lower()}",
    ]
    if "S" in values:
        lines.append("eager_limit_bytes = " + _NUMBER.format(float(values["S"])))
    if "connect_s" in values:
        lines.append("connect_s = " + _NUMBER.format(float(values["connect_s"])))
    lines.append("[[link_classes.segments]]")
    lines += [f"{key} = {_NUMBER.format(float(values.get(key, 0)))}" for key in keys]
    return "\n".join(lines)


def machine(
    network: dict | None = None,
    node: dict | None = None,
    nic_bytes_per_s: float | None = None,
    nodes: int = 4,
    waiting: str = "yield",
    name: str = "test",
) -> Machine:
    """Nodes of two cores; `network` and `node` hold L_s, o_s, g_s, G_s_per_byte, O_s_per_byte, S, connect_s, ..."""
    return loads(text(network, node, nic_bytes_per_s, nodes, waiting, name))


def text(
    network: dict | None = None,
    node: dict | None = None,
    nic_bytes_per_s: float | None = None,
    nodes: int = 4,
    waiting: str = "yield",
    name: str = "test",
) -> str:
    """The same as TOML."""
    parts = [
        f'schema = "rankwise.machine/1"\nname = "{name}"\n[node]\ncount = {nodes}\ntopology = "package:1 core:2 pu:1"',
        '[[resources]]\nname = "core"\nkind = "core"\ndiscipline = "sharing"\nper = "core"\n'
        f'waiting = "{waiting}"',
    ]
    if nic_bytes_per_s is not None:
        parts += [
            f'[[resources]]\nname = "{kind}"\nkind = "{kind}"\ndiscipline = "fifo"\nper = "node"\n'
            f'channels = ["network"]\ncapacity_bytes_per_s = {_NUMBER.format(nic_bytes_per_s)}'
            for kind in ("nic_tx", "nic_rx")
        ]
    parts += [_link("self", node or {}), _link("node", node or {}), _link("network", network or {})]
    return "\n\n".join(parts) + "\n"
