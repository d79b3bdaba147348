# SPDX-License-Identifier: BSD-3-Clause
"""A job on a bad mapping: its busy rank on a core that others use, the one that waits on a core of its own."""

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import mpis
import tune_driver
from waiting import until

from rankwise.child import ending_with_us

PROGRAM = mpis.TOP / "bench" / "tune" / "imbalance.c"
# Units of some 10 us: an iteration takes 20 ms on a whole core, and a fifth of that core is left.
BUSY, IDLE, GUESTS = 2000, 100, 4
LASTS_S = 240
# Before what else runs on this machine, as far as this user may; the tuner as well, which else would get no core.
FIRST = ("nice", "-n", "-5")
# Ranks that yield while they wait get no core for long where others want it (since Linux 6.6).
_AWAKE = {
    "MPIR_CVAR_ENABLE_HEAVY_YIELD": "0",
    "MPIR_CVAR_POLLS_BEFORE_YIELD": "0",
    "OMPI_MCA_mpi_yield_when_idle": "0",
}
_BOUND = '#!/bin/sh\nexec taskset -c "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" "$@"\n'


class Misplaced:
    """Two ranks that run, rank 0 bound to core 0 and rank 1 to core 1; rank 0 computes twenty times as long.

    Args:
        mpi: Their MPI.
        program: `PROGRAM`, compiled.
        folder: For what it prints.
        pages: Where the ranks' pages will be, or what says that once it is known.
        variables: Of the ranks.
        under: Words before the command: what starts it as another user, or tunes it.

    Attributes:
        ranks: Processes, by rank.
    """

    def __init__(
        self,
        mpi: mpis.Mpi,
        program: Path,
        folder: Path,
        pages: Path | Callable[[], Path],
        variables: dict[str, str],
        under: Sequence[str | Path] = (),
    ):
        self._said = folder / "said"
        bound = folder / "bound"
        bound.write_text(_BOUND)
        bound.chmod(0o755)
        words = (bound, program, LASTS_S, 0, 8, BUSY, IDLE)
        line = [*FIRST, *under, *mpi.launch(2, *map(str, words), environment=variables)]
        with self._said.open("wb") as said:
            self._job = subprocess.Popen(
                line, env=mpi.environment() | _AWAKE, stdout=said, stderr=subprocess.DEVNULL
            )
        self._guests: list[subprocess.Popen] = []
        try:
            assert until(lambda: self.iterations())
            where = pages() if callable(pages) else pages
            assert until(lambda: len(pages_of(where)) == 2)
        except BaseException:
            self.end()
            raise
        self.ranks = pages_of(where)
        self._before = self.masks()

    def share_core(self) -> None:
        """Have others use core 0, too: each of as many sessions gets as much of it as rank 0."""
        for _ in range(GUESTS):
            line = [*FIRST, "taskset", "-c", "0", "sh", "-c", "while :; do :; done"]
            self._guests.append(
                subprocess.Popen(
                    line, stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=ending_with_us()
                )
            )
        assert until(lambda: all(os.sched_getaffinity(guest.pid) == {0} for guest in self._guests))

    def masks(self) -> list[set[frozenset[int]]]:
        """Of each rank, the masks that its threads have."""
        return [set(tune_driver.masks(pid).values()) for pid in self.ranks]

    def is_as_before(self) -> bool:
        """Whether all threads of all ranks have what they began with."""
        return self.masks() == self._before

    def iterations(self) -> int:
        """How many it has ended, as it said last."""
        said = re.findall(rb"^[0-9.]+ ([0-9]+)\n", self._said.read_bytes(), re.MULTILINE)
        return int(said[-1]) if said else 0

    def goes_on(self) -> bool:
        """Whether more iterations end within some seconds."""
        before = self.iterations()
        assert until(lambda: self.iterations() > before + 5)
        return self._job.poll() is None

    def others(self) -> list[int]:
        """Processes of the job that are no ranks, and those that share the core."""
        helpers = set(_descendants(self._job.pid)) - set(self.ranks)
        return [*helpers, *(guest.pid for guest in self._guests)]

    def finish(self) -> int:
        """Have its ranks come to their end, and those that share the core.

        Returns:
            What the command returned.
        """
        os.kill(self.ranks[0], signal.SIGUSR1)
        for guest in self._guests:
            guest.terminate()
        return self._job.wait(60)

    def end(self) -> None:
        """End all of it."""
        for process in (self._job, *self._guests):
            process.terminate()
        for process in (self._job, *self._guests):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def pages_of(directory: Path) -> list[int]:
    """Processes of the ranks that have a page, by rank."""
    names = [path.name.split(".") for path in directory.glob("*.page")]
    return [int(pid) for _, pid in sorted((int(rank), pid) for rank, pid, _ in names)]


def _descendants(pid: int) -> list[int]:
    found = [pid]
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split():
                found += _descendants(int(child))
    return found
