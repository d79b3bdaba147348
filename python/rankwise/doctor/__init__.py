# SPDX-License-Identifier: BSD-3-Clause
"""What of Rankwise works on this machine, found out by trying it."""

from rankwise.doctor.checks import Check, examine

__all__ = ["Check", "examine"]
