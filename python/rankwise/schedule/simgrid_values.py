# SPDX-License-Identifier: BSD-3-Clause
"""Arguments of the actions in SimGrid's traces: numbers, sizes, datatypes."""

from __future__ import annotations

import math

_MOST_BYTES = 1 << 40

# Sizes of the MPI datatypes by the numbers that SimGrid gives them (its table of predefined types).
_SIZES = {
    -1: 0, 0: 8, 1: 4, 2: 1, 3: 2, 4: 8, 5: 4, 6: 1, 7: 8, 8: 1, 9: 1, 10: 2, 11: 4, 12: 8, 13: 8, 14: 16, 15: 4, 16: 1,
    17: 1, 18: 2, 19: 4, 20: 8, 21: 1, 22: 2, 23: 4, 24: 8, 25: 8, 26: 16, 27: 32, 28: 8, 29: 8, 30: 8, 31: 16, 32: 16,
    33: 8, 34: 8, 35: 8, 36: 16, 37: 16, 38: 4, 39: 4, 40: 8, 41: 16, 42: 8, 43: 16, 44: 16, 45: 4, 46: 2, 47: 4, 48: 8,
    49: 16, 50: 32, 51: 1, 52: 8, 53: 16, 54: 32, 55: 0, 56: 0, 57: 1, 58: 8, 59: 8,
}  # fmt: skip


def element_bytes(number: str) -> int:
    """Size of one element of a type.

    Raises:
        ValueError: SimGrid has no such type.
    """
    size = _SIZES.get(int(number))
    if size is None:
        raise ValueError(f"datatype `{number}` is none of SimGrid's")
    return size


def integer(text: str) -> int:
    """A rank, tag or root.

    Raises:
        ValueError: It is none.
    """
    value = int(text)
    if not -(2**31) <= value < 2**31:
        raise ValueError(f"`{text}` has more than 32 bits")
    return value


def number(text: str, least: float = 0.0) -> float:
    """A number of at least `least`.

    Raises:
        ValueError: It is none.
    """
    value = float(text)
    if not math.isfinite(value) or value < least:
        raise ValueError(f"`{text}` is negative or not finite")
    return value


def size(text: str, each: int) -> int:
    """Bytes of that many elements of `each` bytes; -1 is none.

    Raises:
        ValueError: It is no number, or too large.
    """
    length = round(number(text, least=-1.0)) * each
    if length > _MOST_BYTES:
        raise ValueError(f"`{text}` elements of {each} bytes")
    return max(length, 0)


def root(arguments: list[str], at: int) -> int:
    """The root of a collective, rank 0 where there is none.

    Raises:
        ValueError: It is none.
    """
    rank = integer(arguments[at]) if len(arguments) > at else 0
    if rank < 0:
        raise ValueError(f"root `{rank}`")
    return rank
