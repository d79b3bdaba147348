# SPDX-License-Identifier: BSD-3-Clause
"""A launch that may take so long and no longer."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import IO

from rankwise.child import ending_with_us
from rankwise.launchers.line import Launch

_PATIENCE_AFTER_SIGNAL_S = 5.0


def run_limited(launch: Launch, limit_s: float, output: IO[bytes]) -> int:
    """Run a launch to its end without input; whatever ends the waiting ends the launch.

    Args:
        launch: What to execute.
        limit_s: Most time, in seconds.
        output: Takes what it writes to stdout and stderr.

    Returns:
        Its exit status; that of a signal is negative.

    Raises:
        subprocess.TimeoutExpired: It was not finished by then.
    """
    process = subprocess.Popen(
        launch.words,
        env=launch.environment_of_first(os.environ),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # Ctrl-C reaches us first
        preexec_fn=ending_with_us(),
    )
    try:
        return process.wait(limit_s)
    except BaseException:
        _stop(process)
        raise


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a launch: its launcher first asked, so that it takes its ranks along."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE_AFTER_SIGNAL_S)
            return
