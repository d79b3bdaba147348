# SPDX-License-Identifier: BSD-3-Clause
"""Pages as a browser draws them."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

# Collects complaints, and after three seconds leaves only their list and the number of canvases on the page.
WATCH = """
window.problems = []
addEventListener("error", event => problems.push(event.message))
const say = console.error
console.error = (...words) => { problems.push(words.join(" ")); say(...words) }
function canvases(root) {
    return [...root.querySelectorAll("*")].reduce(
        (sum, each) => sum + (each.tagName == "CANVAS") + (each.shadowRoot ? canvases(each.shadowRoot) : 0), 0)
}
addEventListener("load", () => setTimeout(() => {
    document.body.innerText = ["RESULT", canvases(document), JSON.stringify(problems), "END"].join(" ")
}, 3000))
"""


def drawn(page: str, directory: Path) -> tuple[int, list[str]]:
    """Open a page in Chromium: how many canvases it has then, and what was complained about."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium on PATH (Debian package `chromium`)")
    path = directory / "page.html"
    path.write_text(page.replace("<head>", f"<head><script>{WATCH}</script>", 1))
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu"]
    command += [f"--user-data-dir={directory / 'profile'}", "--virtual-time-budget=10000", "--dump-dom"]
    shown = subprocess.run([*command, path.as_uri()], capture_output=True, text=True, timeout=120).stdout
    result = shown.rpartition("RESULT ")[2].partition(" END")[0]
    canvases, _, problems = result.partition(" ")
    return int(canvases), json.loads(problems)
