# SPDX-License-Identifier: BSD-3-Clause
"""A tuner of this process' own: started with a plan, ended with it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

from rankwise.errors import RankwiseError
from rankwise.launchers.start import ending_with_us
from rankwise.tune.installed import TUNER, installed

_START_S = 5.0
# Moved pages and masks are put back when it ends; its guard does that if it has to be killed.
_END_S = 10.0
_LOOK_S = 0.005
_MOST_SAID_BYTES = 1 << 16


class TunerProcess:
    """A running `rankwise-tuned`, which gets SIGTERM when this process is killed.

    Args:
        plan: File of its plan.
        socket: Where it answers, as the plan says.
        log: File for what it says.

    Raises:
        RankwiseError: It could not start (status 125); the message is its own.
    """

    def __init__(self, plan: Path, socket: Path, log: Path):
        self._log = log
        with log.open("wb") as saying:
            # A session of its own: Ctrl-C reaches the launcher, and the tuner only by us.
            self._process = subprocess.Popen(
                [installed(TUNER), plan], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=saying, start_new_session=True, preexec_fn=ending_with_us(),
            )  # fmt: skip
        try:
            self._wait_until_it_answers(socket)
        except BaseException:
            self.end()
            raise

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def said(self) -> list[str]:
        """Lines that it wrote on stderr, without the numbers of their priority."""
        with contextlib.suppress(OSError):
            text = self._log.read_bytes()[-_MOST_SAID_BYTES:].decode("utf-8", "replace")
            return [line[3:] if line[:1] == "<" and line[2:3] == ">" else line for line in text.splitlines()]
        return []

    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def end(self) -> int:
        """Let it put back what it changed and end; returns its status."""
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        try:
            return self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _wait_until_it_answers(self, socket: Path) -> None:
        until = time.monotonic() + _START_S
        while time.monotonic() < until:
            if self._process.poll() is not None:
                raise RankwiseError(self._why(), "see `rankwise doctor`", status=125)
            if socket.exists():
                return
            time.sleep(_LOOK_S)
        raise RankwiseError(
            f"the tuner did not start within {_START_S:g} s", "see `rankwise doctor`", status=125
        )

    def _why(self) -> str:
        said = [line.removeprefix("error: ").removeprefix("rankwise-tuned: ") for line in self.said() if line]
        if said:
            return said[0]
        status = self._process.returncode
        how = f"died of {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        return f"the tuner {how} before it began"


def become(plan: Path) -> None:
    """Make a tuner of this process, so that nothing of Python stays in memory; does not return.

    Raises:
        RankwiseError: It cannot be executed.
    """
    tuner = installed(TUNER)
    try:
        os.execv(tuner, [str(tuner), str(plan)])
    except OSError as error:
        raise RankwiseError(
            f"`{tuner}` cannot be started: {os.strerror(error.errno or 0).lower()}", "install Rankwise again"
        ) from None
