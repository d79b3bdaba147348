# SPDX-License-Identifier: BSD-3-Clause
"""Other tools that move processes or interrupts, run beside a program."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tune.runs import Failed

_ENDS_S = 5.0


@dataclass(frozen=True)
class Tool:
    """One of them.

    Attributes:
        start: What starts it.
        stop: What ends it, where a signal is not its way.
        foreground: Whether what is started stays; else it begins a process of its own in the background.
    """

    name: str
    start: tuple[str, ...]
    stop: tuple[str, ...] = ()
    foreground: bool = True


TOOLS = {
    tool.name: tool
    for tool in (
        Tool("irqbalance", ("irqbalance", "--foreground")),
        # It has no option that keeps it in the foreground; `-i 0` ends the one that runs.
        Tool("numad", ("numad", "-l", "5"), ("numad", "-i", "0"), foreground=False),
    )
}


def living(name: str) -> list[int]:
    """Processes of this name that have not ended."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "comm").read_text().strip() == name:
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                if state not in "ZX":
                    found.append(int(entry.name))
    return found


@contextlib.contextmanager
def beside(tool: Tool | None) -> Iterator[None]:
    """It runs meanwhile; that it did is checked at both ends.

    Raises:
        Failed: One runs already, it did not start, or it ended by itself.
    """
    if tool is None:
        yield
        return
    if already := living(tool.name):
        raise Failed(f"{tool.name} runs already (process {already[0]})")
    started = subprocess.Popen(
        tool.start, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        time.sleep(1)
        if not living(tool.name):
            raise Failed(f"{tool.name} ended at once with status {started.poll()}")
        yield
        if not living(tool.name):
            raise Failed(f"{tool.name} ended while the program ran")
    finally:
        _end(tool, started)


def _end(tool: Tool, started: subprocess.Popen[bytes]) -> None:
    if tool.foreground:
        with contextlib.suppress(ProcessLookupError):
            started.send_signal(signal.SIGTERM)
        try:
            started.wait(_ENDS_S)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()
        return
    started.wait()
    subprocess.run(tool.stop, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + _ENDS_S
    while living(tool.name):
        if time.monotonic() > until:
            raise Failed(f"{tool.name} does not end")
        time.sleep(0.05)
