# SPDX-License-Identifier: BSD-3-Clause
"""The first screen of the report of examples/heat.c, as Chromium shows it: of the kept run that documents quote."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from rankwise.recording import Recording
from rankwise.report.build import build
from rankwise.report.html import render

TESTS = Path(__file__).resolve().parents[2] / "tests"
sys.path.insert(0, str(TESTS))

from browser import drawn, opened  # noqa: E402
from lab.kept import unpack  # noqa: E402


def first_screen(picture: Path) -> None:
    """Draw what is above the message distribution."""
    with tempfile.TemporaryDirectory() as scratch:
        recording = unpack(TESTS / "transcripts" / "kept" / "heat.rw.tar.xz", Path(scratch, "heat.rw"))
        text = render(build(Recording.open(recording)))
        with opened(text, Path(scratch), color_scheme="light") as shown:
            page = drawn(shown)
            end = page.evaluate(
                "Math.floor(document.getElementById('distribution').getBoundingClientRect().top)"
            )
            clip = {"x": 0, "y": 0, "width": 1200, "height": end}
            page.screenshot(path=picture, full_page=True, clip=clip)
