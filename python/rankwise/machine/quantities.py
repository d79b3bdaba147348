# SPDX-License-Identifier: BSD-3-Clause
"""Numbers with units as people type them: times, times per byte, rates and sizes."""

from __future__ import annotations

import re

_TIMES = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_PREFIXES |= {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_NUMBER = r"((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"


def time(text: str) -> float | None:
    """Seconds of `2us` or `5min`; `None` if it is no time."""
    match = re.fullmatch(_NUMBER + r" *(ps|ns|us|ms|s|min|h)", text)
    return float(match[1]) * _TIMES[match[2]] if match else None


def time_per_byte(text: str) -> float | None:
    """Seconds a byte of `0.1ns/B` or `10GB/s`; `None` if it is neither."""
    match = re.fullmatch(_NUMBER + r" *(ps|ns|us|ms|s)/(|[kKMGT]i?)B", text)
    if match and match[3] in _PREFIXES:
        return float(match[1]) * _TIMES[match[2]] / _PREFIXES[match[3]]
    bytes_per_s = rate(text)
    return 1 / bytes_per_s if bytes_per_s else None


def rate(text: str) -> float | None:
    """Bytes a second of `1GB/s` or `10Gbit/s`; `None` if it is neither."""
    match = re.fullmatch(_NUMBER + r" *(|[kKMGT]i?)B/s", text)
    if match and match[2] in _PREFIXES:
        return float(match[1]) * _PREFIXES[match[2]]
    match = re.fullmatch(_NUMBER + r" *([kKMGT]?)bit(?:/s)?", text)
    return float(match[1]) * _PREFIXES[match[2]] / 8 if match else None


def size(text: str) -> float | None:
    """Bytes of `64KiB` or `300 bytes`; `None` if it is no size."""
    match = re.fullmatch(_NUMBER + r" *(|[kKMGT]i?)(?:B|bytes)?", text)
    return float(match[1]) * _PREFIXES[match[2]] if match and match[2] in _PREFIXES else None


def flop_rate(text: str) -> float | None:
    """Floating-point operations a second of `1e9`, `2.5Gf` or `2.5 Gflop/s`; `None` if it is none, or 0."""
    match = re.fullmatch(_NUMBER + r" *([kMGTP]?)(?:f|flops?|flop/s)?", text)
    scales = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
    return float(match[1]) * scales[match[2]] or None if match else None
