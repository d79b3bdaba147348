# SPDX-License-Identifier: BSD-3-Clause
"""A report whose reader goes away, as `head` does, leaves its page all the same."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("names", [("a.rw",), ("a.rw", "b.rw")], ids=["one", "two compared"])
def test_the_page_is_written_though_nobody_reads_the_terminal(record, tmp_path, names):
    # GIVEN recordings, and a terminal that shows nothing more
    recordings = [record(name=name) for name in names]
    reader, writer = os.pipe()
    os.close(reader)
    # WHEN they are reported, unbuffered, so that the first line fails
    page = tmp_path / "page.html"
    line = [sys.executable, "-u", "-m", "rankwise", "report", *recordings, "-o", page]
    with os.fdopen(writer) as closed:
        done = subprocess.run(line, stdout=closed, stderr=subprocess.PIPE, text=True, timeout=120)
    # THEN the status says so, and the page is whole
    assert done.returncode == 141
    assert page.read_text().rstrip().endswith("</html>")
    assert "Wrote" in done.stderr
