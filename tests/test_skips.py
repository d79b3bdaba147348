# SPDX-License-Identifier: BSD-3-Clause
"""Where all is installed a test is skipped for reasons that are known, or fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TEST = """
import pytest
def test_one():
    pytest.skip("{reason}")
@pytest.mark.skipif(True, reason="{reason}")
def test_two(): pass
@pytest.mark.xfail(reason="it is broken")
def test_three(): assert False
"""
FILE = """
import pytest
pytest.skip("{reason}", allow_module_level=True)
"""


@pytest.mark.one_of(2)
@pytest.mark.parametrize(
    ("text", "reason", "chosen", "said"),
    [
        (TEST, "no MPICH", {}, "2 skipped, 1 xfailed"),
        (TEST, "no MPICH", {"RANKWISE_ALL": "1"}, "1 failed, 1 xfailed, 1 error"),
        (TEST, "needs two PUs", {"RANKWISE_ALL": "1"}, "2 skipped, 1 xfailed"),
        (FILE, "no MPICH", {}, "1 skipped"),
        (FILE, "no MPICH", {"RANKWISE_ALL": "1"}, "1 error"),
    ],
)
def test_with_all_installed_a_skip_for_an_unknown_reason_fails(tmp_path, text, reason, chosen, said):
    # GIVEN tests that are skipped in their body and by a marker, and one that fails as it should; or a whole file
    path = tmp_path / "test_some.py"
    path.write_text(text.format(reason=reason))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RANKWISE", "PYTEST"))}
    # WHEN they run, THEN skips for unknown reasons are failures if all is meant to be there
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "skips", "-c", os.devnull, "--rootdir", tmp_path, path],
        env=kept | chosen | {"PYTHONPATH": str(Path(__file__).parent), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert f" {said} in " in done.stdout, done.stdout
