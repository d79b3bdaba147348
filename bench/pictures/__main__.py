# SPDX-License-Identifier: BSD-3-Clause
"""`python -m pictures`: draw docs/images/*.svg anew."""

from pathlib import Path

from pictures.cases import CASES
from pictures.draw import picture

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"

for case in CASES:
    (IMAGES / f"{case.name}.svg").write_text(picture(case))
