# SPDX-License-Identifier: BSD-3-Clause
"""Pages in Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

TIP = ".tip:not([hidden])"
"""What a report says of what the pointer or the keyboard is on, as long as it is on it."""

at_end = ExitStack()
"""What ends the browser, if there was one: conftest.py does, after the last test."""


@dataclass
class Opened:
    """A page in the browser.

    Attributes:
        page: Playwright's page.
        problems: What it complained about.
        requests: What it asked for besides its own file.
    """

    page: Any
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@cache
def chromium() -> Any:
    """The browser of this process, which starts once; skips where there is no Chromium or no Playwright."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install playwright")
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no Chromium on PATH (Debian package `chromium`)")
    playwright = at_end.enter_context(sync_api.sync_playwright())
    started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"], timeout=120_000)
    at_end.callback(started.close)
    return started


@contextmanager
def opened(text: str, directory: Path, width: int = 1200, **context: Any) -> Iterator[Opened]:
    """A page as Chromium shows it, in a context of its own; skips where there is no browser.

    Args:
        text: The page.
        directory: For its file.
        width: Of the window, in pixels.
        context: Of Playwright's `new_context`, as `color_scheme`.
    """
    path = directory / "page.html"
    path.write_text(text)
    own = chromium().new_context(viewport={"width": width, "height": 900}, **context)
    try:
        page = own.new_page()
        page.set_default_timeout(60_000)
        found = Opened(page)
        page.on("pageerror", lambda error: found.problems.append(str(error)))
        page.on(
            "console",
            lambda said: said.type in ("error", "warning") and found.problems.append(said.text),
        )
        page.on("request", lambda asked: asked.url == path.as_uri() or found.requests.append(asked.url))
        page.goto(path.as_uri())
        yield found
    finally:
        own.close()


def drawn(shown: Opened) -> Any:
    """Playwright's page of a report whose pictures have been drawn."""
    shown.page.wait_for_function("document.documentElement.dataset.drawn")
    return shown.page


def shades(canvas: Any) -> int:
    """How many colours a canvas has."""
    return canvas.evaluate(
        "c => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size"
    )


def pixels(canvas: Any) -> str:
    """What is on a canvas, as a data URL: pictures that are alike have the same."""
    return canvas.evaluate("c => c.toDataURL()")
