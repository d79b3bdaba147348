# SPDX-License-Identifier: BSD-3-Clause
"""Interface rates as `tc` writes them: `100mbit`, `1gbit`."""

from __future__ import annotations

import re

from rankwise.errors import RankwiseError

_BITS = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
# Below, a frame would take more than 0.1 s; above, no machine keeps up.
_LOWEST_BYTES_PER_S, _HIGHEST_BYTES_PER_S = 125e2, 2**32 - 1


def parse_rate(text: str) -> float:
    """A rate with a unit in bytes a second.

    Args:
        text: A number and one of `bit`, `kbit`, `mbit`, `gbit` (decimal, bits a second, any case).
    """
    example = "for example `--rate 100mbit`"
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *([a-zA-Z/]*)", text.strip())
    if not match:
        raise RankwiseError(f"`{text}` is not a rate", hint=f"write a number and a unit, {example}")
    number, unit = match[1], match[2]
    if not unit:
        raise RankwiseError(
            f"the rate `{text}` has no unit", hint=f"for megabits a second write `--rate {number}mbit`"
        )
    if unit.lower() not in _BITS:
        known = ", ".join(f"`{each}`" for each in _BITS)
        raise RankwiseError(f"`{unit}` is not a unit of a rate, which takes {known}", hint=example)
    rate = float(number) * _BITS[unit.lower()] / 8
    if not _LOWEST_BYTES_PER_S <= rate <= _HIGHEST_BYTES_PER_S:
        raise RankwiseError(
            f"the rate `{text}` is outside what an interface of the lab can have, 100kbit to 34gbit",
            hint=example,
        )
    return rate


def show_rate(bytes_per_s: float) -> str:
    """A rate in the largest unit that leaves a number of at least one."""
    bits = bytes_per_s * 8
    unit = max((name for name in _BITS if _BITS[name] <= max(bits, 1)), key=_BITS.__getitem__)
    return f"{bits / _BITS[unit]:.6g}{unit}"
