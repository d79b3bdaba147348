# SPDX-License-Identifier: BSD-3-Clause
"""`python -m pictures`: draw docs/images anew."""

from pathlib import Path

from pictures.cases import CASES
from pictures.draw import picture
from pictures.first_screen import first_screen

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"

for case in CASES:
    (IMAGES / f"{case.name}.svg").write_text(picture(case))
first_screen(IMAGES / "report.png")
