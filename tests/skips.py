# SPDX-License-Identifier: BSD-3-Clause
"""With RANKWISE_ALL set, tests that are skipped fail, but for these reasons: what is there must be tested."""

import os
import re
import sys

import pytest

MAY_BE = (
    r"this MPI ",  # of that version; what it has is found by linking with it
    r"needs (two PUs|PUs 0 and 1)",
    r"no (mount namespaces|host names of their own|cpusets) here",
    r".*may not make network namespaces",
    r"the tests run without root",
    r"only root can boot a systemd",
    r"no systemd can be booted here",
    r"no Python of this version that other users may execute",
    # slow tests, of what takes long to install
    r"not installed: `bash tests/install_mpis.sh .venv/bin intel`",
    r"no xhpl beside mpiexec",
)
NOT_FOR_THIS_PYTHON = r"the otf2 package is not installed"  # pyproject.toml


def may_be_skipped(reason: str) -> bool:
    """Whether a test may be skipped for this reason where all is installed."""
    reasons = MAY_BE if sys.version_info < (3, 12) else (*MAY_BE, NOT_FOR_THIS_PYTHON)
    return any(re.match(each, reason) for each in reasons)


def judged(report):
    """The report, failed if it is of a skip that may not be."""
    if os.environ.get("RANKWISE_ALL") and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if not may_be_skipped(reason):
            report.outcome = "failed"
            report.longrepr = f"skipped, though RANKWISE_ALL is set: {reason}"
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport():
    return judged((yield))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report():
    return judged((yield))
