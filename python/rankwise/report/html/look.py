# SPDX-License-Identifier: BSD-3-Clause
"""Colours that all pages share: told apart by colour-blind readers, on white and on dark pages."""

from __future__ import annotations

TEXT = "#7b848d"
LINES = "#7b848d55"

# Of the palette of Okabe & Ito (2008), which colour-blind readers can tell apart.
BLUE, ORANGE, PINK, SKY, GREEN, GREY = "#0072b2", "#e69f00", "#cc79a7", "#56b4e9", "#009e73", "#999999"
YELLOW = "#c7b900"  # darker than theirs, which is not seen on white
