# SPDX-License-Identifier: BSD-3-Clause
"""Machine files for tests of what ranks share, as TOML: nodes of two packages with two cores, no network costs."""

from __future__ import annotations

from machines import _NUMBER as NUMBER

from rankwise.machine.file import loads
from rankwise.machine.machine import Machine

OSU_KEYS = ("L_s", "o_s", "g_s", "G_s_per_byte", "O_s_per_byte")


def number(value: float) -> str:
    return NUMBER.format(float(value))


def link(channel: str, protocol: str = "shared-memory", overlap: bool = False, **values: float) -> str:
    lines = ["[[link_classes]]", f'channel = "{channel}"', f'protocol = "{protocol}"']
    lines += ['progress = "in-call"', f"overlap = {str(overlap).lower()}", "[[link_classes.segments]]"]
    return "\n".join(lines + [f"{key} = {number(values.get(key, 0))}" for key in OSU_KEYS])


def resource(name: str, kind: str, per: str, **keys) -> str:
    discipline = "fifo" if kind == "interrupt_core" else "sharing"
    lines = [
        "[[resources]]",
        f'name = "{name}"',
        f'kind = "{kind}"',
        f'discipline = "{discipline}"',
        f'per = "{per}"',
    ]
    for key, value in keys.items():
        if key == "slowdown":
            lines.append(f'slowdown = {{ values = {value}, obtained = "assumed", source = "test" }}')
        elif key == "channels":
            lines.append(f"channels = {value}".replace("'", '"'))
        else:
            lines.append(f"{key} = {value if key == 'core' else number(value)}")
    return "\n".join(lines)


def text(*parts: str, nodes: int = 2, topology: str = "package:2 l2:1 core:2 pu:1") -> str:
    head = f'schema = "rankwise.machine/1"\nname = "test"\n[node]\ncount = {nodes}\ntopology = "{topology}"'
    given = "\n".join(parts)
    links = [link(c) for c in ("self", "package", "node", "network") if f'channel = "{c}"' not in given]
    return "\n\n".join([head, *parts, *links]) + "\n"


def machine(*parts: str, **how) -> Machine:
    return loads(text(*parts, **how))
