# SPDX-License-Identifier: BSD-3-Clause
"""A tuner of this process' own: started with a plan, ended with it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from rankwise.child import ENDING, ending_with_us, uninterrupted
from rankwise.errors import RankwiseError
from rankwise.tune.installed import TUNER, installed

_START_S = 5.0
# It ended as asked, and has in its journal what it could not give back (tune/main.cpp).
_LEFT_STATUS = 3
# It puts masks back when it ends, and then pages, for 5 s at most. If it has to be killed, its guard puts masks back.
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
        RankwiseError: It could not start; the message is its own.
    """

    def __init__(self, plan: Path, socket: Path, log: Path):
        self._log = log
        started = False
        try:
            with uninterrupted(), log.open("wb") as saying:
                # A session of its own: Ctrl-C reaches the launcher, and the tuner only by us.
                self._process = subprocess.Popen(
                    [installed(TUNER), plan], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                    stderr=saying, start_new_session=True, preexec_fn=_beginning(),
                )  # fmt: skip
                started = True
                self._wait_until_it_answers(socket)
        except BaseException:
            if started:
                self.end()
            raise

    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def end(self) -> str:
        """Let it put back what it changed and end; returns why it ended in another way, empty if it did not."""
        with uninterrupted():
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
            try:
                self._process.wait(_END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
                return f"it did not end within {_END_S:g} s, and was killed"
        return self._why() if self._process.returncode not in (0, _LEFT_STATUS) else ""

    def _wait_until_it_answers(self, socket: Path) -> None:
        until = time.monotonic() + _START_S
        while time.monotonic() < until:
            if self._process.poll() is not None:
                raise RankwiseError(f"the tuner could not start: {self._why()}", "see `rankwise doctor`")
            if socket.exists():
                return
            time.sleep(_LOOK_S)
        raise RankwiseError(f"the tuner did not start within {_START_S:g} s", "see `rankwise doctor`")

    def _why(self) -> str:
        status = self._process.returncode
        if status < 0:
            return f"it died of {signal.Signals(-status).name}"
        return last_error(self._log) or f"it ended with status {status}"


def _beginning() -> Callable[[], None]:
    """What it does before it becomes the tuner."""
    end_with_us = ending_with_us()

    def begin() -> None:
        end_with_us()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)

    return begin


def last_error(log: Path) -> str:
    """The last error that a tuner wrote on its stderr; empty if there is none."""
    try:
        text = log.read_bytes()[-_MOST_SAID_BYTES:].decode("utf-8", "replace")
    except OSError:
        return ""
    errors = [line for line in text.splitlines() if line.startswith("error: ")]
    return errors[-1].removeprefix("error: ") if errors else ""


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
