# SPDX-License-Identifier: BSD-3-Clause
"""Colours that all pages share: told apart by colour-blind readers, on white and on dark pages."""

from __future__ import annotations

TEXT = "#7b848d"
LINES = "#7b848d55"

# After the palette of Okabe & Ito (2008), which colour-blind readers can tell apart: ORANGE and PINK are theirs, BLUE
# and GREEN darker and SKY lighter, so that no two of them and DARK are as light as each other on grey paper.
BLUE, ORANGE, PINK, SKY, GREEN = "#005f98", "#e69f00", "#cc79a7", "#92d2f7", "#008560"
DARK = "#444444"
GREY = "#999999"  # only in rows that have names: it is as light as PINK
YELLOW = "#c7b900"  # darker than theirs, which is not seen on white
