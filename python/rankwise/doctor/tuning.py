# SPDX-License-Identifier: BSD-3-Clause
"""What `rankwise tune` can see and do here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from rankwise.errors import RankwiseError
from rankwise.tune.directories import IN_MEMORY, user_directory
from rankwise.tune.installed import TUNER, installed
from rankwise.tune.preload import PRELOADED

_LIMIT_S = 10
_MEMORY_COUNTERS = Path("/sys/fs/resctrl/mon_data")
# Movers beside which ranks are tuned, and what that means.
_BESIDE = {
    "irqbalance": "irqbalance moves interrupts",
    "AutoNUMA": "AutoNUMA moves pages and ranks: `rankwise tune` moves bound ranks only, until "
    "`sysctl kernel.numa_balancing=0`",
}
_FOR_INTERRUPTS = "may be moved with `--irq`"


def tuner() -> str:
    """The tuner, the library that ranks get, and places for their pages and its journal."""
    found = installed(TUNER)
    installed(PRELOADED)
    user_directory()
    if not os.access(IN_MEMORY, os.W_OK):
        raise RankwiseError(
            f"nothing can be written to `{IN_MEMORY}`, where ranks say how they get on",
            "mount a tmpfs there; in a container it is `--shm-size`",
        )
    counted = "counted" if _MEMORY_COUNTERS.is_dir() else "not counted"
    return f"`{found}`; memory traffic is {counted} here (resctrl)"


def masks() -> str:
    """Masks of one's own threads may be changed."""
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        os.sched_setaffinity(0, allowed)
    except OSError as error:
        raise RankwiseError(
            f"masks of threads cannot be changed: {os.strerror(error.errno or 0).lower()}",
            "in a container ask for a profile that allows sched_setaffinity",
        ) from None
    if len(allowed) < 2:
        raise RankwiseError(
            "there is one processing unit, so that ranks cannot change places", "ask for more cores"
        )
    interrupts = (
        _FOR_INTERRUPTS if os.access("/proc/irq/default_smp_affinity", os.W_OK) else "stay where they are"
    )
    return f"ranks may move among {len(allowed)} processing units; interrupts {interrupts}"


def movers() -> str:
    """Nobody else moves processes."""
    done = subprocess.run(
        [installed(TUNER), "--movers"], capture_output=True, text=True, timeout=_LIMIT_S, check=False
    )
    found = done.stdout.split("\n")[:-1]
    if done.returncode:
        raise RankwiseError("it cannot be found out who else moves processes", causes=(done.stderr.strip(),))
    others = [mover for mover in found if mover not in _BESIDE]
    if others:
        raise RankwiseError(
            f"{' and '.join(others)} moves processes or pages here, so that `rankwise tune` stands back",
            "stop it while a job is tuned",
        )
    seen = "that can be seen " if done.stderr else ""
    text = (
        f"{'; '.join(_BESIDE[mover] for mover in found)}; nobody else {seen}moves anything"
        if found
        else f"nobody else {seen}moves processes or interrupts"
    )
    return f"{text}; {done.stderr.strip()}" if done.stderr else text
