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
# Movers beside which ranks are tuned, and what that means.
_BESIDE = {
    "irqbalance": "irqbalance moves interrupts",
    "AutoNUMA": "AutoNUMA moves pages and ranks: `rankwise tune` moves bound ranks only, until "
    "`sysctl kernel.numa_balancing=0`",
}
_FOR_INTERRUPTS = "may be moved with `--irq`"
# What the tuner reads of a node where it is there: a file of each kind.
_CPU = "sys/devices/system/cpu/cpu[0-9]*/"
_READ = {
    "clocks": _CPU + "cpufreq/scaling_cur_freq",
    "heat": _CPU + "thermal_throttle/core_throttle_count",
    "power limits": "sys/class/powercap/intel-rapl:[0-9]*/constraint_0_power_limit_uw",
    "time that threads wait for a core": "proc/self/schedstat",
    "where memory pages are": "proc/self/numa_maps",
    "interrupts": "proc/interrupts",
    "which cores serve network queues": "proc/irq/[0-9]*/smp_affinity_list",
    "memory traffic (resctrl)": "sys/fs/resctrl/mon_data/*/mbm_total_bytes",
}


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
    return f"`{found}`"


def seen(root: Path = Path("/")) -> str:
    """What of this node the tuner can see, and what it cannot."""
    found = {what: _is_readable(root, pattern) for what, pattern in _READ.items()}
    able, unable = ([what for what, is_there in found.items() if is_there is want] for want in (True, False))
    return "; ".join(
        f"{text}: {', '.join(names)}" for text, names in (("seen", able), ("not seen", unable)) if names
    )


def _is_readable(root: Path, pattern: str) -> bool:
    """Whether the first of such files can be read, which permission alone does not say."""
    for path in root.glob(pattern):
        try:
            with path.open("rb") as file:
                file.read(1)
        except OSError:
            return False
        return True
    return False


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
